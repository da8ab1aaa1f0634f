package bootloader

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Files with the boot arguments, the kernel release, and whether systemd runs the machine.
const (
	cmdlinePath = "/proc/cmdline"
	releasePath = "/proc/sys/kernel/osrelease"
	systemdPath = "/run/systemd/system"
)

// machine is a target with the operations that booting needs.
type machine struct{ host.Target }

// run runs a command that must succeed.
func (m machine) run(ctx context.Context, argv ...string) error {
	_, err := m.output(ctx, argv...)
	return err
}

// output runs a command that must succeed, and returns its output without surrounding space.
func (m machine) output(ctx context.Context, argv ...string) (string, error) {
	out, err := m.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: argv[0] + " failed", Target: m.Name(), Command: argv, Output: string(out.Stdout) +
			string(out.Stderr)}
	}
	return strings.TrimSpace(string(out.Stdout)), err
}

// read reads files that must exist.
func (m machine) read(ctx context.Context, paths ...string) (map[string]string, error) {
	files, err := m.ReadFiles(ctx, paths...)
	if err != nil {
		return nil, err
	}
	text := make(map[string]string, len(paths))
	for _, p := range paths {
		if err := files[p].Err; err != nil {
			return nil, &lab.Error{What: "can't read " + p, Target: m.Name(), Err: err}
		}
		text[p] = string(files[p].Data)
	}
	return text, nil
}

// exists reports whether a file exists. If that can't be determined, it returns true: an existing file must never be
// overwritten.
func (m machine) exists(p string) bool {
	_, err := fs.Stat(m.FS(), inside(p))
	return !errors.Is(err, fs.ErrNotExist)
}

// systemd reports whether systemd runs the machine, like sd_booted.
func (m machine) systemd() bool { return m.exists(systemdPath) }

// first returns the first of these files that exists.
func (m machine) first(paths ...string) (string, bool) {
	for _, p := range paths {
		if m.exists(p) {
			return p, true
		}
	}
	return "", false
}

// installed finds an installed kernel and its initial ramdisk by path or version. It knows the names used by most
// systems: Debian and Ubuntu; Fedora, RHEL and SUSE; Arch Linux with mkinitcpio or dracut; Alpine.
func (m machine) installed(kernel string) (image, initrd string, err error) {
	version := versionOf(kernel)
	image, ok := kernel, version != "" && m.exists(kernel)
	if version == kernel {
		image, ok = m.first("/boot/vmlinuz-"+version, "/usr/lib/modules/"+version+"/vmlinuz",
			"/lib/modules/"+version+"/vmlinuz")
	}
	if !ok {
		return "", "", &lab.Error{Kind: lab.Refused, What: "no kernel " + kernel + " is installed", Target: m.Name()}
	}
	initrd, ok = m.first("/boot/initrd.img-"+version, "/boot/initramfs-"+version+".img", "/boot/initrd-"+version,
		"/boot/initramfs-"+version)
	if !ok {
		return "", "", &lab.Error{Kind: lab.Refused, What: "there is no initial ramdisk for " + image, Target: m.Name(),
			Hints: []string{"looked for initrd.img-" + version + " and initramfs-" + version + ".img in /boot"}}
	}
	return image, initrd, nil
}

// efiVariable returns the text of a variable of the boot loader, empty if there is none. Source: The Boot Loader
// Interface of systemd; the last part of a variable's name is the vendor's GUID.
func (m machine) efiVariable(ctx context.Context, name string) (string, error) {
	p := "/sys/firmware/efi/efivars/" + name + "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
	files, err := m.ReadFiles(ctx, p)
	if err != nil {
		return "", err
	}
	if err := files[p].Err; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return EFIText(files[p].Data), nil
}
