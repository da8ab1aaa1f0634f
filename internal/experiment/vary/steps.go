package vary

import (
	"context"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
)

// stepsSchema is the schema of a dry run's JSON.
const stepsSchema = "headroom/steps/v1"

// Steps lists everything that an experiment would do, in order.
type Steps struct {
	Schema string `json:"schema"`
	// First are trials before the first measurement.
	First  []string    `json:"first,omitempty"`
	Visits []stepVisit `json:"visits"`
	// Profiles describes the additional profiled loads.
	Profiles string `json:"profiles,omitempty"`
	// Then describes what may follow, depending on the results.
	Then string `json:"then,omitempty"`
	// End are the steps at the end, or after an interruption.
	End []string `json:"end"`
}

// stepVisit is one visit of an arm.
type stepVisit struct {
	Block  int               `json:"block"`
	Arm    string            `json:"arm"`
	Levels map[string]string `json:"levels"`
	Loads  []stepLoad        `json:"loads"`
}

// stepLoad is one load, and the steps before it.
type stepLoad struct {
	Cell    string   `json:"cell"`
	Did     []string `json:"did,omitempty"`
	Command string   `json:"command"`
	// After are the steps of a command after its load.
	After []string `json:"after,omitempty"`
}

// steps simulates the plan as the runner would carry it out if no arm settled early.
func (v *visiting) steps(ctx context.Context) (Steps, error) {
	s := Steps{Schema: stepsSchema, Visits: []stepVisit{}}
	for _, t := range v.varies.levelTrials() {
		s.First = append(s.First, t.Text())
	}
	lines := map[string]runner.Lines{}
	sides := map[string]*experiment.Measurement{}
	for _, side := range v.sides.measurements() {
		sides[side.TargetRole()] = side
		if err := experiment.Preview(ctx, side.RunnerMeasurement(), lines); err != nil {
			return s, err
		}
	}
	var entered map[string]string
	scratch := map[string]bool{} // by role
	for block := v.visits.First(); block <= v.visits.Last(); block++ {
		for _, r := range v.visits.Block(block, nil) {
			n := len(s.Visits) - 1
			var did []string
			if n < 0 || s.Visits[n].Arm != r.Arm || s.Visits[n].Block != block {
				arm := v.sides.arm(r.Arm)
				if !v.sides.unvaried(arm) {
					for _, e := range v.entering.armSteps(entered, arm.Levels) {
						did = append(did, e.text)
						if e.boot && v.losesDataOnBoot() {
							scratch[app.StorageRole] = false
						}
					}
					entered = arm.Levels
				}
				s.Visits = append(s.Visits, stepVisit{Block: block, Arm: r.Arm, Levels: arm.Levels})
				n++
			}
			role := v.sides.arm(r.Arm).Role
			path, size := sides[role].Filename(), sides[role].Place().Size
			for _, step := range v.sides.cell(r.Cell).Steps {
				switch {
				case step == lab.Discard:
					scratch[role] = false
					did = append(did, "discard "+path)
				case (step == lab.Layout || step == lab.Fill) && !scratch[role]:
					scratch[role] = true
					did = append(did, runner.ShownCommand(string(step), runner.WriteAllParams(step, size), path))
				}
			}
			of := lines[r.Cell]
			s.Visits[n].Loads = append(s.Visits[n].Loads, stepLoad{Cell: r.Cell, Did: append(did, of.Prepare...),
				Command: of.Load, After: of.CleanUp})
		}
	}
	s.Profiles, s.Then = experiment.ProfilesText(v.sides.measurements()...), v.pairsText()
	for _, e := range v.entering.armSteps(entered, nil) {
		if !e.boot {
			s.End = append(s.End, e.text)
		}
	}
	if v.entering.booting.host != nil {
		s.End = append(s.End, v.entering.booting.host.restoreText()+", unless the last boot was that")
	}
	for _, side := range v.sides.measurements() {
		if side.Place().Kind == lab.Directory {
			s.End = append(s.End, "remove "+side.Filename())
		}
	}
	return s, nil
}

// losesDataOnBoot reports whether a directory of the target is empty after a boot.
func (v *visiting) losesDataOnBoot() bool {
	t, ok := v.sides.under.Target.(host.LosesDataOnBoot)
	return ok && t.LosesDataOnBoot() && v.sides.under.Place().Kind == lab.Directory
}

// List lists the steps.
func (v *visiting) List(ctx context.Context, l app.Listing) error {
	s, err := v.steps(ctx)
	if err != nil {
		return err
	}
	if v.sides.under.App.JSON {
		return v.sides.under.App.PrintJSON(s)
	}
	if !slices.ContainsFunc(v.sides.under.Run.Cells, func(c lab.Cell) bool { return c.Repetitions > 1 }) {
		v.sides.under.App.Print("  ",
			"with --repeat 2 the report suggests how many repetitions "+v.varies.visitWord()+" should have")
	}
	if len(s.First) > 0 {
		l.Line("at first, and put back at once")
		l.Each(s.First)
	}
	v.listVisits(l, s.Visits)
	if s.Profiles != "" {
		l.Line("%s, next to the first repetitions of each cell in each arm", s.Profiles)
		for _, side := range v.sides.measurements() {
			l.Commands(side.ProfiledLoads().Commands()...)
		}
	}
	if s.Then != "" {
		l.Line("%s", s.Then)
	}
	if len(s.End) > 0 {
		l.Line("at the end, or when interrupted")
		l.Each(s.End)
	}
	return l.End()
}

// listVisits lists each visit with its commands, or the arms and the order of the visits.
func (v *visiting) listVisits(l app.Listing, visits []stepVisit) {
	if l.Full {
		for _, visit := range visits {
			l.Line("block %d, arm %s: %s", visit.Block, visit.Arm, v.armText(visit))
			for _, load := range visit.Loads {
				l.Each(slices.Concat(load.Did, []string{load.Command}, load.After))
			}
		}
		return
	}
	var seen, lines []string
	block := 0
	for _, visit := range visits {
		if !slices.Contains(seen, visit.Arm) {
			seen = append(seen, visit.Arm)
			l.Line("arm %s: %s, %s", visit.Arm, v.armText(visit), prose.Count(len(visit.Loads), "load"))
		}
		if visit.Block != block {
			block = visit.Block
			lines = append(lines, fmt.Sprintf("block %d:", block))
		}
		lines[len(lines)-1] += " " + visit.Arm
	}
	l.Line("the order of the arms (--seed %d)", v.sides.under.Run.Seed)
	l.Each(lines)
}

// armText describes an arm by its levels or its place.
func (v *visiting) armText(visit stepVisit) string {
	if v.sides.arm(visit.Arm).Role == ReferenceArm {
		return v.sides.reference.Where()
	}
	return v.varies.levelsText(visit.Levels)
}
