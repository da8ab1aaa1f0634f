package varied

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/rule"
)

// headline is the answer: the effect of each setting that has one, and the effects that would have been visible for the
// others.
func (t ablationText) headline() string {
	var parts []string
	undecided, same, stopped := 0, 0, 0
	most := 0.0
	names := t.names()
	var uncertainty []string
	for _, s := range t.Settings {
		if s.NotVerified != "" {
			uncertainty = append(uncertainty, names[s.Number])
			continue
		}
		switch s.Verdict {
		case ablation.Undecided:
			if t.outageOf(s) { // more blocks would not help
				stopped++
				continue
			}
			undecided++
		case ablation.Same:
			same++
		default:
			parts = append(parts, t.does(names[s.Number], s))
			continue
		}
		for _, p := range s.Cells {
			most = max(most, detectable(&p))
		}
	}
	text := strings.Join(parts, "; ")
	rest := ""
	switch {
	case t.Blocks == 0:
		return "nothing was measured yet"
	case undecided+same == 0:
	case undecided == 0 && len(parts)+stopped == 0:
		rest = fmt.Sprintf("none of %s makes a difference beyond %s", t.countSettings(), percentShort(t.Margin))
	case undecided == 0:
		rest = fmt.Sprintf("no other of %s makes a difference beyond %s", t.countSettings(), percentShort(t.Margin))
	case len(parts)+stopped == 0:
		rest = fmt.Sprintf("none of %s made a difference that could be seen", t.countSettings())
	default:
		rest = fmt.Sprintf("no other of %s made a difference that could be seen", t.countSettings())
	}
	if undecided > 0 && most > 0 {
		rest += " (smallest visible: " + visibleText(most) + ")"
	} else if undecided > 0 {
		rest += " (too few blocks to see any)"
	}
	notVerified := ""
	if len(uncertainty) > 0 {
		notVerified = "not verified: whether " + prose.List(uncertainty) + " " + verb(len(uncertainty), "was", "were") +
			" in effect"
	}
	return strings.Join(slices.DeleteFunc([]string{text, t.notCompared(), rest, notVerified}, func(part string) bool {
		return part == ""
	}), "; ")
}

// verdict returns the verdict on a number, as a table prints it.
func (t ablationText) verdict(s ablation.SettingEffect, p *ablation.CellEffect) string {
	switch {
	case p.Verdict == ablation.NotVerified:
		return "not verified"
	case s.NotVerified != "":
		return string(p.Verdict) + ", not verified"
	}
	return string(p.Verdict)
}

// does returns the effect of a setting, load by load: "slub_debug=FZPU costs 41% [38, 44] of randread 4k q32".
func (t ablationText) does(name string, s ablation.SettingEffect) string {
	var parts []string
	for _, n := range t.numbers() {
		p := t.effect(s, n)
		if p == nil || p.Verdict == ablation.Undecided || p.Verdict == ablation.Same {
			continue
		}
		if p.Verdict == ablation.Stops {
			parts = append(parts, t.stopsText(s, n))
			continue
		}
		if p.Verdict == ablation.Mixed {
			parts = append(parts, fmt.Sprintf("changes %s by %s alone and by %s in the set", t.short(n),
				report.ChangeText(p.Alone.Ratio), report.ChangeText(p.Removed.Ratio)))
			continue
		}
		e, where := p.Alone, ""
		if !decided(e) {
			e, where = p.Removed, " in the set"
		}
		parts = append(parts, effectText(e, p, t.short(n))+where)
	}
	return name + " " + strings.Join(parts, " and ") + givenUp(s)
}

// givenUp returns the end of a sentence about a setting: what a gain gives up, or what removing a costly setting does.
func givenUp(s ablation.SettingEffect) string {
	gains := slices.ContainsFunc(s.Cells, func(c ablation.CellEffect) bool { return c.Verdict == ablation.Faster })
	costs := slices.ContainsFunc(s.Cells, func(c ablation.CellEffect) bool { return c.Verdict == ablation.Slower })
	switch {
	case gains && s.GivesUp != "":
		return ", but gives up " + s.GivesUp
	case costs && s.Protects != "":
		return ", and removing it gives up " + s.Protects
	}
	return ""
}

func decided(e *ablation.Effect) bool {
	return e != nil && (e.Verdict == ablation.Faster || e.Verdict == ablation.Slower)
}

