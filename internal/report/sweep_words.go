package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/sweep"
	"headroom/internal/unit"
)

// setting is a level as one types it: "guest:iothreads=4".
func setting(d *sweep.Document, level string) string { return d.Factor + "=" + level }

// sweepAnswer is what there is to know, the best choice first.
func sweepAnswer(d *sweep.Document) []string {
	var lines []string
	if d.Chain != nil {
		lines = append(lines, chainAnswer(d)...)
	}
	for i := range d.Curves {
		if text := curveAnswer(d, &d.Curves[i]); text != "" && (len(d.Cells) == 0 || d.Curves[i].Limit != nil) {
			lines = append(lines, text)
		}
	}
	if len(d.Cells) == 0 {
		if len(lines) == 0 {
			lines = append(lines, d.Factor+": nothing was measured at two levels of it")
		}
		return lines
	}
	switch {
	case d.MeansOnly:
		return append(lines, meansAnswer(d), sequentialNote)
	case d.Chain != nil && len(d.Cells) == 1:
		return lines
	case d.Chain != nil:
		return append(lines, countsAnswer(d)) // which kernel to take is no matter of speed alone
	case len(d.Cells) == 1:
		return append(lines, loadAnswer(d, &d.Cells[0]))
	}
	return append(lines, choiceAnswer(d), countsAnswer(d))
}

// loadAnswer is about one load.
func loadAnswer(d *sweep.Document, c *sweep.Cell) string {
	ceiling := ""
	if c.AtCeiling {
		ceiling = fmt.Sprintf("; it is at the ceiling, %s", prose.List(sweepCeilings(d)))
	}
	switch {
	case !c.Distinguishable && c.Verdict == sweep.Same:
		return fmt.Sprintf("%s makes no difference of more than %s to %s%s", d.Factor,
			unit.RoundPercent(d.Margin), c.Title, ceiling)
	case !c.Distinguishable:
		text := fmt.Sprintf("no level of %s can be told from the best for %s", d.Factor, c.Title)
		if d.Blocks < sweep.MinBlocks {
			text += ": " + tooFewBlocks(d.Blocks)
		}
		return text + ceiling
	}
	text := fmt.Sprintf("%s: %s is best", c.Title, setting(d, c.Best))
	if others := c.BestSet[1:]; len(others) > 0 {
		text += ", not told from " + prose.List(others)
	}
	if c.Gain != nil && c.Top != d.Baseline {
		text += fmt.Sprintf("; %s over %s", joinNonEmpty(changeText(c.Gain.Ratio), ratioBounds(c.Gain)), d.Baseline)
	}
	if c.SmallestForShare != c.Best {
		text += fmt.Sprintf("; %s of that from %s on", unit.RoundPercent(d.Share), c.SmallestForShare)
		if b := c.SmallestBetween; b.From != b.To {
			text += " (surely " + betweenLevels(b) + ")"
		}
	}
	return text + ceiling
}

// meanSign is the sign before a figure that no interval stands behind.
const meanSign = "~"

// sequentialNote is said where levels were not visited by turns.
const sequentialNote = "the levels were measured one after the other, not by turns: what else changed between them is " +
	"in these figures, so nothing is proved"

// meansAnswer is about all loads, where there are means alone.
func meansAnswer(d *sweep.Document) string {
	r := d.Recommended
	switch {
	case len(d.Cells) == 1:
		c := &d.Cells[0]
		text := fmt.Sprintf("%s: by the means %s is best", c.Title, setting(d, c.Top))
		if c.Gain != nil && c.Top != d.Baseline {
			text += fmt.Sprintf(", %s over %s", changeText(c.Gain.Ratio), d.Baseline)
		}
		if c.SmallestForShare != c.Top {
			text += fmt.Sprintf("; %s of that from %s on", unit.RoundPercent(d.Share), c.SmallestForShare)
		}
		return text
	case r == nil:
		return d.Factor + ": no level was measured with every load, so there is no single choice for all of them"
	}
	text := fmt.Sprintf("by the means %s is the best single choice for %s: %s", setting(d, r.Level),
		prose.Count(len(d.Cells), sweepNoun(d)), atWorst(d, r.Loss))
	if r.Gain != nil && r.Level != d.Baseline {
		text += fmt.Sprintf(", %s against %s on average", changeText(r.Gain.Ratio), d.Baseline)
	}
	return text
}

