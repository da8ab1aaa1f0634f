package sweep

import (
	"iter"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
)

// OfRun analyses a saved sweep, with the ceilings that follow from the facts of its targets. Facts are the facts of the
// arms by ID, if they differ (kernels). Settings apply where the run's experiment has none.
func OfRun(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], facts map[string][]lab.Fact,
	settings Settings) (Document, error) {
	in, err := FromRun(run, repetitions, Known{Ceilings: ceiling.OfCells(run), Facts: facts, Settings: settings})
	if err != nil {
		return Document{}, err
	}
	d := Analyze(in)
	return d, d.addPrices(run)
}

// OfLevels analyses a saved run that was not measured as a sweep, by one of the factors in which its loads differ.
func OfLevels(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], by By) (Document, error) {
	in, err := FromLevels(run, repetitions, by, ceiling.OfCells(run))
	if err != nil {
		return Document{}, err
	}
	return Analyze(in), nil
}
