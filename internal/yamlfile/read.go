// Package yamlfile reads YAML files that people write. It reports every fault with its line and column, all of them at
// once, and a hint for each. The meaning of keys is the caller's.
package yamlfile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/lab"
)

// maxFile in bytes is far above what anyone writes by hand.
const maxFile = 1 << 20

// Reader collects the problems of one file while its values are read.
type Reader struct {
	// Name of the file, for messages.
	Name string
	// Problems so far, in the order in which they were found.
	Problems Problems
}

// Parse returns the file's only YAML document; nil if it can't be read.
func (r *Reader) Parse(data []byte) *yaml.Node {
	if len(data) > maxFile {
		r.Add(0, 0, "", "the file is larger than 1 MiB")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF), err == nil && len(document.Content) == 0:
		r.Add(0, 0, "begin it with version: 1", "the file is empty")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.Add(second.Line, second.Column, "delete it, or move it to a separate file",
			"a second YAML document begins here")
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	return document.Content[0]
}

// Version checks the format's version, and reports whether reading can continue.
func (r *Reader) Version(root *yaml.Node, entries []Entry, newest int) bool {
	var value *yaml.Node
	for _, e := range entries {
		if e.Key == "version" {
			value = e.Value
		}
	}
	if value == nil {
		if Resolve(root).Kind == yaml.MappingNode {
			r.At(root, "begin the file with version: 1", "the format's version is missing")
		}
		return true
	}
	v, ok := r.Scalar(value, "version")
	if !ok {
		return true
	}
	n, err := strconv.Atoi(v)
	switch {
	case err == nil && n > newest:
		// Other apparent faults may be valid in that version.
		r.Problems = nil
		r.At(value, "update headroom", "the file is of version %d, and this headroom reads version %d", n, newest)
		return false
	case err != nil || n < 1:
		r.At(value, "write version: 1", "version can't be %s", Quoted(v))
	}
	return true
}

// syntax reports an error of the YAML parser, whose line is only in its text: "yaml: line 3: did not find …".
func (r *Reader) syntax(err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if digits, after, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				line, message = n, after
			}
		}
	}
	hint := "look at the indentation and the colons around this line"
	if strings.Contains(message, "cannot start any token") {
		hint = "indent with spaces, not tabs, and quote a value that begins with a special character"
	}
	r.Add(line, 0, hint, "not valid YAML: %s", message)
}

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