// tooFewBlocks says that there are too few blocks to tell levels apart.
func tooFewBlocks(blocks int) string {
	if blocks == 1 {
		return "1 block says nothing of noise"
	}
	return prose.Count(blocks, "block") + " say nothing of noise"
}

// choiceAnswer is about one level for all loads.
func choiceAnswer(d *sweep.Document) string {
	r := d.Recommended
	if r == nil {
		return d.Factor + ": no level was measured with every load, so there is no single choice for all of them"
	}
	if !slices.ContainsFunc(d.Cells, func(c sweep.Cell) bool { return c.Verdict != sweep.Same || c.Distinguishable }) {
		return fmt.Sprintf("%s makes no difference of more than %s to %s", d.Factor, unit.RoundPercent(d.Margin),
			theLoads(d))
	}
	if !r.Distinguishable {
		text := fmt.Sprintf("no level of %s can be told to be a better single choice than another", d.Factor)
		if d.Blocks < sweep.MinBlocks {
			text += ": " + tooFewBlocks(d.Blocks)
		}
		return text + fmt.Sprintf("; by the means %s loses least, %s", r.Level, atWorst(d, r.Loss))
	}
	if slices.Contains(r.Set, d.Baseline) && r.Level != d.Baseline {
		return fmt.Sprintf("%s is the best single choice by the means, %s, but the baseline %s can't be told from it",
			setting(d, r.Level), atWorst(d, r.Loss), d.Baseline)
	}
	text := fmt.Sprintf("%s is the best single choice", setting(d, r.Level))
	if r.Level == d.Baseline {
		text = fmt.Sprintf("the baseline, %s, is the best single choice", setting(d, r.Level))
	}
	text += ": " + atWorst(d, r.Loss)
	if r.Level != d.Baseline && r.Gain != nil {
		text += fmt.Sprintf(", %s against %s on average", joinNonEmpty(changeText(r.Gain.Ratio), ratioBounds(r.Gain)),
			d.Baseline)
	}
	if len(r.Set) > 1 {
		text += "; not told from " + prose.List(without(r.Set, r.Level))
	}
	return text
}

func without(list []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == one })
}

func theLoads(d *sweep.Document) string {
	if len(d.Cells) == 1 {
		return d.Cells[0].Title
	}
	return "any of " + prose.Count(len(d.Cells), sweepNoun(d))
}

// sweepNoun is what the cells of a sweep are called: a load that reads and writes has two numbers.
func sweepNoun(d *sweep.Document) string {
	seen := map[string]bool{}
	for _, c := range d.Cells {
		if seen[c.Cell] {
			return "number"
		}
		seen[c.Cell] = true
	}
	return "load"
}

// atWorst is "at worst 6% [2, 9] below the best of a load (randread 2k q16)".
func atWorst(d *sweep.Document, l sweep.Loss) string {
	if l.Loss <= 0 && (!l.Known() || *l.Hi <= 0) {
		return "no load is better at another"
	}
	text := "at worst " + unit.Percent(l.Loss)
	if l.Known() {
		text += fmt.Sprintf(" [%s, %s]", bare(*l.Lo), bare(*l.Hi))
	}
	text += " below the best of a load"
	i := slices.IndexFunc(d.Cells, func(c sweep.Cell) bool { return c.Cell == l.Cell && c.Metric == l.Metric })
	if i >= 0 && l.Loss > 0 {
		text += " (" + d.Cells[i].Title + ")"
	}
	return text
}

