package yamlfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Problem is one fault of a file, at the place that a user must change.
type Problem struct {
	File         string
	Line, Column int // from 1; 0 for a fault of the whole file
	Message      string
	Hint         string
}

// Error prints "file:line:column: message (hint)", which editors and terminals turn into a link.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
		if p.Column > 0 {
			fmt.Fprintf(&b, ":%d", p.Column)
		}
	}
	b.WriteString(": " + p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// Problems are all faults of one file, in its order. They are reported together, so that a file can be fixed at once.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Add records a problem at a line and column.
func (r *Reader) Add(line, column int, hint, format string, args ...any) {
	r.Problems = append(r.Problems, Problem{File: r.Name, Line: line, Column: column, Hint: hint,
		Message: fmt.Sprintf(format, args...)})
}

// Err returns nil, or a usage error that holds all Problems, each once.
func (r *Reader) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.Problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &lab.Error{Kind: lab.Usage, Err: slices.Compact(r.Problems)}
}
