package cli

import (
	"github.com/spf13/cobra"
)

// resumeFlag adds --resume, and --trust beside it.
func (p *program) resumeFlag(c *cobra.Command, resume *string, usage string) {
	c.Flags().StringVar(resume, "resume", "", usage)
	c.Flags().BoolVar(&p.Trust, "trust", false,
		"with --resume: go on with a run that was imported, and carry out what came with it")
}
