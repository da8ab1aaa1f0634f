package machine

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unpack"
)

const (
	preemptPath = "/sys/kernel/debug/sched/preempt"
	CmdlinePath = "/proc/cmdline"
)

func CollectKernel(r collect.Reader, in collect.Scope) []lab.Fact {
	major, minor := versionNumbers(r)
	return []lab.Fact{
		r.Fact("kernel.release", collect.ReleasePath),
		r.Fact("kernel.version", "/proc/sys/kernel/version"),
		major, minor,
		architecture(r, in),
		r.List("kernel.cmdline", CmdlinePath),
		tainted(r),
		lockdown(r),
		preemption(r),
		r.List("kernel.lsm", "/sys/kernel/security/lsm"),
		livePatches(r),
		r.Since("kernel.io_uring_disabled", "/proc/sys/kernel/io_uring_disabled", 6, 6),
		r.Fact("kernel.aio_max_nr", "/proc/sys/fs/aio-max-nr"),
		r.Fact("kernel.aio_nr", "/proc/sys/fs/aio-nr"),
		tracer(r),
		kernelProbes(r),
		r.Fact("kernel.nmi_watchdog", "/proc/sys/kernel/nmi_watchdog"),
		r.Fact("boot.id", "/proc/sys/kernel/random/boot_id"),
		uptime(r),
		r.Fact("clock.source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
		r.Fact("clock.available", "/sys/devices/system/clocksource/clocksource0/available_clocksource"),
		r.Fact("nvme.poll_queues", "/sys/module/nvme/parameters/poll_queues"),
		r.Fact("nvme.default_ps_max_latency_us", "/sys/module/nvme_core/parameters/default_ps_max_latency_us"),
		r.Fact("nvme.multipath", "/sys/module/nvme_core/parameters/multipath"),
		collect.Chosen(r.Fact("pcie.aspm.policy", "/sys/module/pcie_aspm/parameters/policy")),
	}
}

// versionNumbers are the first two numbers of the release, for rules that hold from some version on.
func versionNumbers(r collect.Reader) (major, minor lab.Fact) {
	f := r.Fact("kernel.major", collect.ReleasePath)
	if f.Unknown == "" {
		a, b, ok := collect.KernelVersion(f.Value)
		if ok {
			return collect.Whole("kernel.major", int64(a), collect.ReleasePath),
				collect.Whole("kernel.minor", int64(b), collect.ReleasePath)
		}
		f = collect.Unknown("kernel.major", collect.ReleasePath,
			"the release does not begin with two numbers: "+collect.OneLine(f.Value))
	}
	return f, collect.Unknown("kernel.minor", collect.ReleasePath, f.Unknown)
}

// lockdown is how far root is kept from the kernel: "[none] integrity confidentiality".
func lockdown(r collect.Reader) lab.Fact {
	f := collect.Chosen(r.Fact("kernel.lockdown", "/sys/kernel/security/lockdown"))
	if lsm, err := r.Text("/sys/kernel/security/lsm"); err == nil && f.Unknown != "" &&
		!collect.HasOption(lsm, "lockdown") {
		return collect.Known(f.Key, catalogue.None, "/sys/kernel/security/lsm")
	}
	return f
}

// livePatches lists the folders of /sys/kernel/livepatch, which is there only when the kernel can be patched.
func livePatches(r collect.Reader) lab.Fact {
	const key, dir = "kernel.livepatches", "/sys/kernel/livepatch"
	entries, err := r.Entries(dir)
	if errors.Is(err, fs.ErrNotExist) && r.Exists("/sys/kernel/mm") {
		return collect.Known(key, catalogue.None, dir)
	}
	if err != nil {
		return collect.Unknown(key, dir, collect.Why(err))
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return collect.ListOf(key, names, dir)
}

// tracer returns the kernel's current tracer. The older place below debugfs is looked at only if something is mounted
// on it, or on kernels before 4.1, where it is a plain folder: newer kernels mount tracefs there on access. Source: the
// kernel's Documentation/ABI/obsolete/automount-tracefs-debugfs.
func tracer(r collect.Reader) lab.Fact {
	const old = "/sys/kernel/debug/tracing"
	files := []string{"/sys/kernel/tracing/current_tracer"}
	major, minor, ok := 0, 0, false
	if release, err := r.Text(collect.ReleasePath); err == nil {
		major, minor, ok = collect.KernelVersion(release)
	}
	m, mounted := collect.MountOf(collect.ReadMounts(r), old)
	if mounted && m.Point == old || ok && (major < 4 || major == 4 && minor < 1) {
		files = append(files, old+"/current_tracer")
	}
	return r.First("kernel.tracer", files...)
}

// kernelProbes counts the kprobes that are hit, a line each. One that is disabled, or whose code is gone, is not.
// Source: the kernel's kernel/kprobes.c (report_probe).
//
//	ffffffff8111d4e0  k  do_sys_openat2+0x0    [FTRACE]
//	ffffffffc02d1000  r  nvme_queue_rq+0x0  nvme [DISABLED]
func kernelProbes(r collect.Reader) lab.Fact {
	const key, source = "kernel.kprobes", "/sys/kernel/debug/kprobes/list"
	text, err := r.Text(source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	n := int64(0)
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "[DISABLED]") && !strings.Contains(line, "[GONE]") {
			n++
		}
	}
	return collect.Whole(key, n, source)
}

func unameMachine() []string { return []string{"uname", "-m"} }

func KernelCommands(collect.Scope) [][]string { return [][]string{unameMachine()} }

// architecture is what uname -m says. Kernels before 6.1 have no file for it.
func architecture(r collect.Reader, in collect.Scope) lab.Fact {
	f := r.Since("kernel.arch", "/proc/sys/kernel/arch", 6, 1)
	if f.Unknown == "" {
		return f
	}
	if p := in.Lookup(unameMachine()); p.Failed == "" && p.Stdout != "" {
		return collect.Known(f.Key, p.Stdout, lab.ShellQuote(unameMachine()))
	}
	return f
}

// taintLetters are the flags of /proc/sys/kernel/tainted, bit 0 first. Source: the kernel's
// Documentation/admin-guide/tainted-kernels.rst.
const taintLetters = "PFSRMBUDAWCIOELKXTNJ"

// tainted names the flags as the kernel's own oops messages do: "none", "OE" (an unsigned module from out of the tree).
func tainted(r collect.Reader) lab.Fact {
	f := r.Fact("kernel.tainted", "/proc/sys/kernel/tainted")
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
		f.Value = catalogue.None
	}
	return f
}

