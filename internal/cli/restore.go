package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/lab"
	"headroom/internal/runner"
	"headroom/internal/store"
)

// recoverAbandoned ends and removes what a killed headroom left behind, and says what it was. Every command that adds a run
// does this first.
func (p *program) recoverAbandoned(ctx context.Context, s *store.Store) (int, error) {
	abandoned, err := s.Abandoned()
	errs := []error{err}
	for _, a := range abandoned {
		errs = append(errs, p.clear(ctx, s, a))
	}
	return len(abandoned), errors.Join(errs...)
}

// tidy recovers what can be recovered and says what can't: that is no reason not to go on.
func (p *program) tidy(ctx context.Context, s *store.Store) {
	if _, err := p.recoverAbandoned(ctx, s); err != nil {
		p.printError(err)
	}
}

func (p *program) clear(ctx context.Context, s *store.Store, a store.Abandoned) error {
	if a.Run.Source == lab.Imported {
		// An import is all or nothing, and its files are still where they came from.
		fmt.Fprintf(p.Stderr, "import %s was cut off; it was removed, import the files again\n", s.ShortID(a.Run.ID))
		return s.Remove(a.Run.ID)
	}
	t := p.local()
	var did []string
	jobs, err := t.JobsBelow(ctx, a.Left.Jobs + "-")
	if err != nil {
		return err
	}
	for _, id := range jobs {
		if err := t.ClearJob(ctx, id); err != nil {
			return err
		}
	}
	if len(jobs) > 0 {
		did = append(did, "ended its load")
	}
	for _, path := range a.Left.Scratch {
		dir := filepath.Dir(path)
		if out, err := t.Run(ctx, "test", "-d", dir); err != nil || out.ExitCode != 0 {
			return &lab.Error{What: fmt.Sprintf("run %s was cut off, and %s, where its scratch file is, is not there now", s.ShortID(a.Run.ID), dir), Err: err,
				Hints: []string{"mount it, then: headroom restore"}}
		}
		removed, err := runner.RemoveScratch(ctx, t, path)
		if err != nil {
			return err
		}
		if removed {
			did = append(did, "removed "+path)
		}
	}
	for _, d := range a.Left.Devices {
		did = append(did, d+" still holds its test data")
	}
	if err := s.Clear(a); err != nil {
		return err
	}
	if len(did) == 0 {
		did = []string{"nothing was left behind"}
	}
	fmt.Fprintf(p.Stderr, "run %s was cut off: %s; go on with: headroom run --resume %s\n", s.ShortID(a.Run.ID), strings.Join(did, ", "), s.ShortID(a.Run.ID))
	return nil
}

func (p *program) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "restore",
		Short:   "Remove what a killed or crashed run left on this machine",
		Long:    "Ends the loads and removes the scratch files that a run left behind when it was killed. The next run does the same before it starts.",
		Example: "  headroom restore",
		Args:    between(0, 0, "no argument"),
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := p.openStore()
			if err != nil {
				return err
			}
			n, err := p.recoverAbandoned(c.Context(), s)
			if err == nil && n == 0 {
				fmt.Fprintln(p.Stdout, "nothing was left behind")
			}
			return err
		},
	}
}