// effectText returns a ratio in words. A rate falls by a share, a time grows by one.
func effectText(e *ablation.Effect, p *ablation.CellEffect, title string) string {
	lo, hi := *e.Lo-1, *e.Hi-1
	if e.Ratio < 1 {
		lo, hi = 1-*e.Hi, 1-*e.Lo
	}
	share := fmt.Sprintf("%s%% [%s, %s]", sharePercent(math.Abs(e.Ratio-1)), sharePercent(lo), sharePercent(hi))
	switch {
	case p.Better == lab.Lower && e.Verdict == ablation.Slower:
		return "makes " + title + " take " + share + " longer"
	case p.Better == lab.Lower:
		return "makes " + title + " take " + share + " less"
	case e.Verdict == ablation.Slower:
		return "costs " + share + " of " + title
	}
	return "gains " + share + " on " + title
}

// sharePercent returns a share in percent without a percent sign: "41", "3.5".
func sharePercent(share float64) string {
	p := 100 * share
	digits := 1
	if math.Abs(p) >= 9.95 {
		digits = 0
	}
	text := strconv.FormatFloat(p, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0"
	}
	return text
}

func percentShort(share float64) string { return sharePercent(share) + "%" }

// estimateTexts returns a change and its interval, as a table prints them.
func estimateTexts(e *ablation.Effect) (change, bounds string) {
	if e == nil {
		return document.Absent, ""
	}
	return report.ChangeText(e.Ratio), report.ChangeBounds(e.RatioEstimate)
}

func joined(e *ablation.Effect) string { return prose.Join(estimateTexts(e)) }

// detectable returns the smallest difference, as a share, that would have been seen of an undecided setting: alone or
// in the set, whichever shows it first. It is 0 if the setting is decided or has no such figure.
func detectable(p *ablation.CellEffect) float64 {
	least := 0.0
	for _, e := range []*ablation.Effect{p.Alone, p.Removed} {
		if p.Verdict == ablation.Undecided && e != nil && e.Detectable != nil && (least == 0 || *e.Detectable < least) {
			least = *e.Detectable
		}
	}
	return least
}

// visibleText prints a share in both directions if they differ: a ratio of 1.33 up is 0.75 down.
func visibleText(share float64) string {
	switch {
	case share == 0:
		return ""
	case share < 0.0995:
		return percentShort(share)
	}
	return "-" + sharePercent(share/(1+share)) + "/+" + percentShort(share)
}

// sums returns whether the effects add up, and which settings have another effect in the set than alone.
func (t ablationText) sums() []string {
	var lines []string
	several := len(t.numbers()) > 1
	of := func(cell, metric string) string {
		if !several {
			return ""
		}
		return " [" + t.short(ablationNumber{cell, metric}) + "]"
	}
	for _, i := range t.Interactions {
		lines = append(lines, t.interaction(i)+of(i.Cell, i.Metric))
	}
	for _, u := range t.Unexplained {
		lines = append(lines, t.unexplained(u)+of(u.Cell, u.Metric))
	}
	if len(t.Suspects) > 0 {
		var pairs []string
		for _, p := range t.Suspects {
			pairs = append(pairs, strings.Join(t.named(p[:]), " with "))
		}
		lines = append(lines, "Effects may not add up, and which settings interact is not measured yet. The likeliest: "+
			prose.List(pairs)+".")
	}
	return lines
}

func (t ablationText) interaction(i ablation.Interaction) string {
	names := t.named(i.Settings)
	if len(i.Settings) == 1 {
		p := t.effect(t.Settings[i.Settings[0]-1], ablationNumber{i.Cell, i.Metric})
		return fmt.Sprintf("%s does not do the same everywhere: %s alone, %s in the set. The set does %s times what "+
			"effects that multiply or add would do.",
			names[0], report.ChangeText(p.Alone.Ratio), report.ChangeText(p.Removed.Ratio), estimateRatio(i.Effect))
	}
	text := fmt.Sprintf("%s together do %s times what they do one by one, multiplied or added", prose.List(names),
		estimateRatio(i.Effect))
	switch i.Verdict {
	case ablation.Same:
		return text + ": they add up."
	case ablation.Undecided:
		return text + ": no interaction that could be seen" + visibleFrom(i.Effect) + "."
	}
	return text + ": they do not add up."
}

// estimateRatio prints a ratio with its interval: "1.02 [0.94, 1.10]".
func estimateRatio(e ablation.Effect) string {
	if !e.Informative() {
		return report.RatioDigits(e.Ratio)
	}
	two := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	return two(e.Ratio) + " [" + two(*e.Lo) + ", " + two(*e.Hi) + "]"
}

