package varied

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/unit"
)

// sweepAnswer returns the answer, the best choice first, with the levels that have no figure.
func sweepAnswer(d *sweep.Document) []string {
	lines := choicesAnswer(d)
	lines[0] += outagesText(d)
	return lines
}

// outagesText names the levels at which a load failed or measured 0; empty if none did.
func outagesText(d *sweep.Document) string {
	var loads []string // with the kind of outage; levels has the levels of each
	levels := map[string][]string{}
	for _, o := range d.Outages {
		text := o.Title + " failed"
		if o.Zero > 0 {
			text = o.Title + " measured 0"
			if o.Zero < o.N {
				text += fmt.Sprintf(" in %d of %d repetitions", o.Zero, o.N)
			}
		}
		if len(levels[text]) == 0 {
			loads = append(loads, text)
		}
		if !slices.Contains(levels[text], o.Level) {
			levels[text] = append(levels[text], o.Level)
		}
	}
	if len(loads) == 0 {
		return ""
	}
	for i, text := range loads {
		if len(levels[text]) >= len(d.Levels) {
			loads[i] += " at every level"
		} else {
			loads[i] += " at " + report.FirstNames(levels[text])
		}
	}
	return "; not compared: " + report.FirstNames(loads)
}

// choicesAnswer returns the best level, or what else the levels show.
func choicesAnswer(d *sweep.Document) []string {
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
		return append(lines, countsAnswer(d)) // the choice of a kernel does not depend on speed alone
	case len(d.Cells) == 1:
		return append(lines, loadAnswer(d, &d.Cells[0]))
	}
	return append(lines, choiceAnswer(d), countsAnswer(d))
}

// loadAnswer returns the answer for one load.
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
		text := fmt.Sprintf("no level of %s is clearly below the best for %s", d.Factor, c.Title)
		text += tooFewBlocks(d)
		return text + ceiling
	}
	text := fmt.Sprintf("%s: %s is best", c.Title, priced(d, c.Best))
	if others := c.BestSet[1:]; len(others) > 0 {
		text += ", tied with " + prose.List(others)
	}
	if c.Gain != nil && c.Top != d.Baseline {
		text += fmt.Sprintf("; %s over %s", gainOf(c.Gain), d.Baseline)
	}
	if c.SmallestForShare != c.Best {
		text += fmt.Sprintf("; %s of that from %s on", unit.RoundPercent(d.Share), c.SmallestForShare)
		if b := c.SmallestBetween; b.From != b.To {
			text += " (surely " + betweenLevels(b) + ")"
		}
	}
	return text + ceiling
}

// meanSign precedes a figure that has no interval.
const meanSign = "~"

// sequentialNote warns that levels were not visited in turn.
const sequentialNote = "the levels were measured one after the other, not by turns: what else changed between them " +
	"is in these figures, so nothing is proved"

// meansAnswer returns the answer for all loads if there are only means.
func meansAnswer(d *sweep.Document) string {
	r := d.Recommended
	switch {
	case len(d.Cells) == 1:
		c := &d.Cells[0]
		text := fmt.Sprintf("%s: by the means %s is best", c.Title, priced(d, c.Top))
		if c.Gain != nil && c.Top != d.Baseline {
			text += fmt.Sprintf(", %s over %s", report.ChangeText(c.Gain.Ratio), d.Baseline)
		}
		if c.SmallestForShare != c.Top {
			text += fmt.Sprintf("; %s of that from %s on", unit.RoundPercent(d.Share), c.SmallestForShare)
		}
		return text
	case r == nil:
		return d.Factor + ": no level was measured with every load, so there is no single choice for all of them"
	}
	text := fmt.Sprintf("by the means %s is the best single choice for %s: %s", priced(d, r.Level),
		prose.Count(len(d.Cells), sweepNoun(d)), atWorst(d, r.Loss))
	if r.Gain != nil && r.Level != d.Baseline {
		text += fmt.Sprintf(", %s against %s on average", report.ChangeText(r.Gain.Ratio), d.Baseline)
	}
	return text
}

// tooFewBlocks returns the limits of so few blocks; empty if there are enough.
func tooFewBlocks(d *sweep.Document) string {
	switch {
	case d.Blocks == 1:
		return ": 1 block says nothing of noise"
	case d.Blocks < sweep.MinBlocks:
		return ": " + prose.Count(d.Blocks, "block") + " say nothing of noise"
	case d.Blocks < sweep.FewestBlocks(d.Alpha):
		return fmt.Sprintf(": %s show only differences of more than twofold; smaller ones take at least %d",
			prose.Count(d.Blocks, "block"), sweep.FewestBlocks(d.Alpha))
	}
	return ""
}

// choiceAnswer returns the answer about one level for all loads.
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
		text := fmt.Sprintf("no level of %s is clearly a better single choice than another", d.Factor)
		text += tooFewBlocks(d)
		return text + fmt.Sprintf("; by the means %s loses least, %s", r.Level, atWorst(d, r.Loss))
	}
	if slices.Contains(r.Set, d.Baseline) && r.Level != d.Baseline {
		return fmt.Sprintf("%s is the best single choice by the means, %s, but the baseline %s may be as good",
			priced(d, r.Level), atWorst(d, r.Loss), d.Baseline)
	}
	text := fmt.Sprintf("%s is the best single choice", priced(d, r.Level))
	if r.Level == d.Baseline {
		text = fmt.Sprintf("the baseline, %s, is the best single choice", priced(d, r.Level))
	}
	text += ": " + atWorst(d, r.Loss)
	if r.Level != d.Baseline && r.Gain != nil {
		text += fmt.Sprintf(", %s against %s on average", gainOf(r.Gain),
			d.Baseline)
	}
	if len(r.Set) > 1 {
		text += "; tied with " + prose.List(without(r.Set, r.Level))
	}
	return text
}

func theLoads(d *sweep.Document) string {
	if len(d.Cells) == 1 {
		return d.Cells[0].Title
	}
	return "any of " + prose.Count(len(d.Cells), sweepNoun(d))
}

// atWorst returns "at worst 6% [2, 9] below the best of a load (randread 2k q16)".
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

// countsAnswer counts the loads by the effect of the factor on them.
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
			continue // the ceiling hides any effect of the factor
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
