//go:build system

package fio

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// run runs fio on this machine, with its null engine or on a small scratch file, and returns its output.
func run(t *testing.T, argv ...string) (stdout, stderr []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	local := host.NewLocal(t.TempDir())
	if _, err := local.Run(ctx, "fio", "--version"); err != nil {
		t.Skipf("fio is not installed: %v", err)
	}
	out, err := local.Run(ctx, argv...)
	if err != nil {
		t.Fatal(err)
	}
	return out.Stdout, out.Stderr
}

// agreed repeats a load until two measurements of it agree: if the machine stops for a while, the delayed I/Os all
// count in one second, and the mean over the seconds differs from the total rate. If one of the two is wrong, they
// never agree.
func agreed(t *testing.T, load func() error) {
	t.Helper()
	var err error
	for range 8 {
		if err = load(); err == nil {
			return
		}
		t.Log(err)
	}
	t.Error(err)
}

// The command line of Argv produces a document, logs of all jobs in one file, and progress on standard output.
func TestArgvOnRealFio(t *testing.T) {
	t.Parallel()
	agreed(t, func() error { return argvOnRealFio(t, t.TempDir()) })
}

func argvOnRealFio(t *testing.T, dir string) error {
	params := map[string]string{"ioengine": "null", "rw": "randrw", "bs": "4k", "size": "1g", "numjobs": "2",
		"group_reporting": "1",
		"time_based":      "1", "runtime": "5", "rate_iops": "200,100"}
	output := filepath.Join(dir, "out.json")
	stdout, stderr := run(t,
		Argv("x", params, Options{Output: output, Logs: filepath.Join(dir, "log"), Progress: true})...)
	if len(stderr) > 0 {
		t.Errorf("fio says %s", stderr)
	}
	if eta, ok := LastETA(stdout); !ok || eta.IOPS[lab.Read] == 0 || !eta.Known {
		return fmt.Errorf("progress is %+v %v of %q", eta, ok, stdout)
	}
	docs, err := ParseBytes(read(t, output))
	if err != nil || len(docs) != 1 {
		t.Fatal(len(docs), err)
	}
	g := docs[0].Groups()[0]
	// Both jobs are in it, and in the logs, at a limit of 200 reads a second for each.
	iops := g.Values["read.iops"]
	if iops <= 200 || iops > 410 {
		return fmt.Errorf("read.iops is %v", iops)
	}
	for _, c := range []struct {
		quantity, suffix string
		want             float64
	}{{"iops", "_iops.log", iops}, {"bandwidth", "_bw.log", iops * 4096}} {
		samples, err := ParseLog(bytes.NewReader(read(t, filepath.Join(dir, "log"+c.suffix))))
		if err != nil {
			t.Fatal(err)
		}
		series := Series(samples, c.quantity, time.Second)
		if len(series) != 2 || len(series[0].Values) < 2 {
			return fmt.Errorf("%s: series %v", c.quantity, series)
		}
		mean := 0.0
		for _, v := range series[0].Values {
			mean += v / float64(len(series[0].Values))
		}
		if math.Abs(mean/c.want-1) > 0.3 { // one of two jobs would be half
			return fmt.Errorf("%s: series %v, and %v in the document", c.quantity, series[0], c.want)
		}
	}
	return nil
}

// The output for people and the JSON of one run agree, as far as the former was not rounded.
func TestTextAndJSONAgree(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "scratch")
	stdout, _ := run(t, "fio", "--output-format=normal,json", "--eta=never", "--filename="+file, "--size=4m", "--bs=4k",
		"--runtime=1", "--time_based",
		"--name=w", "--rw=randwrite", "--fsync=8", "--name=r", "--stonewall", "--rw=randread", "--numjobs=2",
		"--group_reporting")
	docs, err := ParseBytes(stdout)
	if err != nil || len(docs) != 1 {
		t.Fatal(len(docs), err)
	}
	blocks, _, err := ParseText(bytes.NewReader(stdout))
	if err != nil || len(blocks) != 1 {
		t.Fatal(len(blocks), err)
	}
	printed, text := docs[0].Groups(), blocks[0].Document.Groups()
	if len(printed) != 2 || len(text) != 2 {
		t.Fatalf("%d groups in JSON, %d in text", len(printed), len(text))
	}
	for i := range printed {
		if text[i].Name != printed[i].Name || text[i].Params["rw"] != printed[i].Params["rw"] ||
			text[i].Params["bs"] != "4k" {
			t.Errorf("%s %v against %s %v", text[i].Name, text[i].Params, printed[i].Name, printed[i].Params)
		}
		if len(text[i].Values) < 10 {
			t.Errorf("%s: only %v", text[i].Name, text[i].Values)
		}
		for metric, v := range text[i].Values {
			want := printed[i].Values[metric]
			// Percentiles are printed in whole microseconds, rounded up, and in whole milliseconds if none is below two
			// of them. The text has no run time of each member of a group, which its share of CPU time is relative to.
			slack := 0.01*want + 1.1e-6
			switch {
			case strings.HasPrefix(metric, "cpu.") && printed[i].Name == "r":
				continue
			case strings.HasPrefix(metric, "cpu."):
				slack = 0.1 * want
			case strings.Contains(metric, ".latency.p") && want > 2e-3:
				slack = max(slack, 1.1e-3)
			// fio truncates the fraction, and on a busy disk there are only eight flushed writes a second
			case strings.HasSuffix(metric, ".iops"):
				slack = max(slack, 1)
			}
			if math.Abs(v-want) > slack {
				t.Errorf("%s: %s is %v in text, %v in JSON", text[i].Name, metric, v, want)
			}
		}
	}
}

