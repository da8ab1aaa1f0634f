package machine

import (
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// The variables by which a boot loader tells firmware who it is. Source: The Boot Loader Interface of the UAPI Group
// and systemd; the last part is its vendor's GUID.
const (
	loaderInfo = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
	stubInfo   = "/sys/firmware/efi/efivars/StubInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

	// The same for people, without a GUID, which looks like the identity of a machine.
	loaderSource = "/sys/firmware/efi/efivars/LoaderInfo-*"
	stubSource   = "/sys/firmware/efi/efivars/StubInfo-*"
)

// bootLoader finds the program that loaded the kernel, which determines where boot arguments are set. The stub of a
// unified kernel image has priority over its loader: the image's arguments are part of it.
func bootLoader(r collect.Reader) lab.Fact {
	const key = "os.boot_loader"
	if r.Exists(stubInfo) {
		return collect.Known(key, "uki", stubSource)
	}
	if data, err := r.Bytes(loaderInfo); err == nil {
		switch name := strings.ToLower(bootloader.EFIText(data)); {
		case strings.HasPrefix(name, "systemd-boot"):
			return collect.Known(key, "systemd-boot", loaderSource)
		case strings.HasPrefix(name, "grub"):
			return collect.Known(key, "grub", loaderSource)
		case name != "":
			return collect.Known(key, collect.OneLine(name), loaderSource)
		}
	}
	// GRUB hands the image's name over; so does syslinux, which has no such folder.
	_, named := BootArgument(r, "BOOT_IMAGE")
	for _, dir := range []string{"/boot/grub", "/boot/grub2"} {
		if wouldMount(r, dir) {
			break
		}
		if r.Exists(dir + "/grub.cfg") {
			return collect.Known(key, "grub", dir+"/grub.cfg")
		}
		if named && r.Exists(dir) {
			return collect.Known(key, "grub", CmdlinePath)
		}
	}
	if image, _ := BootArgument(r, "BOOT_IMAGE"); strings.HasPrefix(image, "(") {
		return collect.Known(key, "grub", CmdlinePath) // "(hd0,gpt2)/vmlinuz-5.14.0": a device in GRUB's own words
	}
	return collect.Unknown(key, loaderSource, "neither firmware nor /boot nor the boot arguments name one")
}

// pveConfig is where Proxmox VE keeps its version, as a piece of Perl.
const pveConfig = "/usr/share/perl5/PVE/pvecfg.pm"

var pveVersion = prose.Pattern(`(?s)sub version \{\s*return '([^'\s]{1,40})'`)

// proxmox is the version of Proxmox VE, or none.
//
//	sub version {
//	    return '9.1.2';
//	}
func proxmox(r collect.Reader) lab.Fact {
	const key = "os.pve"
	text, err := r.Text(pveConfig)
	switch {
	case err != nil && !r.Exists(pveConfig):
		return collect.Known(key, catalogue.None, pveConfig)
	case err != nil:
		return collect.Unknown(key, pveConfig, collect.Why(err))
	}
	found := pveVersion().FindStringSubmatch(text)
	if found == nil {
		return collect.Unknown(key, pveConfig, "the file names no version")
	}
	return collect.Known(key, found[1], pveConfig)
}
