package cli

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/results"
)

// flags adds -o and --format.
func (p *program) documentFlags(o *results.DocumentOutput, c *cobra.Command) {
	c.Flags().StringVarP(&o.Output, "output", "o", "", "also write the result to a file: .html, .md, .csv or .json")
	p.formatFlag(c, &o.Format, slices.Concat(results.DocumentFormats(), o.More))
}
