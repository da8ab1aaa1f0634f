package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// formatFlag adds --format.
func (p *program) formatFlag(c *cobra.Command, format *string, known []app.OutputFormat) {
	c.Flags().StringVar(format, "format", "", "how to write the result: "+strings.Join(app.FormatNames(known),
		", ")+" (default table)")
	p.completeFlag(c, "format", func() []string { return app.FormatNames(known) })
}
