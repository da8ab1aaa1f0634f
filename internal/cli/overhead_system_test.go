//go:build system

package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"headroom/internal/load/fio"
	"headroom/internal/report"
	"headroom/internal/stat"
)

// Measuring must not disturb what is measured. Here headroom runs one job and plain fio runs the same job, in turn
// (ABBA), and the interval of the ratio of what they report must lie close to 1.

func TestDisturbanceOnARateLimitedFile(t *testing.T) {
	testDisturbance(t, disturbance{
		pairs: 12, most: 24, within: 0.005,
		params: map[string]string{"ioengine": "psync", "rw": "randread", "bs": "4k", "size": "16m", "runtime": "2", "time_based": "1", "rate_iops": "2000"},
	})
}

func TestDisturbanceOnTheNullEngine(t *testing.T) {
	testDisturbance(t, disturbance{
		pairs: 40, most: 120, within: 0.02,
		params: map[string]string{"ioengine": "null", "rw": "randread", "bs": "4k", "size": "1g", "runtime": "1", "time_based": "1"},
	})
}

type disturbance struct {
	// pairs are measured, and more up to most while the interval is wider than within: what is waited for is a sharp
	// answer on a noisy machine, not a certain one.
	pairs, most int
	within      float64
	params      map[string]string
}

func testDisturbance(t *testing.T, d disturbance) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "plain")
	suiteFile := filepath.Join(dir, "one.yaml")
	var list []string
	for k, v := range d.params {
		list = append(list, fmt.Sprintf("%s: %q", k, v))
	}
	text := "version: 1\nname: one\ntitle: one job\nplace: directory\nrepetitions: 1\njobs:\n  - {name: one, fio: {" + strings.Join(list, ", ") + "}}\n"
	if err := os.WriteFile(suiteFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	storage := d.params["ioengine"] != "null"
	if storage { // laid out before, as headroom's is
		lay := exec.Command("fio", "--name=lay", "--filename="+file, "--rw=write", "--bs=1m", "--size="+d.params["size"], "--refill_buffers", "--end_fsync=1")
		if out, err := lay.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	plain := func() float64 {
		name := file
		if !storage {
			name = ""
		}
		argv := fio.Argv("one", d.params, fio.Options{Filename: name})
		out, err := exec.Command(argv[0], argv[1:]...).Output()
		if err != nil {
			t.Fatal(err)
		}
		documents, err := fio.ParseBytes(out)
		if err != nil || len(documents) != 1 {
			t.Fatal(len(documents), err)
		}
		return documents[0].Groups()[0].Values["read.iops"]
	}
	ours := func() float64 {
		cmd := exec.Command("headroom", "run", suiteFile, dir, "--json", "--store", filepath.Join(dir, "store"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var s report.Summary
		if err := json.Unmarshal(out, &s); err != nil {
			t.Fatal(err)
		}
		return s.Cells[0].Metrics["read.iops"].Center
	}
	var logs []float64
	var interval stat.Interval
	for i := 0; i < d.pairs || i < d.most && interval.Hi-interval.Lo > d.within; i++ {
		var a, b float64
		if i%2 == 0 {
			a, b = ours(), plain()
		} else {
			b, a = plain(), ours()
		}
		logs = append(logs, math.Log(a/b))
		interval = stat.MedianInterval(logs, 0.95)
	}
	lo, hi := math.Exp(interval.Lo), math.Exp(interval.Hi)
	t.Logf("figure: headroom / plain fio, IOPS: %.4f [%.4f, %.4f], n=%d pairs", math.Exp(interval.Center), lo, hi, len(logs))
	if lo < 1-d.within || hi > 1+d.within {
		t.Errorf("[%.4f, %.4f] does not lie within %.1f%%", lo, hi, 100*d.within)
	}
}

// What a job costs besides fio itself: wall-clock time, memory and CPU time of the headroom process.
func TestOverheadPerJob(t *testing.T) {
	const jobSeconds = 1.0
	dir := t.TempDir()
	suiteFile := filepath.Join(dir, "one.yaml")
	text := `{version: 1, name: one, title: one, place: directory, repetitions: 1, size: 16m, jobs: [{name: one, fio: {ioengine: psync, rw: randread, bs: 4k, runtime: 1, time_based: 1, rate_iops: 1000}}]}`
	if err := os.WriteFile(suiteFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "plain")
	plain := exec.Command("fio", "--name=one", "--filename="+file, "--size=16m", "--ioengine=psync", "--rw=randread", "--bs=4k", "--runtime=1", "--time_based", "--rate_iops=1000", "--output-format=json+")
	lay := exec.Command("fio", "--name=lay", "--filename="+file, "--rw=write", "--bs=1m", "--size=16m")
	if out, err := lay.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var plainWalls []float64
	for range 5 {
		start := time.Now()
		if out, err := exec.Command(plain.Path, plain.Args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		plainWalls = append(plainWalls, time.Since(start).Seconds())
	}
	run := func(jobs int) consumption {
		cmd := exec.Command("headroom", "run", suiteFile, dir, "--repeat", strconv.Itoa(jobs), "--store", filepath.Join(dir, "store"))
		return watch(t, cmd)
	}
	few, many := run(2), run(12)
	wall := (many.wall-few.wall)/10 - stat.Median(plainWalls)
	cpu := (many.cpu - few.cpu) / (many.wall - few.wall)
	t.Logf("figure: added per job: %.3f s; memory of headroom: %.1f MB at most; CPU: %.2f%% of one core while jobs of %g s run", wall, many.peak/1e6, 100*cpu, jobSeconds)
	if wall > 0.3 {
		t.Errorf("%.3f s are added per job", wall)
	}
	if many.peak > 30e6 {
		t.Errorf("%.1f MB of memory", many.peak/1e6)
	}
	if cpu > 0.01 {
		t.Errorf("%.2f%% of a core", 100*cpu)
	}
}

type consumption struct{ wall, cpu, peak float64 }

// watch runs a command and reads what its own process uses, without its children, from /proc.
func watch(t *testing.T, cmd *exec.Cmd) consumption {
	t.Helper()
	var u consumption
	start := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			u.wall = time.Since(start).Seconds()
			return u
		case <-time.After(20 * time.Millisecond):
			u.read(cmd.Process.Pid)
		}
	}
}

func (u *consumption) read(pid int) {
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if len(fields) > 12 {
			user, _ := strconv.ParseFloat(fields[11], 64)
			system, _ := strconv.ParseFloat(fields[12], 64)
			u.cpu = max(u.cpu, (user+system)/100) // the kernel's USER_HZ is 100 everywhere
		}
	}
	if data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)); err == nil {
		for line := range strings.Lines(string(data)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				u.peak = max(u.peak, kb*1024)
			}
		}
	}
}