// fio adds up the samples of all jobs under group_reporting, so that they can replace a rate.
func TestSamplesAreThoseOfAllJobs(t *testing.T) {
	t.Parallel()
	agreed(t, func() error { return samplesOfAllJobs(t) })
}

func samplesOfAllJobs(t *testing.T) error {
	command := "# fio --name=s --rw=randread --numjobs=8 --group_reporting\n"
	stdout, _ := run(t, "fio", "--name=s", "--ioengine=null", "--size=1g", "--rw=randread", "--bs=8k", "--numjobs=8",
		"--group_reporting",
		"--runtime=3", "--time_based", "--rate_iops=100", "--eta=never")
	var kept strings.Builder
	for line := range strings.Lines(string(stdout)) {
		if iopsLine().MatchString(line) || bandwidthLine().MatchString(line) {
			kept.WriteString(line)
		}
	}
	blocks, _, err := ParseText(strings.NewReader(command + kept.String()))
	if err != nil || len(blocks) != 1 {
		t.Fatalf("%d blocks, %v of %s", len(blocks), err, stdout)
	}
	g := blocks[0].Document.Groups()[0]
	whole, _, err := ParseText(strings.NewReader(command + string(stdout)))
	if err != nil || len(whole) != 1 {
		t.Fatalf("%d blocks, %v of %s", len(whole), err, stdout)
	}
	for metric, want := range whole[0].Document.Groups()[0].Values {
		// one of eight jobs would be an eighth
		if v := g.Values[metric]; (metric == "read.iops" || metric == "read.bandwidth") && math.Abs(v/want-1) > 0.3 {
			return fmt.Errorf("the samples say %v of 8 jobs, where %s is %v", v, metric, want)
		}
	}
	if g.Values["read.iops"] <= 0 || g.Values["read.bandwidth"] <= 0 {
		return fmt.Errorf("the samples say %v", g.Values)
	}
	return nil
}

// fio runs a job file as it was parsed: the number of I/Os follows from size and block size.
func TestJobFileOnRealFio(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.fio")
	if err := os.WriteFile(file, []byte(sampleJobFile), 0o600); err != nil {
		t.Fatal(err)
	}
	sections, err := ParseJobFile(strings.NewReader(sampleJobFile))
	if err != nil {
		t.Fatal(err)
	}
	stdout, _ := run(t, "fio", "--output-format=json", file)
	docs, err := ParseBytes(stdout)
	if err != nil || len(docs) != 1 || len(docs[0].Jobs) != len(sections) {
		t.Fatalf("%v: %s", err, stdout)
	}
	for i, j := range docs[0].Jobs {
		want := map[string]int64{"4k": 16, "8k": 8}[sections[i].Params["bs"]]
		if j.Name != sections[i].Name || j.Directions[lab.Read].IOs != want {
			t.Errorf("fio ran %q with %d I/Os, read were %q with %v", j.Name, j.Directions[lab.Read].IOs,
				sections[i].Name, sections[i].Params)
		}
	}
}

