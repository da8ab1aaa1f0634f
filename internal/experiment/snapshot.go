package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/app"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/validity"
)

// SaveInitialSnapshot keeps the first snapshot in the bundle, and gives its memory back before a load starts.
func (m *Measurement) SaveInitialSnapshot(w *store.Writer) error {
	defer m.Footprint.WithLowMemory()()
	var err error
	if !m.SnapshotElsewhere {
		err = m.saveFacts(w, store.Before, m.Before)
	}
	if err == nil && m.Server != nil && !m.Server.SnapshotElsewhere {
		err = w.Facts(m.Server.Role, store.Before, m.Server.Before)
		m.Server.Before.Facts = nil
	}
	m.Before.Facts = nil
	m.Footprint.ReleaseMemory()
	return err
}

// CompareAfterwards takes the second snapshot of a run, and warns of what somebody changed since the first.
func (m *Measurement) CompareAfterwards(ctx context.Context, w *store.Writer) error {
	if m.SnapshotElsewhere {
		return nil
	}
	b, err := m.Bundle()
	if err != nil {
		return err
	}
	return m.CompareWithBefore(ctx, b, w)
}

// CompareWithBefore takes the second snapshot of the run in b, and keeps it.
func (m *Measurement) CompareWithBefore(ctx context.Context, b *store.Bundle, w *store.Writer) error {
	defer m.Footprint.WithLowMemory()()
	after, err := m.Snapshot(ctx, m.Target, m.Place(), facts.Tools)
	if err != nil {
		return err
	}
	m.Footprint.ReleaseMemory() // what reading took, before comparing and saving take theirs
	if !m.Reboots {
		err = m.warnOfChanges(b, after)
	}
	if err != nil {
		return err
	}
	m.Footprint.ReleaseMemory()
	err = m.saveFacts(w, store.After, after)
	after.Facts = nil
	m.Footprint.ReleaseMemory() // the report comes next
	return err
}

// saveFacts keeps a snapshot of the target.
func (m *Measurement) saveFacts(w *store.Writer, when store.SnapshotTime, d facts.Document) error {
	if m.Arm != "" {
		return w.Part(m.Arm).Facts(m.TargetRole(), when, d)
	}
	return w.Facts(m.TargetRole(), when, d)
}

// CompareWithFirstPart compares the machine of a resumed run with that of its first part; a reboot may lie between.
func (m *Measurement) CompareWithFirstPart(ctx context.Context) error {
	if m.SnapshotElsewhere {
		return nil
	}
	defer m.Footprint.WithLowMemory()()
	now, err := m.Snapshot(ctx, m.Target, m.Place())
	if err != nil {
		return err
	}
	err = m.warnOfChanges(m.Resumed, now)
	m.Footprint.ReleaseMemory()
	return err
}

// warnOfChanges says what differs from the first snapshot of the run in b.
func (m *Measurement) warnOfChanges(b *store.Bundle, now facts.Document) error {
	m.Run.RemoveWarnings([]string{"settings-changed"})
	var failed error
	before := func(yield func(lab.Fact) bool) {
		for f, err := range b.EachFact(m.TargetRole(), store.Before) {
			if failed = err; err != nil || !yield(f) {
				return
			}
		}
	}
	var printed []string
	changes := facts.Changes(before, now.Facts)
	other := app.OtherLoops(changes)
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
		m.Run.Warnings = append(m.Run.Warnings, validity.SettingsChanged(printed))
	}
	return failed
}

// ofOtherPods says whether a fact is about a disk that is not measured, of a node that pods share: theirs come and go
// with them.
func (m *Measurement) ofOtherPods(f lab.Fact) bool {
	return m.Traits(m.Target.Name()).Scheduled && f.About != "" && (strings.HasPrefix(f.Key, "disk.") ||
		strings.HasPrefix(f.Key, "volume.")) && !slices.Contains(m.Place().Disks, f.About)
}
