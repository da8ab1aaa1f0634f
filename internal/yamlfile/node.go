package yamlfile

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/unit"
)

// Entry is one key of a YAML mapping with its value.
type Entry struct {
	Key   string
	Where *yaml.Node // the key
	Value *yaml.Node
}

// At records a problem at a node.
func (r *Reader) At(n *yaml.Node, hint, format string, args ...any) {
	r.Add(n.Line, n.Column, hint, format, args...)
}

// Resolve follows an alias (*name) to its node. The format has a fixed depth, so an alias that contains itself ends as
// a value of the wrong kind.
func Resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// Mapping returns the entries of a mapping in the file's order, each key once; what names the mapping in messages.
// Unknown keys are reported and left out; if known is nil any key is allowed.
func (r *Reader) Mapping(n *yaml.Node, what string, known []string) []Entry {
	n = Resolve(n)
	if n.Kind != yaml.MappingNode {
		r.At(n, "write key: value", "%s must be a mapping, not %s", what, KindOf(n))
		return nil
	}
	var entries []Entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], Resolve(n.Content[i+1])
		switch {
		case key.Tag == "!!merge":
			r.At(key, "repeat the keys", "merge keys are not read")
			continue
		case Resolve(key).Kind != yaml.ScalarNode:
			r.At(key, "", "a key of %s must be a word, not %s", what, KindOf(key))
			continue
		}
		name := Resolve(key).Value
		if known != nil && !slices.Contains(known, name) {
			hint := DidYouMean(name, known)
			if hint == "" {
				hint = "known here: " + strings.Join(known, ", ")
			}
			r.At(key, hint, "%s has no key %s", what, Quoted(name))
			continue
		}
		if j := slices.IndexFunc(entries, func(e Entry) bool { return e.Key == name }); j >= 0 {
			r.At(key, "delete one of the two", "%s stands twice, first on line %d", Quoted(name), entries[j].Where.Line)
			continue
		}
		entries = append(entries, Entry{Key: name, Where: key, Value: value})
	}
	return entries
}

// Sequence returns the elements of a list.
func (r *Reader) Sequence(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.At(n, "write [a, b], or one element a line, each after a dash", "%s must be a list, not %s", what, KindOf(n))
		return nil
	}
	elements := make([]*yaml.Node, len(n.Content))
	for i, e := range n.Content {
		elements[i] = Resolve(e)
	}
	return elements
}

// Scalar returns a single value as written; ok is false if the node is something else, which is then reported.
func (r *Reader) Scalar(n *yaml.Node, what string) (value string, ok bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		r.At(n, "", "%s must be a single value, not %s", what, KindOf(n))
	case n.Tag == "!!null" || n.Value == "":
		r.At(n, "write a value, or delete the key", "%s has no value", what)
	default:
		return n.Value, true
	}
	return "", false
}

// OneOf returns a value that must be one of a few.
func (r *Reader) OneOf(n *yaml.Node, what string, choices ...string) string {
	v, ok := r.Scalar(n, what)
	if !ok {
		return ""
	}
	if !slices.Contains(choices, v) {
		hint := DidYouMean(v, choices)
		if hint == "" {
			hint = "write " + strings.Join(choices[:len(choices)-1], ", ") + " or " + choices[len(choices)-1]
		}
		r.At(n, hint, "%s can't be %s", what, Quoted(v))
		return ""
	}
	return v
}

// Count returns a whole number between two limits; 0 after a reported problem.
func (r *Reader) Count(n *yaml.Node, what string, least, most int) int {
	v, ok := r.Scalar(n, what)
	if !ok {
		return 0
	}
	i, err := strconv.Atoi(v)
	if err != nil || i < least || i > most {
		r.At(n, "write a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most), "%s can't be %s", what,
			Quoted(v))
		return 0
	}
	return i
}

// Size returns an amount of bytes above zero; 0 after a reported problem.
func (r *Reader) Size(n *yaml.Node, what string) int64 {
	v, ok := r.Scalar(n, what)
	if !ok {
		return 0
	}
	b, err := unit.ParseBytes(v)
	if err != nil || b == 0 {
		r.At(n, "write 512m or 1g", "%s can't be %s", what, Quoted(v))
		return 0
	}
	return b
}

// Duration returns a time; it is also 0 after a reported problem.
func (r *Reader) Duration(n *yaml.Node, what string) time.Duration {
	v, ok := r.Scalar(n, what)
	if !ok {
		return 0
	}
	d, err := unit.ParseDuration(v)
	if err != nil {
		r.At(n, "write 5s or 1m", "%s can't be %s", what, Quoted(v))
		return 0
	}
	return d
}

// YesNo returns a boolean.
func (r *Reader) YesNo(n *yaml.Node, what string) bool {
	return r.OneOf(n, what, "true", "false") == "true"
}

// KindOf describes the kind of a node in words.
func KindOf(n *yaml.Node) string {
	switch n = Resolve(n); {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	default:
		return "the single value " + Quoted(n.Value)
	}
}

// Quoted returns a user's text, shortened, with control characters made visible.
func Quoted(s string) string {
	if runes := []rune(s); len(runes) > 60 {
		s = string(runes[:60]) + "…"
	}
	return strconv.Quote(s)
}

// DidYouMean returns a hint for an unknown name; empty if no known name is similar.
func DidYouMean(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// Nearest returns the known name that most likely was meant, or "". One edit is taken for a typing error in names of
// four letters and more, two in names of eight and more: shorter names are too similar to each other.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	limit := 0
	switch n := len(name); {
	case n >= 8:
		limit = 2
	case n >= 4:
		limit = 1
	}
	best := ""
	for _, k := range known {
		if d := Distance(name, k, limit); d <= limit && d > 0 {
			best, limit = k, d-1
		}
	}
	return best
}

// Distance counts the letters inserted, left out, replaced or swapped with their neighbour between a and b (optimal
// string alignment). It gives up above the limit and then returns limit+1.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var before []int // the row before the last one
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		if slices.Min(row) > limit {
			return limit + 1
		}
		before, last = last, row
	}
	return last[len(b)]
}
