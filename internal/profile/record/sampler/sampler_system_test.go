//go:build system && linux

package sampler

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"headroom/internal/profile"
	"headroom/internal/profile/record/symbols"
)

// busy starts a load, and has a file for it to read in memory.
func busy(t *testing.T, arguments ...string) (pid int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("all CPUs are sampled by root alone")
	}
	if _, err := exec.LookPath("fio"); err != nil {
		t.Skip("no fio")
	}
	fio := exec.Command("fio", append([]string{"--name=sampled", "--thread=0", "--time_based", "--runtime=600",
		"--output=/dev/null"}, arguments...)...)
	fio.Dir = t.TempDir()
	if err := fio.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fio.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		_ = fio.Wait() // it was interrupted
	})
	return worker(t, fio.Process.Pid)
}

// worker is the process that does fio's job, once it is there.
func worker(t *testing.T, fio int) int {
	t.Helper()
	children := filepath.Join("/proc", strconv.Itoa(fio), "task", strconv.Itoa(fio), "children")
	for range 600 {
		text, err := os.ReadFile(children)
		if err != nil {
			t.Fatal(err)
		}
		if of := strings.Fields(string(text)); len(of) > 0 {
			pid, err := strconv.Atoi(of[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("fio has started no job within half a minute")
	return 0
}

func options(t *testing.T, pid int) Options {
	t.Helper()
	kernel, err := symbols.ReadKernel("/proc")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Hz: 199, For: 2 * time.Second, Load: func(of int) bool { return of == pid }, Kernel: kernel}
}

func reads(t *testing.T) []string {
	return []string{"--filename=" + filepath.Join(t.TempDir(), "file"), "--size=16m", "--rw=randread", "--bs=4k",
		"--ioengine=psync"}
}

func TestSampleALoad(t *testing.T) {
	pid := busy(t, reads(t)...)
	got, missing := Sample(t.Context(), options(t, pid))
	if got == nil {
		t.Fatal(missing)
	}
	if got.Event == "cpu-clock" && !slices.ContainsFunc(missing, func(m profile.Missing) bool {
		return m.What == cycles
	}) {
		t.Errorf("no hardware counter, and nothing is said of it: %+v", missing)
	}
	var total uint64
	contexts := map[profile.Context]uint64{}
	functions := map[string]uint64{}
	for _, s := range got.Stacks {
		total += s.Count
		contexts[s.Context] += s.Count
		if len(s.Frames) == 0 {
			t.Errorf("a stack without functions: %+v", s)
		}
		if s.Context == profile.InLoad {
			if s.Task != "fio" {
				t.Errorf("the load is called %q", s.Task)
			}
			for _, f := range s.Frames {
				functions[f] += s.Count
			}
		}
	}
	t.Logf("%d samples of %s in %.2f s, %d lost, %d throttled, %d stacks; %v", got.Samples, got.Event, got.Seconds,
		got.Lost, got.Throttled, len(got.Stacks), contexts)
	if total != got.Samples || total == 0 {
		t.Errorf("%d samples, and %d in stacks", got.Samples, total)
	}
	if contexts[profile.InLoad] == 0 {
		t.Error("the load was never seen")
	}
	if functions["vfs_read"] == 0 {
		t.Errorf("nobody read: %v", functions)
	}
	for name := range functions {
		if strings.HasPrefix(name, "fio:") {
			return
		}
	}
	t.Errorf("no function of fio's: %v", functions)
}
