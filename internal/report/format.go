package report

import (
	"fmt"
	"io"

	"headroom/internal/document"
	"headroom/internal/reference"
	"headroom/internal/render"
	"headroom/internal/summary"
)

// Format is one way to write runs down.
type Format struct {
	// Name is what the user asks for.
	Name string
	// Title is a line for lists and help.
	Title string
	// Extension of a file, with its dot.
	Extension string

	write func(io.Writer, []summary.Run, Options) error
}

// Options of a report. The zero value is a report for a terminal of 80 columns, without colour and serial numbers.
type Options struct {
	render.Options

	// ShortID shortens the id of a run as far as it stays the only one of its store; nil leaves it whole.
	ShortID func(id string) string
	// RepeatCommand are the flags of a comparison, for the command that is said next.
	RepeatCommand string
	// Serials prints serial numbers and world wide names. Without it they are hidden wherever they stand.
	Serials bool
	// Names shows what targets are called by which a run tells them apart, also without Serials: for whoever measured
	// them.
	Names bool
	// NoFacts leaves the facts of the machines out.
	NoFacts bool
	// Stages are the stages of runs that have some, beside each other, by the ID of the run.
	Stages map[string]document.Document
	// Scores are published figures of merit that a sweep is held against; nil for none.
	Scores *reference.Scores
}

// Formats in the order in which help lists them: those of all documents, and those that only runs have.
func Formats() []Format {
	var list []Format
	for _, f := range render.Formats() {
		list = append(list, Format{Name: f.Name, Title: f.Title, Extension: f.Extension,
			write: documented(RunsDocument, f.Write)})
	}
	return append(list,
		Format{Name: "sheet", Title: "one row a run, to paste into a spreadsheet", Extension: ".csv",
			write: documented(sheetDocument, render.CSV)},
		Format{Name: "json", Title: "the published document " + summary.Schema, Extension: ".json", write: writeJSON},
		Format{Name: "openmetrics", Title: "a file for the textfile collector of node_exporter", Extension: ".prom",
			write: writeOpenMetrics})
}

// documented is a format of the document that a builder makes.
func documented(build func([]summary.Run, Options) document.Document,
	write func(io.Writer, document.Document, render.Options) error) func(io.Writer, []summary.Run, Options) error {
	return func(w io.Writer, runs []summary.Run, o Options) error { return write(w, build(runs, o), o.Options) }
}

// Write writes the runs in the format. Serial numbers are taken out first, unless the options ask for them.
func (f Format) Write(w io.Writer, runs []summary.Run, o Options) error {
	shown := make([]summary.Run, len(runs))
	for i, run := range runs {
		if !o.Serials {
			run = summary.Redact(run, o.Names)
		}
		if o.NoFacts {
			run = summary.WithoutFacts(run) // after redact, which learns from the facts what to look for
		}
		shown[i] = run
	}
	if err := f.write(w, shown, o); err != nil {
		return fmt.Errorf("writing the %s report: %w", f.Name, err)
	}
	return nil
}
