package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/journal"
)

// waitForSettings makes commands with --wait start again once the run that holds one of their settings has ended. They
// start from the beginning because facts read earlier include that run's changes.
func waitForSettings(a *app.App, commands ...*cobra.Command) {
	for _, c := range commands {
		if wait := c.Flags().Lookup("wait"); wait != nil {
			run := c.RunE
			c.RunE = func(c *cobra.Command, args []string) error {
				for {
					err := run(c, args)
					held, isHeld := errors.AsType[*journal.Held](err)
					if !isHeld || wait.Value.String() != "true" || held.Dead {
						return err
					}
					if err := a.WaitForSetting(c.Context(), held); err != nil {
						return err
					}
				}
			}
		}
		waitForSettings(a, c.Commands()...)
	}
}
