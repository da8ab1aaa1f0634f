package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// dryRunFlag adds --dry-run, which is short where it has no value.
func (p *program) dryRunFlag(c *cobra.Command, d *app.DryRun, usage string) {
	c.Flags().Var(d, "dry-run", usage)
	c.Flags().Lookup("dry-run").NoOptDefVal = string(app.InShort)
	p.completeFlag(c, "dry-run", func() []string { return []string{string(app.InShort), string(app.InFull)} })
}
