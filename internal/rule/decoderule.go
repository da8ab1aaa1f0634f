package rule

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/yamlfile"
)

// ruleClasses returns the areas in the order in which findings of equal weight are shown.
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

// Severities returns the severities of findings, the worst first.
func Severities() []string { return []string{High, Medium, Low} }

func metrics() []string { return []string{"iops", "bandwidth", "latency", "cpu", "variance"} }

var kebab = prose.Pattern(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// rule checks one rule and compiles its conditions; n is the rule's node.
func (r *reporter) rule(l *language, rule *Rule, n *yaml.Node) {
	at := func(field string) int { return lineOf(n, field) }
	if !kebab().MatchString(rule.ID) {
		r.Add(at("id"), 0, "write small letters, digits and dashes: clock-source", "the id %q won't do", rule.ID)
	}
	for _, f := range []struct {
		name, value string
	}{{"title", rule.Title}, {"when", rule.When}, {"because", rule.Because}} {
		if strings.TrimSpace(f.value) == "" {
			r.Add(at(f.name), 0, "", "the rule %s has no %s", rule.ID, f.name)
		}
	}
	r.oneOf(at("class"), "class", rule.Class, ruleClasses())
	r.oneOf(at("severity"), "severity", rule.Severity, Severities())
	for _, m := range rule.Metrics {
		r.oneOf(at("metrics"), "metrics", m, metrics())
	}
	if _, ok := catalogue.Classes()[rule.Scope]; !ok && rule.Scope != "" {
		r.oneOf(at("scope"), "scope", rule.Scope, slices.Sorted(maps.Keys(catalogue.Classes())))
		return
	}
	for _, key := range rule.Shows {
		if _, known := l.kinds[key]; !known && !isProfileFact(key) {
			r.Add(at("shows"), 0, "docs/reference/facts.md lists them",
				"the rule %s shows %s, which is no fact", rule.ID, key)
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
			r.Add(line, 0, "", "a published effect needs its text and its source")
		}
		if e.Low < 0 || e.High > 1 || e.Low > e.High {
			r.Add(line, 0, "write 0.2 for 20%", "low and high are shares from 0 to 1, the lower one first")
		}
		r.source(line, e.Source)
	}
	for i, s := range rule.Sources {
		r.source(elementLine(n, "sources", i), s)
	}
	for i := range rule.Remedies {
		r.remedy(l, rule, i, n)
	}
	for i, t := range rule.Trades {
		line := elementLine(n, "trades", i)
		if GivesUp(t.Cost) == "" {
			r.Add(line, 0, "begin it with one of "+strings.Join(givenUp(), ", ")+" and a colon",
				"the cost of a trade is %q", t.Cost)
		}
		for _, set := range t.Set {
			if s := parseSetting(set); s.kind == "" || s.name == "" || t.Above != nil && s.value != "" {
				r.Add(line, 0, "", "%q is no setting that a trade can be", set)
			}
		}
		if len(t.Set) == 0 {
			r.Add(line, 0, "add set: and a list", "a trade names no setting")
		}
	}
}

func (r *reporter) source(line int, s Source) {
	if s.URL != "" && !strings.HasPrefix(s.URL, "https://") && !strings.HasPrefix(s.URL, "http://") {
		r.Add(line, 0, "begin it with https://", "the address %q can't be opened", s.URL)
	}
}

func (r *reporter) remedy(l *language, rule *Rule, i int, n *yaml.Node) {
	remedy := &rule.Remedies[i]
	line := elementLine(n, "remedies", i)
	switch kind, rest, _ := strings.Cut(remedy.Set, ":"); {
	case remedy.Set == "" && remedy.Text == "":
		r.Add(line, 0, "add text: or set:", "a remedy says nothing")
	case remedy.Set != "" && (!slices.Contains(settingKinds(), kind) || rest == ""):
		r.Add(line, 0, "begin it with one of "+strings.Join(settingKinds(), ", ")+" and a colon", "%q is no setting",
			remedy.Set)
	}
	if remedy.Cost == "" {
		r.Add(line, 0, "write cost: none when there is none", "a remedy does not say what it costs")
	}
	if strings.TrimSpace(remedy.Only) != "" {
		var where *yaml.Node
		if list := value(n, "remedies"); list != nil && i < len(list.Content) {
			where = value(yamlfile.Resolve(list.Content[i]), "only")
		}
		remedy.only = r.condition(l, remedy.Only, rule.Scope, where)
	}
}

func (r *reporter) oneOf(line int, what, value string, known []string) {
	if slices.Contains(known, value) {
		return
	}
	if near := nearest(value, known); near != "" {
		r.Add(line, 0, "did you mean "+near+"?", "%s can't be %q", what, value)
		return
	}
	r.Add(line, 0, "write one of "+strings.Join(known, ", "), "%s can't be %q", what, value)
}

// condition compiles the condition at node n.
func (r *reporter) condition(l *language, text, scope string, n *yaml.Node) *condition {
	if r.faultless {
		return l.later(text, scope)
	}
	c, faults := l.compile(text, scope)
	for _, f := range faults {
		line := 0
		if n != nil {
			line = n.Line
			if n.Style&yaml.LiteralStyle != 0 {
				line += f.line // the text begins on the line after the bar
			}
		}
		r.Add(line, 0, f.hint, "%s", f.message)
	}
	return c
}

// order looks for rules with the same ID and for rules that silence each other.
func (r *reporter) order(rules []Rule) {
	seen := map[string]place{}
	for _, rule := range rules {
		if first, twice := seen[rule.ID]; twice {
			r.Add(rule.place.line, 0, "give it another id", "a rule %s stands on line %d already", rule.ID, first.line)
			continue
		}
		seen[rule.ID] = rule.place
	}
	if circle := silenceCircle(rules); len(circle) > 0 {
		r.Add(seen[circle[0]].line, 0, "delete one silent_if", "the rules silence each other: %s",
			strings.Join(circle, " → "))
	}
}

// value returns the node of a mapping's field; nil if the field is missing.
func value(n *yaml.Node, field string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == field {
			return yamlfile.Resolve(n.Content[i+1])
		}
	}
	return nil
}

