package cli

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/compare"
	"headroom/internal/diff"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/stat"
	"headroom/internal/store"
	"headroom/internal/unit"
)

type compareOptions struct {
	margins []string
	metrics []string
	all     bool
	alpha   float64
	anyway  bool
	output  string
	// formatName is --format.
	formatName string
	raw        bool
	failOn     string
	serials    bool
	// warnings prints all warnings in full in a table.
	warnings bool

	// places are the folders of runs that were named by one, by ID.
	places map[string]string
}

func (p *program) compareCommand() *cobra.Command {
	o := compareOptions{alpha: compare.DefaultAlpha}
	var live liveOptions
	c := &cobra.Command{
		Use:   "compare BASE NEW...",
		Short: "Say whether runs differ, by how much and how surely, and what else differs",
		Long: `Compares runs with a base, load by load. "same", "faster" and "slower" are each
proved: an interval for the change lies within the margin, or excludes no
change. What is not proved is undecided, with the smallest difference that
would have been seen and how many more repetitions it needs. All verdicts of
a table together are right with 95% (--alpha).

Loads that are not the same, and numbers that a warning taints, are
incomparable; --anyway compares them nevertheless.

reference:NAME is a published result (headroom references lists them).

With --live both sides are measured now, in turns: two directories or devices,
two suites in one place, or two targets. Each load ends at its verdict.
With --layers, from the bottom up, what each layer of storage adds, on one
target or on several.`,
		Example: `  headroom compare before after
  headroom compare debian talos flatcar --margin 5%
  headroom compare before last --margin 3% --margin 'read.latency.*=10%'
  headroom compare before last --fail-on slower
  headroom compare before after -o page.html
  headroom compare before after --warnings
  headroom compare reference:kbench/samsung-850-pro last
  headroom compare --live --suite quick /mnt/a /mnt/b
  headroom compare --live --suite quick /srv --set-base iodepth=1 --set-new iodepth=2
  headroom compare --live --suite quick ssh://db1 ssh://db2 /srv
  headroom compare --live --suite nvme 'kube:pod?class=fast&mode=block' 'kube:pod?class=slow&mode=block'
  headroom compare --layers /dev/sdb /dev/vg/data /srv
  headroom compare --layers raw='kube:pod?node=w1&privileged' /dev/nvme0n1 pod='kube:pod?class=fast&node=w1'`,
		Args: func(c *cobra.Command, args []string) error {
			if live.live || live.layers {
				return nil
			}
			return argumentCount(2, unlimited, "a base and one run or more")(c, args)
		},
		ValidArgsFunction: p.completeComparable,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkLiveOptions(&live, c); err != nil {
				return err
			}
			if live.layers {
				live.result = documentOutput{output: o.output, format: o.formatName}
				return compareLayers(c.Context(), p, live, args)
			}
			if live.live {
				return compareLive(c.Context(), p, live, o, args)
			}
			return p.interruptible(c.Context(), func() error { return compareRuns(p, args, o) })
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.margins, "margin", nil,
		"largest difference that counts as none: 3%, or for one metric read.latency.p99=10% (default 3%)")
	f.Float64Var(&o.alpha, "alpha", o.alpha, "probability that any verdict of the table is wrong")
	f.StringSliceVar(&o.metrics, "metrics", nil,
		"metrics to compare, as in JSON; a trailing * stands for all that begin so")
	f.BoolVar(&o.all, "all", false, "compare all metrics that both sides have")
	f.BoolVar(&o.anyway, "anyway", false, "compare what is incomparable nevertheless")
	f.StringVarP(&o.output, "output", "o", "", "file to write: .html, .md, .csv or .json (default: a table)")
	formatFlag(c, &o.formatName, compareFormats())
	rawCellsFlag(c, &o.raw)
	f.StringVar(&o.failOn, "fail-on", "", "exit with 3 where something is slower, or different; with 5 where that is "+
		"undecided")
	f.BoolVar(&o.serials, "serials", false, "show serial numbers in files, and in formats for others")
	warningsFlag(c, &o.warnings)
	liveFlags(&live, p, c)
	p.jsonFlag(c)
	completeFlag(c, "fail-on", failOns)
	completeFlag(c, "metrics", commonMetrics)
	return c
}

