package facts

import (
	"io/fs"
	"strconv"
	"strings"

	"headroom/internal/lab"
)

const (
	releasePath = "/proc/sys/kernel/osrelease"
	preemptPath = "/sys/kernel/debug/sched/preempt"
)

func collectKernel(fsys fs.FS, _ Scope) []lab.Fact {
	r := reader{fsys}
	return []lab.Fact{
		r.fact("kernel.release", releasePath),
		r.fact("kernel.version", "/proc/sys/kernel/version"),
		r.since("kernel.arch", "/proc/sys/kernel/arch", 6, 1),
		r.list("kernel.cmdline", "/proc/cmdline"),
		tainted(r),
		preemption(r),
		r.list("kernel.lsm", "/sys/kernel/security/lsm"),
		r.since("kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled", 6, 6),
		r.fact("kernel.aio_max_nr", "/proc/sys/fs/aio-max-nr"),
		r.fact("boot.id", "/proc/sys/kernel/random/boot_id"),
		uptime(r),
		r.fact("clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		r.fact("clock.available", "/sys/devices/system/clocksource/clocksource0/available_clocksource"),
		r.fact("nvme.poll_queues", "/sys/module/nvme/parameters/poll_queues"),
		r.fact("nvme.default_ps_max_latency_us", "/sys/module/nvme_core/parameters/default_ps_max_latency_us"),
		r.fact("nvme.multipath", "/sys/module/nvme_core/parameters/multipath"),
		iommuGroups(r),
	}
}

// taintLetters are the flags of /proc/sys/kernel/tainted, bit 0 first. Source: the kernel's
// Documentation/admin-guide/tainted-kernels.rst.
const taintLetters = "PFSRMBUDAWCIOELKXTNJ"

// tainted names the flags as the kernel's own oops messages do: "none", "OE" (an unsigned module from out of the tree).
func tainted(r reader) lab.Fact {
	f := r.fact("kernel.tainted", "/proc/sys/kernel/tainted")
	bits, err := strconv.ParseUint(f.Value, 10, 64)
	if f.Unknown != "" || err != nil {
		return f
	}
	var letters strings.Builder
	for i, c := range taintLetters {
		if bits&(1<<i) != 0 {
			letters.WriteRune(c)
		}
	}
	if f.Value = letters.String(); bits == 0 {
		f.Value = none
	}
	return f
}

// preemption finds the preemption mode: what the scheduler says (root, debugfs), else the command line, else the build. A
// kernel built with PREEMPT_DYNAMIC that says nothing else could be in any mode.
//
//	/sys/kernel/debug/sched/preempt:  none voluntary (full) lazy
//	/proc/sys/kernel/version:         #1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1 (2026-04-03)
//	/proc/sys/kernel/version:         #33-Ubuntu SMP PREEMPT_RT Thu Feb 5 10:03:21 UTC 2026
func preemption(r reader) lab.Fact {
	const key = "kernel.preempt"
	modes, err := r.text(preemptPath)
	if _, mode, found := strings.Cut(modes, "("); err == nil && found {
		mode, _, _ = strings.Cut(mode, ")")
		return known(key, mode, preemptPath)
	}
	cmdline, _ := r.text("/proc/cmdline")
	for word := range strings.FieldsSeq(cmdline) {
		if mode, ok := strings.CutPrefix(word, "preempt="); ok {
			return known(key, mode, "/proc/cmdline")
		}
	}
	const versionPath = "/proc/sys/kernel/version"
	version, verr := r.text(versionPath)
	switch {
	case verr != nil:
		return unknown(key, versionPath, why(verr))
	case strings.Contains(version, "PREEMPT_RT"):
		return known(key, "rt", versionPath)
	case strings.Contains(version, "PREEMPT_DYNAMIC") && err != nil:
		return unknown(key, preemptPath, "set at boot, and the place to read it: "+why(err))
	case strings.Contains(version, "PREEMPT_DYNAMIC"):
		return unknown(key, preemptPath, "set at boot, and no mode is marked")
	case strings.Contains(version, "PREEMPT"):
		return known(key, "full", versionPath)
	}
	return known(key, "none or voluntary", versionPath)
}

// uptime is the seconds since boot: the first of the two numbers of /proc/uptime, "350735.47 234388.90".
func uptime(r reader) lab.Fact {
	f := r.fact("boot.uptime", "/proc/uptime")
	f.Value, _, _ = strings.Cut(f.Value, " ")
	return f
}

// iommuGroups counts the groups that devices are in; none means that DMA is not translated.
func iommuGroups(r reader) lab.Fact {
	const dir = "/sys/kernel/iommu_groups"
	if !r.exists(dir) {
		return unknown("iommu.groups", dir, "no such file here")
	}
	return known("iommu.groups", strconv.Itoa(len(r.names(dir))), dir)
}

func collectOS(fsys fs.FS, _ Scope) []lab.Fact {
	r := reader{fsys}
	return append(osRelease(r),
		r.fact("host.name", "/proc/sys/kernel/hostname"),
		privileged(r))
}

// osRelease reads the name and the version. Source: os-release(5), which also gives the order of the two places.
//
//	PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
//	ID=debian
//	VERSION_ID="12"
func osRelease(r reader) []lab.Fact {
	source := "/etc/os-release"
	text, err := r.text(source)
	if err != nil {
		source = "/usr/lib/os-release"
		text, err = r.text(source)
	}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[key] = strings.Trim(value, `"'`)
		}
	}
	var found []lab.Fact
	for _, f := range [][2]string{{"os.name", "PRETTY_NAME"}, {"os.id", "ID"}, {"os.version", "VERSION_ID"}} {
		switch value := values[f[1]]; {
		case err != nil:
			found = append(found, unknown(f[0], source, why(err)))
		case value == "":
			found = append(found, unknown(f[0], source, "the file does not say "+f[1]))
		default:
			found = append(found, known(f[0], value, source))
		}
	}
	return found
}

// privileged says whether the collectors ran as root, which explains most of what is unknown.
func privileged(r reader) lab.Fact {
	const key, source = "user.root", "/proc/self/status"
	text, err := r.text(source)
	if err != nil {
		return unknown(key, source, why(err))
	}
	for line := range strings.Lines(text) {
		// The second number is the effective user: "Uid:	1000	1000	1000	1000".
		if f := strings.Fields(line); len(f) > 2 && f[0] == "Uid:" {
			if f[2] == "0" {
				return known(key, "yes", source)
			}
			return known(key, "no", source)
		}
	}
	return unknown(key, source, "the file has no line Uid:")
}
