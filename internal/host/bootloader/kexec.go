package bootloader

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

const kexecName = "kexec"

const (
	kexecLoaded   = "/sys/kernel/kexec_loaded"
	kexecDisabled = "/proc/sys/kernel/kexec_load_disabled"
	lockdown      = "/sys/kernel/security/lockdown"
)

// kexec makes the running kernel start the next one. Nothing is written to a disk, so any reset starts the default
// kernel. But firmware is not involved, and the new kernel finds devices in the state that the previous one left.
type kexec struct{}

func findKexec(ctx context.Context, m machine, _ Record) (loader, error) {
	files, err := m.ReadFiles(ctx, kexecLoaded, kexecDisabled, lockdown)
	if err != nil {
		return nil, err
	}
	switch text := func(p string) string { return strings.TrimSpace(string(files[p].Data)) }; {
	case files[kexecLoaded].Err != nil:
		return nil, errors.New("the kernel is built without kexec")
	case text(kexecDisabled) != "0":
		return nil, errors.New("kernel.kexec_load_disabled forbids it until the next boot")
	case text(kexecLoaded) != "0":
		return nil, errors.New("another kernel is loaded for kexec already (kexec --unload takes it away)")
	// none [integrity] confidentiality: the word in brackets is the current mode.
	case files[lockdown].Err == nil && !strings.Contains(text(lockdown), "[none]"):
		return nil, fmt.Errorf("the kernel is locked down (%s), as with Secure Boot, and starts signed kernels only",
			text(lockdown))
	}
	if err := m.run(ctx, "kexec", "--version"); err != nil {
		return nil, fmt.Errorf("kexec-tools is needed: %w", err)
	}
	if m.systemd() {
		return kexec{}, nil
	}
	mounts, err := m.read(ctx, "/proc/mounts")
	if err != nil {
		return nil, err
	}
	// Nothing unmounts them before kexec.
	for line := range strings.Lines(mounts["/proc/mounts"]) {
		f := strings.Fields(line)
		if len(f) > 3 && strings.HasPrefix(f[0], "/dev/") && strings.HasPrefix(f[3]+",", "rw,") {
			return nil, fmt.Errorf("without systemd nothing unmounts %s first", f[1])
		}
	}
	return kexec{}, nil
}

func (kexec) plan(ctx context.Context, m machine, natural Record, wanted cmdline, kernel string) (Record, error) {
	_, _, err := m.installed(kernelOrRelease(kernel, natural))
	natural.Kernel, natural.Arguments = kernelOrRelease(kernel, natural), wanted.String()
	return natural, err
}

func kernelOrRelease(kernel string, natural Record) string {
	if kernel == "" {
		return strings.TrimSpace(natural.Release)
	}
	return kernel
}

func (kexec) arm(ctx context.Context, m machine, r Record) error {
	image, initrd, err := m.installed(r.Kernel)
	if err != nil {
		return err
	}
	if err := m.run(ctx, "kexec", "--load", "--kexec-syscall-auto", "--initrd="+initrd, "--command-line="+r.Arguments,
		image); err != nil {
		return err
	}
	now, err := m.read(ctx, kexecLoaded)
	if err == nil && strings.TrimSpace(now[kexecLoaded]) != "1" {
		err = &lab.Error{What: "kexec loaded no kernel", Target: m.Name()}
	}
	return err
}

func (kexec) boot(m machine) []string {
	if m.systemd() {
		return []string{"systemctl", "kexec"}
	}
	return []string{"kexec", "--exec"}
}

// unloadKernel unloads a kernel that was loaded and not started.
func (m machine) unloadKernel(ctx context.Context) error {
	files, err := m.ReadFiles(ctx, kexecLoaded)
	if err != nil || strings.TrimSpace(string(files[kexecLoaded].Data)) != "1" {
		return err
	}
	return m.run(ctx, "kexec", "--unload")
}
