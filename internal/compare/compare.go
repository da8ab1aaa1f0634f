package compare

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/validity"
)

// DefaultMargin is the largest difference that counts as none: causes other than the compared ones (the order of a
// kernel's sections, the place of a file on the disk) move a number as far.
const DefaultMargin = 0.03

// DefaultAlpha is the probability that any verdict of a document is wrong.
const DefaultAlpha = 0.05

// Options are the options of a comparison. The zero value has the defaults.
type Options struct {
	Margin float64
	// Margins are by metric; a name may end in *.
	Margins map[string]float64
	Alpha   float64
	// Metrics are compared instead of the primary ones; a name may end in *.
	Metrics []string
	// Anyway also compares incomparable numbers.
	Anyway bool
	// Others returns the values of a metric in other sessions of the same load, by session, on the machine and in the
	// place of a run. They show how far repetitions and sessions differ. Others is nil if no other sessions are known.
	Others func(of Run, cell Cell, metric string) [][]float64
}

func (o Options) margin(metric string) float64 {
	if m, ok := o.Margins[metric]; ok {
		return m
	}
	longest := ""
	for pattern := range o.Margins {
		if Matches(pattern, metric) && len(pattern) > len(longest) {
			longest = pattern
		}
	}
	if longest != "" {
		return o.Margins[longest]
	}
	return o.Margin
}

// others returns the values of a metric in sessions other than the two compared. If the two have different machines or
// places, it returns the sessions of the side that has more.
func (o Options) others(base, run Run, m match, metric string) [][]float64 {
	if o.Others == nil {
		return nil
	}
	one, two := o.Others(base, m.base, metric), o.Others(run, m.next, metric)
	if len(two) > len(one) {
		return two
	}
	return one
}

// pending is a comparison that waits for the confidence, which depends on the number of comparisons.
type pending struct {
	cell   ComparedMetric
	sample sample
	// of is the number of the pair of cells.
	of int
	// disturbed may have moved the numbers. anyway is true if that should not matter.
	disturbed []disturbance
	anyway    bool
}

// possible reports whether both sides have values to compare, however good.
func (p *pending) possible() bool { return len(p.sample.base) > 0 && len(p.sample.next) > 0 }

// Compare compares runs with a base. The knowledge ranks the other differences.
func Compare(knowledge *diff.Knowledge, base Run, runs []Run, o Options) Document {
	if o.Margin == 0 {
		o.Margin = DefaultMargin
	}
	if o.Alpha == 0 {
		o.Alpha = DefaultAlpha
	}
	doc := Document{Schema: Schema, Base: infoOf(base), New: []ComparedRun{}, Margin: o.Margin, Alpha: o.Alpha,
		Cells:     []ComparedMetric{},
		Unmatched: []Unmatched{}, Differences: []Difference{}, Warnings: []RunWarning{}}
	var all [][]pending
	for _, run := range runs {
		pairs, onlyBase, onlyNew := matchCells(base.Cells, run.Cells)
		list := pendingCells(base, run, pairs, o)
		for _, p := range list {
			if p.cell.Verdict != Incomparable {
				doc.Comparisons++
			}
		}
		all = append(all, list)
		doc.New = append(doc.New, ComparedRun{RunInfo: infoOf(run), Jobs: len(pairs), Counts: map[Verdict]int{},
			Means: []Mean{}, Outages: outages(pairs, onlyBase, onlyNew, o.Metrics)})
		doc.Unmatched = append(doc.Unmatched, unmatched(run.ID, base.ID, onlyBase)...)
		doc.Unmatched = append(doc.Unmatched, unmatched(run.ID, run.ID, onlyNew)...)
		differences, counts := otherDifferences(knowledge, base, run, pairs)
		doc.Differences = append(doc.Differences, differences...)
		doc.New[len(doc.New)-1].DifferenceCounts = counts
		doc.New[len(doc.New)-1].FactsKnown = knowsMachine(base) && knowsMachine(run)
		doc.Warnings = append(doc.Warnings, runWarnings(base, run, list)...)
	}
	doc.Confidence = stat.FamilyWise(o.Alpha, claims(doc.Comparisons, base, runs))
	power := newPower(doc.Confidence)
	for i, list := range all {
		for k := range list {
			p := &list[k]
			if p.cell.Verdict != Incomparable {
				p.applyDisturbances(p.cell.decide(p.sample, power))
			}
			if p.cell.Would != nil {
				doc.New[i].Doubtful++
			}
			if s := p.cell.Suggests; s != nil {
				if doc.New[i].Probably == nil {
					doc.New[i].Probably = map[Verdict]int{}
				}
				doc.New[i].Probably[s.Verdict]++
			}
			doc.New[i].Counts[p.cell.Verdict]++
			doc.Cells = append(doc.Cells, p.cell)
		}
		doc.Warnings = append(doc.Warnings, withheld(runs[i].ID, list)...)
		if doc.New[i].Counts[Differs]+doc.New[i].Counts[Agrees] > 0 {
			doc.Warnings = append(doc.Warnings, sessionsUnknown(base, runs[i]))
		}
		doc.New[i].Means = append(doc.New[i].Means, means(list, 1-o.Alpha)...)
		doc.New[i].Decide = decision(base, runs[i], list)
	}
	return doc
}

