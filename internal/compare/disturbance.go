package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// disturbance is a warning that something affected a number (another load, an unsteady machine), though the number is
// what the load really did.
type disturbance struct {
	reason Reason
	weight validity.Weight
	// most is how far the disturbance can have moved the number of the base and of the new side, as a share: 0 if it
	// did not, infinite if unknown.
	most [2]float64
}

// disturbances splits the reasons: left are those that forbid a comparison, list those that a large change can
// outweigh.
func disturbances(weights map[string]validity.Weight, reasons []Reason, base, next Run, m match,
	metric string) (left []Reason, list []disturbance) {
	for _, r := range reasons {
		d := disturbance{reason: r}
		if r.Code == "warning" {
			d.weight = weights[r.Items[0].Name]
		}
		if d.weight != validity.Slows && d.weight != validity.Moves {
			left = append(left, r)
			continue
		}
		for i, side := range []struct {
			run  Run
			cell Cell
		}{{base, m.base}, {next, m.next}} {
			d.most[i] = mostError(weights, side.run, side.cell, r.Items[0].Name, metric)
		}
		list = append(list, d)
	}
	return left, list
}

// mostError returns how far warnings of a code can have moved a metric of a cell: the largest error that any of them
// states.
func mostError(weights map[string]validity.Weight, run Run, cell Cell, code, metric string) float64 {
	most := 0.0
	for _, w := range warningsOf(run, cell) {
		if w.Code != code || !taints(w, weights, metric, cell.N) {
			continue
		}
		if w.MostError == 0 {
			return math.Inf(1)
		}
		most = max(most, w.MostError)
	}
	return most
}

// shared reports whether both sides are disturbed by an unknown amount.
func (d disturbance) shared() bool { return math.IsInf(d.most[0], 1) && math.IsInf(d.most[1], 1) }

// undisturbed returns the change without the disturbances of the sides. Its interval includes every possible effect of
// them.
func undisturbed(c stat.Change, better lab.Better, list []disturbance) stat.Change {
	for _, d := range list {
		if d.shared() {
			continue
		}
		for side, most := range d.most {
			// The factor by which a rate could have been higher, at most and at least.
			faster, slower := 1/max(0, 1-most), 1.0
			if math.IsInf(most, 1) {
				faster = math.Inf(1)
			}
			if d.weight == validity.Moves {
				slower = 1 / faster
			}
			if better == lab.Lower {
				faster, slower = 1/slower, 1/faster
			}
			if side == 0 {
				faster, slower = 1/slower, 1/faster
			}
			c.Lo, c.Hi = c.Lo*slower, c.Hi*faster
		}
	}
	return c
}

// movedBeyond reports whether the disturbances can have moved a number by more than the margin.
func movedBeyond(list []disturbance, margin float64) bool {
	return slices.ContainsFunc(list, func(d disturbance) bool {
		return !d.shared() && max(d.most[0], d.most[1]) > margin
	})
}

// applyDisturbances withdraws the verdict if the disturbances could have changed it, or marks it with --anyway.
// Otherwise it adds them as caveats. An undecided verdict claims nothing that could change.
func (p *pending) applyDisturbances(change stat.Change) {
	c := &p.cell
	c.Suggests = p.suggestion(change)
	if len(p.disturbed) == 0 {
		return
	}
	if c.Verdict != Undecided && undisturbed(change, c.Better, p.disturbed).Decide(c.Margin) !=
		change.Decide(c.Margin) {
		for _, d := range p.disturbed {
			if !d.shared() {
				c.Reasons = append(c.Reasons, d.reason)
			}
		}
		if p.anyway {
			c.Anyway = true
			return
		}
		c.Verdict, c.Would, c.Change, c.Confirmed = Incomparable, c.Change, nil, nil
		c.Why = "could have made the difference: " + c.Reasons[0].Text
		c.Advice, c.Suggests = Advice{}, nil
		return
	}
	for _, d := range p.disturbed {
		c.Caveats = append(c.Caveats, d.caveat())
	}
}

