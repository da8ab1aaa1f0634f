package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/compared"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// ReferencesDocument is the published JSON document of references.
type ReferencesDocument struct {
	Schema     string         `json:"schema"`
	References []referenceRow `json:"references"`
}

// ReferencesSchema names it.
const ReferencesSchema = "headroom/references/v1"

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

// ListReferences shows the published results.
func ListReferences(p *app.App, o DocumentOutput) error {
	references, err := reference.BuiltIn()
	if err != nil {
		return err
	}
	return ShowResult(p, nil, ResultDocument{Published: publishedReferences(references),
		Document: func(report.Options) document.Document { return compared.References(references) }}, o)
}

func publishedReferences(references []reference.Reference) ReferencesDocument {
	d := ReferencesDocument{Schema: ReferencesSchema}
	for _, r := range references {
		d.References = append(d.References, rowOfReference(r))
	}
	return d
}

// ShowReference prints a reference with its conditions and results.
func ShowReference(p *app.App, r reference.Reference, o DocumentOutput) error {
	return ShowResult(p, nil, ResultDocument{Published: publishedReferences([]reference.Reference{r}),
		Document: func(report.Options) document.Document { return compared.Reference(r) }}, o)
}

// FindReference returns the reference that a name means; ok is false if the name lacks the prefix of references, so it
// names a run.
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

// comparableReference returns a reference as one side of a comparison. Its ID is its name on a command line.
func comparableReference(r reference.Reference, redact bool) (compare.Run, error) {
	run, repetitions := r.Run()
	run.ID = reference.Prefix + r.Name
	measured, err := summary.Of(run, repetitions)
	if err != nil {
		return compare.Run{}, err
	}
	return summary.Comparable(measured, run, r.Name, r.Facts, redact), nil
}

// ReadPublished reads published results: built-in ones by the name of a reference, otherwise a file. It reads nothing
// without a name.
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
		return out, &lab.Error{Kind: lab.Usage, What: "can't read the published results " + name, Err: err}
	}
	defer f.Close()
	return parse(name, f)
}

// PublishedNames returns the references for --published.
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

// maxShownStandings is how many standings of each load are printed, the most comparable: one good one says more than
// ten bad ones.
const maxShownStandings = 3

// ShowStandings prints how a run compares with published results; without all, only the nearest few.
func ShowStandings(p *app.App, s *store.Store, b *store.Bundle, all bool, o DocumentOutput) error {
	references, err := reference.BuiltIn()
	if err != nil {
		return err
	}
	measured, err := summary.Of(b.Run, b.Repetitions())
	if err != nil {
		return err
	}
	d := reference.RunStandings{Schema: reference.StandingsSchema, Run: b.Run.ID}
	for _, c := range measured.Cells {
		m, err := measurementOf(b, c)
		if err != nil {
			return err
		}
		values := map[string]float64{}
		for metric, v := range c.Metrics {
			values[metric] = v.Center
		}
		standings := reference.Standings(references, m, values)
		if !all && len(standings) > maxShownStandings {
			standings = standings[:maxShownStandings]
		}
		d.Cells = append(d.Cells, reference.LoadStandings{Job: c.Job, Params: c.Params, Standings: standings})
	}
	return ShowResult(p, s, ResultDocument{Published: d, Runs: []lab.Run{b.Run},
		Document: func(report.Options) document.Document {
			return compared.Standings(d, s.ShortID(b.Run.ID))
		}}, o)
}

// measurementOf returns a cell with the known facts of the machine of its role.
func measurementOf(b *store.Bundle, c summary.Cell) (reference.Measurement, error) {
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
