package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/validity"
	"github.com/headroom/headroom/internal/yamlfile"
)

// explained has the warnings, rules and metrics with a name. One name can be several: clock-source is a warning and a
// rule.
type explained struct {
	checks  []validity.Check
	rules   []rule.Rule
	metrics []lab.MetricText
}

const explainSchema = "headroom/explain/v1"

// explainedDocument is the published JSON document of explain.
type explainedDocument struct {
	Schema   string       `json:"schema"`
	Warnings []warningRow `json:"warnings"`
	Rules    []ruleRow    `json:"rules"`
	Metrics  []metricRow  `json:"metrics"`
}

type warningRow struct {
	Code   string `json:"code"`
	Title  string `json:"title"`
	When   string `json:"when"`
	Do     string `json:"do"`
	Taints string `json:"taints"`
	Source string `json:"source"`
}

type metricRow struct {
	Name     string     `json:"name"`
	What     string     `json:"what"`
	Metrics  []string   `json:"metrics"`
	Unit     lab.Unit   `json:"unit"`
	Better   lab.Better `json:"better"`
	Combined string     `json:"combined"`
}

func newExplainCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use: "explain [WARNING, RULE or METRIC]",
		Long: `Explains a name that headroom prints: the code of a warning, the id of a doctor rule, or a metric. For a warning it
prints when it fires, what to do and which numbers it affects; for a rule its condition, published effect, remedies
with their cost, and sources; for a metric its unit, which direction is better, and how repetitions are combined.
Case does not matter. Without a name it lists all of them.`,
		Example: `  headroom explain few-repetitions
  headroom explain iommu-strict
  headroom explain read.latency.p99
  headroom explain p99
  headroom explain`,
		Args:              argumentCount(0, 1, "the code of a warning, the id of a rule, or a metric"),
		ValidArgsFunction: completeExplained,
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := allExplained()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return all.list(a)
			}
			found := all.named(args[0])
			if len(found.names()) == 0 {
				return noExplanation(args[0], all.names())
			}
			return found.print(a)
		},
	}
	flagsOf(a, c).json()
	return c
}

func allExplained() (explained, error) {
	rules, err := rule.BuiltIn()
	return explained{validity.Checks(), rules, lab.MetricTexts()}, err
}

// named returns the entries with a name, in any case.
func (e explained) named(name string) explained {
	return explained{
		slices.DeleteFunc(slices.Clone(e.checks), func(c validity.Check) bool {
			return !strings.EqualFold(c.Code, name)
		}),
		slices.DeleteFunc(slices.Clone(e.rules), func(r rule.Rule) bool { return !strings.EqualFold(r.ID, name) }),
		lab.FindMetrics(name),
	}
}

// names returns the names of all entries.
func (e explained) names() []string { return slices.Concat(e.codes(), e.ids(), e.metricNames()) }

func (e explained) codes() (codes []string) {
	for _, c := range e.checks {
		codes = append(codes, c.Code)
	}
	return codes
}

func (e explained) ids() (ids []string) {
	for _, r := range e.rules {
		ids = append(ids, r.ID)
	}
	return ids
}

func (e explained) metricNames() (names []string) {
	for _, m := range e.metrics {
		names = append(names, m.Name)
	}
	return names
}

func noExplanation(name string, known []string) error {
	hints := []string{"headroom explain lists them"}
	near := similarNames(strings.ToLower(name), known)
	if one := yamlfile.Nearest(name, known); len(near) == 0 && one != "" {
		near = []string{one}
	}
	if len(near) > 0 {
		hints = append([]string{"did you mean " + prose.Names(near, " or ") + "?"}, hints...)
	}
	return app.Usage(fmt.Sprintf("there is no warning, rule or metric %q", name), hints...)
}

// list prints names only: there are hundreds.
func (e explained) list(a *app.App) error {
	if a.JSON {
		return e.print(a)
	}
	w := &app.Wrapper{Out: a.Stdout, Width: app.Columns(a.Stdout)}
	for _, kind := range []struct {
		what string
		list []string
	}{
		{"warnings, reasons to distrust a number", e.codes()},
		{"rules of doctor", e.ids()},
		{"kinds of metrics", e.metricNames()},
	} {
		slices.Sort(kind.list)
		w.Line("", fmt.Sprintf("%d %s:", len(kind.list), kind.what))
		w.Line("  ", strings.Join(kind.list, "  "))
		w.Line("", "")
	}
	w.Line("", "one of them: headroom explain NAME")
	return nil
}

// print prints the full text of each entry.
func (e explained) print(a *app.App) error {
	if a.JSON {
		d := explainedDocument{explainSchema, []warningRow{}, []ruleRow{}, []metricRow{}}
		for _, c := range e.checks {
			d.Warnings = append(d.Warnings, warningRow{c.Code, c.Title, c.When, c.Do, c.Taints, c.Source})
		}
		for _, r := range e.rules {
			d.Rules = append(d.Rules, rowOf(r))
		}
		for _, m := range e.metrics {
			d.Metrics = append(d.Metrics, metricRow{m.Name, m.What, m.Names(), m.Info().Unit, m.Info().Better,
				m.Combined()})
		}
		return a.PrintJSON(d)
	}
	w := &app.Wrapper{Out: a.Stdout, Width: app.Columns(a.Stdout)}
	printed := 0
	title := func(kind, name, text string) {
		if printed++; printed > 1 {
			w.Line("", "")
		}
		w.Line("", kind+" "+name+": "+text)
	}
	for _, c := range e.checks {
		title("warning", c.Code, c.Title)
		w.Rows([][2]string{{"when", c.When}, {"do", c.Do}, {"taints", c.Taints}, {"source", c.Source}})
	}
	for _, r := range e.rules {
		title("rule", r.ID, r.Title)
		printRule(w, r)
	}
	for _, m := range e.metrics {
		title("metric", m.Name, m.What)
		w.Rows([][2]string{{"direction", strings.Join(m.Directions, ", ")}, {"part", strings.Join(m.Parts, ", ")},
			{"unit", unitWords(m.Info().Unit)}, {"better", string(m.Info().Better)}, {"combined", m.Combined()}})
	}
	return nil
}

// unitWords returns a unit in words if its sign is not a word.
func unitWords(u lab.Unit) string {
	if u == lab.Share {
		return "a share: 1 is all"
	}
	return string(u)
}

// completeExplained offers all names with their titles.
func completeExplained(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	e, err := allExplained()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, c := range e.checks {
		found = append(found, c.Code+"\t"+c.Title)
	}
	for _, r := range e.rules {
		found = append(found, r.ID+"\t"+r.Title)
	}
	for _, m := range e.metrics {
		for _, name := range m.Names() {
			found = append(found, name+"\t"+m.What)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
