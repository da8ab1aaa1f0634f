package factor

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/prose"
)

// argument is the name of a kernel argument: "quiet", "nvme.poll_queues", "init_on_alloc".
var argument = prose.Pattern(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// cmdlineScheme is cmdline:, an argument on the kernel's command line.
func cmdlineScheme() scheme.Scheme {
	return scheme.Scheme{Name: "cmdline", Title: "an argument on the kernel's command line", Class: scheme.OfBoot,
		Needs:    "reboot",
		Syntax:   "cmdline:ARGUMENT",
		Examples: []string{"cmdline:mitigations=absent,off", "cmdline:nvme.poll_queues=0,4"},
		Levels:   "any value; empty for an argument without one, the word absent for none",
		Verified: "/proc/cmdline, and what the kernel shows of its effect (boot.md)", Check: checkCmdline}
}

func checkCmdline(name, level string) error {
	if !argument().MatchString(name) {
		return errors.New("cmdline: takes the name of a kernel argument, not " + strconv.Quote(name))
	}
	// The kernel splits its command line at spaces, but for those inside double quotes.
	if strings.ContainsAny(level, " \t\"") {
		return errors.New("a kernel argument's value holds no space and no quote, unlike " + strconv.Quote(level))
	}
	return nil
}

// kernelScheme is kernel:, the kernel that is booted.
func kernelScheme() scheme.Scheme {
	return scheme.Scheme{Name: "kernel", Title: "the kernel that is booted", Class: scheme.OfBoot, Needs: "reboot",
		Syntax:   "kernel:",
		Examples: []string{"kernel:=6.1.0-41-amd64,6.12.57-amd64"},
		Levels:   "kernels as the target names them: installed versions, paths",
		Verified: "/proc/sys/kernel/osrelease", Check: checkKernel}
}

func checkKernel(name, level string) error {
	if name != "" {
		return errors.New("kernel: takes no name, unlike " + strconv.Quote(name) + "; kernels are its levels")
	}
	if strings.ContainsAny(level, " \t") {
		return errors.New("the name of a kernel holds no space, unlike " + strconv.Quote(level))
	}
	return nil
}

// option is the name of an option of the kernel's build: "SLUB_DEBUG_ON", "64BIT", "CRYPTO_SHA1_SSSE3".
var option = prose.Pattern(`^[A-Za-z0-9_]+$`)

// optionScheme is option:, an option of the kernel's build.
func optionScheme() scheme.Scheme {
	return scheme.Scheme{Name: "option", Title: "an option of the kernel's build", Class: scheme.OfBoot,
		Needs:    "build, reboot",
		Syntax:   "option:NAME",
		Examples: []string{"option:SLUB_DEBUG_ON=n,y"},
		Levels:   "y, n, m, or a value; only headroom bisect kconfig --tree varies it",
		Verified: "the configuration as the kernel's own tools settle it", Check: checkOption}
}

func checkOption(name, _ string) error {
	if !option().MatchString(name) {
		return errors.New("option: takes the name of an option of the kernel's build, without CONFIG_, not " +
			strconv.Quote(name))
	}
	return nil
}

// guestSettings are the settings of a virtual machine that BootSpec.Machine knows: first the settings of QEMU's guests,
// then the settings that only KubeVirt's machines have.
func guestSettings() []string {
	return []string{"iothreads", "queues", "cache", "aio", "cpus", "memory", "iommu", "iothreadspolicy",
		"dedicatediothread", "multiqueue", "bus"}
}

// guestScheme is guest:, a setting of the virtual machine.
func guestScheme() scheme.Scheme {
	return scheme.Scheme{Name: "guest", Title: "a setting of the virtual machine", Class: scheme.OfBoot,
		Needs:    "reboot",
		Syntax:   "guest:SETTING",
		Examples: []string{"guest:iothreads=0,1,2,4", "guest:aio=native,io_uring"},
		Levels:   "what the emulator, or KubeVirt, takes",
		Verified: "the command line of the emulator; of KubeVirt's machines the instance that was started",
		Check:    checkGuest}
}

func checkGuest(name, _ string) error {
	if !slices.Contains(guestSettings(), name) {
		return errors.New("guest: takes one of " + strings.Join(guestSettings(), ", ") + ", not " + strconv.Quote(name))
	}
	return nil
}

// podSettings are the limits of a pod that BootSpec.Machine knows.
func podSettings() []string { return []string{"cpu", "memory"} }

// amount is what Kubernetes takes for CPU and memory: "2", "500m", "1Gi", and two of them, of which the first is
// requested.
var amount = prose.Pattern(`^([0-9]+(\.[0-9]+)?[mkMGTKi]*)?(\.\.)?([0-9]+(\.[0-9]+)?[mkMGTKi]*)?$`)

// podScheme is pod:, what a pod requests, and its limit.
func podScheme() scheme.Scheme {
	return scheme.Scheme{Name: "pod", Title: "what a pod requests, and its limit", Class: scheme.OfBoot,
		Needs:    "new pod",
		Syntax:   "pod:cpu or pod:memory",
		Examples: []string{"pod:cpu=1,2,4", "pod:memory=512Mi,2Gi", "pod:cpu=100m..1,100m..4"},
		Levels:   "amounts as Kubernetes writes them; 1..2 requests 1, and 2 is the limit",
		Verified: "the pod is not started without them", Check: checkPod}
}

func checkPod(name, level string) error {
	if !slices.Contains(podSettings(), name) {
		return errors.New("pod: takes one of " + strings.Join(podSettings(), ", ") + ", not " + strconv.Quote(name))
	}
	if level != "" && level != scheme.Found && !amount().MatchString(level) {
		return errors.New("an amount is like 2, 500m, 1Gi or 1..2, not " + strconv.Quote(level))
	}
	return nil
}
