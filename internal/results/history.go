package results

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/compared"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// HistoryOptions are the flags of history, and the options of its analysis.
type HistoryOptions struct {
	history.Options
	SinceText, MarginText string
	FailOn                string
	Result                DocumentOutput
}

// FailOnRegression is the value of --fail-on for an error if the newest run is worse.
const FailOnRegression = "regression"

// Check checks the flags and reads the margin.
func (o *HistoryOptions) Check() error {
	if o.FailOn != "" && o.FailOn != FailOnRegression {
		return app.Usage("--fail-on knows no "+strconv.Quote(o.FailOn), "--fail-on regression")
	}
	if !unit.IsShare(o.Alpha) {
		return app.Usage(fmt.Sprintf("--alpha %g is no probability", o.Alpha),
			"0.05 is one false alarm in twenty looks")
	}
	margin, err := unit.ParseShare(o.MarginText)
	if err != nil {
		return app.Usage("--margin "+o.MarginText+": "+err.Error(), "--margin 3%")
	}
	o.Margin = margin
	return nil
}

// ParseSince reads a date, a duration, or the first run.
func ParseSince(s *store.Store, text string, now time.Time) (time.Time, error) {
	if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return day, nil
	}
	weeks, isWeeks := strings.CutSuffix(text, "w")
	if n, err := strconv.ParseFloat(weeks, 64); isWeeks && err == nil && n > 0 {
		return now.Add(-time.Duration(n * float64(7*24*time.Hour))), nil
	}
	if d, err := unit.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if b, err := s.Find(text); err == nil {
		return b.Run.Created, nil
	}
	return now, app.Usage("--since "+text+" is no time and no run",
		"--since 90d, --since 12w, --since 2026-10-03, or --since RUN")
}

// ShowHistory follows a suite over its runs and prints the changes. With a gate a loss is an error.
func ShowHistory(p *app.App, suite string, o HistoryOptions) error {
	s, err := p.OpenStore()
	if err != nil {
		return err
	}
	r, damaged, err := History(p, suite, o)
	if err != nil {
		return err
	}
	if err := ShowResult(p, s, r, o.Result); err != nil {
		return err
	}
	if o.FailOn == "" {
		return damaged
	}
	return errors.Join(gateOf(s, r.Published.(history.Document)), damaged)
}

// History follows a suite over its runs. Unreadable runs are left out, and returned as damaged.
func History(p *app.App, suite string, o HistoryOptions) (r ResultDocument, damaged, err error) {
	s, err := p.OpenStore()
	if err != nil {
		return r, nil, err
	}
	bundles, damaged := measuredRuns(s, suite)
	if len(bundles) == 0 && damaged != nil && len(SuitesIn(s)) == 0 {
		return r, nil, damaged // the damaged runs may be runs of it
	}
	if len(bundles) == 0 {
		return r, nil, errors.Join(noHistory(p, s, suite), damaged)
	}
	if o.SinceText != "" {
		if o.Since, err = ParseSince(s, o.SinceText, time.Now()); err != nil {
			return r, nil, err
		}
	}
	doc, err := historyOf(suite, bundles, o.Options)
	if err != nil {
		return r, nil, err
	}
	if len(doc.Series) == 0 {
		return r, nil, app.Usage("no run of "+suite+" is as new as that", "leave --since out, or take it further back")
	}
	if !slices.ContainsFunc(doc.Series, func(s history.Series) bool {
		return len(s.Cells) > 0 || o.Metric == "" && len(s.Unmeasured) > 0
	}) {
		return r, nil, app.Usage("no cell of "+suite+" has that in its name, or that metric",
			"headroom history "+suite+" shows the names; headroom show last --json the metrics")
	}
	return historyResult(doc, bundles), damaged, nil
}

func historyResult(d history.Document, bundles []*store.Bundle) ResultDocument {
	r := ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return compared.History(d, o)
	}}
	for _, b := range bundles {
		r.Runs = append(r.Runs, b.Run)
	}
	return r
}

// gateOf returns the error of a gate.
func gateOf(st *store.Store, doc history.Document) error {
	var named []string
	shortID := st.ShortIDs()
	for _, s := range doc.Series {
		for _, t := range s.Cells {
			if t.Newest.Verdict == doc.Verdict {
				why := t.Newest.Why
				for _, r := range s.Runs {
					why = strings.ReplaceAll(why, r.ID, shortID(r.ID))
				}
				named = append(named, t.Name+": "+why)
			}
		}
		for _, u := range s.Unmeasured {
			if u.Verdict == doc.Verdict {
				named = append(named, u.Name+": no run has measured it")
			}
		}
	}
	switch doc.Verdict {
	case history.Regression:
		return &lab.Error{Kind: lab.Gate, What: "there is a regression of " + doc.Suite,
			Hints: append(named, "to accept a new level: --since RUN, its first run")}
	case history.Undecided:
		return &lab.Error{Kind: lab.Undecided, What: "it is undecided whether there is a regression of " + doc.Suite,
			Hints: named}
	}
	return nil
}