// nearest returns the known name with the smallest edit distance, or "" if that would be another word rather than a
// typing error. Keys are long, so a third of their letters may be wrong, and two letters of a short one.
func nearest(name string, known []string) string {
	best, limit := "", max(min(2, len(name)/2), len(name)/3)
	if len(name) > 100 {
		return ""
	}
	for _, k := range known {
		if d := yamlfile.Distance(name, k, limit); d <= limit {
			best, limit = k, d-1
		}
	}
	return best
}

// Placeholder is a word in commands that the reader replaces.
type Placeholder struct{ Word, Means string }

// Placeholders returns the placeholders of the built-in rules.
func Placeholders() []Placeholder {
	return []Placeholder{
		{"DIR", "a directory on the storage in question"},
		{"DEVICE", "a disk (an empty one; ladder only reads, so there it may be in use)"},
		{"NAME", "the disk, array or controller"},
		{"SERVER", "a machine at the other end of the network, like ssh://db1, with --address where that network has " +
			"another address of it"},
		{"GUEST", "the virtual machine"},
		{"CLASS", "the StorageClass in question"},
		{"OTHER", "the one that is changed"},
		{"FILE", "the description of a guest to start"},
		{"TARGET", "a machine that headroom restarts for each level: a guest (qemu:FILE), or one that --reboot " +
			"names, too; for this one: headroom run before and after its reboot, then headroom compare"},
	}
}

// PlaceholdersIn explains the words in capitals in commands.
func PlaceholdersIn(commands string) string {
	var parts []string
	for _, p := range Placeholders() {
		if regexp.MustCompile(`\b` + p.Word + `\b`).MatchString(commands) {
			parts = append(parts, p.Word+" is "+p.Means)
		}
	}
	return strings.Join(parts, "; ")
}
