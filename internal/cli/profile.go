package cli

import "github.com/spf13/cobra"

// profileCommand holds the commands of profiles. It is no command by itself yet, so help lists it once one of those
// below it is shown.
func (p *program) profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "Say what each I/O costs in the kernel, by function and by layer",
	}
	c.AddCommand(p.profileRecordCommand())
	return c
}