func infoOf(r Run) RunInfo {
	return RunInfo{ID: r.ID, Label: r.Label, Name: r.Name, Suite: r.Suite, Source: r.Source, Created: r.Created,
		Conditions: r.Conditions}
}

// knowsMachine reports whether a run has facts of its machine, other than the version of the load generator, which
// imported runs have too.
func knowsMachine(r Run) bool { return r.fact("kernel.release", "kernel.cmdline") != "" }

// paired reports whether the repetitions of two runs form pairs: two runs of one live comparison, or two arms of one
// run whose blocks were measured in turns. Stages that were measured one after the other share a pair too, but each has
// the order of a separate run.
func paired(base, next Run) bool {
	alone := slices.Contains([]string{"interleaved", "shuffled", "sequential"}, base.Order)
	return base.Pair != "" && base.Pair == next.Pair && !alone
}

// live reports whether two runs are the sides of one live comparison.
func live(base, next Run) bool { return paired(base, next) && base.Terms != nil }

// claims returns how many verdicts share the probability of a wrong one: as many as there are, or as a live comparison
// planned, since some of its loads may have failed.
func claims(comparisons int, base Run, runs []Run) int {
	n := max(comparisons, 1)
	if len(runs) == 1 && live(base, runs[0]) {
		n = max(n, base.Terms.Claims)
	}
	return n
}

