package sweep

import (
	"iter"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
)

// OfRun analyses a saved sweep, with the ceilings that the facts of its targets give. Facts are those of the arms, by
// ID, where they differ (kernels); settings are for what the run's experiment does not say.
func OfRun(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], facts map[string][]lab.Fact,
	settings Settings) (Document, error) {
	in, err := FromRun(run, repetitions, Known{Ceilings: ceiling.OfCells(run), Facts: facts, Settings: settings})
	if err != nil {
		return Document{}, err
	}
	d := Analyze(in)
	return d, d.addPrices(run)
}

// OfLevels analyses a saved run that was not measured as a sweep, by one of the factors that its loads differ in.
func OfLevels(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], by By) (Document, error) {
	in, err := FromLevels(run, repetitions, by, ceiling.OfCells(run))
	if err != nil {
		return Document{}, err
	}
	return Analyze(in), nil
}
