package ingest

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/golden"
)

// read returns the results that a format reads in a text, as lines.
func read(t *testing.T, name, text string) string {
	t.Helper()
	for _, k := range printedKinds() {
		if k.Name != name {
			continue
		}
		if !k.Format().Is([]byte(text)) {
			return "not known"
		}
		got, err := k.Format().Read(text, 0)
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, r := range got.Results {
			for _, metric := range slices.Sorted(maps.Keys(r.Values)) {
				all = append(all, fmt.Sprintf("%s %s=%.6g", r.Job, metric, r.Values[metric]))
			}
		}
		for _, l := range got.Left {
			all = append(all, fmt.Sprintf("left %d", l.Line))
		}
		return strings.Join(all, "; ")
	}
	t.Fatalf("there is no format %s", name)
	return ""
}

func TestFormsOfFormats(t *testing.T) {
	for _, c := range []struct{ name, format, text, want string }{
		{"kbench with units in the values", "kbench", "FIO Benchmark Summary\nFor: x\n\nIOPS (Read/Write):\n" +
			"Random:         1,048  / 87\nBandwidth (Read/Write):\nRandom:  501 KiB/sec / 343 KiB/sec\nLatency (Read/Write):\n" +
			"Sequential:   118,385 ns / 45,925 ns\n",
			"rand-read-iops read.iops=1048; rand-write-iops write.iops=87; rand-read-bw read.bandwidth=513024; " +
				"rand-write-bw write.bandwidth=351232; seq-read-lat read.latency.mean=0.000118385; " +
				"seq-write-lat write.latency.mean=4.5925e-05"},
		{"kbench of one job", "kbench", "FIO Benchmark Summary\nFor: x\nMode: sequential-read-iops\n" +
			"IOPS (Read/Write)\n        Random:  1,048 / null\n    Sequential:   / \n",
			"line 5: kbench prints the one job of its mode as a random one, or in the wrong column: import its file PREFIX-….json"},
		{"two summaries of kbench are two repetitions", "kbench", strings.Repeat("FIO Benchmark Summary\nFor: x\n"+
			"IOPS (Read/Write)\n  Random:  5 / 6\n", 2), "rand-read-iops read.iops=5; rand-write-iops write.iops=6; " +
			"rand-read-iops read.iops=5; rand-write-iops write.iops=6"},
		{"YABS in GB/s and without a second column", "yabs", "fio Disk Speed Tests (Mixed R/W 50/50):\n" +
			"Block Size | 1m            (IOPS)\nRead       | 2.04 GB/s     (1.9k)\nWrite      | 2.15 GB/s     (2.0k)\n",
			"rand_rw_1m read.bandwidth=2.04e+09; rand_rw_1m read.iops=1900; rand_rw_1m write.bandwidth=2.15e+09; " +
				"rand_rw_1m write.iops=2000"},
		{"YABS whose test failed", "yabs", "Block Size | 4k            (IOPS)\nRead       |     ()\n",
			`expected lines as "Read       | 445.04 MB/s (111.2k) | 475.05 MB/s   (7.4k)", found none`},
		{"kubestr without its head", "kubestr-text", "read:\n  IOPS=10.5 BW(KiB/s)=42\nread:\n  IOPS=11.5 BW(KiB/s)=46\n",
			"fio read.bandwidth=43008; fio read.iops=10.5; fio read.bandwidth=47104; fio read.iops=11.5"},
		{"kubestr without a direction", "kubestr-text", "  IOPS=10.5 BW(KiB/s)=42\n",
			"line 1: whether fio reads or writes here is not said"},
		{"sysbench with one kind only", "sysbench", "sysbench 0.5\nDoing random write test\n" +
			"Operations performed:  0 reads, 5000 writes, 0 Other = 5000 Total\n" +
			"Read 0b  Written 78.125Mb  Total transferred 78.125Mb  (7.8125Mb/sec)\n   500.00 Requests/sec executed\n" +
			"General statistics:\n    total time:   10.0000s\n    response time:\n         avg:      2.00ms\n         max:   8.00ms\n" +
			"         approx.  95 percentile:               4.50ms\n",
			"sysbench-random-write write.bandwidth=8.192e+06; sysbench-random-write write.iops=500; " +
				"sysbench-random-write write.latency.max=0.008; sysbench-random-write write.latency.mean=0.002; " +
				"sysbench-random-write write.latency.p95=0.0045"},
		{"elbencho 1.6", "elbencho", "OPERATION RESULT TYPE        FIRST DONE  LAST DONE\n" +
			"WRITE     Elapsed ms       :      89514      89835\n          Files/s          :      11675      11672\n" +
			"          Throughput MiB/s :      11675      11672\n---\nRMFILES   Elapsed ms       :       4408      13712\n",
			"elbencho-write write.bandwidth=1.2239e+10"},
		{"pgbench, of which only some lines are copied", "pgbench", "latency average = 2.5 ms\n" +
			"tps = 400.5 (without initial connection time)\nlatency average = 2 ms\n" +
			"tps = 500,5 (without initial connection time)\n", "pgbench request.latency.mean=0.0025; " +
			"pgbench request.rate=400.5; pgbench request.latency.mean=0.002; pgbench request.rate=500.5"},
		{"pgbench 9.5", "pgbench", "latency average: 0.000 ms\ntps = 14.5 (including connections establishing)\n" +
			"tps = 20.5 (excluding connections establishing)\n", "pgbench request.rate=20.5"},
		{"ioping writes", "ioping", "--- . (ext4 /dev/sda1) ioping statistics ---\n" +
			"9 requests completed in 12.2 ms, 36 KiB written, 738 iops, 2.88 MiB/s\nmin/avg/max/mdev = 1.02 ms / 1.36 ms / 1.9 ms / 0 us\n",
			"ioping write.bandwidth=3.0199e+06; ioping write.iops=738; ioping write.latency.max=0.0019; " +
				"ioping write.latency.mean=0.00136; ioping write.latency.min=0.00102"},
		{"ioping reads and writes", "ioping", "4 KiB <<< . (ext4 /dev/sda1): request=1 time=1 ms\n" +
			"4 KiB >>> . (ext4 /dev/sda1): request=2 time=1 ms\n--- . (ext4 /dev/sda1) ioping statistics ---\n" +
			"9 requests completed in 12.2 ms, 36 KiB, 738 iops, 2.88 MiB/s\n",
			"line 4: whether ioping reads or writes here is not said"},
		{"two calls of ioping", "ioping", strings.Repeat("4 KiB <<< . (ext4 /dev/sda1): request=1 time=1 ms\n"+
			"--- . (ext4 /dev/sda1) ioping statistics ---\n9 requests completed in 12.2 ms, 7 iops, 28 KiB/s\n", 2),
			"ioping read.bandwidth=28672; ioping read.iops=7; ioping read.bandwidth=28672; ioping read.iops=7"},
		{"ioping that does not say what it did", "ioping", "--- . (ext4 /dev/sda1) ioping statistics ---\n" +
			"9 requests completed in 12.2 ms, 738 iops, 2.88 MiB/s\n",
			"line 2: whether ioping reads or writes here is not said"},
		{"hdparm -T", "hdparm", "/dev/sda:\n Timing cached reads:   13726 MB in  2.00 seconds = 6869.01 MB/sec\n",
			"line 2: hdparm -T measures memory and not the disk; hdparm -t --direct measures the disk"},
		{"hdparm without leave", "hdparm", "/dev/sda:\n Timing buffered disk reads:  read() failed: Input/output error\n",
			"line 2: hdparm measured nothing here"},
		{"hdparm with an offset", "hdparm", "/dev/sda:\n Timing O_DIRECT disk reads (offset 500 GB): 2 MB in  0.50 seconds =   4.00 MB/sec\n",
			"hdparm read.bandwidth=4.1943e+06"},
		{"dd without its command", "dd", "1073741824 bytes (1.1 GB) copied, 3.2 seconds, 335 MB/s\n",
			`line 1: whether dd read or wrote is not said: put its command ("dd if=… of=…") before its output`},
		{"dd below another command", "dd", "$ dd if=/dev/zero of=a bs=1M\n$ cat log\n9 bytes copied, 0.1 s, 0.1 kB/s\n",
			`line 3: whether dd read or wrote is not said: put its command ("dd if=… of=…") before its output`},
		{"dd through a pipe", "dd", "$ dd if=/dev/sda bs=1M | pv >/dev/null\n1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s\n",
			"line 2: dd read or wrote through a pipe here, so that what the figure is of is not known"},
		{"dd in memory", "dd", "$ dd if=/dev/zero of=/dev/null bs=1M count=1\n1048576 bytes (1.0 MB) copied, 2 s, 0.5 MB/s\n",
			"line 2: dd moved bytes in memory here, from /dev/zero to /dev/null"},
		{"dd over several lines and in a loop", "dd", "$ for i in 1 2; do sudo dd if=/dev/zero \\\n   of=/srv/x bs=1M conv=fsync; done\n" +
			"1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.25 s, 4.2 MB/s\n",
			"dd-write write.bandwidth=2.09715e+06; dd-write write.bandwidth=4.1943e+06"},
		{"two of dd in a line, in a loop", "dd", "$ for i in 1 2; do dd if=/dev/zero of=/srv/x bs=1M conv=fsync && dd " +
			"if=/srv/x of=/dev/null bs=1M; done\n1000 bytes (1.0 kB) copied, 1 s, 1.0 kB/s\n" +
			"1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s\n1000 bytes (1.0 kB) copied, 4 s, 0.3 kB/s\n",
			"dd-write write.bandwidth=1000; dd-read read.bandwidth=500; dd-write write.bandwidth=250"},
		{"dd with what a loop changes", "dd", "$ for bs in 4k 1M; do dd if=/dev/zero of=/srv/x bs=$bs conv=fsync; done\n" +
			"1000 bytes (1.0 kB) copied, 1 s, 1.0 kB/s\n1000 bytes (1.0 kB) copied, 2 s, 0.5 kB/s\n",
			"dd-write, pass 1 write.bandwidth=1000; dd-write, pass 2 write.bandwidth=500"},
		{"several of dd at once", "dd", "$ dd if=/dev/zero of=/srv/x & dd if=/dev/zero of=/srv/y & wait\n" +
			"1000 bytes (1.0 kB) copied, 1 s, 1.0 kB/s\n",
			"line 2: several of dd ran at the same time, so that which this is of is not known"},
		{"dd of toybox", "dd", "$ dd if=/dev/block/sda of=/dev/null\n1073741824 bytes (1.0 G) copied, 2.000 s, 511 M/s\n",
			"dd-read read.bandwidth=5.36871e+08"},
		{"dd whose progress a terminal overwrote", "dd", "$ dd if=/dev/zero of=x bs=1M status=progress\n" +
			"\r500 bytes copied, 1 s, 0.5 kB/s\r900 bytes copied, 2 s, 0.4 kB/s\n1+0 records in\n1+0 records out\n" +
			"1000 bytes (1.0 kB, 1000 B) copied, 4e-03 s, 250 kB/s\n", "dd-write write.bandwidth=250000; left 2"},
	} {
		if got := read(t, c.format, c.text); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestWhatDDWrites checks which warning a command of dd causes.
func TestWhatDDWrites(t *testing.T) {
	for command, want := range map[string]string{
		"dd if=/dev/zero of=/srv/a bs=1M":                              "import-cached",
		"dd if=/dev/zero of=/srv/a bs=1M conv=fdatasync":               "import-one-stream",
		"dd if=/dev/zero of=/srv/a bs=1M conv=notrunc,fsync":           "import-one-stream",
		"dd if=/dev/zero of=/srv/a bs=1M oflag=dsync":                  "import-one-stream",
		"dd if=/dev/urandom of=/srv/a bs=1M oflag=nonblock,direct":     "import-one-stream",
		"dd if=/srv/a of=/dev/null bs=1M":                              "import-cached",
		"dd if=/srv/a of=/dev/null bs=1M iflag=direct":                 "import-one-stream",
		"`dd if=/srv/a of=/dev/null iflag=direct`":                     "import-one-stream",
		"dd if=/srv/a of=/dev/null bs=1M oflag=direct conv=fdatasync":  "import-cached",
		"sync; time dd if=/dev/sda of=/dev/null bs=8k iflag=direct; x": "import-one-stream",
	} {
		got, err := dd().Read("# "+command+"\n1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s\n", 0)
		if err != nil || len(got.Results) != 1 || len(got.Results[0].Warnings) != 1 ||
			got.Results[0].Warnings[0].Code != want {
			t.Errorf("%s: %+v, %v, want %s", command, got, err, want)
		}
	}
	for text, want := range map[string]int64{"1M": 1 << 20, "1MB": 1e6, "4k": 4096, "4kB": 4000, "8192": 8192,
		"1MiB": 1 << 20,
		"2G":   2 << 30, "1x4": 0, "": 0, "99999999999T": 0} {
		if got := ddBytes(text); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

func TestRecognise(t *testing.T) {
	for text, want := range map[string]string{
		"Version  1.97       ------Sequential Output------ --Sequential Input- --Random-\n":               "bonnie++",
		"\tIozone: Performance Test of File I/O\n":                                                        "iozone",
		"Vdbench distribution: vdbench50407\n":                                                            "vdbench",
		"Command Line: diskspd.exe -b4K -d60\n\nthread |       bytes     |     I/Os     |":                "diskspd",
		"'Test Type,Test Description\n0,x\n":                                                              "Iometer",
		"Device Information  :       IOPS      MiB/s    Average        Latency(us) min\n":                 "SPDK",
		"Latency(us)\nDevice Information    :       IOPS       MB/s    Average        min        max\n":   "SPDK",
		"Device Information   : runtime(s)       IOPS      MiB/s     Fail/s     TO/s\n":                   "SPDK",
		"AS SSD Benchmark 2.0.7316\n":                                                                     "AS SSD",
		"Geekbench 6 Benchmark Test:\n":                                                                   "Geekbench",
		"dd Sequential Disk Speed Tests:\n Geekbench 6\n":                                                 "YABS",
		"sysbench 1.0.20 (using x)\nCPU speed:\n":                                                         "sysbench",
		"SEQ    1MiB (Q=  8, T= 1):  7427.749 MB/s [   7083.7 IOPS] <   987.81 us>\n":                     "CrystalDiskMark",
		"Device            r/s     w/s     rkB/s\n":                                                       "iostat",
		"19700101000000,127.0.0.1,58708,127.0.0.1,5001,1,0.0-1.0,52559932,419279478\n":                    "iperf 2",
		"20261130072947,127.0.0.1,53637,127.0.0.1,5001,1,0.0-1.0,2232930,17847680,0.001,0,1519,0.000,0\n": "iperf 2",
		"tid,flow_id,time,transactions,transactions/s,utime,stime\n0,0,67354.3,1,0.00,0.0,0.0\n":          "neper",
		"time,tid,flow_id,bytes_read,transactions,latency_min\n2766296.6,0,0,31726,31726,0.000019\n":      "neper",
		"| Test | Read |\n|------|-----:|\n| a | 5 |\n":                                                   "Markdown",
		"hello\n": "",
	} {
		what, instead := recogniseUnread([]byte(text))
		if want == "" != (what == "") || !strings.Contains(what, want) || (what != "") != (instead != "") {
			t.Errorf("%q is %q, %q, want %s", text, what, instead, want)
		}
	}
}

// FuzzFormats reads any text by every format: figures are numbers of known directions, and no result is empty.
func FuzzFormats(f *testing.F) {
	for _, k := range printedKinds() {
		for _, text := range golden.Fixtures(f, "testdata/"+k.Name+"/*", 1) {
			f.Add(text)
		}
	}
	kinds := printedKinds()
	formats := make([]*printedFormat, len(kinds))
	for i, k := range kinds {
		formats[i] = k.Format()
	}
	f.Fuzz(func(t *testing.T, text string) {
		for i, format := range formats {
			got, err := format.Read(text, 0)
			if err == nil && len(got.Results) == 0 {
				t.Errorf("%s: nothing, and no error", kinds[i].Name)
			}
			for _, r := range got.Results {
				if len(r.Values) == 0 || r.Job == "" || r.Line < 1 {
					t.Errorf("%s: %+v is incomplete", kinds[i].Name, r)
				}
				for metric, v := range r.Values {
					if math.IsNaN(v) || v < 0 || lab.Metric(metric).Unit == lab.Count {
						t.Errorf("%s: %s is %v", kinds[i].Name, metric, v)
					}
				}
			}
		}
		recogniseUnread([]byte(text))
		for _, comma := range []Comma{UnknownComma, DecimalComma, ThousandsComma} {
			if v, err := ParseNumber(text, comma); err == nil && (math.IsNaN(v) || v < 0) {
				t.Errorf("%q is %v", text, v)
			}
		}
	})
}
