package cli

import (
	"context"
	"fmt"
	"slices"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// resumeRun makes the measurement out of a run that was interrupted.
func (m *measurement) resumeRun(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return usage("--resume takes the suite and the place from the run", "headroom run --resume "+m.options.resume)
	}
	b, err := m.store.Find(m.options.resume)
	if err != nil {
		return err
	}
	more := m.options.precision != "" || m.options.budget != ""
	switch {
	case b.Run.Experiment != nil:
		return usage(fmt.Sprintf("run %s was made by headroom %s", b.Run.ID, b.Run.Experiment.Kind),
			b.Run.MadeBy().Resume(m.options.resume))
	case len(b.Run.Network) > 0:
		return usage(fmt.Sprintf("run %s measures a network", b.Run.ID), b.Run.MadeBy().Resume(m.options.resume))
	case b.Run.Pair != "":
		return usage(fmt.Sprintf("run %s is one of those that a comparison measures in turns", b.Run.ID),
			b.Run.MadeBy().Resume(m.options.resume))
	case b.Run.Source != lab.Measured:
		return usage(fmt.Sprintf("run %s was not measured here, so it can't be resumed", b.Run.ID))
	case b.Run.Status != lab.Interrupted && !(more && b.Run.Status == lab.Complete):
		return usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status),
			"a complete one is repeated more with --precision 3% or --budget 10m")
	}
	return m.resumeFrom(ctx, b, b.Run)
}

// resumeFrom takes up what a run, or a part of it with some of its cells and targets, has measured so far, and looks
// where it was.
func (m *measurement) resumeFrom(ctx context.Context, b *store.Bundle, part lab.Run) error {
	for rep, err := range b.Repetitions() {
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(part.Cells, func(c lab.Cell) bool { return c.ID == rep.Cell }) {
			continue
		}
		rep.Latency, rep.Series = nil, nil
		m.saved = append(m.saved, rep)
	}
	m.run, m.resumed = part, b
	m.run.RemoveWarnings(validity.OfRuns())
	if err := m.readPrecision(); err != nil {
		return err
	}
	if err := m.findPlaceAgain(ctx); err != nil {
		return err
	}
	return m.compareWithFirstPart(ctx)
}

// findPlaceAgain looks up the place of an interrupted run as it is now. The same path can lead to another device than
// before a reboot; what is there must be inspected, and must be what the run was on.
func (m *measurement) findPlaceAgain(ctx context.Context) error {
	was := m.place()
	if was.Kind == lab.NoPlace {
		return nil
	}
	resolve := facts.ResolvePlace
	if was.Members != nil {
		resolve = resolveDevices
	}
	now, err := resolve(ctx, m.target, was.Path)
	if err != nil {
		return err
	}
	if now.Kind != was.Kind || was.Kind == lab.Device && now.Size != was.Size {
		return &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("%s is not what run %s was on: a %s of %s then, a %s of %s now", was.Path, m.run.ID,
				was.Kind, unit.Capacity(float64(was.Size)), now.Kind, unit.Capacity(float64(now.Size))),
			Hints: []string{"start a new run"}}
	}
	if was.Kind == lab.Directory {
		now.Size = was.Size
	}
	m.run.Targets = slices.Clone(m.run.Targets)
	m.run.Targets[0].Place = now
	if err := m.securePlace(ctx); err != nil {
		return err
	}
	if m.device != nil {
		return m.device.sameDrive(m.run)
	}
	return nil
}
