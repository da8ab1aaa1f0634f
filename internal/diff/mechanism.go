package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/prose"
)

// Mechanism is the evidence from profiles of both sides about a difference: whether the kernel's code path of an I/O
// changed as the difference would change it.
type Mechanism struct {
	Evidence MechanismEvidence `json:"evidence"`
	// Factor by which the evidence makes the difference likelier to be the cause, compared with one without evidence.
	Factor float64 `json:"factor"`
	// Little is true if these functions account for little of the loss.
	Little bool `json:"little,omitempty"`
	// Functions that are the evidence, with their calls per I/O.
	Functions []FunctionCalls `json:"functions"`
}

// MechanismEvidence is how the functions changed that a difference is known to affect.
type MechanismEvidence string

// The kinds of evidence.
const (
	// Moved: they run where the slow value is in effect, and not where the fast one is.
	Moved MechanismEvidence = "moved"
	// Still: they did not change, or changed in the opposite direction.
	Still MechanismEvidence = "still"
	// NeverRan: no function that the difference concerns ran on either side.
	NeverRan MechanismEvidence = "never-ran"
	// SlowsAll: the difference can slow down everything, and on the slow side everything takes longer, which accounts
	// for most of the loss.
	SlowsAll MechanismEvidence = "slows-all"
)

// The factors: evidence from a profile is strong, but no proof. A moved function adds nothing if it accounts for little
// of the loss; and several things can slow down everything.
const (
	movedFactor  = 20
	stillFactor  = 0.05
	littleFactor = 1
	slowsFactor  = 4
)

// FunctionCalls are the calls per I/O of a function on both sides.
type FunctionCalls struct {
	Function string  `json:"function"`
	Cell     string  `json:"cell"`
	A        float64 `json:"a"`
	B        float64 `json:"b"`
	// Measure is the quantity of A and B if it is not calls.
	Measure Measure `json:"measure,omitempty"`
}

// Measure is a measured quantity of a function.
type Measure string

// The measures.
const (
	Calls Measure = ""      // per I/O
	Waits Measure = "waits" // of the load's threads in it, per I/O
	Share Measure = "share" // of the CPU time that an I/O takes, for functions that can't be traced
)

// of returns how often a function was called or waited in; nil if that was not recorded. In a function without waits no
// thread waited.
func (m Measure) of(f cost.Function) *cost.LoadMean {
	switch {
	case m != Waits:
		return f.Calls
	case f.Waits == nil:
		return &cost.LoadMean{Values: []float64{0}}
	}
	return f.Waits
}

// change returns the change of the measured quantity.
func (m Measure) change(f difference.Function) *difference.Delta {
	if m == Waits {
		return f.Waits
	}
	return f.Calls
}

// counted reports whether both sides recorded the quantity.
func (m Measure) counted(c difference.Cell) bool {
	if m == Waits {
		return min(c.A.WaitLoads, c.B.WaitLoads) > 0
	}
	return counted(c)
}

// call is a function that, where a value is in effect, runs at least this often in each I/O, or in which threads wait
// this often, or which takes this share of the time.
type call struct {
	// value for which it runs, a pattern as in slow; empty for the slow value.
	value string
	// function may have * in it.
	function string
	atLeast  float64
	measure  Measure
}

// callText matches a call as written in the knowledge: "qi_submit_sync >= 0.9", "bfq: bfq_dispatch_request >= 0.5",
// "blk_mq_get_tag >= 0.05 waits", "srso_* >= 5% of time".
var callText = prose.Pattern(`^(?:([^\s:]+): )?([\w*]+) >= ([\d.]+)( waits|% of time)?$`)

func parseCall(text string) (call, error) {
	parts := callText().FindStringSubmatch(text)
	if parts == nil {
		return call{}, fmt.Errorf("calls: %q; write \"FUNCTION >= 0.9\", \"VALUE: FUNCTION >= 0.9\", "+
			"\"FUNCTION >= 0.05 waits\", or \"FUNCTION >= 5%% of time\"", text)
	}
	atLeast, err := strconv.ParseFloat(parts[3], 64)
	c := call{value: parts[1], function: parts[2], atLeast: atLeast}
	switch parts[4] {
	case " waits":
		c.measure = Waits
	case "% of time":
		c.measure, c.atLeast = Share, atLeast/100
	}
	if err != nil || c.atLeast < minCalls {
		return call{}, fmt.Errorf("calls: %q; profiles leave out what runs less than %g times an I/O", text, minCalls)
	}
	return c, nil
}

// minCalls is the number of calls per I/O from which profiles list a function.
const minCalls = 0.01

