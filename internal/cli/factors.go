package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/lab"
)

// factorsSchema names the published JSON document of factors.
const factorsSchema = "headroom/factors/v1"

// factorsDocument lists kinds of factors. For a single factor it has its state on a target.
type factorsDocument struct {
	Schema  string      `json:"schema"`
	Factors []factorRow `json:"factors"`
}

// factorRow is one kind of factors.
type factorRow struct {
	Scheme   string   `json:"scheme"`
	Title    string   `json:"title"`
	Class    string   `json:"class"`
	Needs    string   `json:"needs"`
	Syntax   string   `json:"syntax"`
	Levels   string   `json:"levels"`
	Verified string   `json:"verified"`
	Examples []string `json:"examples"`
	// Factor is a factor on a target, with its effective level, the levels that the target accepts, and the places of
	// the level.
	Factor   string   `json:"factor,omitempty"`
	Target   string   `json:"target,omitempty"`
	Level    *string  `json:"level,omitempty"`
	Possible []string `json:"possible,omitempty"`
	Places   []string `json:"places,omitempty"`
	// Lacks are parts of the factor that the target does not have, or that can't be set there.
	Lacks []string `json:"lacks,omitempty"`
}

// factorsCommand lists factors, or reads one on a target.
type factorsCommand struct {
	app *app.App
	on  string
}

func newFactorsCommand(a *app.App) *cobra.Command {
	r := &factorsCommand{app: a}
	c := &cobra.Command{
		Use: "factors [NAME [DEVICE or DIR]]",
		Long: `Lists the kinds of settings that an experiment can vary, what it takes to change them, and where the effective level
is read. With a name it reads that factor, and lists the possible levels. queue: and mount: belong to
a place, which must be named, too. Nothing is changed.`,
		Example: `  headroom factors
  headroom factors queue
  headroom factors sysctl:vm.dirty_ratio
  headroom factors queue:scheduler /srv --on ssh://db1`,
		Args:              argumentCount(0, 2, "a factor and, for queue: and mount:, a place"),
		ValidArgsFunction: completeFactors,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return r.list(factor.Schemes())
			}
			return r.show(c.Context(), args)
		},
	}
	f := flagsOf(a, c)
	f.StringVar(&r.on, "on", app.LocalTarget, "target to read the factor on")
	f.json()
	return c
}

// completeFactors offers the kinds of factors, then places.
func completeFactors(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, s := range factor.Schemes() {
		names = append(names, s.Name+":\t"+s.Title)
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func rowOfScheme(s scheme.Scheme) factorRow {
	plain, _, _ := strings.Cut(s.Name, "@") // queue@md0 has the scheme queue
	return factorRow{Scheme: plain, Title: s.Title, Class: s.Class.String(), Needs: s.Needs, Syntax: s.Syntax,
		Levels: s.Levels, Verified: s.Verified,
		Examples: s.Examples}
}

func (r *factorsCommand) list(schemes []scheme.Scheme) error {
	if r.app.JSON {
		doc := factorsDocument{Schema: factorsSchema}
		for _, s := range schemes {
			doc.Factors = append(doc.Factors, rowOfScheme(s))
		}
		return r.app.PrintJSON(doc)
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FACTOR\tOF THE\tNEEDS\tWHAT\tVERIFIED BY")
	for _, s := range schemes {
		fmt.Fprintf(w, "%s:\t%s\t%s\t%s\t%s\n", s.Name, classWord(s.Class), s.Needs, s.Title, s.Verified)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if _, err := io.WriteString(r.app.Stdout, app.CutLines(table.String(), app.Columns(r.app.Stdout))); err != nil {
		return err
	}
	fmt.Fprintln(r.app.Stdout, "\nheadroom factors NAME shows one: its form and levels, or what is in effect here")
	return nil
}

// classWord returns the word for what has the factors of a class.
func classWord(c scheme.Class) string {
	return map[scheme.Class]string{scheme.OfLoad: "load", scheme.Live: "running machine", scheme.OfBoot: "boot"}[c]
}

// show prints a kind of factors, or one factor on a target.
func (r *factorsCommand) show(ctx context.Context, args []string) error {
	name := args[0]
	if !strings.Contains(name, ":") {
		name += ":"
	}
	kind, rest, err := factor.Find(name)
	if err != nil {
		return err
	}
	row := rowOfScheme(kind)
	if kind.Class == scheme.Live && rest != "" {
		if row, err = r.read(ctx, name, args[1:], row); err != nil {
			return err
		}
	} else if rest != "" {
		if err := factor.Check(name, ""); err != nil {
			return err
		}
	}
	if r.app.JSON {
		return r.app.PrintJSON(factorsDocument{Schema: factorsSchema, Factors: []factorRow{row}})
	}
	r.print(row)
	return nil
}

// read reads the level of a factor on a target.
func (r *factorsCommand) read(ctx context.Context, name string, places []string, row factorRow) (factorRow, error) {
	t, err := r.app.OpenTarget(ctx, r.on)
	if err != nil {
		return row, err
	}
	defer r.app.CloseTarget(t)
	where := scheme.Scope{Target: t}
	if len(places) > 0 {
		if where.Place, err = storage.ResolvePlace(ctx, t, places[0]); err != nil {
			return row, err
		}
	} else if row.Scheme == "queue" || row.Scheme == "mount" {
		return row, app.Usage(name+" is about a place, and none is named", "headroom factors "+name+" DIR")
	}
	setting, err := factor.Bind(ctx, where, name)
	if err != nil {
		return row, err
	}
	level, err := setting.Read(ctx)
	if err != nil {
		return row, err
	}
	row.Factor, row.Target, row.Level, row.Possible, row.Places, row.Lacks = name, t.Name(), &level, setting.Possible,
		setting.Places(), setting.Lacks
	return row, nil
}

func (r *factorsCommand) print(row factorRow) {
	w := &app.Wrapper{Out: r.app.Stdout, Width: app.Columns(r.app.Stdout)}
	line := func(name, text string) {
		if text != "" {
			w.Line(fmt.Sprintf("  %-10s", name), text)
		}
	}
	if row.Level == nil {
		w.Line("", row.Scheme+": is "+row.Title)
		line("form", row.Syntax)
	} else {
		w.Line("", fmt.Sprintf("%s is %s on %s", row.Factor, shown(*row.Level), row.Target))
	}
	line("possible", strings.Join(row.Possible, ", "))
	if row.Possible == nil {
		line("possible", row.Levels)
	}
	line("needs", row.Needs)
	line("lacking", strings.Join(row.Lacks, ", "))
	line("read from", strings.Join(row.Places, ", "))
	if row.Level == nil {
		line("read from", row.Verified)
		for _, e := range row.Examples {
			line("example", lab.ShellQuote([]string{e}))
		}
	}
}

// shown returns a level for a sentence, in which an empty one would be invisible.
func shown(level string) string {
	if level == "" {
		return "empty"
	}
	return level
}