// preemption finds the preemption mode: what the scheduler says (root, debugfs), else the command line, else the build.
// A kernel built with PREEMPT_DYNAMIC begins with the mode that its configuration names and can be switched by root
// later.
//
//	/sys/kernel/debug/sched/preempt:  none voluntary (full) lazy
//	/proc/sys/kernel/version:         #1 SMP PREEMPT_DYNAMIC Debian 6.1.170-1 (2026-04-03)
//	/proc/sys/kernel/version:         #33-Ubuntu SMP PREEMPT_RT Thu Feb 5 10:03:21 UTC 2026
func preemption(r collect.Reader) lab.Fact {
	const key = "kernel.preempt"
	modes, err := r.Text(preemptPath)
	if _, mode, found := strings.Cut(modes, "("); err == nil && found {
		mode, _, _ = strings.Cut(mode, ")")
		return collect.Known(key, mode, preemptPath)
	}
	const versionPath = "/proc/sys/kernel/version"
	version, verr := r.Text(versionPath)
	if strings.Contains(version, "PREEMPT_RT") {
		return collect.Known(key, "rt", versionPath)
	}
	if mode, ok := BootArgument(r, "preempt"); ok && mode != "" {
		return collect.Known(key, mode, CmdlinePath)
	}
	if config, source, cerr := BuildConfig(r); cerr == nil {
		for _, c := range [][2]string{{"PREEMPT_RT", "rt"}, {"PREEMPT_LAZY", "lazy"}, {"PREEMPT_NONE", "none"},
			{"PREEMPT_VOLUNTARY", "voluntary"}, {"PREEMPT", "full"}} {
			if config[c[0]] == "y" {
				return collect.Known(key, c[1], source)
			}
		}
	}
	switch {
	case verr != nil:
		return collect.Unknown(key, versionPath, collect.Why(verr))
	case strings.Contains(version, "PREEMPT_DYNAMIC") && err != nil:
		return collect.Unknown(key, preemptPath, "set at boot, and the place to read it: "+collect.Why(err))
	case strings.Contains(version, "PREEMPT_DYNAMIC"):
		return collect.Unknown(key, preemptPath, "set at boot, and no mode is marked")
	case strings.Contains(version, "PREEMPT"):
		return collect.Known(key, "full", versionPath)
	}
	return collect.Known(key, "none or voluntary", versionPath)
}

// BootArgument is the value of a boot argument, the last one when it is given several times, as the kernel itself takes
// it. Dashes and underscores are the same to the kernel.
func BootArgument(r collect.Reader, name string) (value string, found bool) {
	text, _ := r.Text(CmdlinePath)
	for word := range strings.FieldsSeq(text) {
		if word == "--" {
			break // the rest is for init
		}
		key, v, _ := strings.Cut(word, "=")
		if strings.ReplaceAll(key, "-", "_") == strings.ReplaceAll(name, "-", "_") {
			value, found = v, true
		}
	}
	return value, found
}

// uptime is the seconds since boot: the first of the two numbers of /proc/uptime, "350735.47 234388.90".
func uptime(r collect.Reader) lab.Fact {
	f := r.Fact("boot.uptime", "/proc/uptime")
	f.Value, _, _ = strings.Cut(f.Value, " ")
	return f
}

