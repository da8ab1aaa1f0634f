package difference

import "slices"

// CellFunctions are functions of a cell that differ.
type CellFunctions struct {
	Cell      string     `json:"cell"`
	Functions []Function `json:"functions"`
}

// First are the functions of each cell that explain most of what differs, at most n of each; cells in which none
// differs are left out.
func (d Document) First(n int) []CellFunctions {
	var list []CellFunctions
	for _, c := range d.Cells {
		functions := slices.DeleteFunc(slices.Clone(c.Functions), func(f Function) bool {
			return !f.Calls.Changed() && !f.NS.Changed() && !f.Waits.Changed()
		})
		if len(functions) > 0 {
			list = append(list, CellFunctions{c.Cell, functions[:min(n, len(functions))]})
		}
	}
	return list
}

// Changed says whether there is a difference; else there may be none.
func (d *Delta) Changed() bool { return d != nil && d.Change != "" }