// measuredRuns returns the runs of a suite that have ended; an import without a suite counts by its label. The error
// names the damaged runs that are missing.
func measuredRuns(s *store.Store, suite string) ([]*store.Bundle, error) {
	rows, err := s.List()
	errs := []error{err}
	var bundles []*store.Bundle
	for _, r := range rows {
		if !InHistory(r, suite) {
			continue
		}
		b, err := s.Find(r.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		parts := []*store.Bundle{b}
		if b.Run.Pair == "" && b.Run.MadeBy().HasParts() {
			parts, err = s.Parts(b)
			errs = append(errs, err)
		}
		bundles = append(bundles, parts...)
	}
	return bundles, errors.Join(errs...)
}

// InHistory reports whether a suite's history includes a run: a run of the unchanged suite that has ended.
func InHistory(r store.Row, suite string) bool { return r.Status != lab.Running && ofSuite(r, suite) }

// ofSuite reports whether a run is a run of the unchanged suite. Runs that vary something can't be compared with
// others.
func ofSuite(r store.Row, suite string) bool { return SuiteOf(r) == suite && r.Experiment == "" }

// SuiteOf returns the suite of a run, or its label.
func SuiteOf(r store.Row) string {
	if r.Suite == "" {
		return r.Label
	}
	return r.Suite
}

func noHistory(p *app.App, s *store.Store, suite string) error {
	hints := []string{"headroom list shows the runs"}
	if names := SuitesIn(s); len(names) > 0 {
		hints = append(hints, "there are runs of "+prose.List(names))
	}
	return app.Usage(fmt.Sprintf("no run of a suite %q is kept", suite), hints...)
}

// SuitesIn returns the suites with a history in the store.
func SuitesIn(s *store.Store) []string {
	rows, _ := s.List()
	var names []string
	for _, r := range rows {
		if name := SuiteOf(r); name != "" && r.Experiment == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// historyOf reads the runs and analyses them. It reads whole snapshots only of runs around a change.
func historyOf(suite string, bundles []*store.Bundle, o history.Options) (history.Document, error) {
	knowledge, err := diff.Load()
	if err != nil {
		return history.Document{}, err
	}
	byID := map[string]*store.Bundle{}
	var runs []history.Run
	for _, b := range bundles {
		r, err := historyRun(b)
		if err != nil {
			return history.Document{}, err
		}
		if len(r.Cells) > 0 {
			runs, byID[r.ID] = append(runs, r), b
		}
	}
	known := func(run string) ([]lab.Fact, error) {
		b := byID[run]
		for _, t := range b.Run.Targets {
			if d, ok, err := b.Facts(t.Role, store.Before); ok || err != nil {
				return d.Facts, err
			}
		}
		return nil, nil
	}
	return history.Analyze(suite, runs, known, knowledge, o)
}

// historyRun reads a saved run for history.
func historyRun(b *store.Bundle) (history.Run, error) {
	r := history.Run{ID: b.Run.ID, Label: b.Run.Label, Created: b.Run.Created, Complete: b.Run.Status == lab.Complete}
	if len(b.Run.Targets) > 0 {
		t := b.Run.Targets[0]
		r.Target, r.Place = t.Target, t.Place
		for _, f := range t.Facts {
			if f.Key == "host.name" && f.Unknown == "" {
				r.Host = f.Value
			}
		}
	}
	arms := map[string]lab.Arm{}
	for _, a := range b.Run.Arms {
		arms[a.ID] = a
	}
	at := map[string]int{}
	for i, c := range b.Run.Cells {
		cell := history.Cell{Job: c.Job, Params: c.Params, Levels: arms[c.Arm].Levels,
			Role:   roleWithPlace(b.Run, arms[c.Arm].Role),
			Values: map[string][]float64{}, Own: c.Metrics}
		cell.Warnings.AddWhole(c.Warnings)
		at[c.ID], r.Cells = i, append(r.Cells, cell)
	}
	err := b.Run.Read(b.Repetitions(), func(c lab.Cell, rep lab.Repetition) error {
		cell := &r.Cells[at[c.ID]]
		cell.Warnings.AddRepetition(rep.Warnings)
		if rep.Failed() {
			cell.Failed++
		} else {
			for metric, v := range rep.Values {
				cell.Values[metric] = append(cell.Values[metric], v)
			}
		}
		return nil
	})
	return r, err
}

// roleWithPlace returns a role, with its place if that differs from the place of the run's history.
func roleWithPlace(r lab.Run, role string) string {
	for _, t := range r.Targets[min(1, len(r.Targets)):] {
		if t.Role == role {
			return strings.Join([]string{role, t.Target, t.Place.Path}, " ")
		}
	}
	return role
}
