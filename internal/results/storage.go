package results

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// eachPart reads the saved runs of each place, from the bottom up: repetitions that did not fail, and warnings.
func eachPart(parts []*store.Bundle, place func(i int, run lab.Run, repetitions []lab.Repetition,
	warnings []lab.CellWarning)) error {
	for i, b := range parts {
		repetitions, warnings, err := app.ReadMeasured(b)
		if err != nil {
			return err
		}
		place(i, b.Run, slices.DeleteFunc(repetitions, lab.Repetition.Failed), warnings)
	}
	return nil
}

// StorageLadder judges the rungs of a machine's storage, whose arms are in order from the bottom up.
func StorageLadder(parts []*store.Bundle) (ladder.Document, error) {
	var steps []ladder.Step
	var measured []ladder.Measured
	var warnings []ladder.RungWarning
	first := parts[0].Run
	terms, notes := termsOf(first), slices.Clip(first.Notes)
	err := eachPart(parts, func(i int, run lab.Run, repetitions []lab.Repetition, found []lab.CellWarning) {
		step := stepOf(run)
		steps = append(steps, step)
		if step.Kind != ladder.Guest {
			terms.CPUs = processors(run)
		}
		for _, r := range repetitions {
			measured = append(measured, ladder.Measured{Rung: i, Cell: r.Cell, Block: r.Block, Values: r.Values})
		}
		if step.Kind == ladder.Null && len(step.Places) == 0 && step.Jobs == 1 {
			notes = append(notes, "the null rung is fio's null engine, which makes no system call: what the "+
				"kernel's way to a device costs is not in it; modprobe null_blk makes "+NullDevice+", where it is")
		}
		if step.Kind == ladder.Memory || step.Kind == ladder.Null {
			return // checks would warn that no disk answered, as intended here
		}
		for _, w := range found {
			warnings = append(warnings, ladder.RungWarning{Rung: i, CellWarning: w})
		}
	})
	return ladder.Analyze(steps, loads(parts), measured, warnings, notes, terms), err
}

// termsOf returns the terms of the verdicts of a saved ladder.
func termsOf(run lab.Run) ladder.Terms {
	terms := ladder.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha, Passes: run.Repetitions}
	if t := run.Terms; t != nil {
		terms.Margin, terms.Alpha = t.Margin, t.Alpha
	}
	return terms
}

// loads returns the cells, with titles for one job: the number of jobs depends on the rung.
func loads(parts []*store.Bundle) []ladder.Load {
	var list []ladder.Load
	run := parts[0].Run
	for _, b := range parts {
		if b.Run.Arms[0].Levels[KindLevel] != string(ladder.Memory) {
			run = b.Run
			break
		}
	}
	for _, c := range run.Cells {
		params := maps.Clone(c.Params)
		delete(params, "numjobs")
		list = append(list, ladder.Load{Cell: c, Title: suite.Cell{Job: c.Job, Params: params}.Title()})
	}
	return list
}
