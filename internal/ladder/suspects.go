package ladder

import "github.com/headroom/headroom/internal/stat"

// Suspect is a finding of doctor's about an end of a network that may be why a rung falls short.
type Suspect struct {
	// Target that it is about, and the rule that found it.
	Target   string `json:"target"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	// Effect is what is published of it, in a sentence.
	Effect string `json:"effect,omitempty"`
	// Remedies that are offered, the best first, and Kept what keeping settings costs.
	Remedies []string `json:"remedies"`
	Kept     []string `json:"kept,omitempty"`
}

// TuningRun is another ladder of the same ports, climbed with something changed.
type TuningRun struct {
	Run   string `json:"run"`
	Label string `json:"label,omitempty"`
	// Changed is what differs on the server, the likeliest to matter first: "numa: off, then absent".
	Changed []string `json:"changed"`
	// Forbidden is a setting that must be kept and is not; empty for none.
	Forbidden string `json:"forbidden,omitempty"`
	// Name of the highest rung that both have, with what it does in the first load; Change is that as a ratio, which is
	// no more than the two ladders' difference: something else may have changed, too.
	Name   string        `json:"name"`
	Unit   string        `json:"unit"`
	Before float64       `json:"before"`
	After  float64       `json:"after"`
	Change stat.Estimate `json:"change"`
}

// Best of the trials that keep what must be kept, and of those that need not; -1 for none that gains for sure.
func Best(trials []TuningRun) (kept, any int) {
	kept, any = -1, -1
	for i, t := range trials {
		if t.Change.Lo == nil || *t.Change.Lo <= 1 {
			continue
		}
		if any < 0 || t.After > trials[any].After {
			any = i
		}
		if t.Forbidden == "" && (kept < 0 || t.After > trials[kept].After) {
			kept = i
		}
	}
	return kept, any
}
