package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/results"
)

// formatFlag adds --format.
func (p *program) formatFlag(c *cobra.Command, format *string, known []results.OutputFormat) {
	c.Flags().StringVar(format, "format", "", "how to write the result: "+strings.Join(results.FormatNames(known),
		", ")+" (default table)")
	p.completeFlag(c, "format", func() []string { return results.FormatNames(known) })
}
