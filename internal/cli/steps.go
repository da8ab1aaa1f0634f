package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/runner"
	"headroom/internal/target"
)

// stepsSchema is that of what a dry run prints as JSON.
const stepsSchema = "headroom/steps/v1"

// steps is everything that an experiment would do, in order.
type steps struct {
	Schema string `json:"schema"`
	// First is what is tried before anything is measured.
	First  []string    `json:"first,omitempty"`
	Visits []stepVisit `json:"visits"`
	// Then is what may follow, as what was measured decides.
	Then string `json:"then,omitempty"`
	// End is what is done at the end, or after an interruption.
	End []string `json:"end"`
}

// stepVisit is one visit of an arm.
type stepVisit struct {
	Block  int               `json:"block"`
	Arm    string            `json:"arm"`
	Levels map[string]string `json:"levels"`
	Loads  []stepLoad        `json:"loads"`
}

// stepLoad is one load, and what is done before it.
type stepLoad struct {
	Cell    string   `json:"cell"`
	Did     []string `json:"did,omitempty"`
	Command string   `json:"command"`
	// After is what a command has done after it.
	After []string `json:"after,omitempty"`
}

// steps goes through the plan as the runner would, were no arm to settle early.
func (x *experiment) steps(ctx context.Context) (steps, error) {
	s := steps{Schema: stepsSchema, Visits: []stepVisit{}}
	for _, t := range x.levelTrials() {
		s.First = append(s.First, t.text())
	}
	lines := map[string]runner.Lines{}
	sides := map[string]*measurement{}
	for _, side := range x.measurements() {
		sides[side.targetRole()] = side
		if err := side.preview(ctx, lines); err != nil {
			return s, err
		}
	}
	var entered map[string]string
	scratch := map[string]bool{} // by role
	for block := x.visits.First(); block <= x.visits.Last(); block++ {
		for _, r := range x.visits.Block(block, nil) {
			n := len(s.Visits) - 1
			var did []string
			if n < 0 || s.Visits[n].Arm != r.Arm || s.Visits[n].Block != block {
				arm := x.arm(r.Arm)
				if !x.unvaried(arm) {
					for _, e := range x.armSteps(entered, arm.Levels) {
						did = append(did, e.text)
						if e.boot && x.losesDataOnBoot() {
							scratch[storageRole] = false
						}
					}
					entered = arm.Levels
				}
				s.Visits = append(s.Visits, stepVisit{Block: block, Arm: r.Arm, Levels: arm.Levels})
				n++
			}
			role := x.arm(r.Arm).Role
			path, size := sides[role].filename(), sides[role].place().Size
			for _, step := range x.cell(r.Cell).Steps {
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
	s.Then = x.pairsText()
	for _, e := range x.armSteps(entered, nil) {
		if !e.boot {
			s.End = append(s.End, e.text)
		}
	}
	if x.host != nil {
		s.End = append(s.End, x.host.restoreText()+", unless the last boot was that")
	}
	for _, side := range x.measurements() {
		if side.place().Kind == lab.Directory {
			s.End = append(s.End, "remove "+side.filename())
		}
	}
	return s, nil
}

// preview adds the command lines of a side's loads, by cell.
func (m *measurement) preview(ctx context.Context, lines map[string]runner.Lines) error {
	e := m.runnerMeasurement()
	p, err := runner.NewPreview(ctx, e)
	if err != nil {
		return err
	}
	for _, c := range e.Cells {
		if lines[c.ID], err = p.Lines(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// losesDataOnBoot says whether a directory of the target is empty again after a boot.
func (x *experiment) losesDataOnBoot() bool {
	t, ok := x.target.(target.LosesDataOnBoot)
	return ok && t.LosesDataOnBoot() && x.place().Kind == lab.Directory
}

func (m *measurement) filename() string {
	if m.place().Kind == lab.Directory {
		return runner.ScratchFile(m.place().Path, m.owner())
	}
	return m.place().Resolved
}

func (x *experiment) cell(id string) lab.Cell {
	i := slices.IndexFunc(x.run.Cells, func(c lab.Cell) bool { return c.ID == id })
	return x.run.Cells[i]
}

// printSteps is what --dry-run prints.
func (x *experiment) printSteps(ctx context.Context) error {
	if x.kind == bisectKind {
		return x.printSearch(ctx)
	}
	s, err := x.steps(ctx)
	if err != nil {
		return err
	}
	if x.json {
		return x.printJSON(s)
	}
	x.printSummary()
	if !slices.ContainsFunc(x.run.Cells, func(c lab.Cell) bool { return c.Repetitions > 1 }) {
		x.print("  ", "with --repeat 2 the report says how many repetitions "+x.visitWord()+" is worth")
	}
	l := x.listing(x.options.dryRun)
	if len(s.First) > 0 {
		l.line("at first, and put back at once")
		l.each(s.First)
	}
	x.listVisits(l, s.Visits)
	if s.Then != "" {
		l.line("%s", s.Then)
	}
	l.line("at the end, or when interrupted")
	l.each(s.End)
	return l.end()
}

// listVisits lists each visit with its commands, or what the arms are and the order of the visits.
func (x *experiment) listVisits(l listing, visits []stepVisit) {
	if l.full {
		for _, v := range visits {
			l.line("block %d, arm %s: %s", v.Block, v.Arm, x.armText(v))
			for _, load := range v.Loads {
				l.each(slices.Concat(load.Did, []string{load.Command}, load.After))
			}
		}
		return
	}
	var seen, lines []string
	block := 0
	for _, v := range visits {
		if !slices.Contains(seen, v.Arm) {
			seen = append(seen, v.Arm)
			l.line("arm %s: %s, %s", v.Arm, x.armText(v), prose.Count(len(v.Loads), "load"))
		}
		if v.Block != block {
			block = v.Block
			lines = append(lines, fmt.Sprintf("block %d:", block))
		}
		lines[len(lines)-1] += " " + v.Arm
	}
	l.line("the order of the arms (--seed %d)", x.run.Seed)
	l.each(lines)
}

// visitWord is what a visit of an arm is.
func (x *experiment) visitWord() string {
	if x.boots() {
		return "a boot"
	}
	return "a visit"
}

// armText is what an arm has of its own: its levels, or its place.
func (x *experiment) armText(v stepVisit) string {
	if x.arm(v.Arm).Role == referenceArm {
		return x.reference.where()
	}
	return x.levelsText(v.Levels)
}

// levelsText is an arm in words.
func (x *experiment) levelsText(levels map[string]string) string {
	var parts []string
	for _, c := range x.choices {
		if level, ok := levels[c.Factor()]; ok && !slices.Contains(parts, c.Factor()+"="+level) {
			parts = append(parts, c.Factor()+"="+level)
		}
	}
	if len(parts) == 0 {
		return "everything as found"
	}
	return strings.Join(parts, " ")
}
