package lab

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// AddRunWarnings adds warnings about the whole run: by cell ID, with "" for the run.
func (r *Run) AddRunWarnings(found map[string][]Warning) {
	r.Warnings = append(r.Warnings, found[""]...)
	for i, c := range r.Cells {
		r.Cells[i].Warnings = append(r.Cells[i].Warnings, found[c.ID]...)
	}
}

// RemoveWarnings removes warnings with the given codes from the run and its cells: checks of the whole run are repeated
// when it has grown.
func (r *Run) RemoveWarnings(codes []string) {
	taken := func(w Warning) bool { return slices.Contains(codes, w.Code) }
	r.Warnings = slices.DeleteFunc(slices.Clone(r.Warnings), taken)
	r.Cells = slices.Clone(r.Cells)
	for i, c := range r.Cells {
		r.Cells[i].Warnings = slices.DeleteFunc(slices.Clone(c.Warnings), taken)
	}
}

// Warning is a reason to distrust a result. It travels with the result everywhere.
type Warning struct {
	// Code is stable: scripts may test for it. docs/reference/warnings.md has them all.
	Code string `json:"code"`
	// Text describes the finding, with figures, and the remedy.
	Text string `json:"text"`
	// Taints are the metrics that must not be trusted; a trailing ".*" stands for all that begin so, and "*" for all.
	Taints []string `json:"taints"`
	// MostError is how far what it warns of can have moved what it taints, as a share: 0.2 where others did a fifth of
	// all that the disk did. 0 where that is not known.
	MostError float64 `json:"most_error,omitempty"`
}

// Tainted reports whether the warning casts doubt on a metric.
func (w Warning) Tainted(metric string) bool {
	for _, t := range w.Taints {
		if t == "*" || t == metric {
			return true
		}
		if n := len(t) - 1; n > 0 && t[n] == '*' && len(metric) >= n && metric[:n] == t[:n] {
			return true
		}
	}
	return false
}

// RepeatedWarning is a warning with how many repetitions of a cell have it; 0 for one about the cell, or the run, as a
// whole.
type RepeatedWarning struct {
	Warning
	Repetitions int `json:"repetitions,omitempty"`
}

// CountedWarning is a warning that so many of N repetitions have, failed ones included; of 0 where it is about all of
// them together.
type CountedWarning struct {
	RepeatedWarning
	N int `json:"n,omitempty"`
}

// CellWarning is a warning with the cell that it is about; empty for the whole run.
type CellWarning struct {
	Cell string `json:"cell,omitempty"`
	CountedWarning
}

// In returns the warning as one that so many of n repetitions of a cell have. An empty cell and zeros are of the whole
// run.
func (w Warning) In(cell string, repetitions, n int) CellWarning {
	return CellWarning{cell, CountedWarning{RepeatedWarning{w, repetitions}, n}}
}

// Shorten returns text unchanged if it has at most head+tail bytes. Otherwise it keeps the beginning and the end, and
// states how much is missing: programs print the first fault first, and last how they ended.
func Shorten(text string, head, tail int) string {
	if len(text) <= head+tail {
		return text
	}
	first, last := text[:head], text[len(text)-tail:]
	for len(first) > 0 && !utf8.RuneStart(text[len(first)]) {
		first = first[:len(first)-1]
	}
	for len(last) > 0 && !utf8.RuneStart(last[0]) {
		last = last[1:]
	}
	return strings.TrimRight(first, " ") + fmt.Sprintf(" … (%d bytes left out) … ", len(text)-len(first)-len(last)) +
		strings.TrimLeft(last, " ")
}

// Limits for output of other programs outside of the raw files.
const (
	// maxWarningText is the maximum length of a warning, which is one sentence.
	maxWarningText = 2000
	// endOfOutput is how much of each end of a command's output an error shows.
	endOfOutput = 4 << 10
)

// Brief returns the warning with its text as one line of limited length. Text that it quotes may be longer and have
// several lines.
func (w Warning) Brief() Warning {
	w.Text = Shorten(strings.Join(strings.Fields(w.Text), " "), maxWarningText/2, maxWarningText/2)
	return w
}

// Brief shortens the texts of warnings in place.
func Brief(warnings []Warning) {
	for i, w := range warnings {
		warnings[i] = w.Brief()
	}
}

// HeadLines returns the first n lines of a text.
func HeadLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}
