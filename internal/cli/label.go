package cli

import (
	"github.com/spf13/cobra"
)

func (p *program) labelCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "label RUN TEXT",
		Short:             "Change the label of a run",
		Example:           "  headroom label last 'before tuning'",
		Args:              argumentCount(2, 2, "a run and a text"),
		ValidArgsFunction: p.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := p.App.OpenStore()
			if err != nil {
				return err
			}
			b, err := s.FindBundle(args[0])
			if err != nil {
				return err
			}
			return s.SetLabel(b, args[1])
		},
	}
}
