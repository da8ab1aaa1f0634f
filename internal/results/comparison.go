package results

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/compared"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// CompareOptions are the flags of compare for saved runs.
type CompareOptions struct {
	Margins []string
	Metrics []string
	All     bool
	Alpha   float64
	Anyway  bool
	FailOn  string
	Result  DocumentOutput
}

// FailOns are the values of --fail-on.
func FailOns() []string { return []string{"slower", "different", "undecided"} }

// CommonMetrics are the metrics that completion offers.
func CommonMetrics() []string {
	var names []string
	for _, d := range []string{lab.Read, lab.Write} {
		names = append(names, lab.IOPS(d), lab.Bandwidth(d), lab.Latency(d, "mean"), lab.Latency(d, "p99"))
	}
	return append(names, lab.Latency(lab.Sync, "mean"), lab.Latency(lab.Sync, "p99"), "cpu.per_io")
}

// Settings checks the flags and reads the margins.
func (o CompareOptions) Settings() (compare.Options, error) {
	s := compare.Options{Margin: compare.DefaultMargin, Margins: map[string]float64{}, Alpha: o.Alpha,
		Metrics: o.Metrics, Anyway: o.Anyway}
	if !unit.IsShare(o.Alpha) {
		return s, app.Usage(fmt.Sprintf("--alpha %g is no probability", o.Alpha), "0.05 is one wrong table in twenty")
	}
	if o.FailOn != "" && !slices.Contains(FailOns(), o.FailOn) {
		return s, app.Usage("--fail-on knows no "+strconv.Quote(o.FailOn), "it is "+strings.Join(FailOns(), ", "))
	}
	if o.All && len(o.Metrics) > 0 {
		return s, app.Usage("--all and --metrics exclude each other")
	}
	if o.All {
		s.Metrics = []string{"*"}
	}
	for _, text := range o.Margins {
		metric, value, named := strings.Cut(text, "=")
		if !named {
			value = text
		}
		m, err := unit.ParseShare(value)
		if err != nil {
			return s, app.Usage("--margin "+text+": "+err.Error(), "--margin 3%, or --margin read.latency.p99=10%")
		}
		if named {
			s.Margins[metric] = m
		} else {
			s.Margin = m
		}
	}
	return s, nil
}

// knownMetrics refuses names of metrics that no run has: a typing error would compare nothing, or have no effect.
func (o CompareOptions) knownMetrics(runs []compare.Run) error {
	asked := map[string]string{} // by name, the flag that has it
	for _, name := range o.Metrics {
		asked[name] = "--metrics"
	}
	for _, text := range o.Margins {
		if name, _, named := strings.Cut(text, "="); named {
			asked[name] = "--margin"
		}
	}
	known := compare.MetricsOf(runs)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !slices.ContainsFunc(known, func(metric string) bool { return compare.Matches(name, metric) }) {
			return app.Usage(asked[name]+" "+name+": none of the runs has such a metric",
				"they have "+strings.Join(known, ", "))
		}
	}
	return nil
}

// withTerms takes values that the flags leave open from the terms of a live comparison, so the answer stays the same.
func (o CompareOptions) withTerms(s compare.Options, t lab.Terms) compare.Options {
	if len(o.Margins) == 0 {
		s.Margin = t.Margin
	}
	if s.Alpha == compare.DefaultAlpha {
		s.Alpha = t.Alpha
	}
	return s
}

// CompareRuns compares saved runs or references with the first of them, and prints the result. With a gate it returns
// an error for a loss, a difference or an undecided number.
func CompareRuns(p *app.App, refs []string, o CompareOptions) error {
	file, printed, err := o.Result.Formats(p.JSON)
	if err != nil {
		return err
	}
	r, err := Comparison(p, refs, o, file != "" || printed != "table" && printed != "json")
	if err != nil {
		return err
	}
	return o.showComparison(p, nil, r)
}

// Comparison compares saved runs or references with the first of them. With forOthers it also makes a result without
// serial numbers.
func Comparison(p *app.App, refs []string, o CompareOptions, forOthers bool) (ResultDocument, error) {
	sides, err := sidesOf(p, refs)
	if err != nil {
		return ResultDocument{}, err
	}
	return comparisonResult(p, sides, o, forOthers)
}

