package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// Journal begins the journal of what a run changes on a target.
func (p *App) Journal(s *store.Store, id string, t host.Target) (*journal.Journal, error) {
	j, err := journal.Create(s.Folder.Changes(), id, t)
	if err != nil {
		return nil, err
	}
	if len(p.Args) > 0 {
		j.For(lab.ShellQuote(append([]string{filepath.Base(p.Args[0])}, p.Args[1:]...)))
	}
	if p.AtStep != nil {
		j.AtStep(p.AtStep)
	}
	return j, nil
}

// PutBack restores every setting, the last that was changed first, also after an error or an interruption. What could
// not be put back stays in its journal, which is let go of all the same: whoever looks for it later takes it for one in
// use.
func PutBack(ctx context.Context, journals ...*journal.Journal) error {
	var errs []error
	for _, j := range slices.Backward(journals) {
		if j != nil {
			errs = append(errs, j.Undo(ctx), j.Close())
		}
	}
	return errors.Join(errs...)
}

// WaitForSetting waits until the run that has locked a setting has ended, or another has locked it.
func (p *App) WaitForSetting(ctx context.Context, held *journal.Held) error {
	t, err := p.OpenTarget(ctx, held.Target)
	if err != nil {
		return err
	}
	defer p.CloseTarget(t)
	fmt.Fprintf(p.Stderr, "waiting for run %s: %s\n", held.ID, held.Command)
	return held.Wait(ctx, t)
}
