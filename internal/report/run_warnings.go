package report

import (
	"slices"

	"headroom/internal/summary"
	"headroom/internal/validity"
)

// MaxMarks is how many warnings a table for the terminal prints: more than that are read by nobody.
const MaxMarks = 3

// Explained says whether headroom explain knows the code of a warning.
func Explained(code string) bool { return CheckTitle(code) != "" }

// CheckTitle is the title of a warning; empty for a code that is not in the list of checks.
func CheckTitle(code string) string {
	for _, c := range validity.Checks() {
		if c.Code == code {
			return c.Title
		}
	}
	return ""
}

// Names of the cells that a mark is about and that are kept, each once.
func (m Mark) Names(keep func(*summary.Cell) bool) []string {
	var all []string
	for _, t := range m.Texts {
		for i, name := range t.names {
			if !slices.Contains(all, name) && keep(t.cells[i]) {
				all = append(all, name)
			}
		}
	}
	return all
}
