// Package reference holds published results, so that "is my number good?" has a first answer. A reference is what one
// source says of one machine under one set of conditions; the figures are data (files/*.yaml), re-typed as they were
// published, each with the place in the source where it stands.
//
// A published figure is one number without a spread, from a machine that nobody here has seen. It is therefore never
// more than a hint, and Grade says how much of one.
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
	// Name is the source's and its own: "nfs-rdma-report/ipoib".
	Name  string
	Title string
	// Source that published it.
	Source Source
	// Suite is the built-in suite that has the same loads; empty where none has.
	Suite string
	// Facts that the source states, by the names of the catalogue of facts.
	Facts []lab.Fact
	// Hardware is what was under the load, in words; Model recognises it among the models that the kernel names; nil
	// where it can't be recognised.
	Hardware string
	Model    *regexp.Regexp
	// Place is what the load went to.
	Place lab.Place
	// Unstated is what one would have to know, and the source does not say.
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

// String is the source as one cites it.
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
	// Params are the load generator's, by its own names, as far as the source states them.
	Params map[string]string
	// Values by metric, in base units.
	Values map[string]float64
	// Where in the source they stand.
	Where string
	// Line of the file that they were typed into.
	Line int
}

// doubtful is the code of the warnings that the files give.
const doubtful = "source-doubtful"

// Run is the reference as a run with one repetition of each cell, for whatever reads runs. What the source does not
// state is absent, as in an import.
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

// Prefix stands before the name of a reference where a run can be named too.
const Prefix = "reference:"

// Find returns the reference that a name stands for, with or without the prefix.
func Find(references []Reference, name string) (Reference, bool) {
	name = strings.TrimPrefix(name, Prefix)
	for _, r := range references {
		if r.Name == name {
			return r, true
		}
	}
	return Reference{}, false
}
