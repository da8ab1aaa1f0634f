package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/rule"
)

// ruleRow is a rule in the published JSON document of rules.
type ruleRow struct {
	ID       string        `json:"id"`
	Title    string        `json:"title"`
	Class    string        `json:"class"`
	Scope    string        `json:"scope,omitempty"`
	Severity string        `json:"severity"`
	Priced   bool          `json:"priced"`
	Guard    bool          `json:"guard,omitempty"`
	Applies  string        `json:"applies,omitempty"`
	When     string        `json:"when"`
	Because  string        `json:"because,omitempty"`
	Effects  []rule.Effect `json:"effects,omitempty"`
	Sources  []rule.Source `json:"sources,omitempty"`
	Measure  string        `json:"measure,omitempty"`
	// Metrics are the affected metrics, Derivation is the computation if no figure is published, Remedies would change
	// it, and Conflicts are sources that recommend the opposite.
	Metrics    []string  `json:"metrics,omitempty"`
	Derivation string    `json:"derivation,omitempty"`
	Remedies   []ruleFix `json:"remedies,omitempty"`
	Conflicts  []string  `json:"conflicts,omitempty"`
	// Trades are settings that gain speed at a cost of which the rule warns.
	Trades []ruleTrade `json:"trades,omitempty"`
}

// ruleTrade is a trade of a rule. With Above it covers greater numbers only.
type ruleTrade struct {
	Set     []string `json:"set"`
	Above   *float64 `json:"above,omitempty"`
	Cost    string   `json:"cost"`
	GivesUp string   `json:"gives_up"`
}

// ruleFix is a remedy of a rule, before it is written for a system.
type ruleFix struct {
	Set      string `json:"set,omitempty"`
	Text     string `json:"text,omitempty"`
	Only     string `json:"only,omitempty"`
	Reboot   bool   `json:"reboot,omitempty"`
	Destroys bool   `json:"destroys,omitempty"`
	Cost     string `json:"cost"`
}

// rulesCommand lists rules, or shows one.
type rulesCommand struct{ app *app.App }

func newRulesCommand(a *app.App) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "rules",
		Long: `Lists the rules that doctor checks. A rule is data: a condition over facts, with its source. --rules checks a file
of your own. docs/howto/doctor.md shows how to write one.`,
		Example: "  headroom rules\n  headroom rules show iommu-strict\n  headroom rules --rules mine.yaml",
		Args:    argumentCount(0, 0, "no argument, or show ID"),
		RunE: func(*cobra.Command, []string) error {
			set, err := results.LoadRules(file)
			if err != nil {
				return err
			}
			return rulesCommand{a}.list(set.Rules())
		},
	}
	c.PersistentFlags().StringVar(&file, "rules", "",
		"a file of your own rules, listed together with the built-in ones")
	flagsOf(a, c).json()
	return c
}

const rulesSchema = "headroom/rules/v1"

// rulesDocument is the published JSON document of rules.
type rulesDocument struct {
	Schema string    `json:"schema"`
	Rules  []ruleRow `json:"rules"`
}

