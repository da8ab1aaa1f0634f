package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/runner"
	"headroom/internal/suite"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// scratchSize is the size of the scratch file: as asked for, or as the suite needs; 0 for commands, which make their
// own.
func (m *measurement) scratchSize(su suite.Suite, cells []suite.Cell) (int64, error) {
	if !slices.ContainsFunc(cells, func(c suite.Cell) bool { return lab.ByFio(c.Engine) }) {
		if m.options.size != "" {
			return 0, usage("--size is that of the scratch file, and the suite " + su.Name + " has no use for one")
		}
		return 0, nil
	}
	if m.options.size == "" {
		if size := su.ScratchSize(cells); size > 0 {
			return size, nil
		}
		return defaultScratch, nil
	}
	n, err := size(m.options.size)
	if err == nil && n < (suite.Suite{}).ScratchSize(cells) {
		return 0, usage("--size "+m.options.size+" is less than what the jobs work on",
			"change that too: --set size="+m.options.size)
	}
	if err != nil || n < 1<<20 {
		return 0, usage("--size "+m.options.size+" is not the size of a scratch file",
			"write something like 4g; 1m is the least")
	}
	return n, nil
}

// spare is how much must stay free beside the scratch file: a file system that is full to the last block is slow, and
// others use it too.
const spare = 64 << 20

// checkFreeSpace fails when the scratch file does not fit.
func (m *measurement) checkFreeSpace(ctx context.Context, place lab.Place) error {
	space, err := facts.Free(ctx, m.target, place.Path)
	if err != nil {
		return err
	}
	need, what := place.Size, "a scratch file of "+unit.Bytes(float64(place.Size))
	for other := m.concurrent; other != nil; other = other.concurrent {
		if other.target.Name() != m.target.Name() {
			continue
		}
		shared, err := m.onOneFilesystem(ctx, place, other.place())
		if err != nil {
			return err
		}
		if shared {
			need += other.place().Size
			what = fmt.Sprintf("%s beside the others (%s in all)", what, unit.Bytes(float64(need)))
		}
	}
	if space.Available < need+spare {
		if need == 0 {
			what = "what commands write"
		}
		return &lab.Error{What: fmt.Sprintf("%s does not fit into %s, where %s are free", what, place.Path,
			unit.Bytes(float64(space.Available))),
			Hints: []string{"take a smaller file with --size, or another directory"}}
	}
	return nil
}

// onOneFilesystem says whether the scratch files of two places take room from the same file system.
func (m *measurement) onOneFilesystem(ctx context.Context, a, b lab.Place) (bool, error) {
	if a.Kind != lab.Directory || b.Kind != lab.Directory {
		return false, nil
	}
	argv := []string{"stat", "-c", "%d", "--", a.Path, b.Path}
	out, err := m.target.Run(ctx, argv...)
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

// writeLimit reads --max-writes, and refuses at once what is known to go beyond it. What nobody can know beforehand,
// how much a load writes in its time, the runner watches.
func (m *measurement) writeLimit(cells []suite.Cell, place lab.Place) (int64, error) {
	if m.options.maxWrites == "" {
		return 0, nil
	}
	limit, err := size(m.options.maxWrites)
	if err != nil || limit == 0 {
		return 0, usage("--max-writes "+m.options.maxWrites+" is not an amount", "write something like 500g")
	}
	if known := suite.EstimateWrites(cells, place.Size, 0).Total(); known > float64(limit) {
		return 0, &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("this would write %s, more than --max-writes %s",
			unit.Capacity(known), unit.Capacity(float64(limit))),
			Hints: []string{"raise the limit, or leave out the cells that fill the device"}}
	}
	return limit, nil
}

// securePlace makes sure that the place can be measured: room for a scratch file, a device that is free and not too
// much to write.
func (m *measurement) securePlace(ctx context.Context) error {
	m.warnActiveRuns() // before a device is read, which can take hours
	var err error
	switch m.place().Kind {
	case lab.Directory:
		if m.sharedScratch == nil {
			err = m.checkFreeSpace(ctx, m.place())
		}
	case lab.Device:
		if m.place().Members != nil {
			m.members, err = m.claimMembers(ctx)
			m.warnOfHidden()
		} else {
			m.device, err = m.claim(ctx, m.place())
			m.warnOfHidden()
		}
	case lab.NoPlace:
	}
	if err == nil {
		err = runner.CheckPlace(ctx, m.target, m.place(), m.run.Cells)
	}
	if err != nil {
		return err
	}
	if _, err := runner.FindTools(ctx, m.target, m.run.Cells); err != nil {
		return err
	}
	m.maxWrites, err = m.writeLimit(m.suiteCells(), m.place())
	return err
}

// warnOfHidden says when programs that have the device open could not be looked for.
func (m *measurement) warnOfHidden() {
	for _, d := range append([]*device{m.device}, m.members...) {
		var w lab.Warning
		switch {
		case d == nil || !d.evidence.ProgramsHidden && d.evidence.ProgramsUnread == 0:
			continue
		case d.evidence.ProgramsHidden:
			w = validity.ProgramsHidden(m.place().Path)
		default:
			w = validity.ProgramsUnread(m.place().Path, d.evidence.ProgramsUnread)
		}
		// a resumed run has it
		if !slices.ContainsFunc(m.run.Warnings, func(o lab.Warning) bool { return o.Code == w.Code }) {
			m.run.Warnings = append(m.run.Warnings, w)
		}
	}
}

// size reads an amount that the user typed. It is fio's notation without its decimal Ki and Mi: here somebody who
// writes 4GiB means 4 GiB, and fio would not.
func size(typed string) (int64, error) {
	return unit.ParseBytes(strings.ReplaceAll(strings.ToLower(typed), "i", ""))
}
