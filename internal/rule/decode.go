package rule

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/yamlfile"
)

// maxFile is the size of a rule file in bytes, far above any.
const maxFile = 1 << 20

//go:embed rules/*.yaml
var builtIn embed.FS

// BuiltIn reads the rules that come with headroom.
func BuiltIn() ([]Rule, error) {
	names, err := fs.Glob(builtIn, "rules/*.yaml")
	if err != nil {
		return nil, err
	}
	l, err := newLanguage()
	if err != nil {
		return nil, err
	}
	var rules []Rule
	r := &reporter{}
	for _, name := range names {
		data, err := builtIn.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r.file = path.Base(name)
		rules = append(rules, r.decode(l, data)...)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return rules, nil
}

// Decode reads a file of rules; name is the file's, for messages. The error holds yamlfile.Problems: all of them at
// once.
//
// A file looks like this:
//
//   - id: clock-source
//     title: The clock is read from a slow device
//     class: kernel
//     severity: medium
//     when: clock.source in ["hpet", "acpi_pm"]
//     because: Every time stamp is then a read of a register outside the CPU.
//     metrics: [iops, cpu]
func Decode(name string, data []byte) ([]Rule, error) {
	l, err := newLanguage()
	if err != nil {
		return nil, err
	}
	r := &reporter{file: name}
	rules := r.decode(l, data)
	if err := r.err(); err != nil {
		return nil, err
	}
	return rules, nil
}

// place is where something stands in a rule file.
type place struct {
	file string
	line int
}

// reporter collects the problems of rule files.
type reporter struct {
	file     string
	problems yamlfile.Problems
}

func (r *reporter) add(line int, hint, format string, args ...any) {
	r.problems = append(r.problems, yamlfile.Problem{File: r.file, Line: line, Hint: hint,
		Message: fmt.Sprintf(format, args...)})
}

// err is nil, or a usage error that holds all problems.
func (r *reporter) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b yamlfile.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return &lab.Error{Kind: lab.Usage, Err: slices.Compact(r.problems)}
}

// decode reads one file.
func (r *reporter) decode(l *language, data []byte) []Rule {
	if len(data) > maxFile {
		r.add(0, "", "the file is larger than 1 MiB, which no list of rules is")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		r.yamlError(err)
		return nil
	}
	if len(document.Content) == 0 {
		r.add(0, "write a list of rules", "the file is empty")
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.add(0, "keep one list in a file", "a second YAML document follows the first")
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode {
		r.add(list.Line, "begin each rule with a dash: - id: …", "a rule file is a list of rules")
		return nil
	}
	var rules []Rule
	if err := list.Decode(&rules); err != nil {
		r.yamlError(err)
	}
	for _, n := range list.Content {
		r.unknownFields(resolve(n), "rule")
	}
	if len(rules) != len(list.Content) { // an element is no mapping; the decoder complains, but for one that is empty
		if len(r.problems) == 0 {
			r.add(list.Line, "begin each rule with a dash: - id: …", "a rule is a mapping")
		}
		return nil
	}
	var valid []Rule
	for i := range rules {
		n := resolve(list.Content[i])
		if n.Kind != yaml.MappingNode {
			r.add(n.Line, "begin each rule with a dash: - id: …", "a rule is a mapping")
			continue
		}
		rules[i].place = place{r.file, n.Line}
		r.rule(l, &rules[i], n)
		valid = append(valid, rules[i])
	}
	r.order(valid)
	return valid
}

// The decoder's messages, with the line in the text only:
//
//	line 5: cannot unmarshal !!str `maybe` into bool
//	line 6: mapping key "id" already defined at line 2
var (
	linePattern  = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): (?s:(.*))$`)
	wrongPattern = regexp.MustCompile("^cannot unmarshal !!(\\w+) ?(`[^`]*`)? ?into (\\S+)$")
)

