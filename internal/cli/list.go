package cli

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// listCommand lists saved runs.
type listCommand struct {
	app    *app.App
	filter listFilter
}

func newListCommand(a *app.App) *cobra.Command {
	l := &listCommand{app: a}
	c := &cobra.Command{
		Use: "list",
		Example: `  headroom list
  headroom list --suite quick --since 7d
  headroom list --on ssh://db1 --status interrupted
  headroom list --limit 10 --json`,
		Args: argumentCount(0, 0, "no argument"),
		RunE: func(*cobra.Command, []string) error { return l.list() },
	}
	f := flagsOf(a, c)
	l.filter.flags(f)
	f.json()
	return c
}

func (l *listCommand) list() error {
	s, err := l.app.OpenStore()
	if err != nil {
		return err
	}
	all, err := s.List()
	rows, more, wrong := l.filter.of(s, all)
	if wrong != nil {
		return wrong
	}
	if l.app.JSON {
		if rows == nil {
			rows = []store.Row{}
		}
		return errors.Join(l.app.PrintJSON(app.RunsDocument{Schema: app.RunsSchema, Runs: rows}), err)
	}
	if len(rows) == 0 && err != nil { // the damaged runs may be the only ones
		return err
	}
	if len(rows) == 0 && len(all) > 0 {
		fmt.Fprintf(l.app.Stdout, "none of %s fits; headroom list shows all\n", prose.Count(len(all), "run"))
		return err
	}
	if failed := l.printRows(s, rows); failed != nil {
		return errors.Join(failed, err)
	}
	if more > 0 {
		fmt.Fprintf(l.app.Stderr, "%d more fit; --limit %d lists them too\n", more, len(rows)+more)
	}
	return err
}

func (l *listCommand) printRows(s *store.Store, rows []store.Row) error {
	if len(rows) == 0 {
		fmt.Fprintln(l.app.Stdout, "no runs yet; measure one: headroom run quick DIR")
		return nil
	}
	w := tabwriter.NewWriter(l.app.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tLABEL\tSUITE\tWHERE\tCREATED\tCELLS\tREPETITIONS\tSTATUS")
	shortID := s.ShortIDs()
	for _, r := range rows {
		of := results.ListedRun(r)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", shortID(r.ID), prose.Inline(r.Label),
			prose.Inline(of.Suite), prose.Inline(of.Where),
			humanize.RelTime(r.Created, time.Now(), "ago", "from now"), r.Cells, r.Repetitions, prose.Inline(of.Status))
	}
	return w.Flush()
}