func (l rulesCommand) list(rules []rule.Rule) error {
	if l.app.JSON {
		var rows []ruleRow
		for _, r := range rules {
			rows = append(rows, rowOf(r))
		}
		return l.app.PrintJSON(rulesDocument{rulesSchema, rows})
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tAREA\tEACH\tSEVERITY\tWHAT")
	for _, r := range rules {
		title := r.Title
		if r.Unquantified {
			title += " (unpriced)"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Class, r.Scope, r.Severity, title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// A rule is a line; show prints the rest.
	_, err := io.WriteString(l.app.Stdout, app.CutLines(table.String(), app.Columns(l.app.Stdout)))
	return err
}

func rowOf(r rule.Rule) ruleRow {
	row := ruleRow{ID: r.ID, Title: r.Title, Class: r.Class, Scope: r.Scope, Severity: r.Severity,
		Priced:  !r.Unquantified,
		Guard:   r.Guard,
		Applies: r.Applies, When: r.When, Because: r.Because, Effects: r.Effects, Sources: r.Sources,
		Measure: r.Measuring(),
		Metrics: r.Metrics, Derivation: strings.TrimSpace(r.Derivation), Conflicts: r.Conflicts}
	for _, m := range r.Remedies {
		row.Remedies = append(row.Remedies, ruleFix{m.Set, strings.TrimSpace(m.Text), m.Only, m.Reboot,
			m.Destroys, m.Cost})
	}
	for _, t := range r.Trades {
		row.Trades = append(row.Trades, ruleTrade{t.Set, t.Above, t.Cost, rule.GivesUp(t.Cost)})
	}
	return row
}

func newRulesShowCommand(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:  "show ID",
		Args: argumentCount(1, 1, "the id of a rule"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			set, err := results.LoadRules("")
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var ids []string
			for _, r := range set.Rules() {
				ids = append(ids, r.ID+"\t"+r.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		Example: "  headroom rules show iommu-strict",
		RunE: func(c *cobra.Command, args []string) error {
			set, err := results.LoadRules(c.Flag("rules").Value.String())
			if err != nil {
				return err
			}
			for _, r := range set.Rules() {
				if r.ID == args[0] {
					return rulesCommand{a}.show(r)
				}
			}
			return noRule(args[0], set.Rules())
		},
	}
	flagsOf(a, c).json()
	return c
}

// noRule returns an error that names the rules whose ID contains the name or has the same beginning: the user may
// remember a part.
func noRule(name string, rules []rule.Rule) error {
	hints := []string{"headroom rules lists them"}
	if near := similarNames(name, explained{rules: rules}.ids()); len(near) > 0 {
		hints = append([]string{"did you mean " + prose.Names(near, " or ") + "?"}, hints...)
	}
	return app.Usage("there is no rule "+name, hints...)
}

// similarNames returns the names that contain a name or have the same beginning.
func similarNames(name string, known []string) (near []string) {
	for _, k := range known {
		if name != "" && strings.Contains(k, name) || len(name) > 4 && strings.HasPrefix(k, name[:5]) {
			near = append(near, k)
		}
	}
	return near
}

func (l rulesCommand) show(r rule.Rule) error {
	if l.app.JSON {
		return l.app.PrintJSON(rulesDocument{rulesSchema, []ruleRow{rowOf(r)}})
	}
	w := &app.Wrapper{Out: l.app.Stdout, Width: app.Columns(l.app.Stdout)}
	w.Line("", r.ID+": "+r.Title)
	printRule(w, r)
	return nil
}

// printRule prints a rule without its title.
func printRule(w *app.Wrapper, r rule.Rule) {
	row := func(name, text string) { w.Rows([][2]string{{name, text}}) }
	row("area", r.Class)
	row("asked of", map[bool]string{true: "each " + r.Scope, false: "the machine"}[r.Scope != ""])
	row("severity", r.Severity)
	row("applies", r.Applies)
	row("when", r.When)
	row("because", r.Because)
	row("hurts", strings.Join(r.Metrics, ", "))
	for _, e := range r.Effects {
		row("published", e.Text+" ("+e.Where+"; "+e.Source.Title+" "+e.Source.URL+")")
	}
	row("derived", r.Derivation)
	for _, m := range r.Remedies {
		text := m.Text
		if m.Set != "" {
			text = strings.TrimSuffix(m.Set+": "+text, ": ")
		}
		text += rule.Caveats(m.Reboot, m.Destroys)
		if m.Only != "" {
			text += " (only if " + m.Only + ")"
		}
		row("change", text)
		row("  cost", m.Cost)
	}
	for _, t := range r.Trades {
		text := strings.Join(t.Set, ", ")
		if t.Above != nil {
			text += fmt.Sprintf(" above %g", *t.Above)
		}
		row("trade", text)
		row("  cost", t.Cost)
	}
	row("conflicts", strings.Join(r.Conflicts, "; "))
	for i, command := range strings.Split(r.Measuring(), "\n") {
		row([]string{"measure", ""}[min(i, 1)], command)
	}
	for _, s := range r.Sources {
		row("source", s.Title+" "+s.URL)
	}
	if r.Unquantified {
		row("", "unpriced: no published figure was found, so it is checked with --unpriced only")
	}
}