func failOns() []string { return []string{"slower", "different", "undecided"} }

// commonMetrics are those that completion offers.
func commonMetrics() []string {
	var names []string
	for _, d := range []string{lab.Read, lab.Write} {
		names = append(names, lab.IOPS(d), lab.Bandwidth(d), lab.Latency(d, "mean"), lab.Latency(d, "p99"))
	}
	return append(names, lab.Latency(lab.Sync, "mean"), lab.Latency(lab.Sync, "p99"), "cpu.per_io")
}

// settings checks the flags and reads the margins.
func (o compareOptions) settings() (compare.Options, error) {
	s := compare.Options{Margin: compare.DefaultMargin, Margins: map[string]float64{}, Alpha: o.alpha,
		Metrics: o.metrics, Anyway: o.anyway}
	if !(o.alpha > 0 && o.alpha < 1) {
		return s, usage(fmt.Sprintf("--alpha %g is no probability", o.alpha), "0.05 is one wrong table in twenty")
	}
	if o.failOn != "" && !slices.Contains(failOns(), o.failOn) {
		return s, usage("--fail-on knows no "+strconv.Quote(o.failOn), "it is "+strings.Join(failOns(), ", "))
	}
	if o.all && len(o.metrics) > 0 {
		return s, usage("--all and --metrics exclude each other")
	}
	if o.all {
		s.Metrics = []string{"*"}
	}
	for _, text := range o.margins {
		metric, value, named := strings.Cut(text, "=")
		if !named {
			value = text
		}
		m, err := unit.ParseShare(value)
		if err != nil {
			return s, usage("--margin "+text+": "+err.Error(), "--margin 3%, or --margin read.latency.p99=10%")
		}
		if named {
			s.Margins[metric] = m
		} else {
			s.Margin = m
		}
	}
	return s, nil
}

// knownMetrics refuses names of metrics that no run has: a slip would compare nothing, or have no effect.
func (o compareOptions) knownMetrics(runs []compare.Run) error {
	asked := map[string]string{} // the flag by the name
	for _, name := range o.metrics {
		asked[name] = "--metrics"
	}
	for _, text := range o.margins {
		if name, _, named := strings.Cut(text, "="); named {
			asked[name] = "--margin"
		}
	}
	known := compare.MetricsOf(runs)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if !slices.ContainsFunc(known, func(metric string) bool { return compare.Matches(name, metric) }) {
			return usage(asked[name]+" "+name+": none of the runs has such a metric",
				"they have "+strings.Join(known, ", "))
		}
	}
	return nil
}

// withTerms takes from the terms of a live comparison what the flags leave open, so that the answer is the same again.
func (o compareOptions) withTerms(s compare.Options, t lab.Terms) compare.Options {
	if len(o.margins) == 0 {
		s.Margin = t.Margin
	}
	if s.Alpha == compare.DefaultAlpha {
		s.Alpha = t.Alpha
	}
	return s
}

