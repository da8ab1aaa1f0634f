package cli

import "github.com/spf13/cobra"

// profileCommand holds the commands of profiles.
func (p *program) profileCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "profile",
		Short: "Say what each I/O costs in the kernel, by function and by layer",
	}
	c.AddCommand(p.profileRecordCommand(), p.profileShowCommand())
	return c
}