func (o CompareOptions) showComparison(p *app.App, s *store.Store, r ResultDocument) error {
	return errors.Join(ShowResult(p, s, r, o.Result), compareGate(r.Published.(compare.Document), o.FailOn))
}

// comparedSide is a compared side, by its name on the command line: a saved run, or otherwise a published result.
type comparedSide struct {
	ref       string
	bundle    *store.Bundle
	published reference.Reference
}

// sidesOf finds the compared sides.
func sidesOf(p *app.App, refs []string) (sides []comparedSide, err error) {
	var failed []error
	for _, ref := range refs {
		side := comparedSide{ref: ref}
		ok := false
		if side.published, ok, err = FindReference(ref); err == nil && !ok {
			side.bundle, err = findRun(p, ref)
		}
		sides, failed = append(sides, side), append(failed, err)
	}
	return sides, errors.Join(failed...)
}

// comparisonResult compares sides with the first of them. The result for others has no serial numbers: it is another
// comparison, as facts are hidden before they are compared.
func comparisonResult(p *app.App, sides []comparedSide, o CompareOptions, forOthers bool) (ResultDocument, error) {
	settings, err := o.Settings()
	if err != nil {
		return ResultDocument{}, err
	}
	d, err := compareSides(p, sides, o, settings, false)
	if err != nil {
		return ResultDocument{}, err
	}
	hidden := d
	if forOthers && !o.Result.Report.Serials {
		if hidden, err = compareSides(p, sides, o, settings, true); err != nil {
			return ResultDocument{}, err
		}
	}
	var runs []lab.Run
	for _, side := range sides {
		if side.bundle != nil {
			runs = append(runs, side.bundle.Run)
		}
	}
	id, repeat := commandLineNames(p, d, sides), o.repeatFlags()
	return ResultDocument{Published: d, Hidden: hidden, Runs: runs, Document: func(r report.Options) document.Document {
		r.ShortID, r.RepeatCommand = id, repeat
		shown := hidden
		if r.Serials {
			shown = d
		}
		found := compared.Runs(shown, r)
		if len(sides) == 2 && allProfiled(sides) {
			found.Blocks = append(found.Blocks, document.Command{What: "what each I/O costs on either side",
				Text: "headroom profile diff " + id(d.Base.ID) + " " + id(d.New[0].ID)})
		}
		return found
	}}, nil
}

// allProfiled reports whether all sides have profiled loads.
func allProfiled(sides []comparedSide) bool {
	return !slices.ContainsFunc(sides, func(s comparedSide) bool { return s.bundle == nil || !s.bundle.Profiled() })
}

// compareSides compares runs with the first of them.
func compareSides(p *app.App, sides []comparedSide, o CompareOptions, settings compare.Options,
	hide bool) (compare.Document, error) {
	var runs []compare.Run
	var failed []error
	counters, known := map[string]bool{}, 0
	for _, side := range sides {
		r, moved, err := comparableRun(p, side, hide)
		if known += facts.Memory(r.Facts); known > MostKnown {
			return compare.Document{}, tooMuchKnown("compare fewer runs at once")
		}
		for _, key := range moved {
			counters[key] = true
		}
		runs, failed = append(runs, r), append(failed, err)
	}
	if err := errors.Join(failed...); err != nil {
		return compare.Document{}, err
	}
	for i := range runs { // a counter of one run is not a setting of any
		runs[i].Facts = slices.DeleteFunc(runs[i].Facts, func(f lab.Fact) bool { return counters[f.Key] })
	}
	if err := o.knownMetrics(runs); err != nil {
		return compare.Document{}, err
	}
	NameSides(runs)
	disambiguateNames(p, runs)
	knowledge, err := diff.Load()
	if err != nil {
		return compare.Document{}, err
	}
	if t := runs[0].Terms; t != nil && len(runs) == 2 && runs[1].Pair == runs[0].Pair {
		settings = o.withTerms(settings, *t)
	}
	settings.Others = otherSessions(p, runs, o.Anyway)
	d := compare.Compare(knowledge, runs[0], runs[1:], settings)
	return d, addFunctions(&d, sides)
}

