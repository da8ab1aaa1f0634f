package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// resumeFlag adds --resume, and --trust beside it.
func (p *program) resumeFlag(c *cobra.Command, resume *string, usage string) {
	c.Flags().StringVar(resume, "resume", "", usage)
	c.Flags().BoolVar(&p.App.Trust, "trust", false,
		"with --resume: go on with a run that was imported, and carry out what came with it")
}

// refuseSettled refuses flags with --resume that say what was settled when the run began.
func refuseSettled(c *cobra.Command, names ...string) error {
	if !c.Flags().Changed("resume") {
		return nil
	}
	for _, name := range names {
		if c.Flags().Changed(name) {
			return app.Usage("--"+name+" can't be changed when a run is resumed",
				"leave it out: the run says what was settled")
		}
	}
	return nil
}