// bare is a share in percent without the sign.
func bare(share float64) string { return strings.TrimSuffix(unit.RoundPercent(share), "%") }

// ratioBounds are "[+2.1, +9]" in percent.
func ratioBounds(r *sweep.Ratio) string {
	switch {
	case r == nil || !r.Known() || *r.Lo == *r.Hi:
		return ""
	case r.Ratio >= 10 || r.Ratio <= 0.1 || *r.Hi >= 100:
		return "[" + factor(*r.Lo) + ", " + factor(*r.Hi) + "]x"
	}
	return "[" + signed(*r.Lo, true) + ", " + signed(*r.Hi, true) + "]"
}

// countsAnswer counts the loads by what the factor does to them.
func countsAnswer(d *sweep.Document) string {
	counts := map[sweep.Verdict]int{}
	ceiling, harmed := 0, 0
	for _, c := range d.Cells {
		if c.AtCeiling {
			ceiling++
		}
		if len(c.Harm) > 0 {
			harmed++
		}
		if c.AtCeiling && c.Verdict != sweep.Better {
			continue // whatever the factor could do can't be seen there
		}
		counts[c.Verdict]++
	}
	var parts []string
	add := func(text string, n int) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", text, n))
		}
	}
	add("better than at "+d.Baseline, counts[sweep.Better])
	add("no better by more than "+unit.RoundPercent(d.Margin), counts[sweep.Same])
	add("undecided", counts[sweep.Undecided])
	add("at the ceiling", ceiling)
	text := prose.Count(len(d.Cells), sweepNoun(d)) + ": " + strings.Join(parts, ", ")
	if harmed > 0 {
		text += fmt.Sprintf("; some level does harm in %d", harmed)
	}
	return text
}

// harmTexts say which levels are worse than a lower one or the baseline, in which loads.
func harmTexts(d *sweep.Document) []string {
	type printed struct {
		level, than string
		loads       []string
		worst       sweep.Ratio
		title       string
	}
	var all []printed
	if d.Chain != nil {
		return nil // the chain tells where it was lost
	}
	for _, c := range d.Cells {
		for _, h := range c.Harm {
			i := slices.IndexFunc(all, func(s printed) bool { return s.level == h.Level && s.than == h.Than })
			if i < 0 {
				i = len(all)
				all = append(all, printed{level: h.Level, than: h.Than})
			}
			all[i].loads = append(all[i].loads, c.Title)
			if all[i].title == "" || math.Abs(math.Log(h.Ratio.Ratio)) > math.Abs(math.Log(all[i].worst.Ratio)) {
				all[i].worst, all[i].title = h.Ratio, c.Title
			}
		}
	}
	var out []string
	for _, s := range all {
		text := fmt.Sprintf("%s is worse than %s in %s: %s", s.level, s.than, prose.Count(len(s.loads), "load"),
			joinNonEmpty(changeText(s.worst.Ratio), ratioBounds(&s.worst)))
		if len(s.loads) == 1 {
			text = fmt.Sprintf("%s is worse than %s in %s: %s", s.level, s.than, s.title,
				joinNonEmpty(changeText(s.worst.Ratio), ratioBounds(&s.worst)))
		} else {
			text += " in " + s.title + " at most"
		}
		out = append(out, text)
	}
	return out
}

// maxHarm is how many sentences of harm a table has.
const maxHarm = 5

