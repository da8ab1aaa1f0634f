package recovery

import (
	"context"
	"errors"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// WhileMounted calls do while a level of NFS is mounted on a folder, with a journal of the given ID. If the ID begins
// with the ID of a run, locks of that run are no obstacle.
func WhileMounted(ctx context.Context, p *app.App, s *store.Store, t host.Target, id, folder, level string,
	do func() error) (err error) {
	journal, err := p.Journal(s, id, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.PutBack(ctx, journal)) }()
	setting, err := factor.Bind(ctx, scheme.Scope{Target: t, Place: lab.Place{Kind: lab.Directory, Path: folder}},
		mount.NFSFactor)
	if err != nil {
		return err
	}
	if err := journal.Change(ctx, setting, level); err != nil {
		return err
	}
	return do()
}

// mountOfRun returns the first level that a sweep of an earlier version mounted for its arms; empty if it mounted
// nothing. Runs of this version record it in their leftovers.
func mountOfRun(run lab.Run) string {
	if run.Experiment == nil {
		return ""
	}
	for _, v := range run.Experiment.Factors {
		if v.Factor == mount.NFSFactor && len(v.Levels) > 0 {
			return v.Levels[0]
		}
	}
	return ""
}
