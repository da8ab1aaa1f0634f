package cli

import (
	"bytes"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/report"
	"headroom/internal/store"
)

// documentOutput is where a result goes: to the terminal, and into a file where one is named.
type documentOutput struct {
	output, format string
	// more are formats that this result has and others have not.
	more []outputFormat
}

// flags adds -o and --format.
func documentFlags(o *documentOutput, c *cobra.Command) {
	c.Flags().StringVarP(&o.output, "output", "o", "", "write the result into a file, too: .html, .md, .csv or .json")
	formatFlag(c, &o.format, slices.Concat(documentFormats(), o.more))
}

func documentFormats() []outputFormat {
	var list []outputFormat
	for _, f := range report.DocumentFormats() {
		list = append(list, outputFormat{f.Name, f.Extension})
	}
	return append(list, outputFormat{"json", ".json"})
}

// formats are that of the file, empty where none is named, and that of standard output. They are asked for before
// anything is measured.
func (o documentOutput) formats(json bool) (file, printed string, err error) {
	format, err := chosenFormat(o.output, o.format, json, slices.Concat(documentFormats(), o.more))
	switch {
	case ownOutput(o.output):
		return "", format, err
	case json:
		return format, "json", err
	}
	return format, "table", err
}

// resultDocument is something that was measured, in its two shapes.
type resultDocument struct {
	// published is the document of --json.
	published any
	// document makes the one for people. Without Serials of the options it is for others.
	document func(report.Options) document.Document
	// runs that it was made of: what they know of hardware and hosts is hidden in files.
	runs []lab.Run
}

// shortIDs shortens the ids of runs of a store; nil where a result has no run.
func shortIDs(s *store.Store) func(id string) string {
	if s == nil {
		return nil
	}
	return s.ShortID
}

// showResult writes a result into the file that was named, and prints it.
func showResult(p *program, s *store.Store, r resultDocument, o documentOutput) error {
	file, printed, err := o.formats(p.json)
	if err != nil {
		return err
	}
	if file != "" {
		var out bytes.Buffer
		if err := writeResult(&out, r, file, report.Options{ShortID: shortIDs(s)}); err != nil {
			return err
		}
		if err := writeFile(p, o.output, out.Bytes()); err != nil {
			return err
		}
	}
	to := p.Stdout
	switch printed {
	case "json":
		return p.printJSON(r.published)
	case "table":
		to = p.naming.writer(to)
	}
	var out bytes.Buffer
	if err := writeResult(&out, r, printed, report.Options{Width: columns(p.Stdout), Colour: p.colour(p.Stdout),
		ShortID: shortIDs(s)}); err != nil {
		return err
	}
	_, err = to.Write(out.Bytes())
	return err
}

// writeResult writes a result in one format. A table is for who measured, and hides nothing.
func writeResult(w io.Writer, r resultDocument, format string, o report.Options) error {
	if format == "json" {
		return encodeJSON(w, r.published)
	}
	o.Serials = format == "table"
	d := r.document(o)
	if format != "table" {
		d = report.WithoutSerials(d, r.runs...)
	}
	all := report.DocumentFormats()
	i := slices.IndexFunc(all, func(f report.DocumentFormat) bool { return f.Name == format })
	return all[i].Write(w, d, o)
}
