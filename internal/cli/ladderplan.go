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

// printPlan is what --dry-run prints: the commands of each rung, the order of all loads, and the time they take. Scratch files have the
// ID of their run in their name, which is drawn anew for the real runs.
func (s *ascent) printPlan() error {
	fmt.Fprintln(s.Stdout, s.effort())
	for _, arm := range s.names {
		m := s.arms[arm]
		place := m.place()
		fmt.Fprintf(s.Stdout, "\nrung %s, %s: %s\n", arm, m.run.Arms[0].Levels[kindLevel], rungOf(m.run).Name)
		filename := place.Resolved
		if place.Kind == lab.Directory {
			filename = runner.ScratchFile(place.Path, m.run.ID)
			params, _ := suite.StepLoad(lab.Layout)
			params["size"] = fmt.Sprint(place.Size)
			fmt.Fprintf(s.Stdout, "  layout, once:\n    %s\n", lab.ShellQuote(fio.Argv(string(lab.Layout), params, fio.Options{Filename: filename})))
		}
		if slices.ContainsFunc(m.run.Cells, func(c lab.Cell) bool { return slices.Contains(c.Steps, lab.Fill) }) {
			fmt.Fprintf(s.Stdout, "  fill, once:\n    %s\n", runner.Shown(string(lab.Fill), runner.WriteAllParams(lab.Fill, 0), filename))
		}
		for _, c := range m.run.Cells {
			fmt.Fprintf(s.Stdout, "  %s: %v\n    %s\n", c.ID, c.Steps,
				lab.ShellQuote(fio.Argv(c.Job, c.Params, fio.Options{Filename: filename, Together: place.Members})))
		}
	}
	fmt.Fprintf(s.Stdout, "\nThe order, by rungs, with --seed %d:\n", s.first().run.Seed)
	for _, line := range order(s.plan) {
		fmt.Fprintln(s.Stdout, "  "+line)
	}
	for _, n := range s.notes {
		fmt.Fprintln(s.Stdout, "! "+n)
	}
	return nil
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
