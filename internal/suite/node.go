package suite

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"headroom/internal/unit"
)

// entry is one key of a YAML mapping with its value.
type entry struct {
	key   string
	where *yaml.Node // the key
	value *yaml.Node
}

// at notes a problem at a node.
func (r *reporter) at(n *yaml.Node, hint, format string, args ...any) {
	r.add(n.Line, n.Column, hint, format, args...)
}

// resolve follows an alias (*name) to what it stands for. The format is of fixed depth, so an alias that holds itself
// ends as a value of the wrong kind.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// mapping returns the entries of a mapping in the file's order, each key once; what says what the mapping is, for
// messages. Keys that are not known are reported and left out; known is nil where any key is allowed.
func (r *reporter) mapping(n *yaml.Node, what string, known []string) []entry {
	n = resolve(n)
	if n.Kind != yaml.MappingNode {
		r.at(n, "write key: value", "%s must be a mapping, not %s", what, kindOf(n))
		return nil
	}
	var entries []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], resolve(n.Content[i+1])
		switch {
		case key.Tag == "!!merge":
			r.at(key, "repeat the keys, or put them under defaults", "merge keys are not read")
			continue
		case resolve(key).Kind != yaml.ScalarNode:
			r.at(key, "", "a key of %s must be a word, not %s", what, kindOf(key))
			continue
		}
		name := resolve(key).Value
		if known != nil && !slices.Contains(known, name) {
			hint := didYouMean(name, known)
			if hint == "" {
				hint = "known here: " + strings.Join(known, ", ")
			}
			r.at(key, hint, "%s has no key %s", what, quoted(name))
			continue
		}
		if j := slices.IndexFunc(entries, func(e entry) bool { return e.key == name }); j >= 0 {
			r.at(key, "delete one of the two", "%s stands twice, first on line %d", quoted(name), entries[j].where.Line)
			continue
		}
		entries = append(entries, entry{key: name, where: key, value: value})
	}
	return entries
}

// sequence returns the elements of a list.
func (r *reporter) sequence(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		r.at(n, "write [a, b], or one element a line, each after a dash", "%s must be a list, not %s", what, kindOf(n))
		return nil
	}
	elements := make([]*yaml.Node, len(n.Content))
	for i, e := range n.Content {
		elements[i] = resolve(e)
	}
	return elements
}

// scalar returns a single value as it is written; ok is false when it is none, which has then been reported.
func (r *reporter) scalar(n *yaml.Node, what string) (value string, ok bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		r.at(n, "", "%s must be a single value, not %s", what, kindOf(n))
	case n.Tag == "!!null" || n.Value == "":
		r.at(n, "write a value, or delete the key", "%s has no value", what)
	default:
		return n.Value, true
	}
	return "", false
}

// oneOf returns a value that must be one of a few.
func (r *reporter) oneOf(n *yaml.Node, what string, choices ...string) string {
	v, ok := r.scalar(n, what)
	if !ok {
		return ""
	}
	if !slices.Contains(choices, v) {
		hint := didYouMean(v, choices)
		if hint == "" {
			hint = "write " + strings.Join(choices[:len(choices)-1], ", ") + " or " + choices[len(choices)-1]
		}
		r.at(n, hint, "%s can't be %s", what, quoted(v))
		return ""
	}
	return v
}

// count returns a whole number between two limits; 0 stands for one that was reported.
func (r *reporter) count(n *yaml.Node, what string, least, most int) int {
	v, ok := r.scalar(n, what)
	if !ok {
		return 0
	}
	i, err := strconv.Atoi(v)
	if err != nil || i < least || i > most {
		r.at(n, "write a whole number from "+strconv.Itoa(least)+" to "+strconv.Itoa(most), "%s can't be %s", what, quoted(v))
		return 0
	}
	return i
}

// size returns an amount of bytes above zero; 0 stands for one that was reported.
func (r *reporter) size(n *yaml.Node, what string) int64 {
	v, ok := r.scalar(n, what)
	if !ok {
		return 0
	}
	b, err := unit.ParseBytes(v)
	if err != nil || b == 0 {
		r.at(n, "write 512m or 1g", "%s can't be %s", what, quoted(v))
		return 0
	}
	return b
}

// duration returns a time; 0 stands also for one that was reported.
func (r *reporter) duration(n *yaml.Node, what string) time.Duration {
	v, ok := r.scalar(n, what)
	if !ok {
		return 0
	}
	d, err := unit.ParseDuration(v)
	if err != nil {
		r.at(n, "write 5s or 1m", "%s can't be %s", what, quoted(v))
		return 0
	}
	return d
}

// yesNo returns a boolean.
func (r *reporter) yesNo(n *yaml.Node, what string) bool {
	return r.oneOf(n, what, "true", "false") == "true"
}

// kindOf says in words what a node is.
func kindOf(n *yaml.Node) string {
	switch n = resolve(n); {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	default:
		return "the single value " + quoted(n.Value)
	}
}
