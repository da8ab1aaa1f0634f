package results

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// DocumentOutput is where a result goes: to the terminal, and into a file where one is named.
type DocumentOutput struct {
	Output, Format string
	// More are formats that this result has and others have not.
	More []OutputFormat
	// Report is what else the flags say of how it is written.
	Report report.Options
}

// DocumentFormats are those of every result that is a document.
func DocumentFormats() []OutputFormat {
	var list []OutputFormat
	for _, f := range render.Formats() {
		list = append(list, OutputFormat{Name: f.Name, Suffix: f.Extension})
	}
	return append(list, OutputFormat{Name: "json", Suffix: ".json"})
}

// Formats are that of the file, empty where none is named, and that of standard output. They are asked for before
// anything is measured.
func (o DocumentOutput) Formats(json bool) (file, printed string, err error) {
	format, err := ChosenFormat(o.Output, o.Format, json, slices.Concat(DocumentFormats(), o.More))
	switch {
	case app.OwnOutput(o.Output):
		return "", format, err
	case json:
		return format, "json", err
	}
	return format, "table", err
}

// ResultDocument is something that was measured, in its two shapes.
type ResultDocument struct {
	// Published is the document of --json, and Hidden what a file has of it; nil where that is the same.
	Published, Hidden any
	// Document makes the one for people. Without Serials of the options it is for others.
	Document func(report.Options) document.Document
	// Runs that it was made of: what they know of hardware and hosts is hidden in files.
	Runs []lab.Run
}

// shortIDs shortens the ids of runs of a store; nil where a result has no run.
func shortIDs(s *store.Store) func(id string) string {
	if s == nil {
		return nil
	}
	return s.ShortIDs()
}

// pipeWidth is that of a table that no terminal shows.
const pipeWidth = 80

// ShowResult writes a result into the file that was named, and prints it, also where the file can't be written: it may
// have taken hours.
func ShowResult(p *app.App, s *store.Store, r ResultDocument, o DocumentOutput) error {
	file, printed, err := o.Formats(p.JSON)
	if err != nil {
		return err
	}
	if o.Report.ShortID == nil {
		o.Report.ShortID = shortIDs(s)
	}
	var failed error
	if file != "" {
		var out bytes.Buffer
		if failed = writeResult(&out, r, file, o.Report); failed == nil {
			failed = WriteFile(p, o.Output, out.Bytes())
		}
	}
	to := p.Stdout
	switch printed {
	case "json":
		return errors.Join(p.PrintJSON(r.Published), failed)
	case "table":
		to = p.Naming.Writer(to)
		o.Report.Width, o.Report.Colour = cmp.Or(app.Columns(p.Stdout), pipeWidth), p.Colour(p.Stdout)
	}
	var out bytes.Buffer
	err = writeResult(&out, r, printed, o.Report)
	if err == nil {
		_, err = to.Write(out.Bytes())
	}
	return errors.Join(err, failed)
}

// writeResult writes a result in one format. A table is for who measured, and hides nothing; nor does what is asked for
// with Serials.
func writeResult(w io.Writer, r ResultDocument, format string, o report.Options) error {
	o.Serials = o.Serials || format == "table"
	switch {
	case format == "json" && r.Hidden != nil && !o.Serials:
		return app.EncodeJSON(w, r.Hidden)
	case format == "json":
		return app.EncodeJSON(w, r.Published)
	}
	d := r.Document(o)
	if !o.Serials {
		d = summary.WithoutSerials(d, r.Runs...)
	}
	all := render.Formats()
	i := slices.IndexFunc(all, func(f render.Format) bool { return f.Name == format })
	if err := all[i].Write(w, d, o.Options); err != nil {
		return fmt.Errorf("writing the %s report: %w", format, err)
	}
	return nil
}
