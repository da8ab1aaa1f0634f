// Package rule says what holds a machine back: rules are data (YAML, conditions in CEL over facts), the engine answers
// each with finding, clear, not applicable, or unknown and the facts that are missing. It works on facts alone, saved
// ones too, and reaches no machine.
package rule

// Rule is one thing that can hold a machine's I/O back, as it stands in a file of the folder rules.
type Rule struct {
	// ID is what users and --json call it; it never changes: "iommu-strict".
	ID string `yaml:"id"`
	// Title is the finding in a line, without figures: "IOMMU flushes on every I/O (strict)".
	Title string `yaml:"title"`
	// Class is the area: kernel, mitigation, power, disk, pci, memory, network, storage-network, virtualisation,
	// quality.
	Class string `yaml:"class"`
	// Scope is a class of facts (catalogue.Classes) when the rule is asked of each thing of that class; empty for the
	// machine.
	Scope string `yaml:"scope"`
	// Severity of a finding: high (a fifth or more of a metric is at stake on common loads), medium, low.
	Severity string `yaml:"severity"`
	// Applies is a condition; when it is false the rule does not apply. Empty is true.
	Applies string `yaml:"applies"`
	// When is the condition of a finding.
	When string `yaml:"when"`
	// Because explains the mechanism in a sentence or two.
	Because string `yaml:"because"`
	// Metrics that suffer: iops, bandwidth, latency, cpu, variance.
	Metrics []string `yaml:"metrics"`
	// Effects are published figures, never measured here. A rule that is pure arithmetic has a derivation instead.
	Effects []Effect `yaml:"effects"`
	// Derivation says how the size follows from facts, for rules that are arithmetic: "lanes in use / lanes possible".
	Derivation string `yaml:"derivation"`
	// Sources were read: where the mechanism and the condition are described.
	Sources []Source `yaml:"sources"`
	// Remedies, the best first.
	Remedies []Remedy `yaml:"remedies"`
	// Trades are settings that gain speed at a cost that the rule warns of: "mount:barrier=0" in a rule about flushes.
	// They are never recommended. Experiments that vary them report the cost.
	Trades []Trade `yaml:"trades"`
	// Conflicts names advice that says the opposite: "kernel-hardening-checker: iommu.strict=1".
	Conflicts []string `yaml:"conflicts"`
	// Measure is the command that would price it: "headroom ablate nvme DEVICE --setting queue:scheduler=none". Where
	// no factor makes the change (a card is moved, a share is mounted again) it is a run, "headroom run nfs DIR", which
	// is made before and after: Measuring says so. Words in capitals stand for what the reader puts there.
	Measure string `yaml:"measure"`
	// SilentIf are IDs of rules whose finding (about the same thing, or the machine) already tells this one's cause.
	SilentIf []string `yaml:"silent_if"`
	// Shows are facts that stand with a finding though its condition does not read them, of a rule about the machine
	// those of each thing: which socket each adapter hangs on.
	Shows []string `yaml:"shows"`
	// Guard marks a rule about the quality of measurements made now, rather than a setting.
	Guard bool `yaml:"guard"`
	// Risk marks a rule about a risk that was taken rather than a loss (the IOMMU is off, mitigations are off): nothing
	// is slower for it, so it is asked only when risks are wanted.
	Risk bool `yaml:"risk"`
	// Unquantified rules have no source that was read and no arithmetic; they are shown with --unpriced only.
	Unquantified bool `yaml:"unpriced"`

	// place is where the rule stands, for messages; the conditions are what Decode made of Applies and When.
	place         place
	applies, when *condition
}

// Effect is a published figure.
type Effect struct {
	// Text as it would be quoted: "up to 60% of throughput".
	Text string `yaml:"text" json:"text"`
	// Low and High bound the loss as a share of the metric, 0 to 1; both 0 when the source gives none.
	Low  float64 `yaml:"low" json:"low,omitempty"`
	High float64 `yaml:"high" json:"high,omitempty"`
	// Where, on what: hardware, load, kernel.
	Where  string `yaml:"where" json:"where,omitempty"`
	Source Source `yaml:"source" json:"source"`
}

// Source is something that can be opened.
type Source struct {
	Title string `yaml:"title" json:"title"`
	URL   string `yaml:"url" json:"url,omitempty"`
}

// Trade is one or more settings that gain speed and give up durability, security or integrity.
type Trade struct {
	// Set are settings in the words of a Remedy, or "option:NAME=n" for one of a kernel's build. A * at the end of a
	// name stands for any text.
	Set []string `yaml:"set"`
	// Above limits the trade to levels that are greater numbers. Set has no levels then.
	Above *float64 `yaml:"above"`
	// Cost is a word of GivesUp, a colon, and the consequence: "Durability: synced data is lost ...".
	Cost string `yaml:"cost"`
}

// Remedy is one way to change it.
type Remedy struct {
	// Text says what to do in words. Required when Set is empty.
	Text string `yaml:"text"`
	// Set is a setting in the words of `headroom factors`: "cmdline:iommu.strict=0",
	// "sysctl:net.ipv4.tcp_mtu_probing=1", "queue:scheduler=none", "module:nvme.poll_queues=4", "mount:nconnect=8",
	// "nic:mtu=9000", "cpu:governor=performance", "guest:iothreads=4", "sysfs:/sys/kernel/mm/ksm/run=0", "exec:…" for a
	// command; "cmdline:numa=absent" takes a boot argument away. Those of an adapter are about that of the finding and
	// do not name it. It is rendered for the system at hand.
	Set string `yaml:"set"`
	// Only is a condition like When for offering the remedy: "iommu.vfio_groups == 0". When it is false the remedy is
	// withheld; when facts are missing it is shown with the condition.
	Only string `yaml:"only"`
	// Certain says that the remedy can keep a machine from starting for which Only is not true: when facts are missing
	// it is not offered.
	Certain bool `yaml:"certain"`
	// Reboot says that it takes a boot to come into force; Destroys that data is lost on the way.
	Reboot   bool `yaml:"reboot"`
	Destroys bool `yaml:"destroys"`
	// Cost in security, durability, power, capacity or money, in plain words; "none" when there is none.
	Cost string `yaml:"cost"`

	only *condition
}
