package rule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// bootArgument returns the boot argument that makes a setting, if there is one: a module's parameter if the driver is
// built in, and the governor (cpufreq.default_governor, Documentation/admin-guide/kernel-parameters.txt).
func (s setting) bootArgument() (setting, bool) {
	switch {
	case s.kind == "cmdline":
		return s, true
	case s.kind == "module" && strings.Contains(s.name, "."):
		return setting{kind: "cmdline", name: s.name, value: s.value}, true
	case s.kind == "cpu" && s.name == "governor":
		return setting{kind: "cmdline", name: "cpufreq.default_governor", value: s.value}, true
	}
	return setting{}, false
}

// grub writes for GRUB 2 with the wrapper of each distribution: /etc/default/grub and update-grub on Debian and Ubuntu,
// grubby on the Red Hat family, grub2-mkconfig on SUSE, grub-mkconfig where there is no wrapper (Arch Linux, Gentoo),
// and a MachineConfig on RHEL CoreOS.
func grub(s setting, c remedyContext) (text, undo string, ok bool) {
	s, ok = s.bootArgument()
	if !ok {
		return "", "", false
	}
	argument := s.argument()
	switch id := c.machine.text("os.id"); {
	case id == "rhcos":
		if s.removed {
			return "remove " + argument + " from spec.kernelArguments of the MachineConfig that adds it",
				"add it again", true
		}
		return "a MachineConfig with spec.kernelArguments: [" + argument + "], which boots the pool's nodes one by one",
			"delete the MachineConfig", true
	case id == "flatcar":
		return flatcarGrub(s)
	case id == "bottlerocket":
		return bottlerocket(s)
	case slices.Contains([]string{"rhel", "centos", "rocky", "almalinux", "ol", "fedora", "amzn"}, id):
		add, remove := fmt.Sprintf(`grubby --update-kernel=ALL --args="%s"`, argument),
			fmt.Sprintf(`grubby --update-kernel=ALL --remove-args="%s"`, argument)
		if s.removed {
			return remove, add, true
		}
		return add, remove, true
	case strings.HasPrefix(id, "opensuse") || strings.HasPrefix(id, "sle"):
		return grubFile(s, "grub2-mkconfig -o /boot/grub2/grub.cfg")
	case slices.Contains([]string{"arch", "gentoo", "void", "alpine"}, id):
		return grubFile(s, "grub-mkconfig -o /boot/grub/grub.cfg")
	}
	return grubFile(s, "update-grub")
}

// flatcarGrub writes for Flatcar, whose grub.cfg reads the grub.cfg of the OEM partition and appends linux_append to
// the arguments. Source: flatcar/scripts, build_library/grub.cfg.
func flatcarGrub(s setting) (text, undo string, ok bool) {
	if s.removed {
		return "remove " + s.argument() + " from linux_append in /oem/grub.cfg, and boot", "put the argument back", true
	}
	return fmt.Sprintf(`add set linux_append="$linux_append %s" to /oem/grub.cfg, and boot`, s.argument()),
		"remove the line", true
}

// bottlerocket writes for Bottlerocket, whose boot arguments are settings of its API: a list of values for each name,
// empty for an argument without one. Source: https://bottlerocket.dev/en/os/1.45.x/api/settings/boot.
func bottlerocket(s setting) (text, undo string, ok bool) {
	name, value, hasValue := strings.Cut(s.argument(), "=")
	if hasValue {
		value = strconv.Quote(value)
	}
	if s.removed {
		return "remove " + name + " from settings.boot.kernel-parameters, and boot", "put the argument back", true
	}
	return fmt.Sprintf("apiclient apply with [settings.boot.kernel-parameters] and %q = [%s] below it, and boot", name,
		value), "remove the setting", true
}

func grubFile(s setting, update string) (text, undo string, ok bool) {
	if s.removed {
		return fmt.Sprintf("remove %s from GRUB_CMDLINE_LINUX_DEFAULT and GRUB_CMDLINE_LINUX in /etc/default/grub, "+
			"then %s",
			s.argument(), update), "put the argument back, then " + update, true
	}
	return fmt.Sprintf("add %s to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then %s", s.argument(), update),
		"remove the argument, then " + update, true
}

// systemdBoot writes for systemd-boot and for unified kernel images, both of which take /etc/kernel/cmdline when
// kernel-install makes the entry or the image (kernel-install(8), ukify(1)).
func systemdBoot(s setting, c remedyContext) (text, undo string, ok bool) {
	s, ok = s.bootArgument()
	if !ok {
		return "", "", false
	}
	image := `/usr/lib/modules/"$(uname -r)"/vmlinuz`
	if id := c.machine.text("os.id"); id == "debian" || id == "ubuntu" {
		image = `/boot/vmlinuz-"$(uname -r)"`
	}
	update := `kernel-install add "$(uname -r)" ` + image
	does, back := "add "+s.argument()+" to the line in /etc/kernel/cmdline", "remove the argument"
	if s.removed {
		does, back = "remove "+s.argument()+" from the line in /etc/kernel/cmdline", "put the argument back"
	}
	text = does + ", then " + update
	if c.machine.text("os.boot_loader") == "uki" {
		text += ", which rebuilds the unified kernel image; with Secure Boot it must be signed"
	}
	return text, back + ", then the same command", true
}

