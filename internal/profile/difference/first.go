package difference

import "slices"

// CellFunctions are functions of a cell that differ.
type CellFunctions struct {
	Cell      string     `json:"cell"`
	Functions []Function `json:"functions"`
}

// first is how many functions of a cell a sentence below a verdict or a culprit holds.
const first = 3

// First are the few functions of each cell that explain most of what differs; cells in which none differs are left out.
func (d Document) First() []CellFunctions {
	var list []CellFunctions
	for _, c := range d.Cells {
		functions := slices.DeleteFunc(slices.Clone(c.Functions), func(f Function) bool {
			return !f.Calls.Changed() && !f.NS.Changed() && !f.Waits.Changed()
		})
		if len(functions) > 0 {
			list = append(list, CellFunctions{c.Cell, functions[:min(first, len(functions))]})
		}
	}
	return list
}

// Changed says whether there is a difference; else there may be none.
func (d *Delta) Changed() bool { return d != nil && d.Change != "" }
