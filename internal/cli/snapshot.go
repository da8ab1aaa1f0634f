package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// snapshot is everything known of a target now, but for what is left out.
func (p *program) snapshot(ctx context.Context, t target.Target, place lab.Place, without ...string) (facts.Document,
	error) {
	return p.snapshotWithin(ctx, facts.SnapshotLimit, t, place, without...)
}

// snapshotWithin is a snapshot that may take longer, or must take less.
func (p *program) snapshotWithin(ctx context.Context, limit time.Duration, t target.Target, place lab.Place,
	without ...string) (facts.Document, error) {
	switch {
	case limit != facts.SnapshotLimit:
	case p.traits(t.Name()).HostedHere:
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

// saveInitialSnapshot keeps the first snapshot in the bundle, and gives its memory back before a load starts.
func (m *measurement) saveInitialSnapshot(w *store.Writer) error {
	defer m.Footprint.withLowMemory()()
	var err error
	if !m.snapshotElsewhere {
		err = w.Facts(m.targetRole(), store.Before, m.before)
	}
	if err == nil && m.server != nil && !m.server.snapshotElsewhere {
		err = w.Facts(m.server.Role, store.Before, m.server.before)
		m.server.before.Facts = nil
	}
	m.before.Facts = nil
	m.Footprint.releaseMemory()
	return err
}

// compareAfterwards takes the second snapshot of a run, and warns of what somebody changed since the first.
func (m *measurement) compareAfterwards(ctx context.Context, w *store.Writer) error {
	if m.snapshotElsewhere {
		return nil
	}
	b, err := m.store.Find(m.run.ID)
	if err != nil {
		return err
	}
	return m.compareWithBefore(ctx, b, w)
}

// compareWithBefore takes the second snapshot of the run in b, and keeps it.
func (m *measurement) compareWithBefore(ctx context.Context, b *store.Bundle, w *store.Writer) error {
	defer m.Footprint.withLowMemory()()
	after, err := m.snapshot(ctx, m.target, m.place(), facts.Tools)
	if err != nil {
		return err
	}
	m.Footprint.releaseMemory() // what reading took, before comparing and saving take theirs
	if !m.reboots {
		err = m.warnOfChanges(b, after)
	}
	if err != nil {
		return err
	}
	m.Footprint.releaseMemory()
	err = w.Facts(m.targetRole(), store.After, after)
	after.Facts = nil
	m.Footprint.releaseMemory() // the report comes next
	return err
}

// compareWithFirstPart compares the machine of a resumed run with that of its first part; a reboot may lie between.
func (m *measurement) compareWithFirstPart(ctx context.Context) error {
	if m.snapshotElsewhere {
		return nil
	}
	defer m.Footprint.withLowMemory()()
	now, err := m.snapshot(ctx, m.target, m.place())
	if err != nil {
		return err
	}
	err = m.warnOfChanges(m.resumed, now)
	m.Footprint.releaseMemory()
	return err
}

// warnOfChanges says what differs from the first snapshot of the run in b.
func (m *measurement) warnOfChanges(b *store.Bundle, now facts.Document) error {
	m.run.RemoveWarnings([]string{"settings-changed"})
	var failed error
	before := func(yield func(lab.Fact) bool) {
		for f, err := range b.EachFact(m.targetRole(), store.Before) {
			if failed = err; err != nil || !yield(f) {
				return
			}
		}
	}
	var printed []string
	changes := facts.Changes(before, now.Facts)
	other := otherLoops(changes)
	for _, c := range changes {
		if m.ofOtherPods(c.After) || other[c.After.About] {
			continue
		}
		name := c.After.Key
		if c.After.About != "" {
			name += " of " + c.After.About
		}
		printed = append(printed, fmt.Sprintf("%s: %s, then %s", name, c.Before.Value, c.After.Value))
	}
	if len(printed) > 0 {
		m.run.Warnings = append(m.run.Warnings, validity.SettingsChanged(printed))
	}
	return failed
}

// ofOtherPods says whether a fact is about a disk that is not measured, of a node that pods share: theirs come and go
// with them.
func (m *measurement) ofOtherPods(f lab.Fact) bool {
	return m.traits(m.target.Name()).Scheduled && f.About != "" && (strings.HasPrefix(f.Key, "disk.") ||
		strings.HasPrefix(f.Key, "volume.")) && !slices.Contains(m.place().Disks, f.About)
}

// otherLoops are the loop devices that have another file than before. Programs make and remove them all the time, and
// one that is measured keeps its file.
func otherLoops(changes []facts.Change) map[string]bool {
	other := map[string]bool{}
	for _, c := range changes {
		if c.After.Key == "volume.name" && strings.HasPrefix(c.After.About, "loop") {
			other[c.After.About] = true
		}
	}
	return other
}
