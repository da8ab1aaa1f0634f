package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// showCommand shows runs as tables.
type showCommand struct {
	app                  *app.App
	raw, cells, warnings bool
}

func newShowCommand(a *app.App) *cobra.Command {
	s := &showCommand{app: a}
	c := &cobra.Command{
		Use: "show RUN...",
		Long: `Shows runs as tables. An experiment with several arms, like a sweep, a ladder or a live comparison, is shown as its
command showed it; --cells shows each load in each arm. So does --json: its command prints the result as JSON, for
example headroom sweep --show RUN --json or headroom ladder --resume RUN --json.

A table has the most important warnings in a line each and names the others; --warnings prints all in full.`,
		Example: `  headroom show last
  headroom show last --warnings
  headroom show 7KQ4 --json
  headroom show 7KQ4 --raw
  headroom show 7KQ4 --cells`,
		Args:              argumentCount(1, unlimited, "one run or more"),
		ValidArgsFunction: completion{a}.runs,
		RunE:              func(_ *cobra.Command, args []string) error { return s.show(args) },
	}
	f := flagsOf(a, c)
	f.BoolVar(&s.raw, "raw", false, "print the load generator's raw output; a terminal gets control characters "+
		"as \\u001b")
	cellsFlag(c, &s.cells)
	warningsFlag(c, &s.warnings)
	f.json()
	c.MarkFlagsMutuallyExclusive("warnings", "raw")
	c.MarkFlagsMutuallyExclusive("warnings", "json")
	return c
}

func (s *showCommand) show(runs []string) error {
	bundles, err := results.FindAll(s.app, runs)
	if err != nil {
		return err
	}
	if s.raw {
		return s.printRaw(bundles)
	}
	format := "table"
	if s.app.JSON {
		format = "json"
	}
	return presenter(s.cells)(s.app, format, bundles, s.app.Stdout,
		report.Options{Names: format == "table", Options: render.Options{Warnings: s.warnings}})
}

// printRaw prints the output of load generators unchanged, except that control characters are escaped for a terminal.
func (s *showCommand) printRaw(bundles []*store.Bundle) error {
	w := s.app.RawStdout
	if app.Columns(w) > 0 {
		w = s.app.Stdout
	}
	for _, b := range bundles {
		for f, err := range b.Raw() {
			if err != nil {
				return err
			}
			if len(f.Data) > 0 {
				fmt.Fprintf(w, "==> %s <==\n%s\n", prose.Inline(f.Name), f.Data)
			}
		}
	}
	return nil
}
