package ingest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/lab"
)

// mixedText returns results of three tools, as in a forum post, in two stages.
func mixedText(rate int) string {
	return fmt.Sprintf(`root@a:~# hdparm -tT /dev/sda
/dev/sda:
 Timing cached reads:   100 MB in  2.00 seconds = 50.00 MB/sec
 Timing buffered disk reads: 300 MB in  3.00 seconds = %d.00 MB/sec
root@a:~# dd if=/dev/zero of=/srv/x bs=1M count=1 conv=fdatasync
1+0 records in
1+0 records out
1048576 bytes (1.0 MB, 1.0 MiB) copied, 0.5 s, 2.1 MB/s
root@a:~# fio --name=t --rw=randread --bs=4k
t: (groupid=0, jobs=1): err= 0: pid=1: Fri Nov 20 19:12:30 2026
  read: IOPS=%d, BW=20.8MiB/s (21.8MB/s)(208MiB/10001msec)
`, rate, rate)
}

// TestSeveralToolsInOneText checks that all results are read in the order of the lines, since a stage begins where a
// load is repeated.
func TestSeveralToolsInOneText(t *testing.T) {
	run, sink, err := importMap(t, map[string][]byte{"post.txt": []byte(mixedText(100))}, "post.txt")
	if err != nil || len(sink.repetitions) != 3 || run.Format != "dd+fio-text+hdparm" {
		t.Fatalf("%v, %d repetitions of %s", err, len(sink.repetitions), run.Format)
	}
	for i, engine := range []string{"hdparm", "dd", "fio"} {
		if run.Cells[i].Engine != engine {
			t.Errorf("cell %d is by %s, want %s", i, run.Cells[i].Engine, engine)
		}
	}
	if len(run.Warnings) != 1 || run.Warnings[0].Code != "import-left-out" ||
		!strings.Contains(run.Warnings[0].Text, "line 3: hdparm -T measures memory") {
		t.Errorf("warnings %+v", run.Warnings)
	}
	names := []string{"before", "after"}
	sink = &collected{}
	run, err = Import(t.Context(), []Source{{Name: "two.txt"}}, names,
		fstest.MapFS{"two.txt": {Data: []byte(mixedText(100) + mixedText(200)), Mode: 0o644}}.Open, sink)
	if err != nil || len(run.Cells) != 6 {
		t.Fatalf("%v, %d cells", err, len(run.Cells))
	}
	for _, r := range sink.repetitions {
		if v, measured := r.Values[lab.IOPS(lab.Read)]; measured {
			want := map[float64]string{100: "before", 200: "after"}[v]
			for _, c := range run.Cells {
				if c.ID == r.Cell && !strings.Contains(c.Arm, want) {
					t.Errorf("%v IOPS are of the stage %s, want %s", v, c.Arm, want)
				}
			}
		}
	}
}

// TestOneToolThatCannotBeRead checks that it is left out if another tool's results can be read.
func TestOneToolThatCannotBeRead(t *testing.T) {
	text := "root@a:~# dd if=/dev/sda of=/dev/sdb\n1000 bytes (1.0 kB) copied, 1 s, 1.0 kB/s\n" +
		"root@a:~# fio --name=t --rw=randread --bs=4k\nt: (groupid=0, jobs=1): err= 0: pid=1: Fri Nov 20 19:12:30 2026\n" +
		"  read: IOPS=5, BW=20.8KiB/s (21.8kB/s)(208KiB/10001msec)\n"
	run, sink, err := importMap(t, map[string][]byte{"a.txt": []byte(text)}, "a.txt")
	if err != nil || len(sink.repetitions) != 1 || run.Cells[0].Engine != "fio" || len(run.Warnings) != 1 ||
		!strings.Contains(run.Warnings[0].Text, "line 2: dd copied here") {
		t.Errorf("%v, %v, %v", err, run.Cells, run.Warnings)
	}
}

// TestKnownButNotRead checks that a refusal names the format and what to do instead.
func TestKnownButNotRead(t *testing.T) {
	for text, want := range map[string]string{
		"Version  1.97       ------Sequential Output------\nx 8G 740\n": "this looks like bonnie++'s output, which " +
			"headroom does not read: measure with fio",
		"> \tIozone: Performance Test of File I/O\n> \t        Version 3.489\n> x\n": "this looks like iozone's output",
		"1073741824 bytes (1.1 GB) copied, 3.2 s, 335 MB/s\n": "line 1: whether dd read or wrote is not said: put its command " +
			`("dd if=… of=…") before its output (this is read as lines of dd with its command)`,
	} {
		if got := valuesOf(t, "a.txt", text); !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