// MostKnown is how much memory the facts of one result may take, in bytes. The facts of a machine with 4,000 disks take
// 40 MB, of most machines less than 2 MB.
const MostKnown = 128 << 20

func tooMuchKnown(hint string) error {
	return app.Usage(fmt.Sprintf("the facts of these machines take more than %d MiB", MostKnown>>20), hint)
}

// commandLineNames returns the names of a comparison's runs for a command line: IDs if the store has the runs, and
// folders if the user named folders.
func commandLineNames(p *app.App, d compare.Document, sides []comparedSide) func(id string) string {
	places := map[string]string{}
	for i, side := range sides {
		id := d.Base.ID
		if i > 0 {
			id = d.New[i-1].ID
		}
		if strings.ContainsRune(side.ref, filepath.Separator) {
			places[id] = lab.ShellQuote([]string{side.ref})
		}
	}
	s, err := p.OpenStore()
	return func(id string) string {
		if places[id] == "" && err == nil && s.Has(id) {
			return s.ShortID(id)
		}
		return cmp.Or(places[id], id)
	}
}

// repeatFlags returns the flags that repeat the comparison.
func (o CompareOptions) repeatFlags() string {
	var argv []string
	for _, m := range o.Margins {
		argv = append(argv, "--margin", m)
	}
	if len(o.Metrics) > 0 {
		argv = append(argv, "--metrics", strings.Join(o.Metrics, ","))
	}
	if o.All {
		argv = append(argv, "--all")
	}
	if o.Alpha != compare.DefaultAlpha {
		argv = append(argv, "--alpha", strconv.FormatFloat(o.Alpha, 'g', -1, 64))
	}
	if o.Anyway {
		argv = append(argv, "--anyway")
	}
	return lab.ShellQuote(argv)
}

// findRun finds a saved run by the user's name for it.
func findRun(p *app.App, ref string) (*store.Bundle, error) {
	s, err := p.OpenStore()
	if err != nil {
		return nil, err
	}
	return s.Find(ref)
}

// comparableRun reads a side of a comparison. Counters are the keys of facts that changed during the run, which are not
// settings.
func comparableRun(p *app.App, side comparedSide, redact bool) (r compare.Run, counters []string, err error) {
	b := side.bundle
	if b == nil {
		r, err = comparableReference(side.published, redact)
		return r, nil, err
	}
	measured, err := summary.Of(b.Run, b.Repetitions())
	if err != nil {
		return r, nil, err
	}
	all, counters, err := allFacts(b)
	if err != nil {
		return r, nil, err
	}
	return summary.Comparable(measured, b.Run, runName(p, side.ref, b.Run), all, redact), counters, nil
}

// runName returns the name of a run in a comparison: its label, or the short form of its ID.
func runName(p *app.App, ref string, run lab.Run) string {
	switch {
	case run.Label != "":
		return run.Label
	case strings.ContainsRune(ref, filepath.Separator):
		return filepath.Base(ref)
	}
	if s, err := p.OpenStore(); err == nil {
		return s.ShortID(run.ID)
	}
	return run.ID
}

// disambiguateNames adds the ID to the names of different runs with one name.
func disambiguateNames(p *app.App, runs []compare.Run) {
	ids := map[string][]string{}
	for _, r := range runs {
		if !slices.Contains(ids[r.Name], r.ID) {
			ids[r.Name] = append(ids[r.Name], r.ID)
		}
	}
	s, err := p.OpenStore()
	if err != nil {
		return // the runs came from paths, and nothing has a short ID
	}
	shortID := s.ShortIDs()
	for i, r := range runs {
		if len(ids[r.Name]) > 1 {
			runs[i].Name += " " + shortID(r.ID)
		}
	}
}

