package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

func newLabelCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "label RUN TEXT",
		Example:           "  headroom label last 'before tuning'",
		Args:              argumentCount(2, 2, "a run and a text"),
		ValidArgsFunction: completion{a}.runs,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.OpenStore()
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
