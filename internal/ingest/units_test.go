package ingest

import (
	"math"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// Each importer reads the prefixes with its tool's meaning: a number as printed in a fixture, and its value in base
// units.
func TestUnitsOfImporters(t *testing.T) {
	tested := map[string]bool{}
	for _, c := range []struct {
		importer, file, cell, metric string
		// printed is the number in the fixture.
		printed string
		want    float64
	}{
		{"clusterbuster", "clusterbuster/summary.json", "randread-4k-q1-j1", lab.IOPS(lab.Read),
			"26387 I/Os in 2 x 1001 ms", 2 * 26387 / 2.002},
		{"clusterbuster", "clusterbuster/summary.json", "randread-4k-q1-j1", lab.Bandwidth(lab.Read),
			"105548 kbytes in 2 x 1001 ms", 2 * 105548 * 1024 / 2.002},
		{"crystaldiskmark", "crystaldiskmark/8.0.4.txt", "seq1m-q8t1-read", lab.Bandwidth(lab.Read), "7427.749 MB/s",
			7427.749e6},
		{"crystaldiskmark", "crystaldiskmark/8.0.4.txt", "rnd4k-q1t1-read", lab.Latency(lab.Read, "mean"),
			"48.38 us", 48.38e-6},
		{"crystaldiskmark", "crystaldiskmark/6.0.2.txt", "seq-q32t1-read", lab.Bandwidth(lab.Read), "2815.107 MB/s",
			2815.107e6},
		{"crystaldiskmark", "crystaldiskmark/6.0.2.txt", "rnd4k-q8t8-write", lab.IOPS(lab.Write), "236826.9 IOPS",
			236826.9},
		{"crystaldiskmark", "crystaldiskmark/3.0.1.txt", "rnd4k-q32-read", lab.Bandwidth(lab.Read), "271.859 MB/s",
			271.859e6},
		{"crystaldiskmark", "crystaldiskmark/3.0.1.txt", "rnd512k-write", lab.Bandwidth(lab.Write), "190.461 MB/s",
			190.461e6},
		{"kdiskmark", "kdiskmark/3.2.0.txt", "rnd4k-q1t1-read", lab.Bandwidth(lab.Read),
			"75.9 IOPS of 4 KiB, said to be 0.303 MB/s", 75.9 * 4096},
		{"kubestr", "kubestr/fio.json", "read-iops-randread-4k-q64", lab.Bandwidth(lab.Read),
			"bw_bytes 28279176, bw 27616", 28279176},
		{"bench-fio", "bench-fio/results", "fiojob-randread-4k-q4-j2", lab.IOPS(lab.Read), "67052.947053",
			67052.947053},
		{"fio", "fio/fio-2.21-randrw-fsync.json", "randrw-fsync-4k-q4", lab.IOPS(lab.Read), "30661.669165",
			30661.669165},
		{"fio", "fio/fio-2.21-randrw-fsync.json", "randrw-fsync-4k-q4", lab.Bandwidth(lab.Read),
			"bw 122646", 122646 * 1024},
		{"iperf3", "iperf3/iperf3-3.12-tcp-P2.json", "tcp-p2", lab.Bitrate(lab.Send),
			"17142772137.1567 bits_per_second", 17142772137.1567},
		{"iperf-text", "iperf-text/3.12-pasted.txt", "tcp-p2", lab.Bitrate(lab.Send), "12.0 MBytes/sec",
			8 * 12.0 * (1 << 20)},
		{"iperf-text", "iperf-text/2.1.8-udp-P2.txt", "udp-p2", lab.Bitrate(lab.Send), "twice 2.11 Mbits/sec", 4.22e6},
		{"perftest-text", "perftest-text/all-sizes.txt", "ib-write-bw-64k", lab.Bitrate(lab.Send),
			"92.55 Gb/sec", 92.55e9},
		{"sockperf-text", "sockperf-text/ping-pong.txt", "ping-pong-udp", lab.Latency(lab.Request, "mean"),
			"avg-rtt=54.262", 54.262e-6},
		{"netperf-text", "netperf-text/pasted.txt", "tcp-stream", lab.Bitrate(lab.Send), "9386.41 10^6bits/sec",
			9386.41e6},
		{"neper", "neper/pasted.txt", "tcp-stream", lab.Bitrate(lab.Send), "remote_throughput=5053409613", 5053409613},
		{"proxmox", "proxmox/dedicated.txt", "migration", lab.Bitrate(lab.Send),
			"800.0 MiB/s, 810.5 MiB/s, 1.0 GiB/s, and 790.0 MiB/s for 2 s",
			8 * (800 + 810.5 + 1024 + 2*790) / 5 * (1 << 20)},
		{"dbench", "dbench/summaries.txt", "read-bw", lab.Bandwidth(lab.Read), "364MiB/s", 364 << 20},
		{"dbench", "dbench/summaries.txt", "read-iops", lab.IOPS(lab.Read), "79.9k", 79900},
		{"dbench", "dbench/summaries.txt", "read-latency", lab.Latency(lab.Read, "mean"), "228.64 usec", 228.64e-6},
		{"kubestr-text", "kubestr-text/fio.txt", "mixed-randrw-128k-q64", lab.Bandwidth(lab.Write),
			"BW(KiB/s)=23633", 23633 << 10},
		{"kbench", "kbench/one.txt", "rand-read-iops", lab.IOPS(lab.Read), "28,832", 28832},
		{"kbench", "kbench/one.txt", "seq-write-bw", lab.Bandwidth(lab.Write), "221,776 KiB/sec", 221776 << 10},
		{"kbench", "kbench/one.txt", "rand-write-lat", lab.Latency(lab.Write, "mean"), "1,029,192 ns", 1.029192e-3},
		{"yabs", "yabs/2023.txt", "rand-rw-4k", lab.Bandwidth(lab.Read), "445.04 MB/s, which are 445,040 KiB/s",
			445040 << 10},
		{"yabs", "yabs/2023.txt", "rand-rw-1m", lab.Bandwidth(lab.Write), "1.51 GB/s", 1.51e6 * 1024},
		{"yabs", "yabs/2023.txt", "rand-rw-4k", lab.IOPS(lab.Write), "111.5k", 111500},
		{"yabs", "yabs/2026.txt", "rand-rw-4k", lab.Bandwidth(lab.Read), "912.38 KB/s", 912.38e3},
		{"sysbench", "sysbench/1.0.20.txt", "sysbench-random-r-w-randrw-16k-j4", lab.Bandwidth(lab.Read), "23.80 MiB/s",
			23.80 * (1 << 20)},
		{"sysbench", "sysbench/1.1.0.txt", "sysbench-random-read-randread-4k-j1", lab.Latency(lab.Read, "p99"),
			"0.03 ms", 0.03e-3},
		{"sysbench", "sysbench/0.4.12.txt", "sysbench-random-r-w-randrw-16k-j16", lab.Bandwidth(lab.Read),
			"93.75 of 156.25Mb at 10.5Mb/sec", 10.5 * 0.6 * (1 << 20)},
		{"sysbench", "sysbench/0.4.12.txt", "sysbench-random-r-w-randrw-16k-j16", lab.IOPS(lab.Write),
			"4000 of 10000 at 672.12 Requests/sec", 0.4 * 672.12},
		{"elbencho", "elbencho/table.txt", "elbencho-read-randread-4k-q8-j16", lab.Bandwidth(lab.Read), "965 MiB/s",
			965 << 20},
		{"elbencho", "elbencho/table.txt", "elbencho-read-randread-4k-q8-j16", lab.Latency(lab.Read, "max"), "5.27ms",
			5.27e-3},
		{"elbencho-csv", "elbencho-csv/results.csv", "elbencho-write-1m-q4-j8", lab.Latency(lab.Write, "mean"),
			"16052 us", 16052e-6},
		{"elbencho-csv", "elbencho-csv/results.csv", "elbencho-read-randread-4k-q1-j8", lab.IOPS(lab.Read), "61210",
			61210},
		{"pgbench", "pgbench/16.txt", "pgbench", lab.RequestRate, "tps = 9054.342113", 9054.342113},
		{"pgbench", "pgbench/16.txt", "pgbench", lab.Latency(lab.Request, "mean"), "1.104 ms", 1.104e-3},
		{"pgbench", "pgbench/9.6-two.txt", "pgbench", lab.RequestRate, "752.532201 (excluding …)", 752.532201},
		{"ioping", "ioping/1.3.txt", "ioping-4k", lab.IOPS(lab.Read), "10.1 k iops", 10100},
		{"ioping", "ioping/1.3.txt", "ioping-4k", lab.Bandwidth(lab.Read), "39.5 MiB/s", 39.5 * (1 << 20)},
		{"ioping", "ioping/0.6.txt", "ioping-4k", lab.Bandwidth(lab.Read), "15.6 mb/s", 15.6 * (1 << 20)},
		{"ioping", "ioping/0.6.txt", "ioping-4k", lab.Latency(lab.Read, "max"), "0.3 ms", 0.3e-3},
		{"hdparm", "hdparm/tT.txt", "hdparm-read", lab.Bandwidth(lab.Read), "121.20 MB/sec", 121.20 * (1 << 20)},
		{"dd", "dd/gnu.txt", "dd-write-1m", lab.Bandwidth(lab.Write), "1073741824 bytes in 0.5 s", 1 << 31},
		{"dd", "dd/locales.txt", "dd-read-1m", lab.Bandwidth(lab.Read), "1073741824 Bytes in 0,5 s", 1 << 31},
		{"fio-text", "text/fio-3.42-write-normal.txt", "seq-write-1m-q4", lab.Bandwidth(lab.Write),
			"4921MiB/s (5160MB/s)", 4921 << 20},
		{"fio-text", "text/fio-2.2.10-write-normal.txt", "seq-write-1m-q4", lab.Bandwidth(lab.Write),
			"4465.3MB/s of fio 2", 4465.3 * (1 << 20)},
		{"table", "table/levels.csv", "randread-4k-q16-j4", lab.IOPS(lab.Read), "61.5k", 61500},
		{"table", "table/levels.csv", "randread-4k-q1-j1", lab.Latency(lab.Read, "p99"), "230 in p99 us", 230e-6},
		{"table", "table/levels-across.csv", "read-1m-j16", lab.Bandwidth(lab.Read), "6421,5 in MB/s", 6421.5e6},
		{"table", "table/levels-across.csv", "randrw-64k-j1", lab.Bandwidth(lab.Read), "120,5 in read MiB/s",
			120.5 * (1 << 20)},
	} {
		tested[c.importer] = true
		run, sink := importFiles(t, c.file)
		if run.Format != c.importer {
			t.Errorf("%s is read as %s, not as %s", c.file, run.Format, c.importer)
		}
		got := math.NaN()
		for _, r := range sink.repetitions {
			if v, measured := r.Values[c.metric]; r.Cell == c.cell && measured {
				got = v
				break
			}
		}
		if !(math.Abs(got/c.want-1) < 1e-4) { // the printed number is rounded
			t.Errorf("%s: %s of %s is %v, where %s is %v", c.file, c.metric, c.cell, got, c.printed, c.want)
		}
	}
	for _, i := range Importers() {
		if !tested[i.Name] || i.Units == "" {
			t.Errorf("%s: its units are %q, and tested %v", i.Name, i.Units, tested[i.Name])
		}
	}
}
