package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headroom/internal/diff"
	"headroom/internal/document"
	"headroom/internal/history"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/store"
	"headroom/internal/unit"
)

type historyOptions struct {
	history.Options
	sinceText, marginText string
	failOn                string
	result                documentOutput
}

func (p *program) historyCommand() *cobra.Command {
	var o historyOptions
	c := &cobra.Command{
		Use:   "history SUITE",
		Short: "Follow a suite over its runs: when did its numbers change, and what changed with them",
		Long: `Puts the runs of a suite in the order of time, machine by machine and place by
place, and finds where the level of a cell changed: at most one history in 20
shows a change where there was none, over all cells of a machine. At each
change it compares the machine before and after. The newest run, which nothing
has followed yet, is compared with those before it.

Only the same job with the same parameters is one cell; when a parameter
changes, another history begins. Imported runs have no suite: those with one
label are a history.

--fail-on regression makes it a gate. It exits with
  3  when the newest run is worse than those before it, or the last change of
     a cell was for the worse (--since RUN, the first one at the new level,
     accepts it)
  5  when that can't be told: too few runs, or they scatter too much for the
     margin
  0  otherwise: a loss of more than the margin is excluded, with 95% a cell`,
		Example: `  headroom history nvme
  headroom history nvme --since 90d --cell randread
  headroom history nvme --metric read.latency.p99
  headroom history nvme --margin 5% --fail-on regression
  headroom history nvme -o history.html
  headroom history nvme --format markdown`,
		Args: argumentCount(1, 1,
			"the name of a suite, or the label of imports, as headroom list shows it"),
		ValidArgsFunction: p.completeMeasuredSuites,
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if _, _, err := o.result.formats(p.json); err != nil {
				return err
			}
			return showHistory(p, args[0], o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Cell, "cell", "", "follow only cells with this in their name, as the table shows it")
	f.StringVar(&o.Metric, "metric", "", "follow this metric, as in JSON (default: IOPS; where the load is paced, "+
		"the mean latency)")
	f.StringVar(&o.sinceText, "since", "",
		"leave out what is older: 90d, 12w, a date such as 2026-10-03, or the first "+
			"run to take")
	f.StringVar(&o.marginText, "margin", "3%", "largest loss that counts as none")
	f.Float64Var(&o.Alpha, "alpha", history.DefaultAlpha,
		"probability of a false alarm at one look; 0.01 for a gate that looks every week")
	f.StringVar(&o.failOn, "fail-on", "", "regression: exit with 3 when there is one, 5 when it can't be told")
	documentFlags(&o.result, c)
	p.jsonFlag(c)
	completeFlag(c, "fail-on", func() []string { return []string{failOnRegression} })
	return c
}

const failOnRegression = "regression"

// check checks the flags and reads the margin.
func (o *historyOptions) check() error {
	if o.failOn != "" && o.failOn != failOnRegression {
		return usage("--fail-on knows no "+strconv.Quote(o.failOn), "--fail-on regression")
	}
	if !(o.Alpha > 0 && o.Alpha < 1) {
		return usage(fmt.Sprintf("--alpha %g is no probability", o.Alpha), "0.05 is one false alarm in twenty looks")
	}
	margin, err := unit.ParseShare(o.marginText)
	if err != nil {
		return usage("--margin "+o.marginText+": "+err.Error(), "--margin 3%")
	}
	o.Margin = margin
	return nil
}

// parseSince reads a date, how long ago, or the run from which on.
func parseSince(s *store.Store, text string, now time.Time) (time.Time, error) {
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
	return now, usage("--since "+text+" is no time and no run",
		"--since 90d, --since 12w, --since 2026-10-03, or --since RUN")
}

func showHistory(p *program, suite string, o historyOptions) error {
	s, err := p.openStore()
	if err != nil {
		return err
	}
	bundles, damaged := measuredRuns(s, suite)
	if len(bundles) == 0 && damaged != nil && len(suitesIn(s)) == 0 {
		return damaged // there may well be some
	}
	if len(bundles) == 0 {
		return errors.Join(noHistory(p, s, suite), damaged)
	}
	if o.sinceText != "" {
		if o.Since, err = parseSince(s, o.sinceText, time.Now()); err != nil {
			return err
		}
	}
	doc, err := historyOf(suite, bundles, o.Options)
	if err != nil {
		return err
	}
	if len(doc.Series) == 0 {
		return usage("no run of "+suite+" is as new as that", "leave --since out, or take it further back")
	}
	if !slices.ContainsFunc(doc.Series, func(s history.Series) bool { return len(s.Cells) > 0 }) {
		return usage("no cell of "+suite+" has that in its name, or that metric",
			"headroom history "+suite+" shows the names; headroom show last --json the metrics")
	}
	if err := showResult(p, s, historyResult(doc, bundles), o.result); err != nil {
		return err
	}
	if o.failOn == "" {
		return damaged
	}
	return errors.Join(gateOf(s, doc), damaged)
}

func historyResult(d history.Document, bundles []*store.Bundle) resultDocument {
	r := resultDocument{published: d, document: func(o report.Options) document.Document {
		return report.HistoryDocument(d, o)
	}}
	for _, b := range bundles {
		r.runs = append(r.runs, b.Run)
	}
	return r
}

// gateOf is the error that a gate answers with.
func gateOf(st *store.Store, doc history.Document) error {
	var named []string
	for _, s := range doc.Series {
		for _, t := range s.Cells {
			if t.Newest.Verdict == doc.Verdict {
				why := t.Newest.Why
				for _, r := range s.Runs {
					why = strings.ReplaceAll(why, r.ID, st.ShortID(r.ID))
				}
				named = append(named, t.Name+": "+why)
			}
		}
	}
	switch doc.Verdict {
	case history.Regression:
		return &lab.Error{Kind: lab.Gate, What: "there is a regression of " + doc.Suite,
			Hints: append(named, "a new level that is to stay is accepted with --since RUN, the first one at it")}
	case history.Undecided:
		return &lab.Error{Kind: lab.Undecided, What: "it can't be told whether there is a regression of " + doc.Suite,
			Hints: named}
	}
	return nil
}

// measuredRuns are the runs of a suite that have ended; an import knows no suite, and goes by its label. Damaged runs
// are named in the error, beside the others.
func measuredRuns(s *store.Store, suite string) ([]*store.Bundle, error) {
	rows, err := s.List()
	errs := []error{err}
	var bundles []*store.Bundle
	for _, r := range rows {
		if r.Status == lab.Running || !ofSuite(r, suite) {
			continue
		}
		b, err := s.Find(r.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		bundles = append(bundles, b)
	}
	return bundles, errors.Join(errs...)
}

// ofSuite says whether a run is one of a suite as it is: what an experiment varies can't be held against others.
func ofSuite(r store.Row, suite string) bool { return suiteOf(r) == suite && r.Experiment == "" }

func suiteOf(r store.Row) string {
	if r.Suite == "" {
		return r.Label
	}
	return r.Suite
}

func noHistory(p *program, s *store.Store, suite string) error {
	hints := []string{"headroom list shows the runs"}
	if names := suitesIn(s); len(names) > 0 {
		hints = append(hints, "there are runs of "+prose.List(names))
	}
	return usage(fmt.Sprintf("no run of a suite %q is kept", suite), hints...)
}

func suitesIn(s *store.Store) []string {
	rows, _ := s.List()
	var names []string
	for _, r := range rows {
		if name := suiteOf(r); name != "" && r.Experiment == "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (p *program) completeMeasuredSuites(_ *cobra.Command, args []string, _ string) ([]string,
	cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := p.openStore()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return suitesIn(s), cobra.ShellCompDirectiveNoFileComp
}

// historyOf reads the runs and follows them. Whole snapshots are read of the runs around a change only.
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

// historyRun is a saved run as history takes it: cells of which nothing was measured are left out.
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
	at := map[string]*history.Cell{}
	var cells []*history.Cell
	for _, c := range b.Run.Cells {
		cell := &history.Cell{Job: c.Job, Params: c.Params, Levels: arms[c.Arm].Levels,
			Role:   roleWithPlace(b.Run, arms[c.Arm].Role),
			Values: map[string][]float64{}, Own: c.Metrics, Warnings: c.Warnings}
		at[c.ID], cells = cell, append(cells, cell)
	}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return r, err
		}
		cell := at[rep.Cell]
		if cell == nil {
			continue
		}
		for metric, v := range rep.Values {
			cell.Values[metric] = append(cell.Values[metric], v)
		}
		cell.OfRepetitions = append(cell.OfRepetitions, rep.Warnings...)
	}
	for _, c := range cells {
		if len(c.Values) > 0 {
			r.Cells = append(r.Cells, *c)
		}
	}
	return r, nil
}

// roleWithPlace is a role, with its place where that is not the one that the run's history is of.
func roleWithPlace(r lab.Run, role string) string {
	for _, t := range r.Targets[min(1, len(r.Targets)):] {
		if t.Role == role {
			return strings.Join([]string{role, t.Target, t.Place.Path}, " ")
		}
	}
	return role
}
