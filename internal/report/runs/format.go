package runs

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// Format is an output format for runs.
type Format struct {
	// Name is what the user types.
	Name string
	// Title is a line for lists and help.
	Title string
	// Extension of a file, with its dot.
	Extension string

	write func(io.Writer, []summary.Run, report.Options) error
}

// Formats returns the formats in the order in which help lists them: those of all documents, and those that only runs
// have.
func Formats() []Format {
	var list []Format
	for _, f := range render.Formats() {
		list = append(list, Format{Name: f.Name, Title: f.Title, Extension: f.Extension,
			write: documented(Document, f.Write)})
	}
	return append(list,
		Format{Name: "sheet", Title: "one row a run, to paste into a spreadsheet", Extension: ".csv",
			write: documented(sheetDocument, render.CSV)},
		Format{Name: "json", Title: "the published document " + summary.Schema, Extension: ".json", write: writeJSON},
		Format{Name: "openmetrics", Title: "a file for the textfile collector of node_exporter", Extension: ".prom",
			write: writeOpenMetrics})
}

// documented is a format of the document that a builder makes.
func documented(build func([]summary.Run, report.Options) document.Document,
	write func(io.Writer, document.Document, render.Options) error) func(io.Writer, []summary.Run,
	report.Options) error {
	return func(w io.Writer, runs []summary.Run, o report.Options) error {
		return write(w, build(runs, o), o.Options)
	}
}

// Write writes the runs in the format. Serial numbers are removed first, unless the options include them.
func (f Format) Write(w io.Writer, runs []summary.Run, o report.Options) error {
	if err := f.write(w, Shown(runs, o), o); err != nil {
		return fmt.Errorf("writing the %s report: %w", f.Name, err)
	}
	return nil
}

// Shown returns as much of runs as the options allow.
func Shown(runs []summary.Run, o report.Options) []summary.Run {
	shown := make([]summary.Run, len(runs))
	for i, run := range runs {
		if !o.Serials {
			run = summary.Redact(run, o.Names)
		}
		if o.NoFacts {
			run = summary.WithoutFacts(run) // after redact, which takes the names to hide from the facts
		}
		shown[i] = run
	}
	return shown
}

// writeJSON writes the published documents of runs.
func writeJSON(w io.Writer, runs []summary.Run, _ report.Options) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // "<" stays readable; the document is never put into a page
	encoder.SetIndent("", " ")
	return encoder.Encode(Published(runs))
}

// Published returns the document of one run, or an array of the documents of several.
func Published(runs []summary.Run) any {
	if len(runs) == 1 {
		return runs[0]
	}
	return append([]summary.Run{}, runs...)
}
