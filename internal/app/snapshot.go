package app

import (
	"context"
	"time"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Snapshot is everything known of a target now, but for what is left out.
func (p *App) Snapshot(ctx context.Context, t host.Target, place lab.Place, without ...string) (facts.Document,
	error) {
	return p.SnapshotWithin(ctx, facts.SnapshotLimit, t, place, without...)
}

// SnapshotWithin is a snapshot that may take longer, or must take less.
func (p *App) SnapshotWithin(ctx context.Context, limit time.Duration, t host.Target, place lab.Place,
	without ...string) (facts.Document, error) {
	if limit == facts.SnapshotLimit && p.Traits(t.Name()).HostedHere {
		limit = guestLimit
	}
	taken := time.Now()
	all, err := facts.SnapshotWithin(ctx, limit, t, place, without...)
	if d, ok := t.(host.FactProvider); ok {
		all = append(all, d.Facts(ctx)...)
	}
	return facts.Document{Schema: facts.DocumentSchema, Target: t.Name(), Taken: taken, Version: p.Version, Facts: all},
		err
}

// guestLimit is the limit for a guest unless asked otherwise: it may be emulated beside others on a machine that has
// more to do.
const guestLimit = 4 * facts.SnapshotLimit
