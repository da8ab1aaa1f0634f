package cli

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/plan"
	"headroom/internal/runner"
	"headroom/internal/suite"
)

// printPlan is what --dry-run prints: the commands of each rung, the order of all loads, and the time they take.
// Scratch files have the ID of their run in their name, which is drawn again for the real runs.
func (s *ladderRun) printPlan() error {
	l := s.listing(s.options.dryRun)
	l.line("%s", s.estimate())
	for _, arm := range s.names {
		m := s.arms[arm]
		place := m.place()
		l.line("\nrung %s, %s: %s", arm, m.run.Arms[0].Levels[kindLevel], rungOf(m.run).Name)
		filename := place.Resolved
		if place.Kind == lab.Directory {
			filename = runner.ScratchFile(place.Path, m.run.ID)
			params, _ := suite.StepLoad(lab.Layout)
			params["size"] = fmt.Sprint(place.Size)
			l.line("  layout, once")
			l.commands("  " + lab.ShellQuote(fio.Argv(string(lab.Layout), params, fio.Options{Filename: filename})))
		}
		if slices.ContainsFunc(m.run.Cells, func(c lab.Cell) bool { return slices.Contains(c.Steps, lab.Fill) }) {
			l.line("  fill, once")
			l.commands("  " + runner.ShownCommand(string(lab.Fill), runner.WriteAllParams(lab.Fill, 0), filename))
		}
		for _, c := range m.run.Cells {
			l.line("  %s: %v", c.ID, c.Steps)
			l.commands("  " +
				lab.ShellQuote(fio.Argv(c.Job, c.Params, fio.Options{Filename: filename, Together: place.Members})))
		}
	}
	l.line("")
	s.listOrder(l, "rungs")
	for _, n := range s.notes {
		l.line("! %s", n)
	}
	return l.end()
}

// listOrder says in which order the loads come.
func (s *fixedPasses) listOrder(l listing, of string) {
	seed := s.first().run.Seed
	if !l.full {
		l.line("in each of %d passes each load on all %s, in an order that is drawn (--seed %d)", s.passes, of, seed)
		return
	}
	l.line("The order, by %s, with --seed %d:", of, seed)
	l.each(order(s.plan))
}

// order is a line for each cell of each pass: "pass 1  randread-q1: 3 1 2".
func order(p plan.Plan) []string {
	var lines []string
	var done []plan.Done
	for {
		next, more := p.Next(done)
		if !more {
			return lines
		}
		head := fmt.Sprintf("pass %d  %s:", next.Block, next.Cell)
		if n := len(lines); n == 0 || !strings.HasPrefix(lines[n-1], head) {
			lines = append(lines, head)
		}
		lines[len(lines)-1] += " " + next.Arm
		done = append(done, plan.Done{Repetition: next})
	}
}
