package ablation

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
)

// ArmWarning is a reason to distrust what was measured.
type ArmWarning struct {
	lab.Warning
	// Cell that it is about; empty for the whole run. Arms are those that it was seen in.
	Cell string   `json:"cell,omitempty"`
	Arms []string `json:"arms,omitempty"`
	// Repetitions that have it, of N that these arms have in the cell; 0 for what was seen of all of them together.
	Repetitions int `json:"repetitions,omitempty"`
	N           int `json:"n,omitempty"`
}

// loadWarnings are the warnings about one load in all arms, with the arms that have each.
type loadWarnings struct {
	lab.WarningCounts
	arms map[string][]string // by code
	n    map[string]int      // repetitions by arm
}

// warnings are those about loads, by the load.
type warnings map[string]*loadWarnings

func (w warnings) of(c lab.Cell, found []lab.Warning) *loadWarnings {
	l := w[c.Load()]
	if l == nil {
		l = &loadWarnings{arms: map[string][]string{}, n: map[string]int{}}
		w[c.Load()] = l
	}
	for _, one := range found {
		if !slices.Contains(l.arms[one.Code], c.Arm) {
			l.arms[one.Code] = append(l.arms[one.Code], c.Arm)
		}
	}
	return l
}

func (w warnings) addRepetition(c lab.Cell, found []lab.Warning) {
	l := w.of(c, found)
	l.n[c.Arm]++
	l.AddRepetition(found)
}

func (w warnings) list(ofRun []lab.Warning) []ArmWarning {
	var all []ArmWarning
	for _, one := range lab.OfRun(ofRun) {
		all = append(all, ArmWarning{Warning: one.Warning})
	}
	for _, load := range slices.Sorted(maps.Keys(w)) {
		for _, one := range w[load].List {
			x := ArmWarning{Warning: one.Warning, Cell: load, Arms: w[load].arms[one.Code],
				Repetitions: one.Repetitions}
			for _, arm := range x.Arms {
				if x.Repetitions > 0 {
					x.N += w[load].n[arm]
				}
			}
			all = append(all, x)
		}
	}
	return all
}
