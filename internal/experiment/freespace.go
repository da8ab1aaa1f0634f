package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// scratchSize is the size of the scratch file: as asked for, or as the suite needs; 0 for commands, which make their
// own.
func (o RunOptions) scratchSize(su suite.Suite, cells []suite.Cell) (int64, error) {
	if !slices.ContainsFunc(cells, func(c suite.Cell) bool { return lab.ByFio(c.Engine) }) {
		if o.Size != "" {
			return 0, app.Usage("--size is the size of the scratch file, and the suite " + su.Name + " needs none")
		}
		return 0, nil
	}
	if o.Size == "" {
		if size := su.ScratchSize(cells); size > 0 {
			return size, nil
		}
		return DefaultScratch, nil
	}
	n, err := Size(o.Size)
	if err == nil && n < (suite.Suite{}).ScratchSize(cells) {
		return 0, app.Usage("--size "+o.Size+" is less than what the jobs work on",
			"change that too: --set size="+o.Size)
	}
	if err != nil || n < 1<<20 {
		return 0, app.Usage("--size "+o.Size+" is not the size of a scratch file",
			"write something like 4g; 1m is the least")
	}
	return n, nil
}

// Spare is how much must stay free beside the scratch file: a file system that is full to the last block is slow, and
// others use it too.
const Spare = 64 << 20

// checkFreeSpace fails when the scratch file of a place does not fit beside those of others on the same target.
func checkFreeSpace(ctx context.Context, t host.Target, place lab.Place, others []lab.Place) error {
	space, err := storage.Free(ctx, t, place.Path)
	if err != nil {
		return err
	}
	need, what := place.Size, "a scratch file of "+unit.Bytes(float64(place.Size))
	for _, other := range others {
		shared, err := OnOneFilesystem(ctx, t, place, other)
		if err != nil {
			return err
		}
		if shared {
			need += other.Size
			what = fmt.Sprintf("%s and those of the others (%s in all)", what, unit.Bytes(float64(need)))
		}
	}
	if space.Available < need+Spare {
		if need == 0 {
			what = "what commands write"
		}
		return &lab.Error{What: fmt.Sprintf("%s does not fit into %s, where %s are free", what, place.Path,
			unit.Bytes(float64(space.Available))),
			Hints: []string{"take a smaller file with --size, or another directory"}}
	}
	return nil
}

// OnOneFilesystem reports whether the scratch files of two places take room from the same file system.
func OnOneFilesystem(ctx context.Context, t host.Target, a, b lab.Place) (bool, error) {
	if a.Kind != lab.Directory || b.Kind != lab.Directory {
		return false, nil
	}
	argv := []string{"stat", "-c", "%d", "--", a.Path, b.Path}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't find out which file systems they are on", Command: argv,
			Output: string(out.Stderr)}
	}
	if err != nil {
		return false, err
	}
	numbers := strings.Fields(string(out.Stdout))
	return len(numbers) == 2 && numbers[0] == numbers[1], nil
}

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

// Size reads an amount that the user typed. It is fio's notation without its decimal Ki and Mi: here 4GiB is
// 4 GiB, and for fio it is not.
func Size(typed string) (int64, error) {
	return unit.ParseBytes(strings.ReplaceAll(strings.ToLower(typed), "i", ""))
}
