package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/report/staged"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// WriteRuns writes runs in a format of a report.
func WriteRuns(p *app.App, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error {
	formats := runs.Formats()
	i := slices.IndexFunc(formats, func(f runs.Format) bool { return f.Name == format })
	if i < 0 {
		return app.Usage(fmt.Sprintf("there is no format %q", format),
			"the formats are "+strings.Join(FormatNames(ExportFormats()), ", "))
	}
	o, err := ReportOptions(p, w, o)
	if err != nil {
		return err
	}
	summaries, err := summariesOf(p, bundles, o)
	if err != nil {
		return err
	}
	o.Profiled = profiledRuns(bundles)
	if format == "table" {
		w = p.Naming.Writer(w)
	}
	if o.Stages == nil && (format == "html" || format == "markdown") {
		if o.Stages, err = stagesOf(p, bundles, o); err != nil {
			return err
		}
	}
	return formats[i].Write(w, summaries, o)
}

// RunSamples returns the samples of a run for OpenMetrics, without what the options hide.
func RunSamples(p *app.App, b *store.Bundle, o report.Options) (*runs.Families, error) {
	summaries, err := summariesOf(p, []*store.Bundle{b}, o)
	if err != nil {
		return nil, err
	}
	return runs.RunFamilies(runs.Shown(summaries, o)[0]), nil
}

// OverTime returns a cell of a run over the time of its repetitions, for others: its name, and a picture of each
// metric. Both are empty if the run has no such cell.
func OverTime(p *app.App, b *store.Bundle, cell string) (name string, plots []document.Plot, err error) {
	o := report.Options{}
	summaries, err := summariesOf(p, []*store.Bundle{b}, o)
	if err != nil {
		return "", nil, err
	}
	name, plots = runs.OverTime(&runs.Shown(summaries, o)[0], cell)
	return name, plots, nil
}

// profiledRuns has the IDs of the runs that have profiled loads.
func profiledRuns(bundles []*store.Bundle) map[string]bool {
	ids := map[string]bool{}
	for _, b := range bundles {
		ids[b.Run.ID] = b.Profiled()
	}
	return ids
}

// summariesOf returns runs as they are published.
func summariesOf(p *app.App, bundles []*store.Bundle, o report.Options) ([]summary.Run, error) {
	var all []summary.Run
	for _, b := range bundles {
		s, err := summary.Of(b.Run, b.Repetitions())
		if err == nil {
			err = findOutliers(p, b, &s, o.Serials)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// stagesOf returns the stages of runs that have several, side by side, for whoever may read the runs.
func stagesOf(p *app.App, bundles []*store.Bundle, o report.Options) (map[string]document.Document, error) {
	all := map[string]document.Document{}
	for _, b := range bundles {
		if len(stageNames(b.Run)) == 0 {
			continue
		}
		d, runs, err := StagesDocument(p, b, StagesOptions{})
		if err != nil {
			return nil, err
		}
		if len(d.Stages) < 2 {
			continue
		}
		of := staged.Stages(d, o)
		if !o.Serials {
			of = summary.WithoutSerials(of, runs...)
		}
		all[b.Run.ID] = of
	}
	return all, nil
}

// WriteForPeople writes runs for people. A run whose design has a separate result is shown by that result if it is
// shown alone. On a page with others, and for programs, it has the cells of all arms.
func WriteForPeople(p *app.App, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error {
	alone := format == "table" || len(bundles) == 1 && (format == "html" || format == "markdown")
	if !alone || !slices.ContainsFunc(bundles, hasOwnResult) {
		return WriteRuns(p, format, bundles, w, o)
	}
	for i, b := range bundles {
		if i > 0 {
			fmt.Fprintln(w)
		}
		write := writeFound
		if !hasOwnResult(b) {
			write = WriteRuns
		}
		if err := write(p, format, []*store.Bundle{b}, w, o); err != nil {
			return err
		}
	}
	return nil
}

// RunDocument returns a saved run for a page for others: the result of its design, or its cells.
func RunDocument(p *app.App, b *store.Bundle, o report.Options) (document.Document, error) {
	if hasOwnResult(b) {
		r, err := resultOf(p, b, o)
		if err != nil {
			return document.Document{}, err
		}
		return summary.WithoutSerials(r.Document(o), r.Runs...), nil
	}
	all := []*store.Bundle{b}
	summaries, err := summariesOf(p, all, o)
	if err != nil {
		return document.Document{}, err
	}
	o.Profiled = profiledRuns(all)
	if o.Stages, err = stagesOf(p, all, o); err != nil {
		return document.Document{}, err
	}
	return runs.Document(runs.Shown(summaries, o), o), nil
}

// Found returns the result of a run's design, for others; false if its cells are its only result.
func Found(p *app.App, b *store.Bundle) (r ResultDocument, ok bool, err error) {
	if !hasOwnResult(b) {
		return r, false, nil
	}
	r, err = resultOf(p, b, report.Options{})
	return r, true, err
}

// writeFound writes the results of runs.
func writeFound(p *app.App, format string, bundles []*store.Bundle, w io.Writer, o report.Options) error {
	o, err := ReportOptions(p, w, o)
	if err != nil {
		return err
	}
	if format == "table" {
		w = p.Naming.Writer(w)
	}
	for _, b := range bundles {
		r, err := resultOf(p, b, o)
		if err != nil {
			return err
		}
		if err := writeResult(w, r, format, o); err != nil {
			return err
		}
	}
	return nil
}

// ReportOptions adds the properties of the terminal and the store to options; w is the destination of the report.
func ReportOptions(p *app.App, w io.Writer, o report.Options) (report.Options, error) {
	s, err := p.OpenStore()
	if err != nil {
		return o, err
	}
	o.Width, o.Colour, o.ShortID = app.Columns(p.Stdout), p.Colour(w), s.ShortIDs()
	return o, nil
}

// FindAll finds the runs of all names. The error has the names that no run has.
func FindAll(p *app.App, refs []string) ([]*store.Bundle, error) {
	s, err := p.OpenStore()
	if err != nil {
		return nil, err
	}
	var bundles []*store.Bundle
	var errs []error
	for _, ref := range refs {
		found, err := s.FindAll(ref)
		bundles, errs = append(bundles, found...), append(errs, err)
	}
	return bundles, errors.Join(errs...)
}

// WriteFile writes a text.
func WriteFile(p *app.App, output string, data []byte) error {
	shown := prose.Visible(string(data)) // the file may be printed on a terminal later
	return p.WriteOutput(context.Background(), output, func(w io.Writer) error {
		_, err := io.WriteString(w, shown)
		return err
	})
}

// ShowMeasured returns a function that prints a finished run, and the command that looks for reasons. It does not run
// doctor: the rules take more memory than the whole measurement.
func ShowMeasured(p *app.App, s *store.Store, format string) func(id string) error {
	format = cmp.Or(format, "table")
	if p.JSON {
		format = "json"
	}
	return func(id string) error {
		defer p.Footprint.WithLowMemory()()
		b, err := s.Find(id)
		if err != nil {
			return err
		}
		err = WriteRuns(p, format, []*store.Bundle{b}, p.Stdout, report.Options{Names: format == "table"})
		if err != nil || format != "table" {
			return err
		}
		fmt.Fprintf(p.Naming.Writer(p.Stdout), "what may hold this machine back: headroom doctor %s\n", s.ShortID(id))
		return nil
	}
}
