package report

import (
	"iter"

	"headroom/internal/facts"
	"headroom/internal/lab"
)

// Redacted is a run with several arms and its repetitions as an experiment's report reads them, without what names one
// piece of hardware or one host in any text. The facts stay: ceilings are made of them.
func Redacted(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) (lab.Run, iter.Seq2[lab.Repetition, error]) {
	clean := facts.NewRedactor(identifying(run.Targets, run.Experiment)).Text
	but := append(hashes(), roles()...)
	of := run.Targets
	run.Targets = make([]lab.RunTarget, len(of))
	for i, t := range of {
		run.Targets[i] = t
		run.Targets[i].Facts = nil
	}
	run = mapTexts(run, clean, but...)
	for i, t := range of {
		run.Targets[i].Facts = t.Facts
	}
	return run, func(yield func(lab.Repetition, error) bool) {
		for r, err := range repetitions {
			if !yield(mapTexts(r, clean, but...), err) {
				return
			}
		}
	}
}
