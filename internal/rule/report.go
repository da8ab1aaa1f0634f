package rule

// Schema names the document of `headroom doctor --json`.
const Schema = "headroom/doctor/v1"

// Verdict is a rule's answer about one thing.
type Verdict string

// The four verdicts.
const (
	Found Verdict = "finding"
	Clear Verdict = "clear"
	// NotApplicable: the rule is not about this machine, there is no such thing, or another rule's finding tells the
	// cause.
	NotApplicable Verdict = "not-applicable"
	// Unknown: facts are missing that would decide.
	Unknown Verdict = "unknown"
)

// Report is what all rules say about a machine. It is the document of the schema headroom/doctor/v1, in which fields
// are added and never renamed.
type Report struct {
	Schema string `json:"schema"`
	// Target is left to the caller.
	Target   string    `json:"target,omitempty"`
	Findings []Finding `json:"findings"`
	Counts   Counts    `json:"counts"`
	// PrivilegedWouldAnswer counts the unknown answers that root would get.
	PrivilegedWouldAnswer int `json:"privileged_would_tell"`
}

// Counts are answers, one for each rule and thing.
type Counts struct {
	Finding       int `json:"finding"`
	Clear         int `json:"clear"`
	NotApplicable int `json:"not_applicable"`
	Unknown       int `json:"unknown"`
}

// Finding is a rule's answer about the machine, or about all things for which it is the same. The name is that of the
// answer that matters; it may be any of the four.
type Finding struct {
	Rule    string  `json:"rule"`
	Verdict Verdict `json:"verdict"`
	// Title of the rule; that of a guard begins with "now: ", because it passes.
	Title    string `json:"title"`
	Severity string `json:"severity"`
	Class    string `json:"class"`
	Guard    bool   `json:"guard,omitempty"`
	// About are the things, as in facts; empty for the machine.
	About    []string   `json:"about,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Effect is what is published or derived, as a sentence. Effects are the published figures
	// themselves.
	Effect  string   `json:"effect,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
	// Remedies that are offered, the best first, for the systems at hand or asked for.
	Remedies []Instruction `json:"remedy,omitempty"`
	// Kept says what keeping the settings costs that the user must keep, and which remedies are left out for them.
	Kept []string `json:"kept,omitempty"`
	// Cost of the first remedy.
	Cost      string    `json:"cost,omitempty"`
	Measure   string    `json:"measure,omitempty"`
	Because   string    `json:"because,omitempty"`
	Metrics   []string  `json:"metrics,omitempty"`
	Conflicts []string  `json:"conflicts,omitempty"`
	Sources   []Source  `json:"sources,omitempty"`
	Missing   []Missing `json:"missing,omitempty"`
	// Note says why a rule does not apply, "covered by iommu-strict", or why a finding is rated lower than its rule.
	Note string `json:"note,omitempty"`
}

// Evidence is a fact that the condition read. Values that several things share stand once.
type Evidence struct {
	Fact   string   `json:"fact"`
	About  []string `json:"about,omitempty"`
	Value  string   `json:"value"`
	Source string   `json:"source,omitempty"`
}

// Missing is a fact that would have decided.
type Missing struct {
	Fact   string   `json:"fact"`
	About  []string `json:"about,omitempty"`
	Reason string   `json:"reason"`
}

// Options of Evaluate.
type Options struct {
	// Keep are settings that must stay: "cmdline:numa=off", "vm.swappiness=60". Remedies that would change one are not
	// offered.
	Keep []string
	// Systems to write remedies for; empty for those that the facts show.
	Systems []string
	// Risks that were taken are reported, too.
	Risks bool
	// Unquantified rules are asked too.
	Unquantified bool
	// All answers are wanted, not only findings and unknowns.
	All bool
}