// Mechanism returns the evidence from profiles of the two sides about a difference. It returns nil if there is none:
// the functions that the difference affects are unknown, or calls were not counted on both sides.
func (k *Knowledge) Mechanism(p difference.Document, d Difference) *Mechanism {
	e := k.lookup(d.Kind, d.Name)
	expected := e.expected(d)
	if m := judge(p.Cells, expected); len(expected) > 0 && m != nil {
		return m
	}
	if e.slowsAll(d) && slowsAll(p.Cells, d.Slower) {
		return &Mechanism{Evidence: SlowsAll, Factor: slowsFactor, Functions: []FunctionCalls{}}
	}
	if len(expected) > 0 {
		return nil
	}
	cells := slices.DeleteFunc(slices.Clone(p.Cells), func(c difference.Cell) bool { return !counted(c) })
	if len(cells) == 0 {
		return nil
	}
	if path := k.pathOf(d); len(path) > 0 && !slices.ContainsFunc(cells, func(c difference.Cell) bool {
		return ran(c.A, path) || ran(c.B, path)
	}) {
		return &Mechanism{Evidence: NeverRan, Factor: stillFactor, Functions: []FunctionCalls{}}
	}
	return nil
}

// counted reports whether calls of functions were counted on both sides.
func counted(c difference.Cell) bool { return callsCounted(c.A) && callsCounted(c.B) }

func callsCounted(p cost.Profile) bool {
	return p.CallLoads > 0 && slices.ContainsFunc(p.Functions, func(f cost.Function) bool {
		return f.Calls != nil && !strings.Contains(f.Name, ":")
	})
}

// expectation is a call with the side on which it is expected.
type expectation struct {
	call
	inB bool
}

// expected returns the calls that a difference is known to change.
func (e *entry) expected(d Difference) []expectation {
	var list []expectation
	for _, c := range e.calls {
		if c.value == "" {
			if d.Slower != "" {
				list = append(list, expectation{c, d.Slower == "b"})
			}
			continue
		}
		if a, b := matches(c.value, d.A), matches(c.value, d.B); a != b {
			list = append(list, expectation{c, b})
		}
	}
	return list
}

// judge compares the expected calls with the recorded ones. One function of several is enough, because other processors
// and kernels have other functions for the same purpose. If one runs on the expected side only, but not in every load,
// there is no verdict.
func judge(cells []difference.Cell, expected []expectation) *Mechanism {
	var moved, still []FunctionCalls
	unclear, judged := false, false
	for _, x := range expected {
		for _, c := range cells {
			if x.measure == Share {
				if f := x.shareIn(c); x.grew(f) {
					moved = append(moved, f)
				}
				continue // too few samples to conclude that something did not run
			}
			if !x.measure.counted(c) {
				continue
			}
			judged = true
			for _, f := range x.functionsIn(c) {
				runs, rests := x.sides(f)
				switch {
				case runs >= x.atLeast && x.moved(c, f.Function):
					moved = append(moved, f)
				case runs >= x.atLeast && rests < x.atLeast:
					unclear = true
				default:
					still = append(still, f)
				}
			}
		}
	}
	switch {
	case len(moved) > 0:
		m := &Mechanism{Evidence: Moved, Factor: movedFactor, Functions: moved}
		if m.Little = little(cells, moved); m.Little {
			m.Factor = littleFactor
		}
		return m
	case unclear || !judged:
		return nil
	}
	return &Mechanism{Evidence: Still, Factor: stillFactor, Functions: append([]FunctionCalls{}, still...)}
}

// sides returns the values on the side where the function is expected, and on the other.
func (x expectation) sides(f FunctionCalls) (runs, rests float64) {
	if x.inB {
		return f.B, f.A
	}
	return f.A, f.B
}

// shareIn returns the share of the CPU time that the functions of a call take on both sides. It is empty if one side
// was not sampled.
func (x expectation) shareIn(c difference.Cell) FunctionCalls {
	f := FunctionCalls{Function: x.function, Cell: c.Cell, Measure: Share}
	if c.A.CPU == nil || c.B.CPU == nil || c.A.CPU.Mean <= 0 || c.B.CPU.Mean <= 0 {
		return f
	}
	for inB, side := range []cost.Profile{c.A, c.B} {
		for _, one := range side.Functions {
			if one.Self == nil || !matches(x.function, one.Name) {
				continue
			}
			if share := one.Self.Mean / side.CPU.Mean; inB == 1 {
				f.B += share
			} else {
				f.A += share
			}
		}
	}
	return f
}

// grew reports whether the share on the expected side is large enough, and at most a third of it on the other side.
func (x expectation) grew(f FunctionCalls) bool {
	runs, rests := x.sides(f)
	return runs >= x.atLeast && rests <= runs/3
}

// functionsIn returns the functions of a cell that a call names; none if none ran.
func (x expectation) functionsIn(c difference.Cell) []FunctionCalls {
	var list []FunctionCalls
	for inB, side := range []cost.Profile{c.A, c.B} {
		for _, f := range side.Functions {
			found := x.measure.of(f)
			if found == nil || !matches(x.function, f.Name) {
				continue
			}
			i := slices.IndexFunc(list, func(o FunctionCalls) bool { return o.Function == f.Name })
			if i < 0 {
				i = len(list)
				list = append(list, FunctionCalls{Function: f.Name, Cell: c.Cell, Measure: x.measure})
			}
			if inB == 1 {
				list[i].B = found.Mean
			} else {
				list[i].A = found.Mean
			}
		}
	}
	return list
}

