// Package reference contains published results, as a first answer to "is my number good?". A reference is one source's
// results of one machine under one set of conditions. The figures are data (files/*.yaml), typed as published, each
// with its place in the source.
//
// A published figure is one number without a spread, from a machine that the maintainers have not seen. It is therefore
// never more than a hint, and Grade is how good a hint.
package reference

import (
	"iter"
	"regexp"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Reference is a set of results that were measured under the same conditions.
type Reference struct {
	// Name has the source's name and its own: "nfs-rdma-report/ipoib".
	Name  string
	Title string
	// Source that published it.
	Source Source
	// Suite is the built-in suite that has the same loads; empty if there is none.
	Suite string
	// Facts that the source states, by the names of the catalogue of facts.
	Facts []lab.Fact
	// Hardware describes the hardware under the load; Model matches its model name as the kernel reports it; nil if it
	// can't be recognised.
	Hardware string
	Model    *regexp.Regexp
	// Place that was measured.
	Place lab.Place
	// Unstated are conditions that matter and that the source does not state.
	Unstated []string
	// Warnings are reasons to distrust the figures.
	Warnings []lab.Warning
	Results  []Result
}

// Source is where results were published.
type Source struct {
	Title, Author, URL string
	Date               time.Time
}

// String returns the source in the form of a citation.
func (s Source) String() string {
	parts := []string{s.Title}
	if s.Author != "" {
		parts = append(parts, s.Author)
	}
	if !s.Date.IsZero() {
		parts = append(parts, s.Date.Format(time.DateOnly))
	}
	if s.URL != "" {
		parts = append(parts, s.URL)
	}
	return strings.Join(parts, ", ")
}

// Result is one load with its figures.
type Result struct {
	Job    string
	Engine string
	// Params of the load generator, under its own names, as far as the source states them.
	Params map[string]string
	// Values by metric, in base units.
	Values map[string]float64
	// Where the figures are in the source.
	Where string
	// Line of the file with the typed figures.
	Line int
}

// doubtful is the code of the warnings in the files.
const doubtful = "source-doubtful"

// Run returns the reference as a run with one repetition of each cell, for code that reads runs. As in an import,
// information that the source does not state is absent.
func (r Reference) Run() (lab.Run, iter.Seq2[lab.Repetition, error]) {
	const arm = "published"
	run := lab.Run{
		ID: r.Name, Label: r.Name, Status: lab.Complete, Source: lab.Imported, Format: "reference",
		Created: r.Source.Date,
		Suite:   r.Suite, Warnings: r.Warnings,
		Targets: []lab.RunTarget{{Role: "storage", Target: r.Hardware, Place: r.Place, Facts: r.Facts}},
		Arms:    []lab.Arm{{ID: arm, Role: "storage", Levels: map[string]string{}}},
	}
	for _, result := range r.Results {
		run.Cells = append(run.Cells, lab.Cell{ID: result.Job, Arm: arm, Job: result.Job, Engine: result.Engine,
			Params: result.Params})
	}
	return run, func(yield func(lab.Repetition, error) bool) {
		for _, result := range r.Results {
			if !yield(lab.Repetition{Cell: result.Job, Number: 1, Values: result.Values}, nil) {
				return
			}
		}
	}
}

// Prefix precedes the name of a reference where a run can be named too.
const Prefix = "reference:"

// Find returns the reference with a name, with or without the prefix.
func Find(references []Reference, name string) (Reference, bool) {
	name = strings.TrimPrefix(name, Prefix)
	for _, r := range references {
		if r.Name == name {
			return r, true
		}
	}
	return Reference{}, false
}
