package suite

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/yamlfile"
)

// parameterWord matches a name that can be written in braces.
var parameterWord = prose.Pattern(`^[a-z][a-z0-9_]{0,31}$`)

// placeholderName checks a name for use in braces.
func (r *reporter) placeholderName(e yamlfile.Entry) bool {
	switch {
	case !parameterWord().MatchString(e.Key):
		r.At(e.Where, "use lower-case letters, digits and underscores, a letter first",
			"a parameter can't be called %s", yamlfile.Quoted(e.Key))
	case slices.Contains(command.OfTarget(), e.Key):
		r.At(e.Where, "give it another name", "{%s} has a fixed meaning", e.Key)
	default:
		return true
	}
	return false
}

// placeholders reports placeholders without a value, and axes that no placeholder uses.
func (r *reporter) placeholders(entries []yamlfile.Entry, x *Exec, axes []Axis, parameters []Parameter) {
	known := append(command.OfTarget(), command.Tree)
	for _, p := range parameters {
		known = append(known, p.Name)
	}
	for _, a := range axes {
		known = append(known, a.Param)
	}
	for _, e := range entries {
		if e.Key == "exec" || slices.Contains(execKeys(), e.Key) && e.Key != "metrics" {
			r.unknownPlaceholders(e.Value, known)
		}
	}
	uses := append(command.Uses(x.Command), command.Placeholders(x.Takes)...)
	for _, e := range entries {
		if e.Key != "matrix" {
			continue
		}
		for _, axis := range r.Mapping(e.Value, "matrix", nil) {
			if !slices.Contains(uses, axis.Key) {
				r.At(axis.Where, "write {"+axis.Key+"} where it belongs",
					"nothing in the job uses %s, so its values would measure the same", axis.Key)
			}
		}
	}
}

func (r *reporter) unknownPlaceholders(n *yaml.Node, known []string) {
	n = yamlfile.Resolve(n)
	for _, child := range n.Content {
		r.unknownPlaceholders(child, known)
	}
	if n.Kind != yaml.ScalarNode {
		return
	}
	for _, name := range command.Placeholders(n.Value) {
		if !slices.Contains(known, name) {
			hint := yamlfile.DidYouMean(name, known)
			if hint == "" {
				hint = "known here: " + strings.Join(known, ", ") +
					"; text that is no placeholder has a space in its braces: { " + name + " }"
			}
			r.At(n, hint, "nothing fills in {%s}", name)
		}
	}
}
