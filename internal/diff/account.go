package diff

import (
	"slices"

	"github.com/headroom/headroom/internal/profile/difference"
)

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