func visibleFrom(e ablation.Effect) string {
	if e.Detectable == nil {
		return ""
	}
	return " (smallest visible: " + visibleText(*e.Detectable) + ")"
}

func (t ablationText) unexplained(u ablation.Unexplained) string {
	whole := "All settings together: " + joined(&u.Together) + ". "
	names := t.named(u.Settings)
	what := "what " + prose.List(names) + " alone " +
		map[bool]string{true: "does", false: "do, multiplied or added"}[len(names) == 1]
	switch {
	case u.Seen.Verdict == ablation.Faster || u.Seen.Verdict == ablation.Slower:
		if len(names) == 0 {
			return whole + "No setting was seen to do that alone, so small effects add up, or some work only together."
		}
		return whole + "That is " + estimateRatio(u.Seen) + " times " + what +
			": the effects do not add up, or smaller ones add to them."
	case len(names) == 0:
		return whole + "No more than the noise explains, as of each alone."
	case u.All.Verdict == ablation.Faster || u.All.Verdict == ablation.Slower:
		return whole + "That is " + estimateRatio(u.All) +
			" times what all settings alone do, multiplied or added: the effects do not add up."
	}
	return whole + "That is " + what + ", as far as can be seen: " + estimateRatio(u.Seen) + " times as much."
}

// controls compares the baseline with itself. broken is true if they differ.
func (t ablationText) controls() (lines []string, broken bool) {
	for _, c := range t.Controls {
		text := "Control: the baseline's second visit of a block against its first, " +
			t.title(ablationNumber{c.Cell, c.Metric}) + ": " + joined(&c.Effect)
		switch {
		case c.Different():
			broken = true
			text += ". It differs from itself, so the position of a visit in its block matters or the machine changes " +
				"too fast: don't trust the rest."
		case c.Known():
			text += ": no difference, as it must be."
		default:
			text += ": too few blocks to tell."
		}
		lines = append(lines, text)
	}
	return lines, broken
}

// costWord returns a cost in a word or two, for a table: "CPU time", "without it: security". It is empty for a price
// with GivesUp, which has a separate column.
func costWord(price rule.Price) string {
	if price.GivesUp != "" {
		return ""
	}
	const most = 48
	cost := price.Cost
	rest, without := strings.CutPrefix(cost, "Without it: ")
	if end := strings.IndexAny(rest, ":.;,"); end >= 0 {
		rest = rest[:end]
	}
	if rest == "" || rest == "none" {
		return rest
	}
	rest = strings.ToLower(rest[:1]) + rest[1:]
	if without {
		return "without it: " + render.Shorten(rest, most)
	}
	return render.Shorten(rest, most)
}

func (t ablationText) reading() []string {
	text := fmt.Sprintf("%s in %s. Changes are taken within a block, between the setting and the baseline (alone) or "+
		"between the tuned set and the set without it (in the set); one value is one visit.",
		prose.Count(t.Visits, "visit"), prose.Count(t.Blocks, "block"))
	if t.Claims > 0 {
		text += fmt.Sprintf(" Intervals hold with %s each at all looks together, so that %s. %s.",
			report.Confidence(t.Confidence), report.HoldTogether(prose.Count(t.Claims, "claim"), t.Alpha),
			prose.Capital(report.CountsAsNone(t.Margin)))
	}
	if one, both := ablation.FewestBlocks(t.Alpha); t.Claims > 0 && t.Blocks < one {
		text += fmt.Sprintf(" A difference of less than twofold takes %d blocks, or %d in which the setting shows it "+
			"alone and in the set: an arm may jump between two rates.", one, both)
	}
	lines := append([]string{text}, perVisitText(t.PerVisit, func(n plan.VisitMetric) string {
		return t.short(ablationNumber{n.Cell, n.Metric})
	})...)
	if len(t.numbers()) > 1 {
		lines = append(lines, "Side by side, a change in parentheses is not decided.")
	}
	lower := func(p ablation.CellEffect) bool { return p.Better == lab.Lower }
	if slices.ContainsFunc(t.Settings, func(s ablation.SettingEffect) bool {
		return slices.ContainsFunc(s.Cells, lower)
	}) {
		lines = append(lines, "Of times and latencies less is better: +3% is slower.")
	}
	return lines
}
