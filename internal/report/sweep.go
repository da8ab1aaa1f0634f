package report

import (
	"fmt"
	"io"
	"iter"

	"headroom/internal/lab"
	"headroom/internal/sweep"
)

// SweepFormat is one way to write a sweep down.
type SweepFormat struct {
	Name      string
	Title     string
	Extension string

	write func(io.Writer, *sweep.Document, Options) error
}

// SweepFormats in the order in which help lists them. JSON is the document itself.
func SweepFormats() []SweepFormat {
	return []SweepFormat{
		{Name: "table", Title: "tables for the terminal", Extension: ".txt", write: writeSweepTable},
		{Name: "html", Title: "one self-contained page with heat maps and lines", Extension: ".html",
			write: writeSweepPage},
		{Name: "markdown", Title: "tables for a pull request or a wiki", Extension: ".md", write: writeSweepMarkdown},
		{Name: "csv", Title: "one line a number and level", Extension: ".csv", write: writeSweepCSV},
	}
}

// Write writes the sweep in the format.
func (f SweepFormat) Write(w io.Writer, d sweep.Document, o Options) error {
	if err := f.write(w, &d, o); err != nil {
		return fmt.Errorf("writing the sweep as %s: %w", f.Name, err)
	}
	return nil
}

// SweepOf analyses a saved sweep, with the ceilings that the facts of its targets give. Facts are those of the arms, by
// ID, where they differ (kernels); settings are for what the run's experiment does not say.
func SweepOf(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], facts map[string][]lab.Fact,
	settings sweep.Settings) (sweep.Document, error) {
	in, err := sweep.FromRun(run, repetitions, sweep.Known{Ceilings: ceilingsOf(run), Facts: facts, Settings: settings})
	if err != nil {
		return sweep.Document{}, err
	}
	return sweep.Analyze(in), nil
}

// LevelsOf analyses a saved run that was not measured as a sweep, by one of the factors that its loads differ in.
func LevelsOf(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], by sweep.By) (sweep.Document, error) {
	in, err := sweep.FromLevels(run, repetitions, by, ceilingsOf(run))
	if err != nil {
		return sweep.Document{}, err
	}
	return sweep.Analyze(in), nil
}
