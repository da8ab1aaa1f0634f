package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/recovery"
)

func newRestoreCommand(a *app.App) *cobra.Command {
	var anyway, accept bool
	var reboot []string
	c := &cobra.Command{
		Use: "restore",
		Long: `Ends the loads, removes the scratch files and puts back the settings that a killed run left on the machine that it
measured. The next run there does the same before it starts. A setting that another user or program has changed
since is left alone and reported; --anyway and --accept decide about it.

Temporary boot entries on real machines are removed, too. If such a machine still runs with kernel arguments of a
test, only a reboot ends that, which --reboot must allow by name.`,
		Example: "  headroom restore\n  headroom restore --anyway\n  headroom restore --reboot ssh://root@db1",
		Args:    argumentCount(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			external := journal.Report
			switch {
			case anyway && accept:
				return app.Usage("--anyway and --accept contradict each other")
			case anyway:
				external = journal.Restore
			case accept:
				external = journal.Accept
			}
			s, err := a.OpenStore()
			if err != nil {
				return err
			}
			n, err := recovery.RecoverRuns(c.Context(), a, s, func(string) bool { return true }, reboot, external)
			if err == nil && n == 0 {
				fmt.Fprintln(a.Stdout, "nothing was left behind")
			}
			return err
		},
	}
	f := flagsOf(a, c)
	f.BoolVar(&anyway, "anyway", false,
		"restore settings even if another user or program has changed them since")
	f.StringArrayVar(&reboot, "reboot", nil,
		"allow rebooting this machine if it still runs with kernel arguments of a test; may be repeated")
	f.BoolVar(&accept, "accept", false,
		"keep settings that can't be restored, or that another user or program has changed, and delete their records")
	return c
}
