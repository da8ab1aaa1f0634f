package app

import (
	"context"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/target"
)

// Snapshot is everything known of a target now, but for what is left out.
func (p *App) Snapshot(ctx context.Context, t target.Target, place lab.Place, without ...string) (facts.Document,
	error) {
	return p.SnapshotWithin(ctx, facts.SnapshotLimit, t, place, without...)
}

// SnapshotWithin is a snapshot that may take longer, or must take less.
func (p *App) SnapshotWithin(ctx context.Context, limit time.Duration, t target.Target, place lab.Place,
	without ...string) (facts.Document, error) {
	switch {
	case limit != facts.SnapshotLimit:
	case p.Traits(t.Name()).HostedHere:
		limit = guestLimit
	case !target.IsLocal(t):
		limit = remoteSnapshotLimit
	}
	taken := time.Now()
	all, err := facts.SnapshotWithin(ctx, limit, t, place, without...)
	if d, ok := t.(target.FactProvider); ok {
		all = append(all, d.Facts(ctx)...)
	}
	return facts.Document{Schema: facts.DocumentSchema, Target: t.Name(), Taken: taken, Version: p.Version, Facts: all},
		err
}

// remoteSnapshotLimit is the time that a snapshot of another machine takes at most unless asked otherwise: thousands of
// files come over a network.
const remoteSnapshotLimit = 5 * facts.SnapshotLimit

// guestLimit is the same of a guest, which may be emulated beside others on a machine that has more to do.
const guestLimit = 20 * facts.SnapshotLimit