// pendingCells returns the comparisons of all pairs of cells. Only incomparable ones have a verdict.
func pendingCells(base, run Run, pairs []match, o Options) []pending {
	var list []pending
	weights := validity.Weights()
	var carry map[string]stat.CarryOver
	var numbers map[int64]int
	if live(base, run) {
		all := periods(base, run)
		carry, numbers = carryOver(all), runNumbers(all)
	}
	for i, m := range pairs {
		ofCell, unchecked := cellReasons(base, run, m)
		asked := o.Metrics
		if paired(base, run) {
			ofCell, m.notes = withoutDeliberate(ofCell, m.notes)
			if len(asked) == 0 {
				asked = stopMetrics(base, m)
			}
		}
		for _, metric := range metricsOf(m, asked) {
			info := lab.MetricOf(m.base.Own, metric)
			c := ComparedMetric{Run: run.ID, Job: m.base.Job, Params: orEmpty(m.base.Params),
				Levels: orEmpty(m.base.Levels),
				Target: m.base.Target,
				Metric: metric, Unit: info.Unit, Better: info.Better, Margin: o.margin(metric),
				Base: figures(m.base.Values[metric]), New: figures(m.next.Values[metric]), Notes: m.notes,
				Unchecked: unchecked}
			if m.next.Job != m.base.Job {
				c.NewJob = m.next.Job
			}
			if !maps.Equal(m.next.Levels, m.base.Levels) {
				c.NewLevels = m.next.Levels
			}
			c.Reasons = reasonsFor(weights, base, run, m, ofCell, metric)
			if paired(base, run) {
				c.Reasons, c.Notes = onBothSides(base, run, m, c.Reasons, c.Notes)
			}
			p := pending{cell: c, sample: sampleOf(m.base.Values[metric], m.next.Values[metric], paired(base, run)),
				of: i, anyway: o.Anyway}
			p.cell.Reasons, p.disturbed = disturbances(weights, c.Reasons, base, run, m, metric)
			if p.sample.per == perPair && live(base, run) {
				p.sample.planned = base.Terms.FirstPairs()
				p.sample.doubts = doubtsOf(m.base.Values[metric], m.next.Values[metric], carry[metric], numbers)
			}
			if p.sample.per == perRepetition && base.ID != run.ID {
				p.sample.sessions = true
				p.sample.others = func() [][]float64 { return o.others(base, run, m, metric) }
			}
			p.cell.Base, p.cell.New = p.sample.figures(c.Base, c.New)
			if len(p.cell.Reasons) > 0 && (!o.Anyway || !p.possible()) {
				p.cell.Verdict, p.cell.Why = Incomparable, p.cell.Reasons[0].Text
			}
			p.cell.Anyway = len(p.cell.Reasons) > 0 && p.cell.Verdict != Incomparable
			list = append(list, p)
		}
	}
	return list
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// means returns the mean changes of speeds and of latencies, if there are any. It leaves out numbers that a disturbance
// may have moved by more than the margin. Of several latencies of a cell only the first counts: they agree mostly, and
// would give the cell more weight than others.
func means(list []pending, confidence float64) []Mean {
	var speeds, latencies []sample
	for i, p := range list {
		switch {
		case p.cell.Verdict == Incomparable || !p.anyway && movedBeyond(p.disturbed, p.cell.Margin):
		case speed(p.cell.Unit) && p.cell.Better == lab.Higher:
			speeds = append(speeds, p.sample)
		case p.cell.Unit == lab.Seconds && strings.Contains(p.cell.Metric, "latency") &&
			(i == 0 || list[i-1].cell.Unit != lab.Seconds || list[i-1].of != p.of):
			latencies = append(latencies, p.sample)
		}
	}
	var out []Mean
	for _, kind := range []struct {
		of      string
		samples []sample
	}{{"speed", speeds}, {"latency", latencies}} {
		if len(kind.samples) == 0 {
			continue
		}
		if m := meanChange(kind.samples, confidence); !math.IsNaN(m.Ratio) {
			out = append(out, Mean{Of: kind.of, Cells: len(kind.samples), RatioEstimate: m.Estimate()})
		}
	}
	return out
}

func unmatched(run, only string, cells []Cell) []Unmatched {
	var out []Unmatched
	for _, c := range cells {
		out = append(out, Unmatched{Run: run, Only: only, Job: c.Job, Params: orEmpty(c.Params),
			Levels: orEmpty(c.Levels), N: c.N})
	}
	return out
}

// sessionsUnknown returns the warning that explains the verdicts "differs" and "agrees".
func sessionsUnknown(base, run Run) RunWarning {
	return RunWarning{Run: run.ID, Code: "sessions-unknown",
		Text: fmt.Sprintf("%s and %s are one session each, and how much these loads vary between "+
			"sessions is unknown: that takes %d more saved runs of it, or two boots on each side; or measure both "+
			"alternately with headroom compare --live", base.Name, run.Name, stat.MinSessions)}
}

// runWarnings returns what the verdicts about a run do not cover.
func runWarnings(base, run Run, list []pending) []RunWarning {
	var out []RunWarning
	add := func(code, format string, args ...any) {
		out = append(out, RunWarning{Run: run.ID, Code: code, Text: fmt.Sprintf(format, args...)})
	}
	if base.ID == run.ID && base.Arm == run.Arm {
		add("same-run", "%s is the base itself", run.Name)
	}
	oneBoot, unknown, oneAfterTheOther := 0, 0, 0
	for _, p := range list {
		switch {
		case p.sample.oneBoot():
			oneBoot++
		case p.sample.per == perRepetition && min(p.sample.boots[0], p.sample.boots[1]) == 0:
			unknown++
		case p.sample.per == perRepetition && base.ID != run.ID:
			oneAfterTheOther++
		}
	}
	if oneBoot > 0 {
		add("one-boot", "%s and %s were measured in different boots, and one of them in one boot only: how much a "+
			"reboot alone changes is not known, and part of a difference may be that; reboot and measure again, "+
			"twice at least on each side", base.Name, run.Name)
	}
	if unknown > 0 {
		add("boots-unknown", "imported and published results do not name the boot in which they were measured, so "+
			"every difference includes what a reboot alone changes")
	}
	if oneAfterTheOther > 0 {
		add("one-after-the-other", "%s and %s were measured one after the other: a change in between, or a disturbance "+
			"that lasts as long as a run, is part of a difference but not of its interval; headroom compare --live "+
			"measures in turns", base.Name, run.Name)
	}
	if base.Status == lab.Running || run.Status == lab.Running {
		add("running", "a run has not ended; verdicts are not proved if you look again until one pleases")
	}
	return out
}
