package experiment

import (
	"context"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/workspace"
)

// securePlace makes sure that the place can be measured: room for a scratch file, a device that is free and not too
// much to write.
func (m *Measurement) securePlace(ctx context.Context) error {
	warnActiveRuns(m.App, m.Store, m.Target.Name(), m.Place().Disks) // before a device is read, which can take hours
	var err error
	switch m.Place().Kind {
	case lab.Directory:
		var beside []lab.Place
		for other := m.Concurrent; other != nil; other = other.Concurrent {
			if other.Target.Name() == m.Target.Name() {
				beside = append(beside, other.Place())
			}
		}
		if m.SharedScratch == nil {
			err = checkFreeSpace(ctx, m.Target, m.Place(), beside)
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
