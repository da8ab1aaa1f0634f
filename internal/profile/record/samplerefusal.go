package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/profile"
)

// refused describes an error of perf_event_open(2) or of mapping its ring.
func refused(what, proc string, err error) profile.Missing {
	m := profile.Missing{What: what, Why: err.Error()}
	switch {
	case errors.Is(err, syscall.EACCES):
		if value := sysctl(proc, "perf_event_paranoid"); value != "" {
			m.Why += fmt.Sprintf(" (kernel.perf_event_paranoid is %s)", value)
		}
		m.Hint = "sysctl kernel.perf_event_paranoid=-1, or CAP_PERFMON: as root, or in a container that is given it"
	case errors.Is(err, errRing) && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOMEM)):
		if value := sysctl(proc, "perf_event_mlock_kb"); value != "" {
			m.Why += fmt.Sprintf(" (kernel.perf_event_mlock_kb is %s)", value)
		}
		m.Hint = "sysctl kernel.perf_event_mlock_kb=1024, or run as root (CAP_IPC_LOCK)"
	case errors.Is(err, syscall.EPERM):
		m.Why += ", as in a container whose seccomp profile forbids it"
		m.Hint = "a container with CAP_PERFMON and a seccomp profile that allows perf_event_open (a privileged one), " +
			"or run on the machine itself"
	case errors.Is(err, syscall.ENOSYS), errors.Is(err, os.ErrNotExist):
		m.Hint = "a kernel with CONFIG_PERF_EVENTS, as distributions have it"
	case errors.Is(err, syscall.EMFILE):
		m.Hint = "raise the limit of open files (ulimit -n)"
	default:
		m.Hint = "look into the kernel's log; function calls are counted in separate loads"
	}
	return m
}

// noCounter describes the replacement for hardware counters on a machine without them.
func noCounter(err error) profile.Missing {
	return profile.Missing{What: cycles,
		Why: "they can't be counted here (" + err.Error() + "), as in most virtual machines; a timer (cpu-clock) " +
			"samples instead, which sees code with interrupts off where they are switched on again",
		Hint: "a virtual PMU (QEMU: -cpu host,pmu=on), or a machine of metal"}
}

// errRing marks errors of mapping the memory for the kernel's records.
var errRing = errors.New("memory for records")

// sysctl returns a value of kernel.*; empty if it can't be read.
func sysctl(proc, name string) string {
	text, err := os.ReadFile(filepath.Join(proc, "sys", "kernel", name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
