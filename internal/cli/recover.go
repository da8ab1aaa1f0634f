package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"headroom/internal/app"
	"headroom/internal/factor"
	"headroom/internal/recovery"
)

func (p *program) restoreCommand() *cobra.Command {
	var anyway, accept bool
	var reboot []string
	c := &cobra.Command{
		Use:   "restore",
		Short: "Put back what a killed or crashed run left: settings, loads, scratch files, here and elsewhere",
		Long: `Ends the loads, removes the scratch files and puts back the settings that a run left behind when it was
killed, on the machine that it measured. The next run there does the same before it starts. A setting
that somebody else has changed since is left alone and reported, unless a flag says what becomes of it.

What was put on a real machine for one boot is taken away too. Where that machine still runs with
arguments that are not its own, it takes a boot to end that, which must be allowed by name.`,
		Example: "  headroom restore\n  headroom restore --anyway\n  headroom restore --reboot ssh://root@db1",
		Args:    argumentCount(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			external := factor.Report
			switch {
			case anyway && accept:
				return app.Usage("--anyway and --accept contradict each other")
			case anyway:
				external = factor.Restore
			case accept:
				external = factor.Accept
			}
			s, err := p.OpenStore()
			if err != nil {
				return err
			}
			n, err := recovery.RecoverRuns(c.Context(), p.App, s, func(string) bool { return true }, reboot, external)
			if err == nil && n == 0 {
				fmt.Fprintln(p.Stdout, "nothing was left behind")
			}
			return err
		},
	}
	c.Flags().BoolVar(&anyway, "anyway", false,
		"put back what was there before, also where somebody else has changed a setting since")
	c.Flags().StringArrayVar(&reboot, "reboot", nil,
		"a machine that may be started anew where it still runs with arguments that are not its own; may be repeated")
	c.Flags().BoolVar(&accept, "accept", false,
		"leave settings that can't be put back, or that somebody else has changed, and forget the changes")
	return c
}
