package difference

import "slices"

// CellFunctions are functions of a cell that differ.
type CellFunctions struct {
	Cell      string     `json:"cell"`
	Functions []Function `json:"functions"`
	// Account says where the time goes that an I/O takes longer; nil where that is not known, or it takes no longer.
	Account *Account `json:"account,omitempty"`
}

// first is how many functions of a cell a sentence below a verdict or a culprit holds.
const first = 3

// First are the few functions of each cell that explain most of what differs, and what accounts for its loss; cells
// with neither are left out.
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

// Changed says whether there is a difference; else there may be none.
func (d *Delta) Changed() bool { return d != nil && d.Change != "" }
