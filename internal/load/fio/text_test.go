package fio

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// values parses text that contains one block with one group.
func values(t *testing.T, text string) Group {
	t.Helper()
	blocks, _, err := ParseText(strings.NewReader(text))
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%d blocks, %v, of\n%s", len(blocks), err, text)
	}
	groups := blocks[0].Document.Groups()
	if len(groups) != 1 {
		t.Fatalf("%d groups of\n%s", len(groups), text)
	}
	return groups[0]
}

func expect(t *testing.T, g Group, want map[string]float64) {
	t.Helper()
	for metric, w := range want {
		if got, ok := g.Values[metric]; !ok || math.Abs(got-w) > 1e-9*w {
			t.Errorf("%s is %v, want %v", metric, got, w)
		}
	}
	for metric, got := range g.Values {
		if _, ok := want[metric]; !ok {
			t.Errorf("%s is %v, want none", metric, got)
		}
	}
}

// The NFS over RDMA report has 22 blocks of a prompt with a command and two lines.
func TestTheNFSReport(t *testing.T) {
	blocks, _, err := ParseText(strings.NewReader(string(read(t, "testdata/text/nfs-over-rdma-report.txt"))))
	if err != nil || len(blocks) != 22 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	for _, b := range blocks {
		g := b.Document.Groups()[0]
		direction := strings.TrimPrefix(g.Params["rw"], "rand")
		if len(g.Values) != 2 || g.Values[lab.IOPS(direction)] == 0 || g.Values[lab.Bandwidth(direction)] == 0 {
			t.Errorf("line %d: values %v", b.Line, g.Values)
		}
		// Every I/O has the same size, so the two agree as far as they were printed.
		size := map[string]float64{"8k": 8192, "1M": 1 << 20}[g.Params["bs"]]
		if ratio := g.Values[lab.Bandwidth(direction)] / g.Values[lab.IOPS(direction)] / size; math.Abs(ratio-1) >
			0.003 {
			t.Errorf("line %d: bandwidth is %v times what the IOPS make", b.Line, ratio)
		}
	}
}

// The extremes of samples are kept, with the number of jobs that they were added up from.
func TestExtremesOfSamples(t *testing.T) {
	lines := "   bw (  MiB/s): min=   82, max=13513, per=95.40%, avg=3327.49, stdev=630.16, samples=155\n" +
		"   iops        : min=10592, max=1729712, avg=425919.08, stdev=80659.95, samples=155\n"
	for name, c := range map[string]struct {
		text string
		want map[string]lab.Samples
	}{
		"of eight jobs": {"# fio --name=x --rw=randwrite --bs=8k --numjobs=8 --group_reporting\n" + lines,
			map[string]lab.Samples{"write.bandwidth": {Min: 82 << 20, Max: 13513 << 20, Count: 155, Jobs: 8},
				"write.iops": {Min: 10592, Max: 1729712, Count: 155, Jobs: 8}}},
		"of one job, beside the result": {"# fio --name=x --rw=randwrite --bs=8k\n  write: IOPS=5, BW=20.0KiB/s " +
			"(20.5kB/s)(20.0KiB/1000msec)\n" + lines,
			map[string]lab.Samples{"write.bandwidth": {Min: 82 << 20, Max: 13513 << 20, Count: 155, Jobs: 1},
				"write.iops": {Min: 10592, Max: 1729712, Count: 155, Jobs: 1}}},
		"of fio 2, whose KB are KiB": {"# fio --name=x --rw=read\n   bw (KB  /s): min= 1, max= 2, per=25.00%, avg= " +
			"1.50, stdev= 0.1\n",
			map[string]lab.Samples{"read.bandwidth": {Min: 1024, Max: 2048, Jobs: 1}}},
		"without a maximum": {"# fio --name=x --rw=read\n   iops        : min=1, avg=3.50, stdev=1, samples=2\n", nil},
		"damaged": {"# fio --name=x --rw=read\n   iops        : min=9, max=1, avg=3.50, stdev=1, samples=2\n",
			nil},
	} {
		if g := values(t, c.text); !maps.Equal(g.Samples, c.want) {
			t.Errorf("%s: %v, want %v", name, g.Samples, c.want)
		}
	}
	two := "# fio --name=x --rw=read --bs=4k --numjobs=2\n"
	for _, pid := range []string{"1", "2"} {
		two += "x: (groupid=0, jobs=1): err= 0: pid=" + pid + ": Fri Nov 20 19:12:30 2026\n" +
			"  read: IOPS=5, BW=20.0KiB/s " +
			"(20.5kB/s)(20.0KiB/1000msec)\n" + lines
	}
	if g := values(t, two); len(g.Jobs) != 2 || g.Samples != nil {
		t.Errorf("of two entries that nobody added up: %v", g.Samples)
	}
}