// The input that job files refuse is what fio reads in an unexpected way.
func TestBlanksAfterEqualsOnRealFio(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.fio")
	if err := os.WriteFile(file, []byte("[a]\nioengine=null\nsize=4k\nbs = 1k\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _ := run(t, "fio", "--output-format=json", file)
	docs, err := ParseBytes(stdout)
	if err == nil && docs[0].Jobs[0].Directions[lab.Read].IOs == 4 {
		t.Error("this fio skips blanks after =; they need not be refused any more")
	}
}

// TestReportsOfRealFio checks that the reports of a running fio are not added up: the last one counts.
func TestReportsOfRealFio(t *testing.T) {
	t.Parallel()
	stdout, _ := run(t, "fio", "--name=s", "--ioengine=null", "--size=1g", "--rw=randread", "--bs=8k", "--numjobs=2",
		"--runtime=3", "--time_based", "--rate_iops=100", "--status-interval=1", "--eta=never")
	issued := issuedIn(string(stdout))
	blocks, lost, err := ParseText(bytes.NewReader(stdout))
	if err != nil || len(blocks) != 1 || len(lost) > 0 || len(issued) < 4 {
		t.Fatalf("%d blocks, %v, lines %v are lost, of\n%s", len(blocks), err, lost, stdout)
	}
	groups := blocks[0].Document.Groups()
	if want := issued[len(issued)-2] + issued[len(issued)-1]; len(groups) != 1 || groups[0].IOs != want {
		t.Errorf("%d groups, the first with %d reads, want %d, of\n%s", len(groups), groups[0].IOs, want, stdout)
	}
}

// issuedIn returns how many reads each entry of fio's output has.
func issuedIn(text string) (reads []int64) {
	for line := range strings.Lines(text) {
		if m := issuedLine().FindStringSubmatch(line); m != nil {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			reads = append(reads, n)
		}
	}
	return reads
}

// TestLoopsOverRealFio checks that each pass of a shell's loop is a separate result, with its options.
func TestLoopsOverRealFio(t *testing.T) {
	t.Parallel()
	loop := "for bs in 4k 64k; do fio --name=t --ioengine=null --size=1m --rw=read --bs=$bs --eta=never"
	for name, line := range map[string]string{"whole": loop + "; done",
		"lines with IOPS": loop + " | grep IOPS; done"} {
		stdout, _ := run(t, "sh", "-c", line)
		blocks, lost, err := ParseText(strings.NewReader("root@pve1:~# " + line + "\n" + string(stdout)))
		if err != nil || len(blocks) != 2 || len(lost) > 0 {
			t.Fatalf("%s: %d blocks, %v, lines %v are lost, of\n%s", name, len(blocks), err, lost, stdout)
		}
		for i, bs := range []string{"4k", "64k"} {
			g := blocks[i].Document.Groups()[0]
			if reads := int64([]int{256, 16}[i]); g.Params["bs"] != bs || name == "whole" && g.IOs != reads {
				t.Errorf("%s, pass %d: %d reads of %s, want %d of %s", name, i, g.IOs, g.Params["bs"], reads, bs)
			}
		}
	}
}

// TestTerseAndJSONAgree checks that the terse output and the JSON of one run agree, as far as the former was not
// truncated.
func TestTerseAndJSONAgree(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3", "4", "5"} {
		file := filepath.Join(t.TempDir(), "scratch")
		stdout, _ := run(t, "fio", "--output-format=terse,json", "--terse-version="+version, "--filename="+file,
			"--size=4m", "--bs=4k", "--name=m", "--rw=randrw", "--name=r", "--stonewall", "--rw=randread",
			"--numjobs=2")
		docs, err := ParseBytes(stdout)
		if err != nil || len(docs) != 1 {
			t.Fatal(len(docs), err)
		}
		command := "# fio --name=m --rw=randrw --bs=4k --name=r --rw=randread --bs=4k --numjobs=2\n"
		blocks, lost, err := ParseText(strings.NewReader(command + string(stdout)))
		if err != nil || len(blocks) != 1 || len(lost) > 0 {
			t.Fatalf("version %s: %d blocks, lines %v are lost, %v of %s", version, len(blocks), lost, err, stdout)
		}
		printed, terse := docs[0].Groups(), blocks[0].Document.Groups()
		if len(printed) != 2 || len(terse) != 2 || len(terse[1].Jobs) != 2 {
			t.Fatalf("version %s: %d groups in JSON, %d in terse output", version, len(printed), len(terse))
		}
		for i := range printed {
			for metric, v := range terse[i].Values {
				want := printed[i].Values[metric]
				slack := 0.01*want + 1.1e-6 // whole microseconds
				switch {
				case strings.HasPrefix(metric, "cpu."):
					slack = 0.1 * want
				case strings.HasSuffix(metric, ".bandwidth"):
					slack += 1024 * 2 // two jobs
				case strings.HasSuffix(metric, ".iops"):
					slack += 2
				}
				if math.Abs(v-want) > slack {
					t.Errorf("version %s, %s: %s is %v in terse output, %v in JSON", version, terse[i].Name, metric,
						v, want)
				}
			}
			if len(terse[i].Values) < 8 {
				t.Errorf("version %s: only %v", version, terse[i].Values)
			}
		}
	}
}