// yamlError reports what the YAML decoder found, one problem a line.
func (r *reporter) yamlError(err error) {
	messages := []string{err.Error()}
	if e, ok := errors.AsType[*yaml.TypeError](err); ok {
		messages = e.Errors
	}
	for _, message := range messages {
		line := 0
		if m := linePattern.FindStringSubmatch(message); m != nil {
			line, _ = strconv.Atoi(m[1])
			message = m[2]
		}
		if m := wrongPattern.FindStringSubmatch(message); m != nil {
			r.add(line, "", "%s is not what belongs here (%s)", cmp.Or(strings.Trim(m[2], "`"), "this"),
				plainType(m[3]))
			continue
		}
		r.add(line, "", "not valid YAML: %s", strings.TrimPrefix(message, "yaml: "))
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

// unknownFields reports the keys of a mapping that mean nothing, and those of the mappings inside. The decoder could do
// so, but only by reading the file's text a second time.
func (r *reporter) unknownFields(n *yaml.Node, of string) {
	if n.Kind != yaml.MappingNode {
		return
	}
	known := fields(of)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], resolve(n.Content[i+1])
		if !slices.Contains(known, key.Value) {
			hint := ""
			if near := nearest(key.Value, known); near != "" {
				hint = "did you mean " + near + "?"
			}
			r.add(key.Line, hint, "the %s has no field %s", of, key.Value)
			continue
		}
		inside := map[string]string{"effects": "effect", "sources": "source", "source": "source",
			"remedies": "remedy"}[key.Value]
		switch {
		case inside == "":
		case v.Kind == yaml.SequenceNode:
			for _, element := range v.Content {
				r.unknownFields(resolve(element), inside)
			}
		default:
			r.unknownFields(v, inside)
		}
	}
}

// resolve follows an alias to what it stands for.
func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// fields are those of the mappings in a rule file.
func fields(of string) []string {
	switch of {
	case "rule":
		return []string{"id", "title", "class", "scope", "severity", "applies", "when", "because", "metrics", "effects",
			"derivation", "sources", "remedies", "conflicts", "measure", "silent_if", "shows", "guard", "risk",
			"unpriced"}
	case "effect":
		return []string{"text", "low", "high", "where", "source"}
	case "source":
		return []string{"title", "url"}
	}
	return []string{"text", "set", "only", "reboot", "destroys", "cost"}
}

// ruleClasses are the areas in the order in which findings of the same weight are shown.
func ruleClasses() []string {
	return []string{"kernel", "mitigation", "power", "disk", "pci", "memory", "network", "storage-network",
		"virtualisation",
		"quality"}
}

// The severities of findings.
const (
	High   = "high"
	Medium = "medium"
	Low    = "low"
)

// Severities are those of findings, the worst first.
func Severities() []string { return []string{High, Medium, Low} }

func metrics() []string { return []string{"iops", "bandwidth", "latency", "cpu", "variance"} }

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// rule checks one rule and compiles its conditions; n is where it stands.
func (r *reporter) rule(l *language, rule *Rule, n *yaml.Node) {
	at := func(field string) int { return lineOf(n, field) }
	if !kebab.MatchString(rule.ID) {
		r.add(at("id"), "write small letters, digits and dashes: clock-source", "the id %q won't do", rule.ID)
	}
	for _, f := range []struct {
		name, value string
	}{{"title", rule.Title}, {"when", rule.When}, {"because", rule.Because}} {
		if strings.TrimSpace(f.value) == "" {
			r.add(at(f.name), "", "the rule %s has no %s", rule.ID, f.name)
		}
	}
	r.oneOf(at("class"), "class", rule.Class, ruleClasses())
	r.oneOf(at("severity"), "severity", rule.Severity, Severities())
	for _, m := range rule.Metrics {
		r.oneOf(at("metrics"), "metrics", m, metrics())
	}
	if _, ok := facts.Classes()[rule.Scope]; !ok && rule.Scope != "" {
		r.oneOf(at("scope"), "scope", rule.Scope, slices.Sorted(maps.Keys(facts.Classes())))
		return
	}
	for _, key := range rule.Shows {
		if _, known := l.kinds[key]; !known {
			r.add(at("shows"), "docs/facts.md lists them", "the rule %s shows %s, which is no fact", rule.ID, key)
		}
	}
	if strings.TrimSpace(rule.Applies) != "" {
		rule.applies = r.condition(l, rule.Applies, rule.Scope, value(n, "applies"))
	}
	if strings.TrimSpace(rule.When) != "" {
		rule.when = r.condition(l, rule.When, rule.Scope, value(n, "when"))
	}
	for i, e := range rule.Effects {
		line := elementLine(n, "effects", i)
		if e.Text == "" || e.Source.Title == "" && e.Source.URL == "" {
			r.add(line, "", "a published effect needs its text and its source")
		}
		if e.Low < 0 || e.High > 1 || e.Low > e.High {
			r.add(line, "write 0.2 for 20%", "low and high are shares from 0 to 1, the lower one first")
		}
		r.source(line, e.Source)
	}
	for i, s := range rule.Sources {
		r.source(elementLine(n, "sources", i), s)
	}
	for i := range rule.Remedies {
		r.remedy(l, rule, i, n)
	}
}

