package rule

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// inContainer returns facts that a container with Debian's image shows on a machine of any system: needless isolation
// of page tables, on a processor without Meltdown.
func inContainer(kind, release, arguments string) []lab.Fact {
	var facts []lab.Fact
	for _, f := range [][2]string{{"container.kind", kind}, {"os.id", "debian"},
		{"os.name", "Debian GNU/Linux 12 (bookworm)"}, {"kernel.release", release}, {"kernel.cmdline", arguments},
		{"kernel.arch", "x86_64"}, {"cpu.vendor", "AuthenticAMD"}, {"cpu.pti", "on"},
		{"cpu.bugs", "sysret_ss_attrs, spectre_v1, spectre_v2"}, {"cpu.vulnerability.meltdown", "Not affected"},
		{"kvm.loaded", "off"}} {
		facts = append(facts, lab.Fact{Key: f[0], Value: f[1]})
	}
	return facts
}

// A container's os-release describes its image. The system of the machine is derived from the kernel's facts, and a
// remedy that could keep a machine from starting is offered only if the system is known.
func TestSystemOfAContainersMachine(t *testing.T) {
	set := builtInSet(t)
	const (
		talosArguments  = "talos.platform=metal console=ttyS0 init_on_alloc=1 slab_nomerge= pti=on"
		rocketArguments = "BOOT_IMAGE=(hd0,gpt3)/vmlinuz netdog.default-interface=eth0:dhcp4,dhcp6? root=/dev/dm-0 pti=on"
	)
	for _, c := range []struct {
		name, kind, release, arguments string
		named                          []string
		system                         string // os.id; empty if unknown
		offers, not                    string
	}{
		{"a pod on Talos", "kubernetes", "6.6.57-talos", talosArguments, nil, "talos",
			"Leave it. Talos demands", "-pti=on"},
		{"a pod on Talos, by its arguments", "kubernetes", "6.6.57", talosArguments, nil, "talos", "Leave it.",
			"-pti=on"},
		{"a pod, --for talos", "kubernetes", "6.6.57", "pti=on", []string{"talos"}, "talos", "Leave it.", "-pti=on"},
		{"a pod on Flatcar", "kubernetes", "6.6.87-flatcar", "BOOT_IMAGE=/flatcar/vmlinuz-a pti=on", nil, "flatcar",
			"linux_append in /oem/grub.cfg", "update-grub"},
		{"a pod on Bottlerocket", "kubernetes", "5.15.79", rocketArguments, nil, "bottlerocket",
			"settings.boot.kernel-parameters", "update-grub"},
		{"a container of Proxmox VE", "lxc", "6.8.12-4-pve", "root=/dev/mapper/pve-root pti=on", nil, "debian",
			"proxmox-boot-tool", "kernel-install"},
		{"a pod on an unknown system", "kubernetes", "6.1.0-28-amd64", "root=/dev/sda1 pti=on", nil, "",
			"not offered: cmdline:pti=absent, which can keep the machine from starting", "GRUB_CMDLINE_LINUX"},
		{"no container", "none", "6.1.0-28-amd64", "root=/dev/sda1 pti=on", nil, "debian",
			"GRUB_CMDLINE_LINUX", "not offered"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := inContainer(c.kind, c.release, c.arguments)
			m := newMachine(set.vocabulary, facts)
			m.tellSystem(c.named)
			if got := m.text("os.id"); got != c.system || m.whole["os.id"].Source == "" && c.kind != "none" {
				t.Errorf("the system is %q by %q, want %q", got, m.whole["os.id"].Source, c.system)
			}
			report := set.Evaluate(facts, Options{Systems: c.named})
			at := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Rule == "pti-needless" })
			if at < 0 {
				t.Fatalf("pti-needless is not found: %+v", report.Counts)
			}
			text := strings.Join(report.Findings[at].Kept, "\n")
			for _, r := range report.Findings[at].Remedies {
				text += "\n" + r.Text + " " + r.Only
			}
			if !strings.Contains(text, c.offers) || strings.Contains(text, c.not) {
				t.Errorf("it offers\n%s\nwant %q and not %q", text, c.offers, c.not)
			}
		})
	}
}

// No remedy removes or changes arguments without which Talos does not start, unless the system is known to be another
// one. Source: siderolabs/talos issue 9531.
func TestRemediesThatKeepAMachineFromStarting(t *testing.T) {
	found := 0
	for _, r := range builtInSet(t).rules {
		for _, remedy := range r.Remedies {
			s := parseSetting(remedy.Set)
			argument, ok := s.bootArgument()
			if !ok || argument.name != "pti" && argument.name != "slab_nomerge" && argument.name != "nopti" {
				continue
			}
			found++
			if !remedy.Certain || !strings.Contains(remedy.Only, `os.id != "talos"`) {
				t.Errorf("%s: %s is offered on a system that may not start with it", r.ID, remedy.Set)
			}
		}
	}
	if found < 2 {
		t.Errorf("only %d remedies change such an argument", found)
	}
}

// Bottlerocket takes a list of values, which is empty for an argument without one.
func TestBottlerocketsArguments(t *testing.T) {
	for set, want := range map[string]string{
		"cmdline:iommu.strict=0": `"iommu.strict" = ["0"] below`, "cmdline:nosmt": `"nosmt" = [] below`,
		"cmdline:pti=absent": "remove pti from settings.boot.kernel-parameters",
	} {
		if text, undo, ok := bottlerocket(parseSetting(set)); !ok || undo == "" || !strings.Contains(text, want) {
			t.Errorf("%s: %q, want %q", set, text, want)
		}
	}
}