// proxmox writes for Proxmox VE, which boots with systemd-boot on ZFS and UEFI without Secure Boot and with GRUB
// otherwise; proxmox-boot-tool status shows which. Source: its administration guide, "Host Bootloader".
func proxmox(s setting, c remedyContext) (text, undo string, ok bool) {
	switch s.kind {
	case "guest":
		return proxmoxGuest(s)
	case "mount":
		return proxmoxMount(s, c)
	}
	if s.kind != "cmdline" {
		return "", "", false
	}
	argument := s.argument()
	verb, preposition, back := "add", "to", "remove the argument again"
	if s.removed {
		verb, preposition, back = "remove", "from", "put the argument back"
	}
	withGrub := fmt.Sprintf("%s %s %s GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then update-grub", verb,
		argument,
		preposition)
	withBoot := fmt.Sprintf("%s %s %s the one line in /etc/kernel/cmdline, then proxmox-boot-tool refresh", verb,
		argument,
		preposition)
	switch c.machine.text("os.boot_loader") {
	case "grub":
		return withGrub, back + ", then update-grub", true
	case "systemd-boot", "uki":
		return withBoot, back + ", then proxmox-boot-tool refresh", true
	}
	return "which boot loader? efibootmgr -v or proxmox-boot-tool status tells. GRUB: " + withGrub +
		". systemd-boot: " +
		withBoot, back + ", then the same command", true
}

// proxmoxMount writes for a storage of Proxmox VE, which it mounts itself on /mnt/pve/STORAGE; other mounts are made by
// the system. Proxmox VE documentation: pvesm(1), NFS backend.
func proxmoxMount(s setting, c remedyContext) (text, undo string, ok bool) {
	var names []string
	for _, point := range c.about {
		name, below := strings.CutPrefix(point, "/mnt/pve/")
		if !below || name == "" || strings.Contains(name, "/") {
			return "", "", false
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "", "", false
	}
	lines := []string{fmt.Sprintf("add %s to the line options of the storage %s in /etc/pve/storage.cfg (options "+
		"vers=4.2,…; it counts for all nodes), stop what uses it, then on each node:",
		s.argument(), strings.Join(names, " and "))}
	for _, n := range names {
		lines = append(lines, fmt.Sprintf("pvesm set %s --disable 1; umount /mnt/pve/%s", n, n))
	}
	for _, n := range names {
		lines = append(lines, "pvesm set "+n+" --disable 0")
	}
	return strings.Join(lines, "\n"), "remove the option, and disable, unmount and enable the storage again", true
}

// talos writes for Talos Linux, whose settings are in the machine configuration. Boot arguments: "With systemd-boot,
// the .machine.install.extraKernelArgs field in the machine configuration is ignored", so they belong in the image.
// With GRUB the field takes effect at the next upgrade, unless machine.install.grubUseUKICmdline makes GRUB use the
// image's arguments too (new installations from 1.12 on). Talos documentation: Boot Loader; Image Factory;
// Configuration reference.
func talos(s setting, c remedyContext) (text, undo string, ok bool) {
	const undoField = "remove the lines and apply the configuration again"
	switch s.kind {
	case "sysctl":
		return fmt.Sprintf("machine configuration: machine: {sysctls: {%s: %q}}; it takes effect at once. From Talos "+
			"1.14 a SysctlConfig document has params in its place, and the old field still counts", s.name,
			s.value), undoField, true
	case "sysfs":
		path := strings.ReplaceAll(strings.TrimPrefix(s.name, "/sys/"), "/", ".")
		return fmt.Sprintf("machine configuration: machine: {sysfs: {%s: %q}}", path, s.value), undoField, true
	case "queue":
		return fmt.Sprintf("machine configuration: machine: {udev: {rules: ['%s']}}", queueRule(s, c)), undoField, true
	case "nic":
		return talosNIC(s, c)
	case "mount":
		return "Talos has no /etc/fstab: set mountOptions of the StorageClass or the PersistentVolume to " +
			s.argument() +
			" (a volume that is in use keeps its options until it is mounted again)", "remove the option", true
	case "guest":
		return "", "", false
	}
	argument, ok := s.bootArgument()
	if path, file := s.sysfsPath(); !ok && file {
		path = strings.ReplaceAll(strings.ReplaceAll(strings.TrimPrefix(path, "/sys/"), "/", "."), "policy*", "policy0")
		text = fmt.Sprintf("machine configuration: machine: {sysfs: {%s: %q}}", path, s.value)
		if strings.Contains(path, "policy0") {
			text += ", and so for every other policy"
		}
		return text, undoField, true
	}
	if !ok {
		return "the machine configuration has no such setting; a privileged pod on the node can make it, until the " +
			"next boot: " +
			s.kind + " " + s.argument(), "delete the pod and set the old value, or boot", true
	}
	typed := argument.argument()
	inConfig, inImage := "add "+typed+" to machine.install.extraKernelArgs", "extraKernelArgs: ["+typed+"]"
	if argument.removed {
		// A dash in front removes one of Talos' own arguments; the installer and the imager both delete it.
		inConfig = `take it out of machine.install.extraKernelArgs, or where Talos itself sets it add "-` + typed +
			`" there,`
		inImage = `extraKernelArgs: ["-` + typed + `"]`
	}
	withGrub := "GRUB: " + inConfig + " and upgrade (talosctl upgrade), when it takes effect; not where" +
		" machine.install.grubUseUKICmdline is true"
	withImage := "put customization: {" + inImage + "} into the Image Factory schematic and upgrade to its installer " +
		"image (with systemd-boot and unified kernel images, which UEFI installations have since Talos 1.10," +
		" machine.install.extraKernelArgs is ignored)"
	undo = "take the argument out again and upgrade"
	switch c.machine.text("os.boot_loader") {
	case "grub":
		return withGrub + ", in which case " + withImage, undo, true
	case "systemd-boot", "uki":
		return withImage, undo, true
	}
	return "which boot loader? bootedWithUKI in talosctl get securitystate -o yaml is true with systemd-boot. " +
		withGrub +
		". systemd-boot: " + withImage, undo, true
}