// ceilingNotes name what limits the loads that are at their ceiling, each limiter once.
func sweepCeilings(d *sweep.Document) []string {
	var texts []string
	for _, c := range d.Cells {
		if !c.AtCeiling {
			continue
		}
		text := figure(lab.Metric(c.Ceiling.Metric).Unit, c.Ceiling.Value)
		if c.Ceiling.Limiter != "" {
			text += ", " + c.Ceiling.Limiter
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// costMetrics are what an operation costs, in the order in which it is shown.
func costMetrics() []string { return []string{lab.CPUPerIO, lab.HostCPUPerIO, lab.EnergyPerIO} }

// costsText says what an operation costs at the recommended level, over all loads.
func costsText(d *sweep.Document) []string {
	if d.Recommended == nil || d.Recommended.Level == d.Baseline {
		return nil
	}
	var out []string
	names := map[string]string{lab.CPUPerIO: "CPU time of the load's process", lab.HostCPUPerIO: "CPU time of the host",
		lab.EnergyPerIO: "energy"}
	for _, metric := range costMetrics() {
		lo, hi, n, clear := math.Inf(1), math.Inf(-1), 0, 0
		for _, c := range d.Cells {
			for _, p := range c.Levels {
				if one, ok := p.Costs[metric]; ok && p.Level == d.Recommended.Level && one.ToBaseline != nil {
					lo, hi = min(lo, one.ToBaseline.Ratio), max(hi, one.ToBaseline.Ratio)
					n++
					if one.ToBaseline.Verdict == sweep.Better || one.ToBaseline.Verdict == sweep.Worse {
						clear++
					}
				}
			}
		}
		if n == 0 {
			continue
		}
		text := fmt.Sprintf("An I/O at %s takes %sx to %sx the %s of one at %s", d.Recommended.Level, factor(lo),
			factor(hi), names[metric], d.Baseline)
		if n == 1 {
			text = fmt.Sprintf("An I/O at %s takes %sx the %s of one at %s", d.Recommended.Level, factor(lo),
				names[metric], d.Baseline)
		}
		out = append(out, text+fmt.Sprintf(" (clear of noise in %d of %s, each at 95%%).", clear,
			prose.Count(n, "load")))
	}
	return out
}

// sweepReading says how the numbers come about and how sure they are, and what visits differ by.
func sweepReading(d *sweep.Document) []string {
	return append(sweepSureness(d), perVisitText(d.PerVisit, func(n plan.VisitMetric) string {
		return sweepTitle(d, n)
	})...)
}

// sweepTitle of a number: with its metric where the load has several.
func sweepTitle(d *sweep.Document, n plan.VisitMetric) string {
	title, several := "", false
	for _, c := range d.Curves {
		if c.Cell == n.Cell {
			title = c.Title
		}
	}
	for _, c := range d.Cells {
		if c.Cell == n.Cell {
			title, several = c.Title, several || c.Metric != n.Metric
		}
	}
	if several {
		return joinNonEmpty(title, metricTitle(n.Metric, true))
	}
	return title
}

func sweepSureness(d *sweep.Document) []string {
	switch {
	case len(d.Cells) == 0 && len(d.Curves) == 0:
		return nil
	case len(d.Cells) == 0:
		return []string{"A point is the geometric mean of its blocks. The knee is where rate divided by mean latency " +
			"is the highest (Kleinrock's power)."}
	}
	if d.MeansOnly {
		byTurns := "headroom sweep SUITE PLACE --factor " + d.Factor + "=" + d.Baseline + ",…"
		if d.Factor == lab.StageLevel {
			byTurns = "headroom sweep, with a factor whose levels they are (headroom factors lists them; mounts of " +
				"NFS are mount:nfs)"
		}
		return []string{"A figure is the mean of all repetitions of a load at a level. To prove a difference, " +
			"measure the levels by turns: " + byTurns}
	}
	lines := []string{fmt.Sprintf("%s. Levels are held against each other within a block; all statements about cells "+
		"hold together with %s (each of %d intervals with %s).",
		prose.Capital(prose.Count(d.Blocks, "block")), confidenceDigits(1-d.Alpha), d.Claims,
		confidenceDigits(d.Confidence))}
	if d.Settled > 0 {
		lines = append(lines,
			fmt.Sprintf("Decided after %s, so that the rest of the budget went to the others: %s of %d. Both looks "+
				"share the risk.",
				prose.Count(sweep.MinBlocks, "block"), prose.Count(d.Settled, "load"), loadCount(d)))
	}
	if d.Blocks < fewBlocks && d.Blocks > 0 {
		lines = append(lines, "So few blocks make wide intervals: where noise is 2%, five show a gain of 30%, ten "+
			"one of 10%, twenty one of 5%.")
	}
	return lines
}

// loadCount is how many loads the numbers are of.
func loadCount(d *sweep.Document) int {
	n, last := 0, ""
	for _, c := range d.Cells {
		if c.Cell != last {
			n, last = n+1, c.Cell
		}
	}
	return n
}

// fewBlocks is how many blocks make a sweep that tells less than 10%.
const fewBlocks = 10

// bestLevels names the best level: "4", and how many more can't be told from it: "4 +2"; "·" where none is told from
// another, "~4" by the means alone.
func bestLevels(d *sweep.Document, c *sweep.Cell) string {
	switch {
	case d.MeansOnly:
		return meanSign + c.Top
	case !c.Distinguishable && c.Verdict == sweep.Same:
		return "="
	case !c.Distinguishable:
		return "·"
	case len(c.BestSet) > 1:
		return c.Best + " or " + strings.Join(c.BestSet[1:], ", ")
	}
	return c.Best
}

// enoughText is the smallest level that reaches the share, with "?" where others are possible; the sign for what is not
// told where no level is told from another.
func enoughText(d *sweep.Document, c *sweep.Cell) string {
	text := c.SmallestForShare
	switch {
	case d.MeansOnly:
		text = meanSign + text
	case !c.Distinguishable && c.Verdict == sweep.Same:
		text = "="
	case !c.Distinguishable:
		text = "·"
	case c.SmallestBetween != (sweep.Between{From: text, To: text}):
		text += "?"
	}
	return text
}

// surelyLevels is that range of a cell; empty where there are means alone, which bound nothing.
func surelyLevels(d *sweep.Document, c *sweep.Cell) string {
	if d.MeansOnly {
		return ""
	}
	return betweenLevels(c.SmallestBetween)
}

// betweenLevels is the range that the smallest level lies in: "2 to 8"; "from 2" where no level is shown to be enough.
func betweenLevels(b sweep.Between) string {
	switch {
	case b.To == "":
		return "from " + b.From
	case b.From == b.To:
		return b.From
	}
	return b.From + " to " + b.To
}

// gainText is the gain of the best level, or the sign for what is not told.
func gainText(d *sweep.Document, c *sweep.Cell) string {
	switch {
	case c.Gain == nil:
		return ""
	case d.MeansOnly:
		return meanSign + wholeChange(c.Gain.Ratio)
	case c.Gain.Verdict == sweep.Better:
		return wholeChange(c.Gain.Ratio)
	case c.Verdict == sweep.Same:
		return "="
	}
	return "·"
}

// legendTexts explain the signs that were used.
func legendTexts(d *sweep.Document) []string {
	var texts []string
	if d.MeansOnly {
		texts = append(texts, meanSign+" by the means alone, without an interval")
	}
	for _, c := range d.Cells {
		text := ""
		switch enoughText(d, &c) {
		case "·":
			text = "· no level can be told from another"
		case "=":
			text = fmt.Sprintf("= no level makes a difference of more than %s", unit.RoundPercent(d.Margin))
		default:
			if strings.HasSuffix(enoughText(d, &c), "?") {
				text = "? the next level may do, or be needed"
			}
		}
		if text != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if limits := sweepCeilings(d); len(limits) > 0 {
		text := "^ at the ceiling"
		if len(limits) <= 3 {
			text += ": " + strings.Join(limits, "; ")
		}
		texts = append(texts, text)
	}
	return texts
}

// chainAnswer names the changes along the kernels, a line each, those of several loads at one place together.
func chainAnswer(d *sweep.Document) []string {
	places := chainPlaces(d)
	if len(places) == 0 {
		return []string{fmt.Sprintf("no change between neighbours of %s", prose.Count(len(d.Chain.Kernels), "kernel"))}
	}
	var lines []string
	for _, p := range places {
		lines = append(lines, p.text)
	}
	return lines
}

// chainPlace is a pair of neighbours between which something changed.
type chainPlace struct {
	from, to, text string
	fixes          []sweep.MissingFix
}

func chainPlaces(d *sweep.Document) []chainPlace {
	var out []chainPlace
	for _, k := range d.Chain.Kernels {
		var at []sweep.ChainChange
		for _, c := range d.Chain.Changes {
			if c.To == k.Level {
				at = append(at, c)
			}
		}
		if len(at) == 0 {
			continue
		}
		largest := slices.MaxFunc(at, func(a, b sweep.ChainChange) int {
			return int(1e9 * (math.Abs(math.Log(a.Ratio.Ratio)) - math.Abs(math.Log(b.Ratio.Ratio))))
		})
		p := chainPlace{from: largest.From, to: largest.To, fixes: largest.LacksFix}
		p.text = fmt.Sprintf("%s is %s than %s: %s in %s", largest.To, speedWord(largest), largest.From,
			joinNonEmpty(changeText(largest.Ratio.Ratio), ratioBounds(&largest.Ratio)), largest.Title)
		if len(at) > 1 {
			p.text += fmt.Sprintf(" and %d more", len(at)-1)
		}
		if !largest.SameBranch {
			p.text += " (another branch)"
		}
		if len(p.fixes) > 0 {
			p.text += "; " + fixText(p.fixes)
		}
		out = append(out, p)
	}
	return out
}

// speedWord is a verdict in the words of a metric.
func speedWord(c sweep.ChainChange) string {
	better := c.Verdict == sweep.Better
	switch speed := isSpeed(lab.Metric(c.Metric).Unit); {
	case better && speed:
		return "faster"
	case speed:
		return "slower"
	}
	return string(c.Verdict)
}

// fixText says what the faster kernel lacks, which is the likely reason.
func fixText(fixes []sweep.MissingFix) string {
	f := fixes[0]
	says := "does not know of it"
	if f.Says != "" {
		says = fmt.Sprintf("says %q", f.Says)
	}
	text := fmt.Sprintf("likely because %s lacks a fix: of %s %s says %q, %s %s", f.Level, f.Vulnerability, f.Other,
		f.OtherSays, f.Level, says)
	if more := len(fixes) - 1; more > 0 {
		text += fmt.Sprintf("; %d more like it", more)
	}
	return text
}

// curveAnswer says how much a load can be before its latency goes beyond the limit, and where its knee is.
func curveAnswer(d *sweep.Document, c *sweep.Curve) string {
	u := lab.Metric(c.Rate).Unit
	var parts []string
	if l := c.Limit; l != nil {
		limit := fmt.Sprintf("%s %s within %s", c.Direction, c.Quantile, unit.Latency(l.Seconds))
		if l.Reached == nil {
			parts = append(parts, "no level keeps "+limit)
		} else {
			text := fmt.Sprintf("up to %s with %s, at %s", figureNamed(c.Rate, u, l.Reached.Value), limit,
				setting(d, l.Level))
			if l.Between.From != l.Level || l.Between.To != l.Level {
				text += " (" + limitBetween(l.Between) + ")"
			}
			parts = append(parts, text)
		}
	}
	if k := c.Knee; k != nil {
		text := "knee at " + k.Level
		if !k.Distinguishable {
			text = "no knee can be told"
		} else if len(k.Set) > 1 {
			text += ", not told from " + prose.List(without(k.Set, k.Level))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	return c.Title + ": " + strings.Join(parts, "; ")
}

func limitBetween(b sweep.Between) string {
	if b.From == "" {
		return "none for sure, " + b.To + " possible"
	}
	return b.From + " for sure, " + b.To + " possible"
}
