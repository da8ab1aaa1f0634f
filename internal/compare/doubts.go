package compare

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// doubt is what could have made the difference between sides that were measured in turns, other than the sides.
type doubt struct {
	warning RunWarning
	// find looks for it in the values of one load.
	find func() cause
}

// cause is what was found of a doubt. Its text is the beginning of a sentence.
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

// doubtsOf returns what could have made the difference between the values of one load.
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

// runNumbers returns the number of each run of a comparison among all, by the nanosecond at which it started.
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
	first := map[int]int{} // of each pair, the number of its first run
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
