package rule

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"
)

// TestRulesDoc compares the page of all rules with the rules.
func TestRulesDoc(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../../docs/reference/rules.md", rulesPage(rules, readings(t)))
}

// ruleReading is the result of reviewing a rule. verdict is "right", "new", or "corrected" or "doubt" with the fault or
// the open question. sources is "all" if all of the rule's sources were opened, "part" or none.
type ruleReading struct{ verdict, sources string }

// readings returns the review of each rule, by its name, from read.tsv.
func readings(t *testing.T) map[string]ruleReading {
	t.Helper()
	data, err := os.ReadFile("testdata/read.tsv")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]ruleReading{}
	for line := range strings.Lines(string(data)) {
		if id, rest, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			if said[id].verdict != "" {
				t.Errorf("%s stands twice", id)
			}
			verdict, sources, _ := strings.Cut(rest, "\t")
			said[id] = ruleReading{verdict, sources}
		}
	}
	return said
}

func rulesPage(rules []Rule, readings map[string]ruleReading) string {
	var b strings.Builder
	opened := map[string]int{}
	for _, r := range readings {
		opened[r.sources]++
	}
	b.WriteString(`# Rules

What [` + "`headroom doctor`](../howto/doctor.md)" + ` looks for. A rule that lacks a fact answers *unknown*.
` + "`headroom rules show ID`" + ` prints a rule with published effects, its remedies and what each costs.

- *When* is the condition of a finding, over [facts](facts.md); *applies* is the condition for asking at all.
- *Read* is what came of reading the rule once more, with the question whether it forgets devices that are not trusted,
  disks that rotate, values that a driver fixes, the size of the machine, or changes of the kernel: right, new,
  corrected, or a doubt that is left.
- *Sources read* says that all or part of the sources were opened for that, at the passage that decides, and say what
  the rule says: ` + fmt.Sprintf("all of %d rules and part of %d, of %d. ", opened["all"], opened["part"], len(rules)) +
		`Of a file of the kernel some version was opened,
  not always the one that is linked.
- A rule marked *unpriced* has no figure; ` + "`--unpriced`" + ` shows it. One marked *risk* makes nothing slower; ` + "`--risks`" + ` shows it.

This page is written from the files in internal/rule/rules.
`)
	for _, class := range ruleClasses() {
		var of []Rule
		for _, r := range rules {
			if r.Class == class {
				of = append(of, r)
			}
		}
		fmt.Fprintf(&b, "\n## %s\n\n| rule | severity | what it says |\n| --- | --- | --- |\n",
			strings.ToUpper(class[:1])+class[1:])
		for _, r := range of {
			fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", r.ID, r.ID, severityWords(r), r.Title)
		}
		for _, r := range of {
			ruleSection(&b, r, readings[r.ID])
		}
	}
	return b.String()
}

func severityWords(r Rule) string {
	words := r.Severity
	if r.Unquantified {
		words += ", unpriced"
	}
	if r.Risk {
		words += ", risk"
	}
	return words
}

func ruleSection(b *strings.Builder, r Rule, reading ruleReading) {
	fmt.Fprintf(b, "\n### `%s`\n\n%s. %s\n\n", r.ID, r.Title, strings.TrimSpace(r.Because))
	item := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "- %s: %s.\n", name, strings.TrimSuffix(text, "."))
		}
	}
	code := func(condition string) string {
		if condition == "" {
			return ""
		}
		return "`" + strings.Join(strings.Fields(condition), " ") + "`"
	}
	if r.Scope != "" {
		item("Asked of", "each "+r.Scope)
	}
	item("Applies", code(r.Applies))
	item("When", code(r.When))
	var sources []string
	for _, s := range r.Sources {
		title := strings.NewReplacer("<", "&lt;", "[", `\[`, "]", `\]`).Replace(s.Title)
		if s.URL != "" {
			title = fmt.Sprintf("[%s](%s)", title, s.URL)
		}
		sources = append(sources, title)
	}
	item("Source", strings.Join(sources, "; "))
	item("Read", reading.verdict)
	item("Sources read", reading.sources)
}

// TestEachRuleWasRead checks that the list of reviews has a line for each rule, with a verdict.
func TestEachRuleWasRead(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	said := readings(t)
	for _, r := range rules {
		word, _, _ := strings.Cut(said[r.ID].verdict, ":")
		word, _, _ = strings.Cut(word, ";")
		sources := said[r.ID].sources
		if !slices.Contains([]string{"right", "corrected", "new", "doubt"}, word) ||
			!slices.Contains([]string{"", "all", "part"}, sources) || sources != "" && len(r.Sources) == 0 {
			t.Errorf("testdata/read.tsv says %q of %s", said[r.ID], r.ID)
		}
		delete(said, r.ID)
	}
	for id := range said {
		t.Errorf("testdata/read.tsv has %s, and there is no such rule", id)
	}
}
