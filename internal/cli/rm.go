package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/store"
)

func newRmCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:               "rm RUN...",
		Example:           "  headroom rm 7KQ4\n  headroom rm last",
		Args:              argumentCount(1, unlimited, "one run or more"),
		ValidArgsFunction: completion{a}.runs,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := a.OpenStore()
			if err != nil {
				return err
			}
			// The run is the only record of what its process left behind.
			if err := recovery.RecoverLeftovers(c.Context(), a, s, nil, ""); err != nil {
				return err
			}
			// All names are looked up before any run is deleted: with "last" twice, the second is the same run.
			var found []*store.Bundle
			var errs []error
			for _, ref := range args {
				b, err := s.FindBundle(ref)
				switch {
				case err != nil:
					errs = append(errs, err)
				case b.Active():
					errs = append(errs, &lab.Error{Kind: lab.Refused, What: "run " + b.Run.ID + " is still running",
						Hints: []string{"end it first, with Ctrl-C where it runs"}})
				case !s.Has(b.Run.ID):
					errs = append(errs, app.Usage(b.Dir()+" is not in the store", "delete the folder by hand"))
				default:
					found = append(found, b)
				}
			}
			if err := errors.Join(errs...); err != nil {
				return err
			}
			for _, b := range found {
				if !s.Has(b.Run.ID) {
					continue
				}
				if err := s.Remove(b.Run.ID); err != nil {
					return err
				}
				fmt.Fprintf(a.Stdout, "deleted %s %s\n", b.Run.ID, b.Run.Label)
			}
			_, err = recovery.RecoverBuilds(c.Context(), a, s)
			return err
		},
	}
}