func CollectOS(r collect.Reader, _ collect.Scope) []lab.Fact {
	return append(osRelease(r),
		proxmox(r),
		bootLoader(r),
		r.Fact("host.name", "/proc/sys/kernel/hostname"),
		Privileged(r))
}

// osRelease reads the name and the version. Source: os-release(5), which also gives the order of the two places.
//
//	PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
//	ID=debian
//	VERSION_ID="12"
func osRelease(r collect.Reader) []lab.Fact {
	source := "/etc/os-release"
	text, err := r.Text(source)
	if err != nil {
		source = "/usr/lib/os-release"
		text, err = r.Text(source)
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
			found = append(found, collect.Unknown(f[0], source, collect.Why(err)))
		case value == "":
			found = append(found, collect.Unknown(f[0], source, "the file does not say "+f[1]))
		default:
			found = append(found, collect.Known(f[0], value, source))
		}
	}
	return found
}

// Privileged reports whether the collectors ran as root, which explains most unknown facts.
func Privileged(r collect.Reader) lab.Fact {
	const key, source = "user.root", "/proc/self/status"
	text, err := r.Text(source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	for line := range strings.Lines(text) {
		// The second number is the effective user: "Uid:	1000	1000	1000	1000".
		if f := strings.Fields(line); len(f) > 2 && f[0] == "Uid:" {
			if f[2] == "0" {
				return collect.Known(key, "yes", source)
			}
			return collect.Known(key, "no", source)
		}
	}
	return collect.Unknown(key, source, "the file has no line Uid:")
}

// maxConfig is the most that is read of a build's configuration, unpacked; real ones have 300 kB.
const maxConfig = 16 << 20

// configPaths are the places where the configuration of the running kernel may lie: in the kernel itself
// (IKCONFIG_PROC), and where Debian, Fedora and image-based systems put it.
func configPaths(release string) []string {
	return []string{"/proc/config.gz", "/boot/config-" + release, "/lib/modules/" + release + "/config",
		"/usr/lib/modules/" + release + "/config", "/usr/lib/kernel/config-" + release}
}

// BuildConfig reads the configuration that the running kernel was built with, from the first place that has one. The
// error is the most informative one: that a file exists but can't be read.
func BuildConfig(r collect.Reader) (config kconfig.Config, source string, err error) {
	release, err := r.Text(collect.ReleasePath)
	if err != nil {
		return nil, collect.ReleasePath, err
	}
	paths := configPaths(release)
	source, err = paths[0], fs.ErrNotExist
	for _, p := range paths {
		if wouldMount(r, p) {
			source, err = p, errWouldMount
			continue
		}
		c, perr := configAt(r, p)
		if perr == nil {
			return c, p, nil
		}
		if !errors.Is(perr, fs.ErrNotExist) {
			source, err = p, perr
		}
	}
	return nil, source, err
}

// errWouldMount says that something stays unread because a look at it would mount a file system.
var errWouldMount = errors.New("an automount point at which nothing is mounted now; mount it and ask again")

// wouldMount reports whether access to a file makes the kernel or systemd mount something, as /boot does on machines
// whose partitions systemd discovers. Source: systemd-gpt-auto-generator(8).
//
//	41 28 0:33 / /boot rw,relatime shared:20 - autofs systemd-1 rw,fd=66,pgrp=1,timeout=120,minproto=5,maxproto=5,direct
func wouldMount(r collect.Reader, name string) bool {
	m, ok := collect.MountOf(collect.ReadMounts(r), name)
	return ok && m.Kind == "autofs"
}

func configAt(r collect.Reader, name string) (kconfig.Config, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return nil, err
	}
	return parseConfig(data)
}

// parseConfig reads a configuration, packed or not.
func parseConfig(data []byte) (kconfig.Config, error) {
	unpacked, err := unpack.Reader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return kconfig.Parse(io.LimitReader(unpacked, maxConfig))
}

// CollectConfig names every option of the build.
func CollectConfig(r collect.Reader, _ collect.Scope) []lab.Fact {
	config, source, err := BuildConfig(r)
	if errors.Is(err, fs.ErrNotExist) {
		return []lab.Fact{collect.Unknown("kernel.config", source,
			"neither the kernel nor /boot nor /lib/modules holds the configuration of this build")}
	}
	if err != nil {
		return []lab.Fact{collect.Unknown("kernel.config", source, collect.Why(err))}
	}
	facts := make([]lab.Fact, 0, len(config)+1)
	facts = append(facts, collect.Known("kernel.config", source, source))
	options := make([]string, 0, len(config))
	for o := range config {
		options = append(options, o)
	}
	slices.Sort(options)
	for _, o := range options {
		if o != "" && len(strings.Fields(o)) == 1 && collect.OneLine(o) == o {
			facts = append(facts, collect.Known("kernel.config."+o, collect.OrNone(config[o]), source))
		}
	}
	return facts
}
