package results

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"headroom/internal/app"
	"headroom/internal/compare"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/reference"
	"headroom/internal/report"
	"headroom/internal/store"
	"headroom/internal/unit"
)

// referencesDocument is the published JSON document of references.
type referencesDocument struct {
	Schema     string         `json:"schema"`
	References []referenceRow `json:"references"`
}

const referencesSchema = "headroom/references/v1"

type referenceRow struct {
	Name     string        `json:"name"`
	Title    string        `json:"title"`
	Source   string        `json:"source"`
	URL      string        `json:"url,omitempty"`
	Suite    string        `json:"suite,omitempty"`
	Hardware string        `json:"hardware,omitempty"`
	Place    lab.Place     `json:"place"`
	Facts    []lab.Fact    `json:"facts,omitempty"`
	Unstated []string      `json:"unstated"`
	Warnings []lab.Warning `json:"warnings,omitempty"`
	Results  []resultRow   `json:"results"`
}

type resultRow struct {
	Job    string             `json:"job"`
	Engine string             `json:"engine"`
	Params map[string]string  `json:"params"`
	Values map[string]float64 `json:"values"`
	Where  string             `json:"where"`
}

func rowOfReference(r reference.Reference) referenceRow {
	row := referenceRow{Name: r.Name, Title: r.Title, Source: r.Source.String(), URL: r.Source.URL, Suite: r.Suite,
		Hardware: r.Hardware,
		Place:    r.Place, Facts: r.Facts, Unstated: r.Unstated, Warnings: r.Warnings}
	for _, result := range r.Results {
		row.Results = append(row.Results, resultRow{result.Job, result.Engine, result.Params, result.Values,
			result.Where})
	}
	return row
}

