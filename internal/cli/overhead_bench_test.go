//go:build bench && system

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// What a job costs besides fio itself: wall-clock time, memory and CPU time of the headroom process.
func TestOverheadPerJob(t *testing.T) {
	// As it is shipped: the tests' own is larger. It lies in memory, where pages have one size. On a disk the page
	// cache keeps a file in larger pieces when it was read ahead, a fault maps more of such a piece, and the same
	// program has 41 MB in place of 24, of which 9 are its own.
	headroom := binaryBelow(t, "/dev/shm")
	dir := t.TempDir()
	suiteFile := filepath.Join(dir, "one.yaml")
	text := `{version: 1, name: one, title: one, place: directory, repetitions: 1, size: 16m, jobs: [{name: one, fio: {ioengine: psync, rw: randread, bs: 4k, runtime: 1, time_based: 1, rate_iops: 1000}}]}`
	if err := os.WriteFile(suiteFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "plain")
	plain := exec.Command("fio", "--name=one", "--filename="+file, "--size=16m", "--ioengine=psync", "--rw=randread",
		"--bs=4k", "--runtime=1", "--time_based", "--rate_iops=1000", "--output-format=json+")
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
		cmd := exec.Command(headroom, "run", suiteFile, dir, "--repeat", strconv.Itoa(jobs), "--store",
			filepath.Join(dir, "store"))
		return watch(t, cmd)
	}
	few, many := run(2), run(12)
	wall := (many.wall-few.wall)/10 - stat.Median(plainWalls)
	cpu := (many.cpu - few.cpu) / (many.wall - few.wall)
	for _, f := range []figure.Figure{
		{Name: "overhead/time", Unit: "s", Center: wall, N: 10, Better: figure.Lower,
			Text: "time that headroom adds to a job"},
		{Name: "overhead/memory", Unit: "B", Center: stat.Median(many.resident), N: 12, Better: figure.Lower,
			Text: "memory of the headroom process while jobs run"},
		{Name: "overhead/memory-at-most", Unit: "B", Center: many.peak, N: 12, Better: figure.Lower,
			Text: "memory of the headroom process at most"},
		{Name: "overhead/cpu", Unit: "share", Center: cpu, N: 10, Better: figure.Lower,
			Text: "CPU of the headroom process while a job runs, of one core"},
	} {
		figure.Record(t, f)
	}
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

type consumption struct {
	wall, cpu, peak float64
	resident        []float64 // at each look
}

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
			if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
				kb, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				u.resident = append(u.resident, kb*1024)
			}
		}
	}
}
