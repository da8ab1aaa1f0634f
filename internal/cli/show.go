package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/visible"
)

func (p *program) showCommand() *cobra.Command {
	var raw, cells, warnings bool
	c := &cobra.Command{
		Use:   "show RUN...",
		Short: "Show runs as a table",
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
		ValidArgsFunction: p.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			bundles, err := results.FindAll(p.App, args)
			if err != nil {
				return err
			}
			if raw {
				return p.printRaw(bundles)
			}
			format := "table"
			if p.App.JSON {
				format = "json"
			}
			return presenter(cells)(p.App, format, bundles, p.App.Stdout,
				report.Options{Names: format == "table", Options: render.Options{Warnings: warnings}})
		},
	}
	c.Flags().BoolVar(&raw, "raw", false, "print the load generator's raw output; a terminal gets control characters "+
		"as \\u001b")
	cellsFlag(c, &cells)
	warningsFlag(c, &warnings)
	p.jsonFlag(c)
	c.MarkFlagsMutuallyExclusive("warnings", "raw")
	c.MarkFlagsMutuallyExclusive("warnings", "json")
	return c
}

// printRaw prints what load generators printed: to the byte, but for a terminal, which would carry out the control
// characters in it.
func (p *program) printRaw(bundles []*store.Bundle) error {
	w := p.App.RawStdout
	if app.Columns(w) > 0 {
		w = p.App.Stdout
	}
	for _, b := range bundles {
		for f, err := range b.Raw() {
			if err != nil {
				return err
			}
			if len(f.Data) > 0 {
				fmt.Fprintf(w, "==> %s <==\n%s\n", visible.Line(f.Name), f.Data)
			}
		}
	}
	return nil
}
