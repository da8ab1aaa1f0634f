package rule

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/yamlfile"

	"go.yaml.in/yaml/v3"
)

// The decoder's messages, with the line in the text only:
//
//	line 5: cannot unmarshal !!str `maybe` into bool
//	line 6: mapping key "id" already defined at line 2
var (
	linePattern  = prose.Pattern(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (?s:(.*))$`)
	wrongPattern = prose.Pattern("^cannot unmarshal !!(\\w+) ?(`[^`]*`)? ?into (\\S+)$")
)

// yamlError reports the YAML decoder's errors, one problem a line.
func (r *reporter) yamlError(err error) {
	messages := []string{err.Error()}
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		messages = e.Errors
	}
	for _, message := range messages {
		line := 0
		if m := linePattern().FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1])
			message = m[2]
		}
		if m := wrongPattern().FindStringSubmatch(message); m != nil {
			r.Add(line, 0, "", "%s is not what belongs here (%s)", cmp.Or(strings.Trim(m[2], "`"), "this"),
				plainType(m[3]))
			continue
		}
		r.Add(line, 0, "", "not valid YAML: %s", strings.TrimPrefix(message, "yaml: "))
	}
}

func plainType(t string) string {
	switch {
	case t == "bool":
		return "true or false"
	case t == "float64":
		return "a number"
	case t == "string":
		return "a text"
	case strings.HasPrefix(t, "[]"):
		return "a list"
	}
	return "a mapping"
}

// unknownFields reports the unknown keys of a mapping and of the mappings inside. The decoder could do so, but only by
// reading the file's text a second time.
func (r *reporter) unknownFields(n *yaml.Node, of string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	known := fields(of)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], yamlfile.Resolve(n.Content[i+1])
		if !slices.Contains(known, key.Value) {
			hint := ""
			if near := nearest(key.Value, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			r.Add(key.Line, 0, hint, "the %s has no field %s", of, key.Value)
			continue
		}
		inside := map[string]string{"effects": "effect", "sources": "source", "source": "source",
			"remedies": "remedy", "trades": "trade"}[key.Value]
		switch {
		case inside == "":
		case v.Kind == yaml.SequenceNode:
			for _, element := range v.Content {
				r.unknownFields(yamlfile.Resolve(element), inside)
			}
		default:
			r.unknownFields(v, inside)
		}
	}
}

// fields returns the fields of the mappings in a rule file.
func fields(of string) []string {
	switch of {
	case "rule":
		return []string{"id", "title", "class", "scope", "severity", "applies", "when", "because", "metrics", "effects",
			"derivation", "sources", "remedies", "trades", "conflicts", "measure", "silent_if", "shows", "guard",
			"risk", "unpriced"}
	case "effect":
		return []string{"text", "low", "high", "where", "source"}
	case "source":
		return []string{"title", "url"}
	case "trade":
		return []string{"set", "above", "cost"}
	}
	return []string{"text", "set", "only", "certain", "reboot", "destroys", "cost"}
}

// lineOf returns the line of a field, or of the mapping that lacks it.
func lineOf(n *yaml.Node, field string) int {
	if v := value(n, field); v != nil {
		return v.Line
	}
	return n.Line
}

func elementLine(n *yaml.Node, field string, i int) int {
	if v := value(n, field); v != nil && i < len(v.Content) {
		return v.Content[i].Line
	}
	return lineOf(n, field)
}
