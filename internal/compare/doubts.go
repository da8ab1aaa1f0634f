package compare

import (
	"fmt"
	"slices"

	"headroom/internal/stat"
	"headroom/internal/stat/inturns"
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
			"whatever follows it, and the other side follows it more often than it follows itself, so that the " +
			"difference in turns is not that of the sides; have each load wash it out before it counts, for as long " +
			"as that takes: --set ramp_time=30s"}
}

// doubtsOf returns what could have made the difference between the values of one load.
func doubtsOf(carry inturns.CarryOver) []doubt {
	return []doubt{
		{carriedOverWarning(), func() cause { return carriedOver{carry} }},
	}
}

// withheld returns the warnings of the doubts for which verdicts of a run are withheld.
func withheld(run string, list []pending) (warnings []RunWarning) {
	for _, w := range []RunWarning{carriedOverWarning()} {
		if slices.ContainsFunc(list, func(p pending) bool { return p.cell.Withheld == w.Code }) {
			w.Run = run
			warnings = append(warnings, w)
		}
	}
	return warnings
}

type carriedOver struct{ inturns.CarryOver }

func (carriedOver) String() string { return "one side leaves something to whatever follows it" }