func compareRuns(p *program, refs []string, o compareOptions) error {
	settings, err := o.settings()
	if err != nil {
		return err
	}
	format, err := o.format(p.json)
	if err != nil {
		return err
	}
	if ownOutput(o.output) {
		o.output = ""
	}
	o.places = map[string]string{}
	var runs []compare.Run
	var failed []error
	counters := map[string]bool{}
	for _, ref := range refs {
		r, moved, err := comparableRun(p, ref, (o.output != "" || format != "table" && format != "json") && !o.serials)
		for _, key := range moved {
			counters[key] = true
		}
		runs, failed = append(runs, r), append(failed, err)
		if strings.ContainsRune(ref, filepath.Separator) {
			o.places[r.ID] = ref
		}
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for i := range runs { // what one run saw move is a setting of none
		runs[i].Facts = slices.DeleteFunc(runs[i].Facts, func(f lab.Fact) bool { return counters[f.Key] })
	}
	if err := o.knownMetrics(runs); err != nil {
		return err
	}
	nameSides(runs)
	disambiguateNames(p, runs)
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	if t := runs[0].Terms; t != nil && len(runs) == 2 && runs[1].Pair == runs[0].Pair {
		settings = o.withTerms(settings, *t)
	}
	settings.Others = otherSessions(p, runs, o.anyway)
	d := compare.Compare(knowledge, runs[0], runs[1:], settings)
	if err := writeComparison(p, d, format, o); err != nil {
		return err
	}
	return compareGate(d, o.failOn)
}

// format that the output's name asks for.
func (o compareOptions) format(json bool) (string, error) {
	return chosenFormat(o.output, o.formatName, json, compareFormats())
}

func writeComparison(p *program, d compare.Document, format string, o compareOptions) error {
	var b bytes.Buffer
	options := report.Options{Width: columns(p.Stdout), Serials: o.serials, RawCells: o.raw,
		RepeatCommand: o.repeatFlags(),
		Warnings:      o.warnings}
	if o.output == "" {
		options.Colour = p.colour(p.Stdout)
	}
	options.ShortID = commandLineNames(p, o)
	if format == "json" {
		if o.output == "" {
			return p.printJSON(d)
		}
		if err := encodeJSON(&b, d); err != nil {
			return err
		}
	}
	for _, f := range report.CompareFormats() {
		if f.Name == format {
			if err := f.Write(&b, d, options); err != nil {
				return err
			}
		}
	}
	if o.output != "" {
		return writeFile(p, o.output, b.Bytes())
	}
	_, err := p.Stdout.Write(b.Bytes())
	return err
}

// commandLineNames says how the runs of a comparison are named on a command line: by ID where the store has them.
func commandLineNames(p *program, o compareOptions) func(id string) string {
	s, err := p.openStore()
	return func(id string) string {
		switch {
		case o.places[id] != "":
			return lab.ShellQuote([]string{o.places[id]})
		case err != nil || !s.Has(id):
			return id
		}
		return s.ShortID(id)
	}
}

// repeatFlags are the flags that ask for the same comparison once more.
func (o compareOptions) repeatFlags() string {
	var argv []string
	for _, m := range o.margins {
		argv = append(argv, "--margin", m)
	}
	if len(o.metrics) > 0 {
		argv = append(argv, "--metrics", strings.Join(o.metrics, ","))
	}
	if o.all {
		argv = append(argv, "--all")
	}
	if o.alpha != compare.DefaultAlpha {
		argv = append(argv, "--alpha", strconv.FormatFloat(o.alpha, 'g', -1, 64))
	}
	if o.anyway {
		argv = append(argv, "--anyway")
	}
	return lab.ShellQuote(argv)
}

// findRun finds a saved run by what the user called it.
func findRun(p *program, ref string) (*store.Bundle, error) {
	s, err := p.openStore()
	if err != nil {
		return nil, err
	}
	return s.Find(ref)
}

// comparable reads a run, or a published result, as one side of a comparison. Counters are the keys of facts that moved
// while it went on and are no settings.
func comparableRun(p *program, ref string, redact bool) (r compare.Run, counters []string, err error) {
	if published, ok, err := findReference(ref); err != nil {
		return r, nil, err
	} else if ok {
		r, err = comparableReference(published, redact)
		return r, nil, err
	}
	b, err := findRun(p, ref)
	if err != nil {
		return r, nil, err
	}
	summary, err := report.Summarize(b.Run, b.Repetitions())
	if err != nil {
		return r, nil, err
	}
	all, counters, err := allFacts(b)
	if err != nil {
		return r, nil, err
	}
	return report.Comparable(summary, b.Run, runName(p, ref, b.Run), all, redact), counters, nil
}

// runName is what a run is called in a comparison: its label, or the short form of its ID.
func runName(p *program, ref string, run lab.Run) string {
	switch {
	case run.Label != "":
		return run.Label
	case strings.ContainsRune(ref, filepath.Separator):
		return filepath.Base(ref)
	}
	if s, err := p.openStore(); err == nil {
		return s.ShortID(run.ID)
	}
	return run.ID
}

// nameSides calls the two sides of a live comparison, which have one label or none, by what they differ in.
func nameSides(runs []compare.Run) {
	if len(runs) != 2 || runs[0].Pair == "" || runs[0].Pair != runs[1].Pair || runs[0].Label != runs[1].Label {
		return
	}
	place := func(r compare.Run) string {
		if len(r.Targets) == 0 {
			return ""
		}
		return r.Targets[0].Place.Path
	}
	a, b := runs[0], runs[1]
	switch {
	case a.ID == b.ID:
	case place(a) != place(b) && a.Suite == b.Suite:
		runs[0].Name, runs[1].Name = place(a), place(b)
	case place(a) == place(b) && a.Suite != b.Suite:
		runs[0].Name, runs[1].Name = a.Suite, b.Suite
	case a.ID == a.Pair:
		runs[0].Name, runs[1].Name = "base", "new"
	}
}

// disambiguateNames adds the ID to the names of different runs that are called the same.
func disambiguateNames(p *program, runs []compare.Run) {
	ids := map[string][]string{}
	for _, r := range runs {
		if !slices.Contains(ids[r.Name], r.ID) {
			ids[r.Name] = append(ids[r.Name], r.ID)
		}
	}
	s, err := p.openStore()
	if err != nil {
		return // the runs came from paths, and nothing has a short ID
	}
	for i, r := range runs {
		if len(ids[r.Name]) > 1 {
			runs[i].Name += " " + s.ShortID(r.ID)
		}
	}
}

// allFacts are those of a run's machine: the whole snapshot, with what the header alone knows (the versions that an
// import names); and the keys of those that turned out to be counters by its end.
func allFacts(b *store.Bundle) (all []lab.Fact, counters []string, err error) {
	known := map[string]bool{}
	add := func(list []lab.Fact) {
		for _, f := range list {
			if id := f.Key + "\x00" + f.About; !known[id] {
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
			break // of several targets the first tells the machine, as in facts diff
		}
	}
	for _, t := range b.Run.Targets {
		for _, f := range t.Facts {
			if !facts.Bulk(f.Key) {
				add([]lab.Fact{f})
			}
		}
	}
	return all, counters, nil
}

// compareGate is the error that --fail-on asks for.
func compareGate(d compare.Document, failOn string) error {
	counts := map[compare.Verdict]int{}
	total := 0
	for _, c := range d.Cells {
		counts[c.Verdict]++
		total++
	}
	bad := counts[compare.Slower] + counts[compare.Worse]
	uncertainty := counts[compare.Undecided] + counts[compare.Differs] + counts[compare.Incomparable]
	what := "slower or worse"
	switch failOn {
	case "":
		return nil
	case "different":
		bad, what = bad+counts[compare.Faster]+counts[compare.Better], "different"
	case "undecided":
		bad = 0
	}
	switch {
	case bad > 0:
		return &lab.Error{Kind: lab.Gate,
			What: fmt.Sprintf("%d of %s %s", bad, prose.Count(total, "number"), verbal(bad, what))}
	case total == 0:
		return &lab.Error{Kind: lab.Undecided, What: "the runs have no number in common"}
	case uncertainty > 0:
		return &lab.Error{Kind: lab.Undecided, What: fmt.Sprintf("%d of %s could not be decided", uncertainty,
			prose.Count(total, "number")),
			Hints: gateHints(counts, d.New)}
	}
	return nil
}

// gateHints say what would decide it.
func gateHints(counts map[compare.Verdict]int, runs []compare.ComparedRun) []string {
	var hints []string
	if counts[compare.Undecided] > 0 {
		hints = append(hints, "undecided: measure both with more repetitions (headroom run --repeat), or in turns "+
			"until it is decided (headroom compare --live); a wider --margin takes fewer")
	}
	if counts[compare.Differs] > 0 {
		hints = append(hints,
			fmt.Sprintf("differs: how far sessions of this load differ is not known; measure in turns (headroom "+
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
