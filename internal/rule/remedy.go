package rule

import (
	"fmt"
	"slices"
	"strings"
)

// Instruction is a remedy written for one system.
type Instruction struct {
	System string `json:"system"`
	// Set is the setting in neutral words, if the remedy is one. Text describes how to make it there, with line breaks.
	Set  string `json:"set,omitempty"`
	Text string `json:"text"`
	// Undo describes how to revert it.
	Undo     string `json:"undo,omitempty"`
	Only     string `json:"only,omitempty"`
	Reboot   bool   `json:"reboot"`
	Destroys bool   `json:"destroys,omitempty"`
	// Cost in security, durability, power, capacity or money.
	Cost string `json:"cost"`
	// GivesUp is durability, security or integrity if the cost is one of these, else empty.
	GivesUp string `json:"gives_up,omitempty"`
}

// BySetting groups the instructions that make the same change on several systems.
func BySetting(all []Instruction) [][]Instruction {
	var groups [][]Instruction
	for _, r := range all {
		last := len(groups) - 1
		if last >= 0 && r.Set != "" && groups[last][0].Set == r.Set {
			groups[last] = append(groups[last], r)
			continue
		}
		groups = append(groups, []Instruction{r})
	}
	return groups
}

// Caveats returns the warnings that a reader needs before making a change.
func Caveats(reboot, destroys bool) string {
	switch {
	case reboot && destroys:
		return " (DESTROYS DATA; needs a reboot)"
	case destroys:
		return " (DESTROYS DATA)"
	case reboot:
		return " (needs a reboot)"
	}
	return ""
}

// Systems returns the systems that remedies can be written for, with --for.
func Systems() []string {
	return []string{"talos", "grub", "systemd-boot", "proxmox", "sysctl.d", "modprobe.d", "udev", "tmpfiles.d", "tuned",
		"libvirt", "kubevirt", "plain"}
}

// writer describes how to make a setting on one system; ok is false if the system has no place for such a setting.
type writer func(s setting, c remedyContext) (text, undo string, ok bool)

func writerFor(system string) writer {
	switch system {
	case "talos":
		return talos
	case "grub":
		return grub
	case "systemd-boot":
		return systemdBoot
	case "proxmox":
		return proxmox
	case "sysctl.d":
		return sysctlD
	case "modprobe.d":
		return modprobeD
	case "udev":
		return udev
	case "tmpfiles.d":
		return tmpfilesD
	case "tuned":
		return tuned
	case "libvirt":
		return libvirt
	case "kubevirt":
		return kubevirt
	case "plain":
		return plain
	}
	return nil
}

// remedyContext is what a remedy's wording depends on.
type remedyContext struct {
	machine *machine
	// about are the things of the finding.
	about []string
}

// systems are the systems to write remedies for. If the user named them, each that has a place for the setting is used.
// If they were found, the first is enough.
type systems struct {
	names []string
	found bool
}

// serves reports whether a system that was found is the usual place for a kind of setting: a module's parameter can be
// a boot argument, but belongs in its own folder. If the boot loader is unknown both places are given.
func (s systems) serves(system, kind string, already []Instruction) bool {
	if !s.found {
		return true
	}
	loader := system == "grub" || system == "systemd-boot"
	if loader && kind != "cmdline" {
		return false
	}
	return len(already) == 0 || loader && already[0].System == "grub"
}

// render writes a remedy for the systems, or reports that none of them has a place for it.
func render(r Remedy, about []string, m *machine, to systems) []Instruction {
	in := Instruction{System: "plain", Set: r.Set, Text: r.Text, Reboot: r.Reboot, Destroys: r.Destroys, Cost: r.Cost,
		GivesUp: GivesUp(r.Cost)}
	s := parseSetting(r.Set)
	if s.removed && s.value == "" {
		s.value = m.typed(s.name)
	}
	if r.Set == "" || s.kind == "exec" || s.kind == "irq" {
		if r.Set != "" {
			in.Text = join(r.Text, strings.TrimSpace(s.name))
		}
		return []Instruction{in}
	}
	var out []Instruction
	for _, system := range to.names {
		write := writerFor(system)
		if write == nil || !to.serves(system, s.kind, out) {
			continue
		}
		if text, undo, ok := write(s, remedyContext{m, about}); ok {
			one := in
			one.System, one.Undo = system, undo
			one.Text = join(r.Text, m.outside()+text) + m.inPlace(s)
			out = append(out, one)
		}
	}
	if len(out) == 0 {
		if to.found {
			in.Text = join(r.Text,
				"set "+s.kind+" "+s.argument()+" (no recipe is known for this system; "+otherSystemHint(s.kind)+")")
			return []Instruction{in}
		}
		in.System = to.names[0]
		in.Text = join(r.Text, fmt.Sprintf("%s has no place for %s; %s", strings.Join(to.names, ", "),
			r.Set, otherSystemHint(s.kind)))
		return []Instruction{in}
	}
	return out
}

func join(first, then string) string {
	if first == "" {
		return then
	}
	return strings.TrimRight(first, ". ") + ": " + then
}

// otherSystemHint names the systems on which a kind of setting can be made.
func otherSystemHint(kind string) string {
	switch kind {
	case "cmdline":
		return "boot arguments belong to the boot loader: try grub, systemd-boot, proxmox or talos"
	case "sysctl":
		return "try sysctl.d, tuned or talos"
	case "module":
		return "try modprobe.d, or grub and systemd-boot when the driver is built in"
	case "queue":
		return "try udev, tuned or talos"
	case "guest":
		return "it is a setting of the virtual machine: try libvirt, proxmox or kubevirt"
	case "mount":
		return "it is an option of the mount: try plain, or proxmox for a separate storage"
	}
	return "try plain"
}

// inPlace names the existing boot argument that a new value replaces, so that users don't keep both. pci= accumulates,
// so it replaces nothing.
func (m *machine) inPlace(s setting) string {
	if old := m.typed(s.name); s.kind == "cmdline" && !s.removed && old != "" && old != s.value && s.name != "pci" {
		return "; " + s.name + "=" + old + ", which is in force, makes room for it"
	}
	return ""
}

// outside is a reminder for users inside a container, whose host has the setting.
func (m *machine) outside() string {
	if kind := m.text("container.kind"); kind != "" && kind != "none" {
		return "on the host, not in this container: "
	}
	return ""
}

// detect finds the systems in use, the most suitable for permanent settings first. The firmware's boot loader decides
// between GRUB and systemd-boot.
func detect(m *machine) systems {
	var names []string
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, guest := range m.things["guest"] {
		switch f := m.find("guest.manager", guest); f.Value {
		case "libvirt", "kubevirt", "proxmox":
			add(f.Value)
		}
	}
	if m.text("os.id") == "talos" {
		add("talos")
		add("kubevirt") // it manages the virtual machines there
		return systems{names, true}
	}
	if version := m.text("os.pve"); version != "" && version != "none" {
		add("proxmox")
	}
	loader := m.text("os.boot_loader")
	if id := m.text("os.id"); loader == "" && (id == "flatcar" || id == "bottlerocket") {
		loader = "grub" // the only one that they have
	}
	switch loader {
	case "grub":
		add("grub")
	case "systemd-boot", "uki":
		add("systemd-boot")
	default:
		add("grub")
		add("systemd-boot")
	}
	for _, name := range []string{"sysctl.d", "modprobe.d", "udev", "tmpfiles.d", "plain"} {
		add(name)
	}
	return systems{names, true}
}
