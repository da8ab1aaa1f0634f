package ablation

import (
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Design is what is measured.
type Design struct {
	Settings []Setting
	// Arms are the IDs of all arms, planned ones that were not visited yet too.
	Arms  []string
	Cells []Cell
	// NotVerified are the levels that nothing shows the effect of.
	NotVerified []lab.Unverified
	// Outages are the loads without a figure in an arm.
	Outages []Outage
}

// Setting is a factor at the level that is priced.
type Setting struct {
	Factor string `json:"factor"`
	Level  string `json:"level"`
}

// The levels that are words, as lab.VariedFactor has them.
const (
	found  = "found"
	absent = "absent"
)

// String is the setting as remedies are written: "cmdline:init_on_free=1", "cmdline:quiet" for an argument without a
// value, "cmdline:-quiet" for one that is taken away.
func (s Setting) String() string {
	switch s.Level {
	case "":
		return s.Factor
	case absent:
		scheme, name, _ := strings.Cut(s.Factor, ":")
		return scheme + ":-" + name
	}
	return s.Factor + "=" + s.Level
}

// Cell is a load that all arms are measured with.
type Cell struct {
	// ID is the one that the cell has in the suite, without the arm.
	ID     string            `json:"cell"`
	Job    string            `json:"job"`
	Title  string            `json:"title"`
	Engine string            `json:"engine"`
	Params map[string]string `json:"params"`
	// Metrics that decide.
	Metrics []string `json:"metrics"`
	// Own describes metrics that the suite of a command names; others are known by their names.
	Own map[string]lab.MetricInfo `json:"-"`
}

// Measured is one repetition's value of one metric.
type Measured struct {
	Arm    string
	Cell   string
	Metric string
	Block  int
	Value  float64
}

// Terms are what is settled before anything is measured.
type Terms struct {
	// Margin within which two levels are the same: 0.03 is 3%.
	Margin float64
	// Alpha bounds the probability that any of the claims is wrong, all of them together.
	Alpha float64
	// Blocks is how many times each arm is visited at most, MinBlocks how many times at least.
	Blocks, MinBlocks int
	// Pairs is how many pairs of settings are measured at most where effects do not add up, PairsFrom the first block
	// that visits any; 0 while none does.
	Pairs, PairsFrom int
}

// TermsOf returns the terms of a run, with the usual ones where it has none.
func TermsOf(run lab.Run) Terms {
	t := Terms{Margin: 0.03, Alpha: 0.05}
	if e := run.Experiment; e != nil {
		t = Terms{Margin: e.Margin, Alpha: e.Alpha, Blocks: e.Blocks, MinBlocks: e.MinBlocks, Pairs: e.MostPairs,
			PairsFrom: e.PairsFrom}
	}
	if t.Blocks == 0 {
		t.Blocks = math.MaxInt32
	}
	return t
}

// has reports whether an arm is planned.
func (d Design) has(arm string) bool { return slices.Contains(d.Arms, arm) }

// Claims is how many there are: each setting alone and each removed, for the deciding metrics of all cells. They share
// the error.
func (d Design) Claims() int {
	arms, metrics := 0, 0
	for n := range d.Settings {
		for _, arm := range []string{AloneArm(n + 1), RemovedArm(n + 1)} {
			if d.has(arm) {
				arms++
			}
		}
	}
	for _, c := range d.Cells {
		metrics += len(c.Metrics)
	}
	return arms * metrics
}

// sums is how many statements there are on whether effects add up: one a setting, one a pair, and two on the whole, for
// the deciding metrics of all cells. They share an error of the same size, apart from that of the claims. Pairs count
// that may still be measured: which they are is chosen by what was seen of the others.
func (d Design) sums(mostPairs int) int {
	pairs, metrics := 0, 0
	for _, arm := range d.Arms {
		if len(settingsOf(arm)) == 2 {
			pairs++
		}
	}
	statements := len(d.Settings) + 2 + max(pairs, mostPairs)
	for _, c := range d.Cells {
		metrics += len(c.Metrics)
	}
	return statements * metrics
}
