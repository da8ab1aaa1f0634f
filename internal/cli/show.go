package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"headroom/internal/report"
	"headroom/internal/store"
)

func (p *program) showCommand() *cobra.Command {
	var raw, cells bool
	c := &cobra.Command{
		Use:   "show RUN...",
		Short: "Show runs as a table",
		Long: `Shows runs as tables. A sweep or an ablation is shown as what it has found; --cells shows each load in each
arm, and so does --json: headroom sweep --show RUN --json and headroom ablate --show RUN --json have what was found.`,
		Example:           "  headroom show last\n  headroom show 7KQ4 --json\n  headroom show 7KQ4 --raw\n  headroom show 7KQ4 --cells",
		Args:              between(1, many, "one run or more"),
		ValidArgsFunction: p.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			bundles, err := p.findAll(args)
			if err != nil {
				return err
			}
			if raw {
				return p.printRaw(bundles)
			}
			format := "table"
			if p.json {
				format = "json"
			}
			return p.presenter(cells)(format, bundles, p.Stdout, report.Options{Names: format == "table"})
		},
	}
	c.Flags().BoolVar(&raw, "raw", false, "print what the load generator printed")
	cellsFlag(c, &cells)
	p.jsonFlag(c)
	return c
}

func (p *program) printRaw(bundles []*store.Bundle) error {
	for _, b := range bundles {
		for f, err := range b.Raw() {
			if err != nil {
				return err
			}
			if len(f.Data) > 0 {
				fmt.Fprintf(p.Stdout, "==> %s <==\n%s\n", f.Name, f.Data)
			}
		}
	}
	return nil
}