func (d disturbance) caveat() Caveat {
	c := Caveat{Code: d.reason.Items[0].Name, Text: d.reason.Text}
	if i := strings.LastIndex(c.Text, "; "); i > 0 {
		c.Text = c.Text[:i] // the advice is about one run
	}
	var sides []string
	for i, name := range []string{"base", "new"} {
		if most := d.most[i]; most > 0 && !math.IsInf(most, 1) {
			c.MostError = max(c.MostError, most)
			sides = append(sides, fmt.Sprintf("%s of the %s side", unit.Percent(most), name))
		}
	}
	if len(sides) > 0 {
		c.Text += "; it can explain at most " + strings.Join(sides, ", ")
	}
	return c
}

// doubt is a possible cause, other than the sides, of the difference between sides that were measured in turns.
type doubt struct {
	warning RunWarning
	// find looks for it in the values of one load.
	find func() cause
}

// cause is a cause that was found for a doubt. Its text is the beginning of a sentence.
type cause interface {
	fmt.Stringer
	// Widen returns a change with an interval that allows for the cause.
	Widen(stat.Change) stat.Change
	// Remaining returns a ratio without what the cause does to it.
	Remaining(ratio float64) float64
}

func carriedOverWarning() RunWarning {
	return RunWarning{Code: "carry-over",
		Text: "one side leaves something behind (data to be written back, garbage to be collected) that slows " +
			"the next runs, and the other side comes next more often, so the measured difference is not the difference " +
			"of the sides; give each load time to recover before it is measured: --set ramp_time=30s"}
}

func inRhythmWarning() RunWarning {
	return RunWarning{Code: "rhythm",
		Text: "the machine is slow and fast in a rhythm of some runs, and the order of the pairs resembles it, so the " +
			"rhythm may have caused the difference; let each load run longer than the rhythm, or compare again in " +
			"another random order"}
}

// doubtsOf returns possible causes of the difference between the values of one load, other than the sides.
func doubtsOf(base, next []Value, carry stat.CarryOver, runs map[int64]int) []doubt {
	return []doubt{
		{carriedOverWarning(), func() cause { return carriedOver{carry} }},
		{inRhythmWarning(), func() cause { return inRhythm{stat.FindRhythm(turnsOf(base, next, runs))} }},
	}
}

// withheld returns the warnings of the doubts for which verdicts of a run are withheld.
func withheld(run string, list []pending) (warnings []RunWarning) {
	for _, w := range []RunWarning{carriedOverWarning(), inRhythmWarning()} {
		if slices.ContainsFunc(list, func(p pending) bool { return p.cell.Withheld == w.Code }) {
			w.Run = run
			warnings = append(warnings, w)
		}
	}
	return warnings
}

type carriedOver struct{ stat.CarryOver }

func (carriedOver) String() string { return "one side slows the runs after it" }

type inRhythm struct{ stat.Rhythm }

func (r inRhythm) Widen(c stat.Change) stat.Change { return r.Rhythm.Widen(c, newSide, baseSide) }

func (r inRhythm) Remaining(float64) float64 {
	ratio, _ := r.Ratio(newSide, baseSide)
	return ratio
}

func (r inRhythm) String() string {
	return fmt.Sprintf("the machine is slow and fast in a rhythm of %.1f runs", r.Period)
}

// runNumbers returns the number of each run in the comparison, by the nanosecond at which it started.
func runNumbers(all []period) map[int64]int {
	numbers := map[int64]int{}
	for _, p := range all {
		if _, known := numbers[p.start.UnixNano()]; !known {
			numbers[p.start.UnixNano()] = len(numbers)
		}
	}
	return numbers
}

// The sides of a comparison as arms.
const baseSide, newSide = 0, 1

// turnsOf returns the values of the pairs that steered a comparison.
func turnsOf(base, next []Value, runs map[int64]int) (turns []stat.Turn) {
	first := map[int]int{} // by pair, the number of its first run
	each := func(do func(v Value, run, side int)) {
		for side, values := range [][]Value{baseSide: base, newSide: next} {
			for _, v := range values {
				if v.Block > 0 && !v.Confirms && !v.Start.IsZero() {
					do(v, runs[v.Start.UnixNano()], side)
				}
			}
		}
	}
	each(func(v Value, run, _ int) {
		if before, ok := first[v.Block]; !ok || run < before {
			first[v.Block] = run
		}
	})
	each(func(v Value, run, side int) {
		turns = append(turns, stat.Turn{Value: v.Value, At: run, Arm: side, Second: run > first[v.Block]})
	})
	return turns
}
