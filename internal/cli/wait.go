package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/factor/journal"
)

// waitForSettings makes a command with --wait start again once the run that holds one of its settings has ended, for
// which freed waits. It starts from the beginning because facts read earlier include that run's changes.
func waitForSettings(c *cobra.Command, freed func(context.Context, *journal.Held) error) {
	wait := c.Flags().Lookup("wait")
	if wait == nil {
		return
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		for {
			err := run(c, args)
			held, isHeld := errors.AsType[*journal.Held](err)
			if !isHeld || wait.Value.String() != "true" || held.Dead {
				return err
			}
			if err := freed(c.Context(), held); err != nil {
				return err
			}
		}
	}
}
