package facts

import (
	"regexp"
	"strings"

	"headroom/internal/facts/catalogue"
	"headroom/internal/lab"
	"headroom/internal/target/bootloader"
)

// The variables by which a boot loader tells firmware who it is. Source: The Boot Loader Interface of the UAPI Group
// and systemd; the last part is its vendor's GUID.
const (
	loaderInfo = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
	stubInfo   = "/sys/firmware/efi/efivars/StubInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"

	// The same for people, without a GUID that looks as if it named somebody's machine.
	loaderSource = "/sys/firmware/efi/efivars/LoaderInfo-*"
	stubSource   = "/sys/firmware/efi/efivars/StubInfo-*"
)

// bootLoader finds what loaded the kernel, because that says where boot arguments are set. The stub of a unified kernel
// image counts before its loader: the image's arguments are part of it.
func bootLoader(r reader) lab.Fact {
	const key = "os.boot_loader"
	if r.exists(stubInfo) {
		return known(key, "uki", stubSource)
	}
	if data, err := r.bytes(loaderInfo); err == nil {
		switch name := strings.ToLower(bootloader.EFIText(data)); {
		case strings.HasPrefix(name, "systemd-boot"):
			return known(key, "systemd-boot", loaderSource)
		case strings.HasPrefix(name, "grub"):
			return known(key, "grub", loaderSource)
		case name != "":
			return known(key, oneLine(name), loaderSource)
		}
	}
	// GRUB hands the image's name over; so does syslinux, which has no such folder.
	_, named := bootArgument(r, "BOOT_IMAGE")
	for _, dir := range []string{"/boot/grub", "/boot/grub2"} {
		if wouldMount(r, dir) {
			break
		}
		if r.exists(dir + "/grub.cfg") {
			return known(key, "grub", dir+"/grub.cfg")
		}
		if named && r.exists(dir) {
			return known(key, "grub", cmdlinePath)
		}
	}
	if image, _ := bootArgument(r, "BOOT_IMAGE"); strings.HasPrefix(image, "(") {
		return known(key, "grub", cmdlinePath) // "(hd0,gpt2)/vmlinuz-5.14.0": a device in GRUB's own words
	}
	return unknown(key, loaderSource, "neither firmware nor /boot nor the boot arguments name one")
}

// pveConfig is where Proxmox VE keeps its version, as a piece of Perl.
const pveConfig = "/usr/share/perl5/PVE/pvecfg.pm"

var pveVersion = regexp.MustCompile(`(?s)sub version \{\s*return '([^'\s]{1,40})'`)

// proxmox is the version of Proxmox VE, or none.
//
//	sub version {
//	    return '9.1.2';
//	}
func proxmox(r reader) lab.Fact {
	const key = "os.pve"
	text, err := r.text(pveConfig)
	switch {
	case err != nil && !r.exists(pveConfig):
		return known(key, catalogue.None, pveConfig)
	case err != nil:
		return unknown(key, pveConfig, why(err))
	}
	found := pveVersion.FindStringSubmatch(text)
	if found == nil {
		return unknown(key, pveConfig, "the file names no version")
	}
	return known(key, found[1], pveConfig)
}
