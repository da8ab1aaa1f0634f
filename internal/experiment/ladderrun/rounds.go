package ladderrun

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
)

// rounds is the schedule of passes.
type rounds struct {
	experiment.Plain
	plan.Plan
	*passes
}

// Done returns a repetition for a fixed number of passes: its values decide nothing.
func (r *rounds) Done(arm string, rep lab.Repetition) plan.Done {
	return plan.Done{Seconds: rep.Took, Repetition: plan.Repetition{Cell: rep.Cell, Arm: arm, Number: rep.Number,
		Block: rep.Block, Position: rep.Position}}
}

// Summarize prints the measured places, and the cost.
func (r *rounds) Summarize(ctx context.Context) {
	p := r.passes.plan
	for _, arm := range p.Names {
		r.app.Print("", r.level+" "+arm+"  "+r.title(p.Parts[arm]))
	}
	what := fmt.Sprintf("%s in %d passes over %s", prose.Count(len(p.First().Run.Cells), "cell"), r.count,
		prose.Count(len(p.Names), r.level))
	r.app.Print("  ", experiment.CostOf(1, p.Measurements()...).Text(what, "about %s", false))
	for _, t := range p.Targets() {
		if c, ok := t.(host.Caveats); ok {
			for _, text := range c.Caveats(ctx) {
				r.app.Print("  ", t.Name()+": "+text)
			}
		}
	}
}

// List lists the commands of each place, and the order of all loads. The names of scratch files contain the ID of the
// run; the real run gets another one.
func (r *rounds) List(_ context.Context, l app.Listing) error {
	p := r.passes.plan
	for _, arm := range p.Names {
		m := p.Parts[arm]
		l.Line("%s %s  %s", r.level, arm, r.title(m))
		for _, step := range []lab.Step{lab.Layout, lab.Fill} {
			if slices.ContainsFunc(m.Run.Cells, func(c lab.Cell) bool { return slices.Contains(c.Steps, step) }) {
				l.Line("%s, once", step)
				l.Commands(runner.ShownCommand(string(step), runner.WriteAllParams(step, m.Place().Size), m.Filename()))
			}
		}
		m.ListLoads(l, func(c runner.Cell) string { return fmt.Sprintf("%s: %v", c.Title, c.Steps) })
	}
	r.listOrder(l)
	for _, n := range r.notes {
		l.Line("! %s", n)
	}
	return l.End()
}

// listOrder prints the order of the loads: "pass 1  randread-q1: 3 1 2".
func (r *rounds) listOrder(l app.Listing) {
	seed := r.passes.plan.First().Run.Seed
	if !l.Full {
		l.Line("in each of %d passes each load on all %ss, in random order (--seed %d)", r.count, r.level,
			seed)
		return
	}
	l.Line("The order, by %ss, with --seed %d:", r.level, seed)
	var lines []string
	for _, next := range r.passes.plan.Remaining() {
		head := fmt.Sprintf("pass %d  %s:", next.Block, next.Cell)
		if n := len(lines); n == 0 || !strings.HasPrefix(lines[n-1], head) {
			lines = append(lines, head)
		}
		lines[len(lines)-1] += " " + next.Arm
	}
	l.Each(lines)
}

// Source follows the remaining loads.
func (r *rounds) Source() progress.Source {
	first := r.passes.plan.First()
	return progress.NewOrderClock(first.RunnerMeasurement().Cells, r.passes.plan.Remaining(),
		first.Workload().Pause()).Within(r.budget)
}

// Doing returns the place of a part.
func (r *rounds) Doing(arm string, _ runner.Progress) string {
	m := r.passes.plan.Parts[arm]
	switch place := m.Place(); {
	case place.Kind == lab.NoPlace:
		return " on nothing at all"
	case !host.IsLocal(m.Target):
		return " on " + place.Path + " of " + m.Target.Name()
	default:
		return " on " + place.Path
	}
}

// Complete sets the number of planned loads.
func (r *rounds) Complete(m *experiment.Measured) {
	m.Planned = len(r.passes.plan.Names) * r.passes.plan.First().Workload().Planned()
}
