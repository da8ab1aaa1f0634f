package ablation

import (
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/ablate/v1"

// Document is what each setting costs or gains. Ratios are new/base: 0.6 of a rate is 40% less.
type Document struct {
	Schema string `json:"schema"`
	// Run is the ID of the run; empty where it has none.
	Run string `json:"run,omitempty"`
	// Alpha is the probability that any of the Claims is wrong: each holds with Confidence. Margin is the largest
	// difference that counts as none.
	Margin     float64 `json:"margin"`
	Alpha      float64 `json:"alpha"`
	Claims     int     `json:"claims"`
	Confidence float64 `json:"confidence"`
	// Blocks that were begun, each a visit of every arm that was still needed, and how many Visits there were in all of
	// them.
	Blocks int `json:"blocks"`
	Visits int `json:"visits"`
	// Cells are the loads, with the metrics that decide.
	Cells    []Cell          `json:"cells"`
	Settings []SettingEffect `json:"settings"`
	// Interactions are settings that do something else with others than alone, and all pairs that were measured.
	Interactions []Interaction `json:"interactions"`
	// Unexplained is what all settings together do beyond what each does alone, by cell and metric.
	Unexplained []Unexplained `json:"unexplained"`
	// Controls hold two visits of the baseline in the same block against each other.
	Controls []Control `json:"controls"`
	// Suspects are pairs of settings, by number from 1, whose interaction is worth measuring: arms "+1+2". That they
	// interact is not claimed.
	Suspects [][2]int `json:"suspects"`
	// Outages are the loads that failed at each visit of an arm, or measured 0 at one. They are compared with nothing.
	Outages []Outage `json:"outages,omitempty"`
	// PerVisit is how many repetitions a visit is worth; absent where visits have one.
	PerVisit *plan.PerVisit `json:"per_visit,omitempty"`
	Warnings []ArmWarning   `json:"warnings"`
}

// Verdict is the answer for a setting.
type Verdict string

// The verdicts. Faster and slower are about the metric whichever way it improves: a job that takes longer is slower.
const (
	Faster    Verdict = "faster"
	Slower    Verdict = "slower"
	Same      Verdict = "same"
	Undecided Verdict = "undecided"
	// Mixed is faster in one place and slower in another: alone and in the set, or for two loads.
	Mixed Verdict = "mixed"
	// Stops is a setting with which the load fails, or does nothing, at each visit.
	Stops Verdict = "stops"
	// NotVerified is what would be same, of a setting that may not have been in effect.
	NotVerified Verdict = "not-verified"
)

// SettingEffect is one setting.
type SettingEffect struct {
	Setting
	// Number of the setting, from 1: its arms are "+1" and "-1".
	Number int `json:"number"`
	// Alone is the setting on the baseline, Removed the tuned set against the tuned set without it: both are what
	// having the setting does. They belong to the first number in Cells; absent where nothing was measured.
	Alone   *Effect `json:"alone,omitempty"`
	Removed *Effect `json:"removed,omitempty"`
	// Verdict on all cells.
	Verdict Verdict `json:"verdict"`
	// NotVerified is why nothing shows whether the setting was in effect at all; empty where something does, and a
	// difference that was measured does.
	NotVerified string `json:"not_verified,omitempty"`
	// Price is the cost of the setting other than speed: security, durability, power or money. It is empty if no rule
	// has one.
	rule.Price
	// Functions of the kernel that differ most without it (a) and with it (b), where both were profiled, by load.
	Functions []difference.CellFunctions `json:"functions,omitempty"`
	Cells     []CellEffect               `json:"cells"`
}

// CellEffect is one setting for one number.
type CellEffect struct {
	Cell    string     `json:"cell"`
	Metric  string     `json:"metric"`
	Unit    lab.Unit   `json:"unit"`
	Better  lab.Better `json:"better"`
	Alone   *Effect    `json:"alone,omitempty"`
	Removed *Effect    `json:"removed,omitempty"`
	Verdict Verdict    `json:"verdict"`
}

// Effect is a ratio with the interval that decides; without Lo and Hi where so few blocks say nothing.
type Effect struct {
	stat.RatioEstimate
	// Blocks that it rests on.
	Blocks  int     `json:"blocks"`
	Verdict Verdict `json:"verdict"`
	// Detectable is the smallest change, as a share, that would have been told from none in four of five such
	// experiments. An arm that was given up because nothing was to be seen would have gone on for one that is larger,
	// so that all blocks that it could have had count.
	Detectable *float64 `json:"detectable,omitempty"`
}

// Known reports whether there is an interval.
func (e *Effect) Known() bool { return e != nil && e.RatioEstimate.Known() }

// Interaction is how many times as much settings do together as effects that multiply, add to the rate or add to the
// time predict. The ratio is against the nearest of the three; it is 1 between them.
type Interaction struct {
	// Settings are one, against the rest of the tuned set, or a pair, against each other; by number from 1.
	Settings []int  `json:"settings"`
	Cell     string `json:"cell"`
	Metric   string `json:"metric"`
	Effect
}

// Unexplained compares all settings together with each alone.
type Unexplained struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	// Together is the tuned set against the baseline.
	Together Effect `json:"together"`
	// All is Together against all settings alone, multiplied or added, whose noise adds up. Seen is the same with those
	// settings only that were seen to do something alone, named in Settings: as sharp as one ratio where that is one
	// setting.
	All      Effect `json:"all"`
	Seen     Effect `json:"seen"`
	Settings []int  `json:"settings"`
}

// Control is the baseline against itself. A verdict other than same or undecided means that the order or the place of a
// visit matters, so that all other numbers are doubtful.
type Control struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	Effect
}

// Different says that the baseline was seen to differ from itself.
func (c Control) Different() bool { return c.Verdict == Faster || c.Verdict == Slower }

// estimate is a change as it is published; nil where there is none.
func (a *analysis) estimate(c stat.BlockedChange, better lab.Better) *Effect {
	if math.IsNaN(c.Ratio) || math.IsInf(c.Ratio, 0) {
		return nil
	}
	out := &Effect{RatioEstimate: c.Estimate(), Blocks: c.N, Verdict: Undecided}
	if !out.Known() {
		return out
	}
	out.Verdict = verdictOf(c.Decide(a.Margin), better)
	blocks := c.N
	if c.Futile(a.Margin, a.Blocks) {
		blocks = max(blocks, a.Blocks)
	}
	if share := c.Detectable(blocks) - 1; !math.IsNaN(share) && !math.IsInf(share, 0) {
		out.Detectable = &share
	}
	return out
}

func verdictOf(d stat.Decision, better lab.Better) Verdict {
	switch {
	case d == stat.Same:
		return Same
	case d == stat.Undecided:
		return Undecided
	case (d == stat.Above) == (better == lab.Higher):
		return Faster
	}
	return Slower
}

// together is the verdict on several: what any of them decided, unless they contradict each other; same where all are.
func together(verdicts []Verdict) Verdict {
	counts := map[Verdict]int{}
	for _, v := range verdicts {
		counts[v]++
	}
	switch {
	case counts[Stops] > 0:
		return Stops
	case counts[Mixed] > 0 || counts[Faster] > 0 && counts[Slower] > 0:
		return Mixed
	case counts[Faster] > 0:
		return Faster
	case counts[Slower] > 0:
		return Slower
	case counts[Same] > 0 && counts[Same] == len(verdicts):
		return Same
	}
	return Undecided
}
