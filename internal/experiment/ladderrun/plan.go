package ladderrun

import (
	"fmt"
	"slices"

	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/runner"
	"headroom/internal/suite"
)

// PrintPlan is what --dry-run prints: the commands of each rung, the order of all loads, and the time they take.
// Scratch files have the ID of their run in their name, which is drawn again for the real runs.
func (s *LadderRun) PrintPlan() error {
	l := s.Listing(s.Options.DryRun)
	l.Line("%s", s.estimate())
	for _, arm := range s.Names {
		m := s.Arms[arm]
		place := m.Place()
		l.Line("\nrung %s, %s: %s", arm, m.Run.Arms[0].Levels[kindLevel], rungOf(m.Run).Name)
		filename := place.Resolved
		if place.Kind == lab.Directory {
			filename = runner.ScratchFile(place.Path, m.Run.ID)
			params, _ := suite.StepLoad(lab.Layout)
			params["size"] = fmt.Sprint(place.Size)
			l.Line("  layout, once")
			l.Commands("  " + lab.ShellQuote(fio.Argv(string(lab.Layout), params, fio.Options{Filename: filename})))
		}
		if slices.ContainsFunc(m.Run.Cells, func(c lab.Cell) bool { return slices.Contains(c.Steps, lab.Fill) }) {
			l.Line("  fill, once")
			l.Commands("  " + runner.ShownCommand(string(lab.Fill), runner.WriteAllParams(lab.Fill, 0), filename))
		}
		for _, c := range m.Run.Cells {
			l.Line("  %s: %v", c.ID, c.Steps)
			l.Commands("  " +
				lab.ShellQuote(fio.Argv(c.Job, c.Params, fio.Options{Filename: filename, Together: place.Members})))
		}
	}
	l.Line("")
	s.ListOrder(l, "rungs")
	for _, n := range s.Notes {
		l.Line("! %s", n)
	}
	return l.End()
}
