package experiment

import (
	"context"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/workspace"
)

// securePlace makes sure that the place can be measured: room for a scratch file, a device that is free and not too
// much to write.
func (m *Measurement) securePlace(ctx context.Context) error {
	m.warnActiveRuns() // before a device is read, which can take hours
	var err error
	switch m.Place().Kind {
	case lab.Directory:
		if m.SharedScratch == nil {
			err = checkFreeSpace(ctx, m.Target, m.Place(), m.placesBeside())
		}
	case lab.Device:
		err = m.hold(ctx)
	case lab.NoPlace:
	}
	if err == nil {
		err = workspace.CheckPlace(ctx, m.Target, m.Place(), m.Run.Cells)
	}
	if err != nil {
		return err
	}
	if _, err := workspace.FindTools(ctx, m.Target, m.Run.Cells); err != nil {
		return err
	}
	m.maxWrites, err = m.Workload().writeLimit(m.Options.MaxWrites)
	return err
}

// placesBeside are those that are measured at the same time on the same target.
func (m *Measurement) placesBeside() []lab.Place {
	var all []lab.Place
	for other := m.Concurrent; other != nil; other = other.Concurrent {
		if other.Target.Name() == m.Target.Name() {
			all = append(all, other.Place())
		}
	}
	return all
}

// hold holds the devices of the place, once they are proved to be free for the cells.
func (m *Measurement) hold(ctx context.Context) error {
	i := inspection{target: m.Target, cells: m.Run.Cells, destroy: m.Options.Destroy, sampled: m.Options.Sampled,
		reading: reading{m.App, m.Options.DryRun.Asked()}, warnings: m.Run.Warnings}
	for other := m.Concurrent; other != nil; other = other.Concurrent {
		i.beside = append(i.beside, other.held.devices()...)
	}
	err := i.hold(ctx, &m.Run.Targets[0].Place)
	m.held, m.Run.Warnings = i.held, i.warnings
	return err
}