// allFacts returns the facts of a run's machine: the whole snapshot, with facts that only the header has (versions in
// an import). It also returns the keys of facts that changed until its end, so they are counters.
func allFacts(b *store.Bundle) (all []lab.Fact, counters []string, err error) {
	type name struct{ key, about string }
	known := map[name]bool{}
	add := func(list []lab.Fact) {
		all = slices.Grow(all, len(list))
		for _, f := range list {
			if id := (name{f.Key, f.About}); !known[id] {
				known[id] = true
				all = append(all, f)
			}
		}
	}
	for _, t := range b.Run.Targets {
		d, ok, err := b.Facts(t.Role, store.Before)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			after, _, err := b.Facts(t.Role, store.After)
			if err != nil {
				return nil, nil, err
			}
			counters = facts.Counters(d.Facts, after.Facts)
			add(d.Facts)
			break // the first of several targets represents the machine, as in facts diff
		}
	}
	for _, t := range b.Run.Targets {
		for _, f := range t.Facts {
			if !catalogue.Bulk(f.Key) {
				add([]lab.Fact{f})
			}
		}
	}
	return all, counters, nil
}

// compareGate returns the error of --fail-on.
func compareGate(d compare.Document, failOn string) error {
	counts := map[compare.Verdict]int{}
	total := 0
	for _, c := range d.Cells {
		counts[c.Verdict]++
		total++
	}
	var stopped, unknown []string
	for _, n := range d.New {
		for _, o := range n.Outages {
			name := o.Job + " in " + n.Name
			if o.Kind.Outage() {
				stopped = append(stopped, name)
			} else {
				unknown = append(unknown, name)
			}
		}
	}
	bad := counts[compare.Slower] + counts[compare.Worse]
	uncertainty := counts[compare.Undecided] + counts[compare.Differs] + counts[compare.Agrees] +
		counts[compare.Incomparable]
	what := "slower or worse"
	switch failOn {
	case "":
		return nil
	case "different":
		bad, what = bad+counts[compare.Faster]+counts[compare.Better], "different"
	case "undecided":
		bad, stopped, unknown = 0, nil, append(stopped, unknown...)
	}
	switch {
	case len(stopped) > 0:
		return &lab.Error{Kind: lab.Gate, What: "no result: " + prose.List(stopped),
			Hints: []string{"headroom show RUN explains a failure; otherwise it measured 0"}}
	case bad > 0:
		return &lab.Error{Kind: lab.Gate,
			What: fmt.Sprintf("%d of %s %s", bad, prose.Count(total, "number"), verbal(bad, what))}
	case len(unknown) > 0:
		return &lab.Error{Kind: lab.Undecided, What: "not all repetitions have a number: " + prose.List(unknown)}
	case total == 0:
		return &lab.Error{Kind: lab.Undecided, What: "the runs have no number in common"}
	case uncertainty > 0:
		return &lab.Error{Kind: lab.Undecided, What: fmt.Sprintf("%d of %s could not be decided", uncertainty,
			prose.Count(total, "number")),
			Hints: gateHints(counts, d.New)}
	}
	return nil
}

// gateHints suggests how to decide the undecided numbers.
func gateHints(counts map[compare.Verdict]int, runs []compare.ComparedRun) []string {
	var hints []string
	if counts[compare.Undecided] > 0 {
		hints = append(hints, "undecided: measure both with more repetitions (headroom run --repeat), or in turns "+
			"until it is decided (headroom compare --live); a wider --margin takes fewer")
	}
	if counts[compare.Differs]+counts[compare.Agrees] > 0 {
		hints = append(hints,
			fmt.Sprintf("differs, agrees: how far sessions of this load differ is not known; measure in turns (headroom "+
				"compare --live), each side in two boots, or the suite %d times more", stat.MinSessions))
	}
	doubtful := 0
	for _, n := range runs {
		doubtful += n.Doubtful
	}
	if doubtful > 0 {
		hints = append(hints,
			fmt.Sprintf("incomparable: with --anyway, %s of them would be judged in spite of warnings",
				strconv.Itoa(doubtful)))
	} else if counts[compare.Incomparable] > 0 {
		hints = append(hints, "incomparable: the table says why; --anyway compares nevertheless")
	}
	return hints
}

func verbal(n int, what string) string {
	if n == 1 {
		return "is " + what
	}
	return "are " + what
}