func TestPiecesOfText(t *testing.T) {
	command := "# fio --name=x --rw=randread --bs=4k\n"
	for _, c := range []struct {
		name, text string
		want       map[string]float64
	}{
		{"the line of rates alone", command + "  read: IOPS=262k, BW=1024MiB/s (1074MB/s)(10.0GiB/10001msec)\n",
			map[string]float64{"read.iops": 262e3, "read.bandwidth": 1 << 30, "elapsed": 10.001}},
		{"fio 2", command + "  read : io=1024.0KB, bw=512.5KB/s, iops=128, runt=  2000msec\n",
			map[string]float64{"read.iops": 128, "read.bandwidth": 512.5 * 1024, "elapsed": 2}},
		{"decimal units", command + "  read: IOPS=1, BW=2MB/s (1953kB/s)(2MB/1000msec)\n",
			map[string]float64{"read.iops": 1, "read.bandwidth": 2e6, "elapsed": 1}},
		{"decimal units of bits", command + "  read: IOPS=500, BW=16.4Mbit/s (15.6Mibit/s)(4096kB/2000msec)\n",
			map[string]float64{"read.iops": 500, "read.bandwidth": 2048e3, "elapsed": 2}},
		{"decimal units of samples", command + "   bw (   kB/s): min= 2000, max= 2003, per=100.00%, avg=2001.00, " +
			"stdev= 1.73, samples=3\n", map[string]float64{"read.bandwidth": 2001e3}},
		{"latency alone, in ms", command + "    clat (msec): min=3, max=20034k, avg=12.50, stdev= 1.00\n",
			map[string]float64{"read.latency.min": 0.003, "read.latency.max": 20034, "read.latency.mean": 0.0125}},
		{"percentiles alone", command + "    clat percentiles (nsec):\n     | 50.00th=[  302], 99.00th=[  548], " +
			"99.99th=[57600]\n",
			map[string]float64{"read.latency.p50": 302e-9, "read.latency.p99": 548e-9,
				"read.latency.p99.99": 57600e-9}},
		{"the summary alone", command +
			"   READ: bw=36.9GiB/s (39.7GB/s), 36.9GiB/s-36.9GiB/s (39.7GB/s-39.7GB/s), io=111GiB (119GB), " +
			"run=3007-3007msec\n",
			map[string]float64{"read.bandwidth": 36.9 * (1 << 30)}},
		{"the summary of fio 2 alone", command +
			"  READ: io=8935.0MB, aggrb=4465.3MB/s, minb=4465.3MB/s, maxb=4465.3MB/s, mint=2001msec, maxt=2001msec\n",
			map[string]float64{"read.bandwidth": 4465.3 * (1 << 20)}},
		{"a mixed load's samples", "$ fio --name=x --rw=randrw\n" +
			"   bw (  KiB/s): min=1, max=9, per=100.00%, avg=7.00, stdev=1, samples=2\n" +
			"   iops        : min=1, max=9, avg=3.50, stdev=1, samples=2\n" +
			"   bw (  KiB/s): min=1, max=9, per=100.00%, avg=5.00, stdev=1, samples=2\n" +
			"   iops        : min=1, max=9, avg=2.50, stdev=1, samples=2\n",
			map[string]float64{"read.iops": 3.5, "read.bandwidth": 7168, "write.iops": 2.5, "write.bandwidth": 5120}},
		{"colours and spaces that do not break",
			"\x1b[01;32muser@host\x1b[00m:~$ fio --name=x --rw=read\u00a0--bs=4k\r\n" +
				"\u00a0 \u00a0iops\u00a0 \u00a0 \u00a0: min=1, max=9, avg=3.50, stdev=1, samples=2\r\n",
			map[string]float64{"read.iops": 3.5}},
		{"a progress line before", command +
			"Jobs: 1 (f=1): [r(1)][40.0%][r=1024MiB/s][eta 00m:03s]\r  read: IOPS=5, BW=20.0KiB/s " +
			"(20.5kB/s)(20.0KiB/1000msec)\n",
			map[string]float64{"read.iops": 5, "read.bandwidth": 20480, "elapsed": 1}},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, values(t, c.text), c.want) })
	}
}

// Unknown values are omitted: samples of fio 2 belong to the first job, lines without a command have no direction, and
// a block without values is no block.
func TestTextThatSaysNothing(t *testing.T) {
	for name, text := range map[string]string{
		"prose":           "I ran fio and it was slow.\nread the manual\n",
		"a command alone": "$ fio --name=x --rw=read\n",
		"samples alone":   "   iops        : min=1, max=9, avg=3.50, stdev=1, samples=2\n",
		"samples of fio 2": "$ fio --name=x --rw=read --numjobs=4\n   bw (KB  /s): min= 1, max= 2, per=25.00%, " +
			"avg= 1.50, stdev= 0.1\n",
		"two jobs, no names": "$ fio --name=x --rw=read --name=y --rw=write\n   iops        : min=1, max=9, " +
			"avg=3.50, stdev=1, samples=2\n",
		"no rw": "$ fio --name=x\n   iops        : min=1, max=9, avg=3.50, stdev=1, samples=2\n",
	} {
		blocks, _, err := ParseText(strings.NewReader(text))
		if err != nil || len(blocks) != 0 {
			t.Errorf("%s: %v, %v", name, blocks, err)
		}
	}
}

