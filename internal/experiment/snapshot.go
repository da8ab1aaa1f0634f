package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/validity"
)

// snapshots keeps and compares the snapshots of the target of a run.
type snapshots struct {
	app    *app.App
	target host.Target
	place  lab.Place
	// role and arm of the snapshots; both are empty in a run on one target.
	role, arm string
}

func (m *Measurement) snapshots() snapshots {
	return snapshots{m.App, m.Target, m.Place(), m.TargetRole(), m.Arm}
}

// SaveInitialSnapshot keeps the first snapshot in the bundle, and gives its memory back before a load starts.
func (m *Measurement) SaveInitialSnapshot(w *store.Writer) error {
	defer m.App.Footprint.WithLowMemory()()
	var err error
	if !m.SnapshotElsewhere {
		err = m.snapshots().save(w, store.Before, m.Before)
	}
	if err == nil && m.Server != nil && !m.Server.SnapshotElsewhere {
		err = w.Facts(m.Server.Role, store.Before, m.Server.Before)
		m.Server.Before.Facts = nil
	}
	m.Before.Facts = nil
	m.App.Footprint.ReleaseMemory()
	return err
}

// CompareAfterwards takes the second snapshot of a run, and warns of changes since the first.
func (m *Measurement) CompareAfterwards(ctx context.Context, w *store.Writer) error {
	if m.SnapshotElsewhere {
		return nil
	}
	b, err := m.Store.Find(m.SavedID())
	if err != nil {
		return err
	}
	return m.CompareWithBefore(ctx, b, w)
}

// CompareWithBefore takes the second snapshot of the run in b, and keeps it.
func (m *Measurement) CompareWithBefore(ctx context.Context, b *store.Bundle, w *store.Writer) error {
	defer m.App.Footprint.WithLowMemory()()
	after, err := m.App.Snapshot(ctx, m.Target, m.Place(), facts.Tools)
	if err != nil {
		return err
	}
	m.App.Footprint.ReleaseMemory() // what reading took, before comparing and saving take theirs
	if !m.Reboots {
		err = m.snapshots().warnOfChanges(ctx, &m.Run, b, after)
	}
	if err != nil {
		return err
	}
	m.App.Footprint.ReleaseMemory()
	err = m.snapshots().save(w, store.After, after)
	after.Facts = nil
	m.App.Footprint.ReleaseMemory() // the report comes next
	return err
}

// CompareWithFirstPart compares the machine of a resumed run with that of its first part; a reboot may lie between.
func (m *Measurement) CompareWithFirstPart(ctx context.Context) error {
	if m.SnapshotElsewhere {
		return nil
	}
	defer m.App.Footprint.WithLowMemory()()
	now, err := m.App.Snapshot(ctx, m.Target, m.Place())
	if err != nil {
		return err
	}
	err = m.snapshots().warnOfChanges(ctx, &m.Run, m.Resumed, now)
	m.App.Footprint.ReleaseMemory()
	return err
}

// save keeps a snapshot of the target.
func (s snapshots) save(w *store.Writer, when store.SnapshotTime, d facts.Document) error {
	if s.arm != "" {
		return w.Part(s.arm).Facts(s.role, when, d)
	}
	return w.Facts(s.role, when, d)
}

// warnOfChanges gives a header the warning of what differs from the first snapshot of the run in b, but for devices
// that are not measured.
func (s snapshots) warnOfChanges(ctx context.Context, run *lab.Run, b *store.Bundle, now facts.Document) error {
	run.RemoveWarnings([]string{"settings-changed"})
	var failed error
	before := func(yield func(lab.Fact) bool) {
		for f, err := range b.EachFact(s.role, store.Before) {
			if failed = err; err != nil || !yield(f) {
				return
			}
		}
	}
	changes := facts.Changes(before, now.Facts)
	if failed != nil || len(changes) == 0 {
		return failed
	}
	under, err := storage.DevicesUnder(ctx, s.target, s.place)
	if err != nil {
		return err
	}
	shared := s.app.Traits(s.target.Name()).Scheduled
	var printed []string
	for _, c := range changes {
		if ofOtherDevice(c.After, under, shared) {
			continue
		}
		name := c.After.Key
		if c.After.About != "" {
			name += " of " + c.After.About
		}
		printed = append(printed, fmt.Sprintf("%s: %s, then %s", name, c.Before.Value, c.After.Value))
	}
	if len(printed) > 0 {
		run.Warnings = append(run.Warnings, validity.SettingsChanged(printed))
	}
	return nil
}

// ofOtherDevice reports whether a fact is about a disk or volume that does not store the place: those come and go with
// guests, pods and other programs. Where it is not known which are under the place, disks may be, unless the machine is
// shared with other pods; volumes are taken for others, since loop devices come and go most.
func ofOtherDevice(f lab.Fact, under []string, shared bool) bool {
	switch {
	case f.About == "" || slices.Contains(under, f.About):
		return false
	case strings.HasPrefix(f.Key, "disk."):
		return len(under) > 0 || shared
	}
	return strings.HasPrefix(f.Key, "volume.")
}