// ListReferences prints the published results.
func ListReferences(p *app.App) error {
	references, err := reference.BuiltIn()
	if err != nil {
		return err
	}
	if p.JSON {
		return PrintReferences(p, references)
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tLOADS\tHARDWARE\tWHAT")
	for _, r := range references {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", r.Name, len(r.Results), r.Hardware, r.Title)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = io.WriteString(p.Stdout, CutLines(table.String(), app.Columns(p.Stdout)))
	return err
}

// CutLines cuts the lines of a table to a width; a width of 0 is none.
func CutLines(table string, width int) string {
	if width == 0 {
		return table
	}
	var cut strings.Builder
	for line := range strings.Lines(table) {
		cut.WriteString(app.Fit(strings.TrimSuffix(line, "\n"), width) + "\n")
	}
	return cut.String()
}

// PrintReferences prints references as JSON.
func PrintReferences(p *app.App, references []reference.Reference) error {
	document := referencesDocument{Schema: referencesSchema}
	for _, r := range references {
		document.References = append(document.References, rowOfReference(r))
	}
	return p.PrintJSON(document)
}

// FindReference returns the reference that is named where a run could be; ok is false where the name has not its
// prefix, and so is that of a run.
func FindReference(ref string) (r reference.Reference, ok bool, err error) {
	if !strings.HasPrefix(ref, reference.Prefix) {
		return reference.Reference{}, false, nil
	}
	references, err := reference.BuiltIn()
	if err != nil {
		return reference.Reference{}, false, err
	}
	if r, ok = reference.Find(references, ref); !ok {
		return r, false, noReference(ref, references)
	}
	return r, true, nil
}

// comparableReference is a reference as one side of a comparison. Its ID is what names it on a command line.
func comparableReference(r reference.Reference, redact bool) (compare.Run, error) {
	run, repetitions := r.Run()
	run.ID = reference.Prefix + r.Name
	summary, err := report.Summarize(run, repetitions)
	if err != nil {
		return compare.Run{}, err
	}
	return report.Comparable(summary, run, r.Name, r.Facts, redact), nil
}

// ReadPublished reads what somebody published: by the name of a reference what comes with headroom, else a file.
// Nothing is read where none is named.
func ReadPublished[T any](name string, comes func(name string) (T, error),
	parse func(name string, r io.Reader) (T, error)) (out T, err error) {
	switch {
	case name == "":
		return out, nil
	case strings.HasPrefix(name, reference.Prefix):
		return comes(name)
	}
	f, err := app.OpenInput(name)
	if err != nil {
		return out, &lab.Error{Kind: lab.Usage, What: "can't read what was published, " + name, Err: err}
	}
	defer f.Close()
	return parse(name, f)
}

// PublishedNames are the references that --published may name.
func PublishedNames(of func() ([]string, error)) []string {
	names, _ := of() // without names there is nothing to complete
	for i := range names {
		names[i] = reference.Prefix + names[i]
	}
	return names
}

func noReference(name string, references []reference.Reference) error {
	name = strings.TrimPrefix(name, reference.Prefix)
	hints := []string{"headroom references lists them"}
	var near []string
	for _, r := range references {
		if name != "" && (strings.Contains(r.Name, name) || strings.HasPrefix(name, strings.Split(r.Name, "/")[0])) {
			near = append(near, r.Name)
		}
	}
	if len(near) > 0 {
		hints = append([]string{"did you mean " + prose.Names(near, " or ") + "?"}, hints...)
	}
	return app.Usage(fmt.Sprintf("there is no reference %q", name), hints...)
}

// ShowReference prints a reference with its conditions and results.
func ShowReference(p *app.App, r reference.Reference) {
	w := &app.Wrapper{Out: p.Stdout, Width: app.Columns(p.Stdout)}
	w.Line("", r.Name+": "+r.Title)
	row := func(name, text string) {
		if text != "" {
			w.Line(fmt.Sprintf("  %-11s", name), text)
		}
	}
	row("source", r.Source.String())
	row("hardware", r.Hardware)
	row("place", strings.TrimSpace(string(r.Place.Kind)+" "+r.Place.Path+" "+r.Place.Filesystem))
	for _, f := range r.Facts {
		row("stated", f.Key+" "+f.Value)
	}
	for _, u := range r.Unstated {
		row("not stated", u)
	}
	for _, d := range r.Warnings {
		row("doubtful", app.Names(d.Taints)+": "+d.Text)
	}
	for _, result := range r.Results {
		fmt.Fprintln(p.Stdout)
		var figures []string
		for _, metric := range slices.Sorted(maps.Keys(result.Values)) {
			figures = append(figures, metricText(metric, result.Values[metric]))
		}
		w.Line("  ", result.Job+": "+strings.Join(figures, ", "))
		w.Line("    ", paramText(result.Params))
		w.Line("    ", "from "+result.Where)
	}
}

// metricText is a figure with the name of its metric: "read.iops 97.8k".
func metricText(metric string, v float64) string {
	return metric + " " + unit.Value(lab.Metric(metric).Unit, v)
}

// paramText lists parameters as fio takes them, in alphabetical order.
func paramText(params map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(params)) {
		parts = append(parts, name+"="+params[name])
	}
	return strings.Join(parts, " ")
}

// standingsDocument is the published JSON document of a run beside references.
type standingsDocument struct {
	Schema string          `json:"schema"`
	Run    string          `json:"run"`
	Cells  []cellStandings `json:"cells"`
}

const standingsSchema = "headroom/standings/v1"

type cellStandings struct {
	Job       string               `json:"job"`
	Params    map[string]string    `json:"params"`
	Standings []reference.Standing `json:"standings"`
}

// maxShownStandings are shown of each load, the most comparable: one good one tells more than ten that are none.
const maxShownStandings = 3

// ShowStandings prints how a run stands beside published results; without all, the few that are nearest.
func ShowStandings(p *app.App, name string, b *store.Bundle, all bool) error {
	references, err := reference.BuiltIn()
	if err != nil {
		return err
	}
	summary, err := report.Summarize(b.Run, b.Repetitions())
	if err != nil {
		return err
	}
	document := standingsDocument{Schema: standingsSchema, Run: b.Run.ID}
	grades := map[reference.Grade]int{}
	loads := 0
	for _, c := range summary.Cells {
		m, err := measurementOf(b, c)
		if err != nil {
			return err
		}
		values := map[string]float64{}
		for metric, v := range c.Metrics {
			values[metric] = v.Center
		}
		standings := reference.Standings(references, m, values)
		if len(standings) > 0 {
			loads++
			grades[standings[0].Grade]++
		}
		if !all && len(standings) > maxShownStandings {
			standings = standings[:maxShownStandings]
		}
		document.Cells = append(document.Cells, cellStandings{c.Job, c.Params, standings})
	}
	if p.JSON {
		return p.PrintJSON(document)
	}
	w := &app.Wrapper{Out: p.Stdout, Width: app.Columns(p.Stdout)}
	w.Line("", standingsSentence(name, loads, len(summary.Cells), grades))
	for _, c := range document.Cells {
		printStandings(p, w, c)
	}
	if loads > 0 {
		fmt.Fprintln(p.Stdout)
		w.Line("", "next: headroom references show "+firstReference(document))
	}
	return nil
}

// measurementOf is a cell with what is known of the machine that its role was played on.
func measurementOf(b *store.Bundle, c report.Cell) (reference.Measurement, error) {
	m := reference.Measurement{Cell: lab.Cell{Job: c.Job, Engine: c.Engine, Params: c.Params}}
	for _, t := range b.Run.Targets {
		if c.Role != "" && t.Role != c.Role {
			continue
		}
		d, _, err := b.Facts(t.Role, store.Before)
		m.Place, m.Facts = t.Place, append(slices.Clone(t.Facts), d.Facts...)
		return m, err
	}
	return m, nil
}

func standingsSentence(name string, loads, of int, grades map[reference.Grade]int) string {
	if loads == 0 {
		return fmt.Sprintf("nothing is published here for the loads of run %s", name)
	}
	worth := "none better than the order of magnitude"
	if same, near := grades[reference.SameConditions], grades[reference.Close]; same+near > 0 {
		worth = fmt.Sprintf("%d under the same conditions, %d close", same, near)
	}
	return fmt.Sprintf("published results for %d of %d loads of run %s, %s", loads, of, name, worth)
}

func printStandings(p *app.App, w *app.Wrapper, c cellStandings) {
	if len(c.Standings) == 0 {
		return
	}
	fmt.Fprintln(p.Stdout)
	w.Line("", loadName(c))
	for _, s := range c.Standings {
		w.Line("  ", fmt.Sprintf("%s: %.3gx %s (%s against %s)", s.Grade, s.Ratio, s.Reference,
			metricText(s.Metric, s.Measured),
			unit.Value(lab.Metric(s.Metric).Unit, s.Published)))
		var differ []string
		for _, d := range s.Differences {
			differ = append(differ, d.String())
		}
		if len(differ) > 0 {
			w.Line("    ", strings.Join(differ, "; "))
		}
		for _, d := range s.Doubts {
			w.Line("    ", "doubtful: "+d)
		}
	}
}

// loadName tells a load from others of the same job: "randread 4k q32 x4".
func loadName(c cellStandings) string {
	name := c.Job
	for _, part := range []struct{ prefix, value string }{{"", c.Params["bs"]}, {"q", c.Params["iodepth"]},
		{"x", c.Params["numjobs"]}} {
		if part.value != "" && (part.prefix != "x" || part.value != "1") {
			name += " " + part.prefix + part.value
		}
	}
	return name
}

func firstReference(d standingsDocument) string {
	for _, c := range d.Cells {
		if len(c.Standings) > 0 {
			return c.Standings[0].Reference
		}
	}
	return ""
}
