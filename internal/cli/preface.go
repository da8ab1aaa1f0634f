package cli

import (
	"context"
	"fmt"
	"strings"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/runner"
	"headroom/internal/suite"
	"headroom/internal/unit"
)

// preface says on standard error what is about to happen: what was taken for the place, how much is written, how long it
// takes.
func (m *measurement) preface(ctx context.Context) {
	place := m.place()
	switch place.Kind {
	case lab.Directory:
		fmt.Fprintf(m.Stderr, "%s in %s: %s\n", m.run.Suite, place.Path, m.describeDirectory(place))
	case lab.Device:
		fmt.Fprintf(m.Stderr, "%s on %s: %s\n", m.run.Suite, place.Path, m.device.describe())
	case lab.NoPlace:
		fmt.Fprintf(m.Stderr, "%s, which touches no storage\n", m.run.Suite)
	}
	fmt.Fprintf(m.Stderr, "  %s\n", strings.Join(m.effort(ctx), "; "))
}

func (m *measurement) describeDirectory(place lab.Place) string {
	text := place.Filesystem
	if len(place.Disks) > 0 {
		text += " on " + strings.Join(place.Disks, ", ")
	}
	return fmt.Sprintf("%s; a scratch file of %s, removed at the end", text, unit.Bytes(float64(place.Size)))
}

// effort is what the run costs: loads, time, bytes written.
func (m *measurement) effort(ctx context.Context) []string {
	cells := m.suiteCells()
	place := m.place()
	parts := []string{plural(len(cells), "cell"), plural(m.planned()-len(m.kept), "load")}
	if t := suite.EstimateTime(cells, m.pause()); t > 0 {
		parts = append(parts, "about "+unit.Duration(t))
	}
	if place.Kind == lab.NoPlace {
		return parts
	}
	writes := suite.EstimateWrites(cells, place.Size, 0)
	text := "writes " + unit.Capacity(writes.Total())
	if len(writes.Unbounded) > 0 {
		text += " and what " + plural(len(writes.Unbounded), "cell") + " can write in the time"
	}
	if place.Kind == lab.Device && writes.Total()+float64(len(writes.Unbounded)) > 0 {
		text += m.wear(ctx, place, writes.Total())
	}
	return append(parts, text)
}

// wear says how much of a drive's life is used and how much of it the run takes, where the drive tells.
func (m *measurement) wear(ctx context.Context, place lab.Place, writes float64) string {
	if len(place.Disks) == 0 {
		return ""
	}
	w := facts.Endurance(ctx, m.target, place.Disks[0])
	if w.Unknown != "" {
		return "; its wear is unknown"
	}
	text := fmt.Sprintf("; %s of its rated life is used", unit.Percent(w.Used))
	if w.Rated > 0 {
		text += fmt.Sprintf(", and this is about %s of it", unit.Percent(writes/float64(w.Rated)))
	}
	return text
}

// suiteCells are the cells of the run as the suite's estimates take them, with the repetitions that are still to be made.
func (m *measurement) suiteCells() []suite.Cell {
	cells := make([]suite.Cell, len(m.run.Cells))
	for i, c := range m.run.Cells {
		cells[i] = suite.Cell{ID: c.ID, Job: c.Job, Params: c.Params, Steps: c.Steps, Repetitions: c.Repetitions, Runtime: expectedTime(c.Params)}
		for _, r := range m.kept {
			if r.Cell == c.ID {
				cells[i].Repetitions--
			}
		}
	}
	return cells
}

// printPlan is what --dry-run prints: the cells and their commands.
func (m *measurement) printPlan() error {
	filename := m.place().Resolved
	if m.place().Kind == lab.Directory {
		filename = runner.ScratchFile(m.place().Path, m.run.ID)
	}
	for _, c := range m.experiment(nil).Cells {
		fmt.Fprintf(m.Stdout, "%s, %d repetitions: %v\n  %s\n", c.Title, c.Repetitions, c.Steps,
			lab.ShellQuote(fio.Argv(c.Job, c.Params, fio.Options{Filename: filename})))
	}
	return nil
}

// plural is a number with its noun: "1 cell", "2 cells".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
