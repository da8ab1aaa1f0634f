package rule

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
)

// aThing is the subject of a case's facts that do not name one.
const aThing = "thing"

// ruleCase is the facts of one verdict: a mapping of keys to values, or a list of {fact, about, value, unknown}.
type ruleCase []lab.Fact

func (c *ruleCase) UnmarshalYAML(n *yaml.Node) error {
	*c = ruleCase{}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			*c = append(*c, caseFact(n.Content[i].Value, aThing, n.Content[i+1]))
		}
		return nil
	}
	var list []struct {
		Fact, About, Unknown string
		Value                yaml.Node
	}
	if err := n.Decode(&list); err != nil {
		return err
	}
	for _, e := range list {
		if e.About == "" {
			e.About = aThing
		}
		f := caseFact(e.Fact, e.About, &e.Value)
		f.Unknown = e.Unknown
		*c = append(*c, f)
	}
	return nil
}

// caseFact makes a fact; about is used for keys of a class only. Short names refer to the families: argument for the
// boot arguments, config.X for an option of the build.
func caseFact(key, about string, value *yaml.Node) lab.Fact {
	text := value.Value
	if value.Kind == yaml.SequenceNode {
		var words []string
		for _, w := range value.Content {
			words = append(words, w.Value)
		}
		text = strings.Join(words, ", ")
	}
	if key == "argument" {
		key = "kernel.cmdline"
	}
	if option, ok := strings.CutPrefix(key, "config."); ok {
		key = "kernel.config." + option
	}
	f := lab.Fact{Key: key, Value: text}
	if catalogue.ClassOf(key) != "" {
		f.About = about
	}
	return f
}

// cases are the facts of every verdict by rule.
type cases map[string]map[Verdict]ruleCase

func readCases(t *testing.T) cases {
	t.Helper()
	names, err := filepath.Glob("testdata/cases/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	all := cases{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var some cases
		if err := yaml.Unmarshal(data, &some); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for id, c := range some {
			if all[id] != nil {
				t.Errorf("%s: the rule %s has cases in another file too", name, id)
			}
			all[id] = c
		}
	}
	return all
}

func TestEveryRuleHasItsCases(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) == 0 {
		t.Fatal("no rules are built in")
	}
	all := readCases(t)
	for _, rule := range rules {
		t.Run(rule.ID, func(t *testing.T) {
			for _, verdict := range []Verdict{Found, Clear, Unknown} {
				c, ok := all[rule.ID][verdict]
				if !ok {
					t.Errorf("there is no case %s in testdata/cases", verdict)
					continue
				}
				checkCase(t, rule, verdict, c)
			}
		})
		delete(all, rule.ID)
	}
	for id := range all {
		t.Errorf("testdata/cases has cases of %s, and there is no such rule", id)
	}
}

func checkCase(t *testing.T, rule Rule, want Verdict, c ruleCase) {
	t.Helper()
	index := catalogue.NewIndex()
	for _, f := range c {
		d, ok := index.Lookup(f.Key)
		if !ok {
			t.Errorf("%s: there is no fact %s", want, f.Key)
		}
		if f.Unknown == "" && !holds(d.Kind, f.Value) {
			t.Errorf("%s: %s can't be %q", want, f.Key, f.Value)
		}
	}
	rule.SilentIf = nil
	set, err := Compile([]Rule{rule})
	if err != nil {
		t.Fatal(err)
	}
	snapshot := c
	if rule.Scope != "" && len(newMachine(set.vocabulary, c).things[rule.Scope]) == 0 {
		// The thing exists, but its deciding facts are missing.
		snapshot = append(ruleCase{{Key: rule.Scope + ".present", About: aThing}}, c...)
	}
	report := set.Evaluate(snapshot, Options{Unquantified: true, Risks: true, All: true})
	n := report.Counts
	good := map[Verdict]bool{
		Found:   n.Finding > 0,
		Clear:   n.Clear > 0 && n.Finding+n.Unknown == 0,
		Unknown: n.Unknown > 0 && n.Finding == 0,
	}[want]
	if !good {
		t.Errorf("%s: got %+v: %+v", want, n, report.Findings)
	}
	for _, f := range report.Findings {
		if f.Verdict == Unknown && (len(f.Missing) == 0 || f.Missing[0].Fact == "") {
			t.Errorf("%s: the unknown names no fact: %+v", want, f.Missing)
		}
		if f.Verdict == Found && len(f.Evidence) == 0 {
			t.Errorf("%s: the finding has no evidence", want)
		}
	}
}

// holds reports whether a value has the form that its kind requires.
func holds(k catalogue.Kind, value string) bool {
	r := &reading{machine: &machine{}}
	r.value(lab.Fact{Value: value}, k)
	return len(r.missing) == 0
}

// A built-in rule has a source, unless it is marked as having none.
func TestEveryRuleHasASource(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) == 0 {
		t.Fatal("no rules are built in")
	}
	for _, r := range rules {
		if !r.Unquantified && len(r.Sources) == 0 && len(r.Effects) == 0 {
			t.Errorf("%s has no source; find one or write unpriced: true", r.ID)
		}
		for _, s := range r.Sources {
			if s.Title == "" || s.URL == "" {
				t.Errorf("%s: the source %+v can't be opened", r.ID, s)
			}
		}
	}
}

func TestEnoughRulesArePriced(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	priced := 0
	for _, r := range rules {
		if !r.Unquantified {
			priced++
		}
	}
	figure.Record(t, figure.Figure{Name: "doctor/rules", Center: float64(len(rules)), Text: "rules of headroom doctor"})
	figure.Record(t, figure.Figure{Name: "doctor/rules/priced", Center: float64(priced), N: len(rules),
		Text: "of these priced: from a source that was read, or arithmetic"})
	if priced < 60 {
		t.Errorf("only %d rules are priced", priced)
	}
}

func TestBuiltInRulesFitTogether(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compile(rules); err != nil {
		t.Fatal(err)
	}
}