func TestSeveralOutputsInOneText(t *testing.T) {
	one := string(read(t, "testdata/text/fio-3.16-write-normal.txt"))
	blocks, _, err := ParseText(strings.NewReader(one + string(read(t, "testdata/text/fio-3.42-write-normal.txt"))))
	if err != nil || len(blocks) != 2 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	if blocks[0].Document.Version != "fio-3.16" || blocks[1].Document.Version != "fio-3.42" ||
		blocks[1].Line != strings.Count(one, "\n")+1 {
		t.Errorf("got %s and %s at %d", blocks[0].Document.Version, blocks[1].Document.Version, blocks[1].Line)
	}
}

func TestCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"root@debian:/exports# fio --name=fiotest --rw=randread": {"fio", "--name=fiotest", "--rw=randread"},
		"root@pve01:/mnt#  fio --name=a --bs=8k":                 {"fio", "--name=a", "--bs=8k"},
		"fio -name=write -filename=/dev/nvme0n1 -rw=write": {"fio", "-name=write",
			"-filename=/dev/nvme0n1", "-rw=write"},
		"$ sudo taskset -c 3 /usr/bin/fio --name='a b' \"--bs=4k\" | tee": {"fio", "--name=a b", "--bs=4k"},
		`% fio --name=a\ b --description="say \"hi\"" 2>&1 > log`: {"fio", "--name=a b",
			`--description=say "hi"`},
		"$ fio my.fio": {"fio", "my.fio"},
		`ssh db1 'sudo /opt/bin/fio --name=a --rw=read' | tee log`: {"fio", "--name=a", "--rw=read"},
		`kubectl exec fio-0 -- sh -c "fio --name=a --rw=read"`:     {"fio", "--name=a", "--rw=read"},
		"Here's what I ran (`fio --name=a --rw=read`):":            {"fio", "--name=a", "--rw=read"},
		"that's fio --name='a b' --rw=read, isn't it":              {"fio", "--name=a b", "--rw=read,", "isnt it"},
		"**fio --name=a --rw=read**":                               {"fio", "--name=a", "--rw=read"},
		"out=$(fio --name=a --rw=read 2>&1)":                       {"fio", "--name=a", "--rw=read"},
		`PS C:\> .\fio.exe --name=a --rw=read`:                     {"fio.exe", "--name=a", "--rw=read"},
		"[root@host x]# fio a.fio --output-format=json":            {"fio", "a.fio", "--output-format=json"},
		`Running: "fio --name=a --rw=read"`:                        {"fio", "--name=a", "--rw=read"},
		`  "source": "fio --enghelp"`:                              nil,
		`  "argv": ["fio --name=a"]`:                               nil,
		"fio-3.16":                                                 nil,
		"fio: pid=32182, err=28":                                   nil,
		"I like fio and so on":                                     nil,
		"fio":                                                      nil,
		"Starting 1 process":                                       nil,
		"the tool nofio --name=x":                                  nil,
	} {
		if got := Command(line); !slices.Equal(got, want) {
			t.Errorf("%s\n got %q\nwant %q", line, got, want)
		}
	}
}

func TestStatesAll(t *testing.T) {
	for line, want := range map[string]bool{
		"# fio -filename=/dev/vdb -iodepth 32 -thread -rw=randwrite -name=lhtest":     true,
		"$ sudo fio --name=x --rw=read 2>&1 | tee log":                                true,
		"$ fio --name=x --rw=read my.fio":                                             false,
		"$ fio my.fio":                                                                false,
		"$ fio --bs=$bs --name=x":                                                     false,
		"$ fio --rw=read --bs=4k":                                                     false,
		"C:\\> fio.exe --name=x --rw=read --thread --ioengine=windowsaio --iodepth 4": true,
	} {
		if got := StatesAll(Command(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestContinuedCommand(t *testing.T) {
	g := values(t, "$ fio --name=x \\\n  --rw=read \\\n  --bs=4k\n  read: IOPS=5, BW=20.0KiB/s "+
		"(20.5kB/s)(20.0KiB/1000msec)\n")
	if g.Params["bs"] != "4k" || g.Params["rw"] != "read" {
		t.Errorf("params %v", g.Params)
	}
}

func TestParseArgv(t *testing.T) {
	got := ParseArgv([]string{"fio", "--ioengine=libaio", "--name=global", "--direct=1", "--name", "a", "-rw",
		"read", "--time_based",
		"--output-format=json", "--readonly", "--eta", "never", "--name=b", "--rw=write", "--bs", "4k", "x.fio", "--"})
	if len(got) != 2 {
		t.Fatalf("got %v", got)
	}
	for i, want := range []map[string]string{
		{"ioengine": "libaio", "direct": "1", "rw": "read", "time_based": "1"},
		{"ioengine": "libaio", "direct": "1", "rw": "write", "bs": "4k"},
	} {
		if len(got[i].Params) != len(want) {
			t.Errorf("job %d has %v, want %v", i, got[i].Params, want)
		}
		for k, v := range want {
			if got[i].Params[k] != v {
				t.Errorf("job %d: %s is %q, want %q", i, k, got[i].Params[k], v)
			}
		}
	}
}