func (r *reporter) source(line int, s Source) {
	if s.URL != "" && !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://") {
		r.add(line, "begin it with https://", "the address %q can't be opened", s.URL)
	}
}

func (r *reporter) remedy(l *language, rule *Rule, i int, n *yaml.Node) {
	remedy := &rule.Remedies[i]
	line := elementLine(n, "remedies", i)
	switch kind, rest, _ := strings.Cut(remedy.Set, ":"); {
	case remedy.Set == "" && remedy.Text == "":
		r.add(line, "add text: or set:", "a remedy says nothing")
	case remedy.Set != "" && (!slices.Contains(settingKinds(), kind) || rest == ""):
		r.add(line, "begin it with one of "+strings.Join(settingKinds(), ", ")+" and a colon", "%q is no setting",
			remedy.Set)
	}
	if remedy.Cost == "" {
		r.add(line, "write cost: none when there is none", "a remedy does not say what it costs")
	}
	if strings.TrimSpace(remedy.Only) != "" {
		var where *yaml.Node
		if list := value(n, "remedies"); list != nil && i < len(list.Content) {
			where = value(resolve(list.Content[i]), "only")
		}
		remedy.only = r.condition(l, remedy.Only, rule.Scope, where)
	}
}

func (r *reporter) oneOf(line int, what, value string, known []string) {
	if slices.Contains(known, value) {
		return
	}
	if near := nearest(value, known); near != "" {
		r.add(line, "did you mean "+near+"?", "%s can't be %q", what, value)
		return
	}
	r.add(line, "write one of "+strings.Join(known, ", "), "%s can't be %q", what, value)
}

// condition compiles the condition that stands at n.
func (r *reporter) condition(l *language, text, scope string, n *yaml.Node) *condition {
	c, faults := l.compile(text, scope)
	for _, f := range faults {
		line := 0
		if n != nil {
			line = n.Line
			if n.Style&yaml.LiteralStyle != 0 {
				line += f.line // the text begins on the line after the bar
			}
		}
		r.add(line, f.hint, "%s", f.message)
	}
	return c
}

// order looks for rules with the same id and for rules that silence each other.
func (r *reporter) order(rules []Rule) {
	seen := map[string]place{}
	for _, rule := range rules {
		if first, twice := seen[rule.ID]; twice {
			r.add(rule.place.line, "give it another id", "a rule %s stands on line %d already", rule.ID, first.line)
			continue
		}
		seen[rule.ID] = rule.place
	}
	if circle := silenceCircle(rules); len(circle) > 0 {
		r.add(seen[circle[0]].line, "delete one silent_if", "the rules silence each other: %s",
			strings.Join(circle, " → "))
	}
}

// value is the node of a mapping's field; nil when it is not there.
func value(n *yaml.Node, field string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == field {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

// lineOf is the line of a field, or of the mapping that lacks it.
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