// restsBelow is the share of its expected calls up to which a function counts as not running, in every load: 0.2 calls
// for 0.9.
const restsBelow = 0.2 / 0.9

// moved reports whether a function is called clearly more often on the expected side: it runs only there, or the
// difference is beyond chance.
func (x expectation) moved(c difference.Cell, function string) bool {
	runs, rests := c.B, c.A
	if !x.inB {
		runs, rests = c.A, c.B
	}
	least, most := slices.Min(x.valuesOf(runs, function)), slices.Max(x.valuesOf(rests, function))
	if least >= x.atLeast && most <= restsBelow*x.atLeast && !slices.Contains(c.OwnPace, function) {
		return true
	}
	towardsB := map[difference.Change]bool{difference.Appeared: true, difference.More: true, difference.Vanished: false,
		difference.Less: false}
	return slices.ContainsFunc(c.Functions, func(f difference.Function) bool {
		d := x.measure.change(f)
		if f.Name != function || d == nil {
			return false
		}
		more, changed := towardsB[d.Change]
		return changed && more == x.inB
	})
}

// valuesOf returns a function's mean and its values in each load. A profile leaves out functions that hardly ever ran.
func (x expectation) valuesOf(p cost.Profile, function string) []float64 {
	i := slices.IndexFunc(p.Functions, func(f cost.Function) bool { return f.Name == function })
	if i < 0 || x.measure.of(p.Functions[i]) == nil {
		return []float64{0}
	}
	e := x.measure.of(p.Functions[i])
	return append([]float64{e.Mean}, e.Values...)
}

// pathOf returns the functions that a difference concerns: the functions of the difference's entry, or else of the
// longest matching pattern that lists any.
func (k *Knowledge) pathOf(d Difference) []string {
	if e := k.lookup(d.Kind, d.Name); len(e.Path) > 0 {
		return e.Path
	}
	var path []string
	longest := 0
	for _, e := range k.patterns[d.Kind] {
		_, pattern := e.about()
		if len(e.Path) > 0 && len(pattern) > longest && matches(pattern, d.Name) {
			path, longest = e.Path, len(pattern)
		}
	}
	return path
}

// ran reports whether any function that matches a pattern was called.
func ran(p cost.Profile, patterns []string) bool {
	return slices.ContainsFunc(p.Functions, func(f cost.Function) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, f.Name) })
	})
}

// WithProfiles returns the comparison with the evidence from profiles of its two sides: each difference has its
// mechanism and the resulting weight, and the likeliest comes first.
func (k *Knowledge) WithProfiles(d Document, p difference.Document) Document {
	d.Differences = slices.Clone(d.Differences)
	for i := range d.Differences {
		f := &d.Differences[i]
		if f.Mechanism = k.Mechanism(p, *f); f.Mechanism != nil && f.Weight < 1 {
			odds := f.Weight / (1 - f.Weight) * f.Mechanism.Factor
			f.Weight = odds / (1 + odds)
		}
	}
	slices.SortStableFunc(d.Differences, func(a, b Difference) int { return cmp.Compare(b.Weight, a.Weight) })
	for i := range d.Differences {
		d.Differences[i].Rank = i + 1
	}
	return d
}

// slowsAll reports whether a difference can slow down everything, which counts of calls don't show.
func (e *entry) slowsAll(d Difference) bool {
	return difference.SlowsAll(d.Fact) || slices.ContainsFunc(e.Runtime, difference.SlowsAll)
}

// slowsAll reports whether in some load an I/O takes longer on the slower side mainly because everything takes longer.
func slowsAll(cells []difference.Cell, slower string) bool {
	return slices.ContainsFunc(cells, func(c difference.Cell) bool {
		most, clearly := c.Account.Most()
		if !clearly || most.Reason != difference.Uniform {
			return false
		}
		inB := c.Account.Loss.Value > 0
		return slower == "b" && inB || slower == "a" && !inB
	})
}

// little reports whether the functions that moved account for little of the loss in each load in which they moved.
func little(cells []difference.Cell, moved []FunctionCalls) bool {
	return !slices.ContainsFunc(moved, func(m FunctionCalls) bool {
		return slices.ContainsFunc(cells, func(c difference.Cell) bool {
			return c.Cell == m.Cell &&
				(m.Measure == Share || !c.Account.Little(functionIn(c, m.Function)))
		})
	})
}

// functionIn returns how a function differs in a cell. If it does not differ clearly, only its layer is known.
func functionIn(c difference.Cell, name string) difference.Function {
	i := slices.IndexFunc(c.Functions, func(f difference.Function) bool { return f.Name == name })
	if i >= 0 {
		return c.Functions[i]
	}
	for _, f := range slices.Concat(c.A.Functions, c.B.Functions) {
		if f.Name == name {
			return difference.Function{Name: name, Layer: f.Layer}
		}
	}
	return difference.Function{Name: name}
}
