package machines

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/rule"
)

// schedulerFinding is a severe finding with two published effects and a remedy that needs a file.
func schedulerFinding() rule.Finding {
	published := func(text, where string) rule.Effect {
		return rule.Effect{Text: text, Where: where, Source: rule.Source{Title: "ICPE '24", URL: "https://example.org"}}
	}
	return rule.Finding{Rule: "nvme-scheduler", Verdict: rule.Found, Severity: rule.High, Class: "disk",
		Title: "Requests of an NVMe drive go through an I/O scheduler", About: []string{"nvme0n1", "nvme1n1"},
		Evidence: []rule.Evidence{
			{Fact: "kernel.major", Value: "6"},
			{Fact: "disk.queue.scheduler", Value: "bfq", About: []string{"nvme0n1", "nvme1n1"},
				Source: "/sys/block/nvme0n1/queue/scheduler"}},
		Effect:  "published: up to 63.4% overhead; 6% less",
		Effects: []rule.Effect{published("up to 63.4% overhead", "millions of IOPS"), published("6% less", "one job")},
		Remedies: []rule.Instruction{{System: "udev", Set: "queue:scheduler=none",
			Text: "write into /etc/udev/rules.d/90-headroom.rules:\nACTION==\"add|change\", SUBSYSTEM==\"block\", " +
				"ENV{DEVTYPE}==\"disk\", KERNEL==\"nvme*n*\", ATTR{queue/scheduler}=\"none\"",
			Cost: "Isolation: with loads that disturb each other, Kyber and BFQ had lower latency."}},
		Measure: "headroom ablate nvme DEVICE --setting queue:scheduler=none\n"}
}

// keptFinding has remedies on two systems, one remedy that is a command, and one that is not offered.
func keptFinding() rule.Finding {
	return rule.Finding{Rule: "iommu-strict", Verdict: rule.Found, Severity: rule.Medium, Class: "kernel",
		Title:    "IOMMU flushes on every I/O (strict)",
		Evidence: []rule.Evidence{{Fact: "pci.iommu.group_type", Value: "DMA", About: []string{"0000:01:00.0"}}},
		Effect:   "published: 63% less; not measured here",
		Kept: []string{"kept: cmdline:iommu=on; published: 63% less; not measured here; not offered: " +
			"cmdline:iommu=off"},
		Remedies: []rule.Instruction{
			{System: "grub", Set: "cmdline:iommu.strict=0", Text: "add iommu.strict=0 to GRUB_CMDLINE_LINUX",
				Reboot: true, Cost: "Security: a device may reach memory for a moment longer."},
			{System: "systemd-boot", Set: "cmdline:iommu.strict=0", Text: "add iommu.strict=0 to /etc/kernel/cmdline",
				Reboot: true, Cost: "Security: a device may reach memory for a moment longer."},
			{System: "plain", Set: "exec:echo DMA-FQ > /sys/kernel/iommu_groups/7/type",
				Text: "with no driver bound: echo DMA-FQ > /sys/kernel/iommu_groups/7/type",
				Only: "only if the driver can be unbound", Destroys: true, Cost: "none"}},
		Measure: "headroom run nvme DEVICE --label before\nheadroom run nvme DEVICE --label after # once it is " +
			"changed\nheadroom compare before after\n"}
}

func sectorFinding() rule.Finding {
	return rule.Finding{Rule: "sector-format", Verdict: rule.Found, Severity: rule.Low, Class: "disk",
		Title:    "The drive offers a sector format that it calls faster",
		Evidence: []rule.Evidence{{Fact: "disk.nvme.better_format", Value: "4096+0", About: []string{"nvme0n1"}}},
		Effect:   "no figure is published",
		Remedies: []rule.Instruction{{System: "plain", Text: "Back everything up, then reformat the namespace.",
			Destroys: true, Cost: "All data of the drive."}},
		Measure: "headroom run nvme DEVICE --label before\n"}
}

func unknownFinding(id, fact, reason string) rule.Finding {
	return rule.Finding{Rule: id, Verdict: rule.Unknown, Severity: rule.Low,
		Missing: []rule.Missing{{Fact: fact, Reason: reason}}}
}

// heldBack is a machine with findings of each severity, unknown answers, and others.
func heldBack() diagnosis.Document {
	return diagnosis.Document{Report: rule.Report{Schema: rule.Schema, Target: "db1", Findings: []rule.Finding{
		schedulerFinding(), keptFinding(), sectorFinding(),
		unknownFinding("packet-programs", "nic.tc_filters", "bpftool is not installed"),
		unknownFinding("tracing-on", "kernel.tracer", "permission denied"),
		unknownFinding("probes-set", "kernel.tracer", "permission denied"),
		{Rule: "numa-off", Verdict: rule.Clear}, {Rule: "nic-mtu", Verdict: rule.Clear},
		{Rule: "iommu-lazy", Verdict: rule.NotApplicable, Note: "covered by iommu-strict"}},
		Counts: rule.Counts{Finding: 3, Clear: 2, NotApplicable: 1, Unknown: 3}, PrivilegedWouldAnswer: 2}}
}

