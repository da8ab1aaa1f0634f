package record

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/profile"
)

// machine has the properties that determine what can be traced.
type machine struct {
	root bool
	// lockdown is "none", "integrity" or "confidentiality"; empty if unknown.
	lockdown string
	// ftrace is kernel.ftrace_enabled: "1"; empty if there is no such setting.
	ftrace string
	// tracers are the tracers that the kernel has.
	tracers []string
	// configured is the value of CONFIG_FUNCTION_TRACER, "y", "n", or empty if the configuration is not available.
	configured string
}

func readMachine(t *tracefs) machine {
	m := machine{root: os.Getuid() == 0, lockdown: readLockdown(), configured: functionTracerOption()}
	if text, err := os.ReadFile("/proc/sys/kernel/ftrace_enabled"); err == nil {
		m.ftrace = strings.TrimSpace(string(text))
	}
	if t != nil {
		if text, err := t.ReadFile("available_tracers"); err == nil {
			m.tracers = strings.Fields(string(text))
		}
	}
	return m
}

// lockdownLevel parses /sys/kernel/security/lockdown: "none [integrity] confidentiality".
func lockdownLevel(text string) string {
	_, rest, _ := strings.Cut(text, "[")
	level, _, _ := strings.Cut(rest, "]")
	return level
}

// functionTracerOption returns the option with which the running kernel was built.
func functionTracerOption() string {
	const option = "CONFIG_FUNCTION_TRACER"
	text := kernelConfig()
	switch {
	case strings.Contains(text, "\n"+option+"=y\n"):
		return "y"
	case text != "":
		return "n"
	}
	return ""
}

func kernelConfig() string {
	if f, err := os.Open("/proc/config.gz"); err == nil {
		defer f.Close()
		if z, err := gzip.NewReader(f); err == nil {
			text, err := io.ReadAll(z)
			if err == nil {
				return string(text)
			}
		}
	}
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	text, err := os.ReadFile("/boot/config-" + strings.TrimSpace(string(release)))
	if err != nil {
		return ""
	}
	return string(text)
}

// Names of missing data of the part Calls.
const (
	functionCalls     = "function calls"
	staticTracepoints = "static tracepoints"
)

// noTracefs explains why tracefs can't be used.
func (m machine) noTracefs(what string, err error) profile.Missing {
	miss := profile.Missing{What: what, Why: err.Error()}
	switch {
	case errors.Is(err, syscall.ENODEV):
		miss.Why = "the kernel has no tracefs"
		miss.Hint = "use a kernel with CONFIG_FTRACE and CONFIG_FUNCTION_TRACER"
	case !m.root:
		miss.Hint = "run as root: tracing takes CAP_SYS_ADMIN"
	case m.lockdown == "confidentiality":
		miss.Why += "; the kernel is locked down (confidentiality)"
		miss.Hint = "boot without lockdown=confidentiality"
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		miss.Hint = "give the container CAP_SYS_ADMIN: privileged: true"
	case errors.Is(err, errors.ErrUnsupported):
		miss.Why, miss.Hint = "this is not Linux", "profile a Linux machine"
	default:
		miss.Hint = "look for tracefs: mount -t tracefs tracefs /sys/kernel/tracing"
	}
	return miss
}

// withoutFunctions explains why the kernel can't trace functions, before it is tried; false if it may work.
func (m machine) withoutFunctions() (profile.Missing, bool) {
	miss := profile.Missing{What: functionCalls}
	switch {
	case !slices.Contains(m.tracers, "function"):
		miss.Why = "the kernel has no function tracer"
		if m.configured == "n" {
			miss.Why += " (CONFIG_FUNCTION_TRACER is not set)"
		}
		miss.Hint = "use a kernel with CONFIG_FUNCTION_TRACER=y"
	case m.ftrace == "0":
		miss.Why, miss.Hint = "kernel.ftrace_enabled is 0", "sysctl kernel.ftrace_enabled=1"
	default:
		return profile.Missing{}, false
	}
	return miss, true
}

// refusedFunctions explains the kernel's refusal to trace functions.
func (m machine) refusedFunctions(err error) profile.Missing {
	miss := profile.Missing{What: functionCalls,
		Why: fmt.Sprintf("the kernel refused the function tracer (%v)", reason(err))}
	locked := m.lockdown != "" && m.lockdown != "none"
	switch {
	case locked:
		miss.Why += fmt.Sprintf("; it is locked down (%s)", m.lockdown)
		miss.Hint = "boot without lockdown= and secure boot; static tracepoints are counted"
	case errors.Is(err, syscall.EBUSY):
		miss.Hint = "end what traces or patches the kernel's functions (trace-cmd, perf, live patches)"
	case errors.Is(err, syscall.ENOMEM):
		miss.Hint = "free memory: the tracer's tables take some megabytes"
	case errors.Is(err, syscall.ENODEV):
		miss.Hint = "look for \"ftrace\" in the kernel's log: it has switched itself off"
	default:
		miss.Hint = "look into the kernel's log; static tracepoints are counted"
	}
	return miss
}

// reason returns the error of a file without the file's name.
func reason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// broken describes a failure of something that should have worked.
func broken(what string, err error) profile.Missing {
	miss := profile.Missing{What: what, Why: err.Error(), Hint: "look into the kernel's log"}
	switch {
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		miss.Hint = "run as root on the machine itself, or in a privileged container"
	case errors.Is(err, syscall.ENOMEM):
		miss.Hint = "free memory: trace buffers take some megabytes for each CPU"
	}
	return miss
}

// endedEarly describes data for which a load was too short.
func endedEarly(what string) profile.Missing {
	return profile.Missing{What: what, Why: "the load had ended before", Hint: "let the load run longer"}
}
