// Package rule finds what limits a machine's I/O. Rules are data (YAML, with conditions in CEL over facts). The engine
// answers each with finding, clear, not applicable, or unknown and the missing facts. It works on facts alone, saved
// ones too, and connects to no machine.
package rule

import "strings"

// Rule is one thing that can limit a machine's I/O, as written in a file of the folder rules.
type Rule struct {
	// ID is the name in messages and in --json; it never changes: "iommu-strict".
	ID string `yaml:"id"`
	// Title is the finding in a line, without figures: "IOMMU flushes on every I/O (strict)".
	Title string `yaml:"title"`
	// Class is the area: kernel, mitigation, power, disk, pci, memory, network, storage-network, virtualisation,
	// quality.
	Class string `yaml:"class"`
	// Scope is a class of facts (catalogue.Classes) if the rule is evaluated for each thing of that class; empty for
	// the machine.
	Scope string `yaml:"scope"`
	// Severity of a finding: high (a fifth or more of a metric is at stake on common loads), medium, low.
	Severity string `yaml:"severity"`
	// Applies is a condition; if it is false the rule does not apply. Empty means true.
	Applies string `yaml:"applies"`
	// When is the condition of a finding.
	When string `yaml:"when"`
	// Because explains the mechanism in a sentence or two.
	Because string `yaml:"because"`
	// Metrics that suffer: iops, bandwidth, latency, cpu, variance.
	Metrics []string `yaml:"metrics"`
	// Effects are published figures, never measured here. A rule that is pure arithmetic has a derivation instead.
	Effects []Effect `yaml:"effects"`
	// Derivation describes how the size follows from facts, for rules that are arithmetic: "lanes in use / lanes
	// possible".
	Derivation string `yaml:"derivation"`
	// Sources were read; they describe the mechanism and the condition.
	Sources []Source `yaml:"sources"`
	// Remedies, the best first.
	Remedies []Remedy `yaml:"remedies"`
	// Trades are settings that gain speed at a cost that the rule warns of: "mount:barrier=0" in a rule about flushes.
	// They are never recommended. Experiments that vary them report the cost.
	Trades []Trade `yaml:"trades"`
	// Conflicts names advice that says the opposite: "kernel-hardening-checker: iommu.strict=1".
	Conflicts []string `yaml:"conflicts"`
	// Measure is the command that measures the effect: "headroom ablate nvme DEVICE --setting queue:scheduler=none". If
	// no factor can make the change (a card is moved, a share is mounted again) it is a run, "headroom run nfs DIR",
	// before and after the change: see Measuring. Words in capitals are replaced by the reader.
	Measure string `yaml:"measure"`
	// SilentIf are IDs of rules whose finding (about the same thing, or the machine) already names this rule's cause.
	SilentIf []string `yaml:"silent_if"`
	// Shows are facts that are listed with a finding although its condition does not read them. A rule about the
	// machine lists the facts of each thing: which socket each adapter is attached to.
	Shows []string `yaml:"shows"`
	// Guard marks a rule about the quality of measurements made now, rather than a setting.
	Guard bool `yaml:"guard"`
	// Risk marks a rule about a risk that was taken rather than a loss (the IOMMU is off, mitigations are off). It
	// slows nothing down, so it is evaluated only if risks are requested.
	Risk bool `yaml:"risk"`
	// Unquantified marks a rule with neither a source that was read nor arithmetic. It is shown with --unpriced only.
	Unquantified bool `yaml:"unpriced"`

	// place is the rule's position in its file, for messages. The conditions are Applies and When, compiled by Decode.
	place         place
	applies, when *condition
}

// Effect is a published figure.
type Effect struct {
	// Text in the form of a quotation: "up to 60% of throughput".
	Text string `yaml:"text" json:"text"`
	// Low and High bound the loss as a share of the metric, 0 to 1; both 0 if the source gives none.
	Low  float64 `yaml:"low" json:"low,omitempty"`
	High float64 `yaml:"high" json:"high,omitempty"`
	// Where it was measured: hardware, load, kernel.
	Where  string `yaml:"where" json:"where,omitempty"`
	Source Source `yaml:"source" json:"source"`
}

// Source is a document that can be opened.
type Source struct {
	Title string `yaml:"title" json:"title"`
	URL   string `yaml:"url" json:"url,omitempty"`
}

// Trade is one or more settings that gain speed and give up durability, security or integrity.
type Trade struct {
	// Set are settings in the words of a Remedy, or "option:NAME=n" for an option of the kernel's build. A * at the end
	// of a name matches any text.
	Set []string `yaml:"set"`
	// Above limits the trade to levels that are greater numbers. Set then has no levels.
	Above *float64 `yaml:"above"`
	// Cost is a word of GivesUp, a colon, and the consequence: "Durability: synced data is lost ...".
	Cost string `yaml:"cost"`
}

// Remedy is one way to remove the cause of a finding.
type Remedy struct {
	// Text describes what to do in words. Required if Set is empty.
	Text string `yaml:"text"`
	// Set is a setting in the words of `headroom factors`: "cmdline:iommu.strict=0",
	// "sysctl:net.ipv4.tcp_mtu_probing=1", "queue:scheduler=none", "module:nvme.poll_queues=4", "mount:nconnect=8",
	// "nic:mtu=9000", "cpu:governor=performance", "guest:iothreads=4", "sysfs:/sys/kernel/mm/ksm/run=0", "exec:…" for a
	// command; "cmdline:numa=absent" removes a boot argument. A setting of an adapter applies to the adapter of the
	// finding and does not name it. The setting is rendered for the system in use.
	Set string `yaml:"set"`
	// Only is a condition like When for offering the remedy: "iommu.vfio_groups == 0". If it is false the remedy is
	// left out; if facts are missing the remedy is shown with the condition.
	Only string `yaml:"only"`
	// Certain is true if the remedy can keep a machine from starting on which Only is false: it is not offered if facts
	// are missing.
	Certain bool `yaml:"certain"`
	// Reboot is true if the remedy takes effect only after a boot, Destroys if it destroys data.
	Reboot   bool `yaml:"reboot"`
	Destroys bool `yaml:"destroys"`
	// Cost in security, durability, power, capacity or money, in plain words; "none" if there is none.
	Cost string `yaml:"cost"`

	only *condition
}

// Measuring returns the commands that measure what the finding costs, one per line: Measure, or if that is a run, the
// run before and after the change with the comparison.
//
//	headroom run nfs DIR --label before
//	headroom run nfs DIR --label after # once it is changed
//	headroom compare before after
func (r Rule) Measuring() string {
	if !strings.HasPrefix(r.Measure, "headroom run ") && !strings.HasPrefix(r.Measure, "headroom net ") {
		return r.Measure
	}
	return r.Measure + " --label before\n" + r.Measure +
		" --label after # once it is changed\nheadroom compare before after"
}