// onlyBuild is the diagnosis of a kernel's configuration.
func onlyBuild() diagnosis.Document {
	return diagnosis.Document{Report: rule.Report{Target: "strict.config", Findings: []rule.Finding{
		unknownFinding("nvme-scheduler", "disk.queue.scheduler", notCollected)}},
		Defaults: []diff.Default{{Option: "IOMMU_DEFAULT_DMA_STRICT", Value: "y",
			Why: "every DMA unmapping waits for the IOMMU", Argument: "iommu.strict=0", Effect: "63% less"}}}
}

// clearMachine has no findings.
func clearMachine() diagnosis.Document {
	return diagnosis.Document{Report: rule.Report{Target: "db2", Counts: rule.Counts{Clear: 150, NotApplicable: 41}}}
}

// manyMachines are five machines, of which one can't be reached and one has another scheduler.
func manyMachines() diagnosis.Several {
	d := diagnosis.Several{Schema: diagnosis.SeveralSchema, LeftOut: []string{"node gpu-1 has a taint"},
		Deviations: []outliers.Deviation{{Kind: "fact", Fact: "disk.queue.scheduler", Name: "disk.queue.scheduler",
			On: []string{"db3"}, About: []string{"nvme0n1"}, Value: "bfq", Typical: "none", SameCount: 3, Machines: 4,
			Slower: true, Why: "each request passes a scheduler"}}}
	for _, name := range []string{"db1", "db2", "db3", "db4"} {
		sector := sectorFinding()
		if name == "db2" {
			sector.Evidence[0].About = []string{"nvme1n1"}
		}
		r := rule.Report{Target: name, Findings: []rule.Finding{sector,
			unknownFinding("packet-programs", "nic.tc_filters", "bpftool is not installed")}}
		if name == "db3" {
			r.Findings = append(r.Findings, schedulerFinding())
		}
		d.Machines = append(d.Machines, diagnosis.Machine{Name: name, Diagnosis: &r})
	}
	d.Machines = append(d.Machines, diagnosis.Machine{Name: "db5", Error: "no route to db5"})
	names, reports := d.Reports()
	d.Findings = rule.Share(names, reports)
	return d
}

func TestDoctorAnswer(t *testing.T) {
	found := func(id, severity string) rule.Finding {
		return rule.Finding{Rule: id, Verdict: rule.Found, Severity: severity}
	}
	for _, c := range []struct {
		r    rule.Report
		want string
	}{
		{rule.Report{Target: "n7", Counts: rule.Counts{Clear: 3}},
			"n7: nothing found that holds the I/O of this machine back\n0 unknown, 3 clear, 0 do not apply\n"},
		{rule.Report{Target: "n7", Findings: []rule.Finding{found("a", "low")}},
			"n7: 1 finding (1 low)\n0 unknown, 0 clear, 0 do not apply\n"},
		{rule.Report{Target: "n7", Findings: []rule.Finding{found("a", "high"), found("b", "low"), found("b", "low"),
			found("c", "low")}, PrivilegedWouldAnswer: 2},
			"n7: 3 findings (1 high, 2 low), the one most likely to matter first\n" +
				"0 unknown, 0 clear, 0 do not apply; as root 2 more could be checked\n"},
		{rule.Report{Target: "dump", Findings: []rule.Finding{{Rule: "a", Verdict: rule.Unknown}}},
			"dump: nothing can be checked, because it has none of the facts that the rules need\n" +
				"a snapshot has it: headroom facts --json > FILE\n"},
	} {
		var b strings.Builder
		if err := render.Text(&b, document.Document{Blocks: doctorAnswer(c.r)}, render.Options{Width: 100}); err !=
			nil {
			t.Fatal(err)
		}
		if got := b.String(); got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
}

// Entries that are left out for people because of their number are in files for programs.
func TestEntriesForProgramsAreComplete(t *testing.T) {
	var b strings.Builder
	d := Differences(manyDifferences(), DifferenceOptions{Top: 3})
	if err := render.CSV(&b, d, render.Options{}); err != nil {
		t.Fatal(err)
	}
	if n, want := strings.Count(b.String(), ",weight,"), len(manyDifferences().Differences); n != want {
		t.Errorf("%d differences in the file, want %d:\n%s", n, want, b.String())
	}
}
