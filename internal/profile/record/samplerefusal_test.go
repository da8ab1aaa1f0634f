package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSampleRefusals(t *testing.T) {
	proc := t.TempDir()
	if err := os.MkdirAll(filepath.Join(proc, "sys/kernel"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"perf_event_paranoid": "3\n", "perf_event_mlock_kb": "16\n"} {
		if err := os.WriteFile(filepath.Join(proc, "sys/kernel", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	opened := func(err error) error { return os.NewSyscallError("perf_event_open", err) }
	mapped := func(err error) error { return fmt.Errorf("%w: %w", errRing, os.NewSyscallError("mmap", err)) }
	for _, c := range []struct {
		err       error
		why, hint string
	}{
		{opened(syscall.EACCES), "perf_event_open: permission denied (kernel.perf_event_paranoid is 3)",
			"sysctl kernel.perf_event_paranoid=-1"},
		{opened(syscall.EPERM), "seccomp", "CAP_PERFMON"},
		{opened(syscall.ENOSYS), "not implemented", "CONFIG_PERF_EVENTS"},
		{opened(syscall.EMFILE), "too many open files", "ulimit -n"},
		{mapped(syscall.EPERM), "memory for records: mmap: operation not permitted (kernel.perf_event_mlock_kb is 16)",
			"sysctl kernel.perf_event_mlock_kb=1024"},
		{mapped(syscall.ENOMEM), "cannot allocate memory", "perf_event_mlock_kb"},
		{opened(syscall.EBUSY), "perf_event_open: device or resource busy", "the kernel's log"},
	} {
		m := refused(samples, proc, c.err)
		if m.What != "samples" || !strings.Contains(m.Why, c.why) || !strings.Contains(m.Hint, c.hint) {
			t.Errorf("%v: %+v", c.err, m)
		}
	}
	if m := refused(samples, t.TempDir(), opened(syscall.EACCES)); strings.Contains(m.Why, "paranoid") {
		t.Errorf("a value that nobody could read: %+v", m)
	}
	if m := noCounter(opened(syscall.ENOENT)); m.What != "hardware cycles" || !strings.Contains(m.Why, "cpu-clock") {
		t.Errorf("%+v", m)
	}
}

func TestNominalFrequency(t *testing.T) {
	sys, proc := t.TempDir(), t.TempDir()
	if got := nominalHz(sys, proc); got != 0 {
		t.Errorf("%d of nothing", got)
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cpufreq := filepath.Join(sys, "devices/system/cpu/cpu0/cpufreq")
	write(filepath.Join(proc, "cpuinfo"), "processor\t: 0\ncpu MHz\t\t: 2899.998\ncpu MHz\t\t: 800.000\n")
	if got := nominalHz(sys, proc); got != 2899998000 {
		t.Error(got)
	}
	write(filepath.Join(cpufreq, "cpuinfo_max_freq"), "3500000\n")
	if got := nominalHz(sys, proc); got != 3500000000 {
		t.Error(got)
	}
	write(filepath.Join(cpufreq, "base_frequency"), "2100000\n")
	if got := nominalHz(sys, proc); got != 2100000000 {
		t.Error(got)
	}
	write(filepath.Join(proc, "cpuinfo"), "cpu MHz : x\nBogoMIPS : 50.00\n")
	if got := presentHz([]byte("cpu MHz : x\n")); got != 0 {
		t.Error(got)
	}
}
