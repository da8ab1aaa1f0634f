package difference

import "slices"

// CellFunctions are functions of a cell that differ.
type CellFunctions struct {
	Cell      string     `json:"cell"`
	Functions []Function `json:"functions"`
	// Account explains why an I/O takes longer; nil if that is unknown, or if it takes no longer.
	Account *Account `json:"account,omitempty"`
}

// first is how many functions of a cell a sentence below a verdict or a culprit contains.
const first = 3

// First returns the few functions of each cell that explain most of the differences, and the reason for its loss; cells
// with neither are omitted.
func (d Document) First() []CellFunctions {
	var list []CellFunctions
	for _, c := range d.Cells {
		functions := slices.DeleteFunc(slices.Clone(c.Functions), func(f Function) bool {
			return !f.Calls.Changed() && !f.NS.Changed() && !f.Waits.Changed()
		})
		account := c.Account
		if !account.Clear() {
			account = nil
		}
		if len(functions) > 0 || account != nil {
			list = append(list, CellFunctions{c.Cell, functions[:min(first, len(functions))], account})
		}
	}
	return list
}

// Changed reports whether there is a difference; otherwise it is uncertain.
func (d *Delta) Changed() bool { return d != nil && d.Change != "" }
