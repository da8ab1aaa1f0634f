package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// ResumeFrom reads what a run, or a part of it with some of its cells and targets, has measured so far, and looks
// where it was.
func (m *Measurement) ResumeFrom(ctx context.Context, b *store.Bundle, part lab.Run) error {
	for rep, err := range b.Repetitions() {
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(part.Cells, func(c lab.Cell) bool { return c.ID == rep.Cell }) {
			continue
		}
		rep.Latency, rep.Series = nil, nil
		m.Saved = append(m.Saved, rep)
	}
	m.Run, m.Resumed = part, b
	m.Run.RemoveWarnings(validity.OfRuns())
	var err error
	if part.Profile != nil {
		m.profiled, err = profiledIn(b)
	}
	if err = errors.Join(err, m.Options.setPrecision(&m.Run, m.Saved, true)); err != nil {
		return err
	}
	if err := m.FindPlaceAgain(ctx); err != nil {
		return err
	}
	return m.CompareWithFirstPart(ctx)
}

// FindPlaceAgain looks up the place of an interrupted run as it is now. The same path can lead to another device than
// before a reboot; what is there must be inspected, and must be what the run was on.
func (m *Measurement) FindPlaceAgain(ctx context.Context) error {
	was := m.Place()
	if was.Kind == lab.NoPlace {
		return nil
	}
	resolve := storage.ResolvePlace
	if was.Members != nil {
		resolve = ResolveDevices
	}
	now, err := resolve(ctx, m.Target, was.Path)
	if err != nil {
		return err
	}
	if now.Kind != was.Kind || was.Kind == lab.Device && now.Size != was.Size {
		return &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("%s is not what run %s was on: a %s of %s then, a %s of %s now", was.Path, m.Run.ID,
				was.Kind, unit.Capacity(float64(was.Size)), now.Kind, unit.Capacity(float64(now.Size))),
			Hints: []string{"start a new run"}}
	}
	if was.Kind == lab.Directory {
		now.Size = was.Size
	}
	m.Run.Targets = slices.Clone(m.Run.Targets)
	m.Run.Targets[0].Place = now
	if err := m.securePlace(ctx); err != nil {
		return err
	}
	if d := m.held.device; d != nil {
		return d.sameDrive(m.Run)
	}
	return nil
}
