package factor

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

// argument is the name of a kernel argument: "quiet", "nvme.poll_queues", "init_on_alloc".
var argument = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

func checkCmdline(name, level string) error {
	if !argument.MatchString(name) {
		return errors.New("cmdline: takes the name of a kernel argument, not " + quoted(name))
	}
	// The kernel splits its command line at spaces, but for those inside double quotes.
	if strings.ContainsAny(level, " \t\"") {
		return errors.New("a kernel argument's value holds no space and no quote, unlike " + quoted(level))
	}
	return nil
}

func checkKernel(name, level string) error {
	if name != "" {
		return errors.New("kernel: has no name of its own, unlike " + quoted(name) + "; kernels are its levels")
	}
	if strings.ContainsAny(level, " \t") {
		return errors.New("the name of a kernel holds no space, unlike " + quoted(level))
	}
	return nil
}

// option is the name of an option of the kernel's build: "SLUB_DEBUG_ON", "64BIT", "CRYPTO_SHA1_SSSE3".
var option = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

func checkOption(name, _ string) error {
	if !option.MatchString(name) {
		return errors.New("option: takes the name of an option of the kernel's build, without CONFIG_, not " +
			quoted(name))
	}
	return nil
}

// guestSettings are the settings of a virtual machine that BootSpec.Machine knows: those of QEMU's guests, then those
// that only KubeVirt's machines have.
func guestSettings() []string {
	return []string{"iothreads", "queues", "cache", "aio", "cpus", "memory", "iommu", "iothreadspolicy",
		"dedicatediothread", "multiqueue", "bus"}
}

func checkGuest(name, _ string) error {
	if !slices.Contains(guestSettings(), name) {
		return errors.New("guest: takes one of " + strings.Join(guestSettings(), ", ") + ", not " + quoted(name))
	}
	return nil
}

// podSettings are the limits of a pod that BootSpec.Machine knows.
func podSettings() []string { return []string{"cpu", "memory"} }

// amount is what Kubernetes takes for CPU and memory: "2", "500m", "1Gi", and two of them, of which the first is
// requested.
var amount = regexp.MustCompile(`^([0-9]+(\.[0-9]+)?[mkMGTKi]*)?(\.\.)?([0-9]+(\.[0-9]+)?[mkMGTKi]*)?$`)

func checkPod(name, level string) error {
	if !slices.Contains(podSettings(), name) {
		return errors.New("pod: takes one of " + strings.Join(podSettings(), ", ") + ", not " + quoted(name))
	}
	if level != "" && level != Found && !amount.MatchString(level) {
		return errors.New("an amount is like 2, 500m, 1Gi or 1..2, not " + quoted(level))
	}
	return nil
}
