package rule

// Schema names the document of `headroom doctor --json`.
const Schema = "headroom/doctor/v1"

// Verdict is a rule's answer about one thing.
type Verdict string

// The four verdicts.
const (
	Found Verdict = "finding"
	Clear Verdict = "clear"
	// NotApplicable: the rule is not about this machine, there is no such thing, or another rule's finding names the
	// cause.
	NotApplicable Verdict = "not-applicable"
	// Unknown: facts that would decide are missing.
	Unknown Verdict = "unknown"
)

// Report is the answer of all rules about a machine. It is the document of the schema headroom/doctor/v1, in which
// fields are added and never renamed.
type Report struct {
	Schema string `json:"schema"`
	// Target is set by the caller.
	Target   string    `json:"target,omitempty"`
	Findings []Finding `json:"findings"`
	Counts   Counts    `json:"counts"`
	// PrivilegedWouldAnswer counts the unknown answers that root would get.
	PrivilegedWouldAnswer int `json:"privileged_would_tell"`
}

// Counts are the numbers of answers, one for each rule and thing.
type Counts struct {
	Finding       int `json:"finding"`
	Clear         int `json:"clear"`
	NotApplicable int `json:"not_applicable"`
	Unknown       int `json:"unknown"`
}

// Finding is a rule's answer about the machine, or about all things for which the answer is the same. Despite the name
// the verdict may be any of the four.
type Finding struct {
	Rule    string  `json:"rule"`
	Verdict Verdict `json:"verdict"`
	// Title of the rule. For a guard it begins with "now: ", because the condition passes.
	Title    string `json:"title"`
	Severity string `json:"severity"`
	Class    string `json:"class"`
	Guard    bool   `json:"guard,omitempty"`
	// About are the things, as in facts; empty for the machine.
	About    []string   `json:"about,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
	// Effect is the published or derived effect, as a sentence. Effects are the published figures themselves.
	Effect  string   `json:"effect,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
	// Remedies on offer, the best first, for the systems that were found or named.
	Remedies []Instruction `json:"remedy,omitempty"`
	// Kept describes the cost of the settings that the user must keep, and the remedies that are left out because of
	// them.
	Kept []string `json:"kept,omitempty"`
	// Cost of the first remedy.
	Cost      string    `json:"cost,omitempty"`
	Measure   string    `json:"measure,omitempty"`
	Because   string    `json:"because,omitempty"`
	Metrics   []string  `json:"metrics,omitempty"`
	Conflicts []string  `json:"conflicts,omitempty"`
	Sources   []Source  `json:"sources,omitempty"`
	Missing   []Missing `json:"missing,omitempty"`
	// Note is why a rule does not apply, "covered by iommu-strict", or why a finding is rated lower than its rule.
	Note string `json:"note,omitempty"`
}

// Evidence is a fact that the condition read. A value that several things share is listed once.
type Evidence struct {
	Fact   string   `json:"fact"`
	About  []string `json:"about,omitempty"`
	Value  string   `json:"value"`
	Source string   `json:"source,omitempty"`
}

// Missing is an unknown fact that would have decided.
type Missing struct {
	Fact   string   `json:"fact"`
	About  []string `json:"about,omitempty"`
	Reason string   `json:"reason"`
}

// Options of Evaluate.
type Options struct {
	// Keep are settings that must not change: "cmdline:numa=off", "vm.swappiness=60". Remedies that would change one
	// are not offered.
	Keep []string
	// Systems to write remedies for; if empty, those that the facts show.
	Systems []string
	// Risks reports also risks that were taken.
	Risks bool
	// Unquantified includes unquantified rules.
	Unquantified bool
	// All returns all answers, not only findings and unknowns.
	All bool
}
