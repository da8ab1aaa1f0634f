package lab

import (
	"fmt"
	"iter"
	"strings"
)

// Read calls f with each repetition of the run and its cell, in the order given. An error of the sequence or of f ends
// it, and so does a repetition of a cell that the run does not have.
func (r Run) Read(repetitions iter.Seq2[Repetition, error], f func(Cell, Repetition) error) error {
	cells := map[string]Cell{}
	for _, c := range r.Cells {
		cells[c.ID] = c
	}
	for rep, err := range repetitions {
		if err != nil {
			return err
		}
		c, known := cells[rep.Cell]
		if !known {
			return &Error{What: fmt.Sprintf("run %s: repetition %d belongs to cell %q, which the run does not have",
				r.ID, rep.Number, rep.Cell)}
		}
		if err := f(c, rep); err != nil {
			return err
		}
	}
	return nil
}

// Repetitions returns repetitions as a sequence without an error.
func Repetitions(all []Repetition) iter.Seq2[Repetition, error] {
	return func(yield func(Repetition, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Load returns the ID that the cells of one load have in common, whichever arm they are of.
func (c Cell) Load() string { return strings.TrimSuffix(c.ID, CellIn("", c.Arm)) }
