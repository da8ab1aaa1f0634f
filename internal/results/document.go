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

// DocumentOutput is the destination of a result: the terminal, and a file if one is named.
type DocumentOutput struct {
	Output, Format string
	// More are additional formats of this result.
	More []OutputFormat
	// Report has the other flags about the report.
	Report report.Options
}

// DocumentFormats returns the formats of every result that is a document.
func DocumentFormats() []OutputFormat {
	var list []OutputFormat
	for _, f := range render.Formats() {
		list = append(list, OutputFormat{Name: f.Name, Suffix: f.Extension})
	}
	return append(list, OutputFormat{Name: "json", Suffix: ".json"})
}

// Formats returns the format of the file, empty if none is named, and the format of standard output. Commands call it
// before they measure anything.
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

// ResultDocument is a result as data and as a document.
type ResultDocument struct {
	// Published is the document of --json. Hidden is its version for files; nil if that is the same.
	Published, Hidden any
	// Document makes the document for readers. Without Serials in the options it is for others.
	Document func(report.Options) document.Document
	// Runs are the runs of the result: files hide what identifies their hardware and hosts.
	Runs []lab.Run
}

// shortIDs shortens the IDs of runs of a store; nil if a result has no run.
func shortIDs(s *store.Store) func(id string) string {
	if s == nil {
		return nil
	}
	return s.ShortIDs()
}

// pipeWidth is the width of a table that is not printed on a terminal.
const pipeWidth = 80

// ShowResult writes a result into the named file, and prints it, even if the file can't be written: it may have taken
// hours.
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

// writeResult writes a result in one format. A table is for the user who measured, and hides nothing, like a result
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
