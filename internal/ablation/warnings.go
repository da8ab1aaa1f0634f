package ablation

import (
	"cmp"
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

// warnings collects those of one kind about one cell into one, with the text that came first.
type warnings struct {
	all    []ArmWarning
	counts map[[2]string]int
}

func (w *warnings) count(cell, arm string) {
	if w.counts == nil {
		w.counts = map[[2]string]int{}
	}
	w.counts[[2]string{cell, arm}]++
}

func (w *warnings) add(warning lab.Warning, cell, arm string, ofRepetition bool) {
	i := slices.IndexFunc(w.all, func(x ArmWarning) bool { return x.Code == warning.Code && x.Cell == cell })
	if i < 0 {
		i = len(w.all)
		w.all = append(w.all, ArmWarning{Warning: warning, Cell: cell})
	}
	if arm != "" && !slices.Contains(w.all[i].Arms, arm) {
		w.all[i].Arms = append(w.all[i].Arms, arm)
	}
	if ofRepetition {
		w.all[i].Repetitions++
	}
}

func (w *warnings) list() []ArmWarning {
	for i, x := range w.all {
		for _, arm := range x.Arms {
			if x.Repetitions > 0 {
				w.all[i].N += w.counts[[2]string{x.Cell, arm}]
			}
		}
	}
	slices.SortStableFunc(w.all, func(a, b ArmWarning) int { return cmp.Compare(a.Cell, b.Cell) })
	return w.all
}
