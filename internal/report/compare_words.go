package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/compare"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/unit"
)

// compareHeadline is the answer about one new run in a sentence: "talos against debian, 8 jobs: slower in 5, same in 2,
// undecided in 1; mean 0.61x [0.59, 0.63]".
func compareHeadline(d *compare.Document, n *compare.ComparedRun) string {
	counts, total := map[string]int{}, 0
	for _, c := range compareRows(d, n.ID) {
		counts[comparedWord(c)]++
		total++
	}
	var parts []string
	for _, word := range comparedWords() {
		if c := counts[word]; c > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", word, c))
		}
	}
	text := fmt.Sprintf("%s against %s, %s", n.Name, d.Base.Name, prose.Count(n.Jobs, "job"))
	switch {
	case n.Jobs == 0:
		return fmt.Sprintf("%s and %s have no load in common", n.Name, d.Base.Name)
	case total == 0:
		return text + ": no number in common"
	case total != n.Jobs:
		text += ", " + prose.Count(total, "number")
	}
	if len(counts) == 1 {
		for word := range counts {
			text += ": " + word
			if total > 1 {
				text += " in all"
			}
		}
	} else {
		text += ": " + strings.Join(parts, ", ")
	}
	text += doubtfulText(n)
	for _, m := range n.Means {
		if m.Cells > 1 && m.Known() { // a mean without an interval is no answer
			name := "mean"
			if m.Of != "speed" {
				name = "mean " + m.Of
			}
			text += fmt.Sprintf("; %s %s", name, ratioText(m.Ratio, m.Bounds))
		}
	}
	return text
}

// doubtfulText says how many of the incomparable numbers, which stand last, are so for no more than doubts.
func doubtfulText(n *compare.ComparedRun) string {
	if n.Doubtful == 0 {
		return ""
	}
	which, those := "", "them"
	switch of := n.Counts[compare.Incomparable]; {
	case of == 1:
		those = "it"
	case of > n.Doubtful:
		which, those = fmt.Sprintf(" in %d", n.Doubtful), "those"
		if n.Doubtful == 1 {
			those = "that one"
		}
	}
	return "," + which + " only because of warnings: --anyway compares " + those
}

// ratioText prints a ratio: "0.61x [0.59, 0.63]".
func ratioText(ratio float64, b compare.Bounds) string {
	if !b.Known() {
		return factor(ratio) + "x"
	}
	show := factor
	if max(math.Abs(*b.Lo-1), math.Abs(*b.Hi-1)) >= 0.0995 && math.Abs(ratio-1) < 0.0995 {
		show = func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) } // a third digit would say nothing
	}
	return fmt.Sprintf("%sx [%s, %s]", show(ratio), show(*b.Lo), show(*b.Hi))
}

// factor prints a ratio with the digits that tell it from one.
func factor(v float64) string {
	switch {
	case v >= 99.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v < 0.0995:
		return strconv.FormatFloat(v, 'g', 2, 64)
	case math.Abs(v-1) < 0.0995:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// changeText prints a ratio as a change: "-60.2%", "+12%"; from ten times and down to a tenth as a factor.
func changeText(ratio float64) string {
	if ratio >= 10 || ratio <= 0.1 {
		return factor(ratio) + "x"
	}
	return signed(ratio, false) + "%"
}

// signed is a change in percent with its sign.
func signed(ratio float64, short bool) string {
	p := (ratio - 1) * 100
	digits := 1
	if math.Abs(p) >= 99.5 || short && math.Abs(p) >= 9.95 {
		digits = 0
	}
	text := strconv.FormatFloat(p, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0.0"
	}
	if p > 0 {
		text = "+" + text
	}
	return text
}

// changeBounds prints the interval that decides, in percent: "[-61, -59]"; as factors where the change is one.
func changeBounds(c *compare.Change) string {
	switch {
	case c == nil || !c.Known():
		return ""
	case c.Ratio >= 10 || c.Ratio <= 0.1 || *c.Hi >= 100:
		return "[" + factor(*c.Lo) + ", " + factor(*c.Hi) + "]x"
	}
	return "[" + signed(*c.Lo, true) + ", " + signed(*c.Hi, true) + "]"
}

// changeTexts are the change of a row and its interval; in parentheses, and with fewer digits, what it would be where
// warnings forbid a verdict.
func changeTexts(c *compare.ComparedMetric) (change, interval string) {
	switch {
	case c.Change != nil:
		return changeText(c.Change.Ratio), changeBounds(shownChange(c))
	case c.Would != nil:
		if r := c.Would.Ratio; r < 10 && r > 0.1 {
			return "(" + signed(r, true) + "%)", changeBounds(c.Would)
		}
		return "(" + changeText(c.Would.Ratio) + ")", changeBounds(c.Would)
	}
	return "", ""
}

// briefTitle is a metric's title for narrow terminals: "bw", "read", "flush".
func briefTitle(title string) string {
	if title == "bandwidth" {
		return "bw"
	}
	for _, rest := range []string{" IOPS", " bandwidth", " mean"} {
		title = strings.TrimSuffix(title, rest)
	}
	return title
}

// sideText prints one side: its center with its spread.
func sideText(u lab.Unit, f compare.Figures) (number, spread string) {
	m := Metric{Center: f.Center, Unit: u}
	if f.Known() {
		m.Interval = &Interval{Lo: *f.Lo, Hi: *f.Hi, Confidence: f.Confidence}
	}
	return figure(u, f.Center), spreadText(&m)
}

// verdictText is the verdict with what belongs to it wherever it stands.
func verdictText(c *compare.ComparedMetric) string {
	text := comparedWord(c)
	if c.Anyway {
		text += " (anyway)"
	}
	return text
}

// compareRows are the numbers about one new run.
func compareRows(d *compare.Document, run string) []*compare.ComparedMetric {
	var out []*compare.ComparedMetric
	for i := range d.Cells {
		if d.Cells[i].Run == run {
			out = append(out, &d.Cells[i])
		}
	}
	return out
}

func mapText(m map[string]string) string {
	var b strings.Builder
	for _, k := range sortedKeys(m) {
		b.WriteString(k + "=" + m[k] + " ")
	}
	return b.String()
}

// grouped is a text with the jobs that it is about.
type grouped struct {
	key, text string
	jobs      []string
	// all says that it is about all of several rows.
	all bool
}

// maxRowsWithMetrics is up to how many rows a remark names the metrics too.
const maxRowsWithMetrics = 20

// groupTexts collects what is said of several jobs, so that it is said once.
func groupTexts(rows []*compare.ComparedMetric, of func(*compare.ComparedMetric) []string) []grouped {
	return groupBy(rows, func(c *compare.ComparedMetric) (keys, texts []string) { texts = of(c); return texts, texts })
}

// groupBy is groupTexts where the first of several texts with the same key speaks for all.
func groupBy(rows []*compare.ComparedMetric, of func(*compare.ComparedMetric) (keys, texts []string)) []grouped {
	var out []grouped
	var times []int
	titles := rowTitles(rows)
	for n, c := range rows {
		keys, texts := of(c)
		for j, key := range keys {
			i := slices.IndexFunc(out, func(g grouped) bool { return g.key == key })
			if i < 0 {
				i = len(out)
				out, times = append(out, grouped{key: key, text: texts[j]}), append(times, 0)
			}
			times[i]++
			name := c.Job
			if len(rows) <= maxRowsWithMetrics {
				name = joinNonEmpty(name, titles[n].metric)
			}
			if !slices.Contains(out[i].jobs, name) {
				out[i].jobs = append(out[i].jobs, name)
			}
		}
	}
	for i := range out {
		out[i].all = times[i] == len(rows) && len(rows) > 1
	}
	return out
}

// about names the first few jobs.
func (g grouped) about() string {
	if g.all {
		return "all"
	}
	return prose.Few(g.jobs, 3)
}

// noteTexts are the notes of a table. Those that begin alike up to a colon are said in one.
func noteTexts(rows []*compare.ComparedMetric) []string {
	var out []string
	at := map[string]int{}
	for _, g := range groupTexts(rows, func(c *compare.ComparedMetric) []string { return c.Notes }) {
		head, rest, list := strings.Cut(g.text, ": ")
		about := " [" + g.about() + "]"
		if i, printed := at[head]; list && printed {
			out[i] += "; " + rest + about
			continue
		}
		at[head] = len(out)
		out = append(out, prose.Capital(g.text)+about)
	}
	return append(out, caveatTexts(rows)...)
}

// caveatTexts are what had a hand in the numbers of a table and turned no verdict, each warning once with the figures
// of the first row that has it.
func caveatTexts(rows []*compare.ComparedMetric) []string {
	var out []string
	for _, g := range groupBy(rows, func(c *compare.ComparedMetric) (keys, texts []string) {
		for _, caveat := range c.Caveats {
			keys, texts = append(keys, caveat.Code), append(texts, caveat.Text)
		}
		return keys, texts
	}) {
		out = append(out, "Caveat "+g.text+" ["+g.about()+"]")
	}
	return out
}

// groupReasons numbers the reasons of a table: each warning once, whatever its figures in each cell; without the advice
// that follows the last semicolon of its text, which is about one run and not about two.
func groupReasons(rows []*compare.ComparedMetric) []grouped {
	return groupBy(rows, func(c *compare.ComparedMetric) (keys, texts []string) {
		for _, r := range c.Reasons {
			text := r.Text
			if i := strings.LastIndex(text, "; "); r.Code == "warning" && i > 0 {
				text = text[:i]
			}
			keys, texts = append(keys, reasonKey(r)), append(texts, text)
		}
		return keys, texts
	})
}

func reasonKey(r compare.Reason) string {
	if r.Code == "warning" {
		return r.Items[0].Name
	}
	return r.Text
}

// reasonSigns gives the signs of a row's reasons by their numbers.
func reasonSigns(rows []*compare.ComparedMetric) func(*compare.ComparedMetric) []string {
	all := groupReasons(rows)
	return func(c *compare.ComparedMetric) []string {
		var signs []string
		for i, g := range all {
			if slices.ContainsFunc(c.Reasons, func(r compare.Reason) bool { return reasonKey(r) == g.key }) {
				signs = append(signs, mark{number: i + 1}.sign())
			}
		}
		return signs
	}
}

// compareReading says how the numbers are to be read.
func compareReading(d *compare.Document, rows []*compare.ComparedMetric) []string {
	var lines []string
	per := map[string]bool{}
	spreadKnown, lower := false, false
	var lowerOf []string // metrics of commands
	for _, c := range rows {
		if c.Change != nil {
			per[c.Change.Per] = true
			spreadKnown = spreadKnown || c.Change.Known()
		}
		direction, _, part := cutMetric(c.Metric)
		switch title := metricTitle(c.Metric, false); {
		case c.Better != lab.Lower:
		case direction != "" || part != "":
			lower = true
		case !slices.Contains(lowerOf, title):
			lowerOf = append(lowerOf, title)
		}
	}
	if spreadKnown {
		text := fmt.Sprintf("Intervals hold with %s each", confidenceDigits(d.Confidence))
		if d.Comparisons > 1 {
			text += fmt.Sprintf(", so that all %d verdicts are right with %s", d.Comparisons,
				confidenceDigits(1-d.Alpha))
		}
		text += "; one value is one " + prose.List(sortedKeys(per)) + "."
		if per["pair"] {
			text += " Pairs may be looked at any time."
		}
		text += fmt.Sprintf(" A change within %s counts as none (--margin).", unit.RoundPercent(d.Margin))
		lines = append(lines, text)
	}
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return c.Suggests != nil }) {
		lines = append(lines, "Probably is no proof: of ten such rows where nothing changed, one says it. Its "+
			"interval is that of a model, noise with heavy tails.")
	}
	if slices.ContainsFunc(rows, func(c *compare.ComparedMetric) bool { return c.Would != nil }) {
		lines = append(lines, "A change in parentheses is what it would be if the warnings did not matter: no verdict.")
	}
	if lower {
		lines = append(lines, "mean, p50, p99 … are latencies: lower is better.")
	}
	if len(lowerOf) > 0 {
		lines = append(lines, "Lower is better of: "+strings.Join(lowerOf, ", ")+".")
	}
	return lines
}

// confidenceDigits keeps the digits that tell a high confidence from certainty: 95%, 99.4%, 99.97%.
func confidenceDigits(c float64) string {
	for digits := 0; digits < 6; digits++ {
		text := strconv.FormatFloat(math.Floor(c*100*math.Pow10(digits)+1e-6)/math.Pow10(digits), 'f', digits, 64)
		if v, err := strconv.ParseFloat(text, 64); err == nil && (100-v)/(100*(1-c)) < 1.15 {
			return text + "%"
		}
	}
	return "99.9999%"
}

// differenceTitle counts what else differs.
func differenceTitle(n *compare.ComparedRun, all []*compare.Difference) string {
	c := n.DifferenceCounts
	conditions := 0
	for _, x := range all {
		if x.Kind == "run" {
			conditions++
		}
	}
	var parts []string
	for _, k := range []struct {
		n    int
		noun string
	}{{conditions, "run condition"}, {c.Options, "kernel option"}, {c.Arguments, "boot argument"},
		{c.Sysctls, "sysctl"}, {c.Facts, "other fact"}} {
		if k.n > 0 {
			parts = append(parts, countThousands(k.n, k.noun))
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case !n.FactsKnown:
		return "They also differ, as far as is known, in:"
	case len(parts) == 0 || len(all) == conditions && conditions <= shownOtherDifferences:
		return "They also differ in:"
	}
	return "They also differ in " + prose.List(parts) + ". Most likely to matter:"
}

// countThousands is count with thousands apart: "4,905 kernel options".
func countThousands(n int, noun string) string {
	text := prose.Count(n, noun)
	digits, rest, _ := strings.Cut(text, " ")
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits + " " + rest
}

// differenceHead is a difference in a line: "IOMMU_DEFAULT_DMA_STRICT  n -> y".
func differenceHead(x *compare.Difference) string {
	name := x.Name
	if name == "" {
		name = x.Fact
	}
	if x.About != "" {
		name += " of " + x.About
	}
	return fmt.Sprintf("%s: %s -> %s", name, orEmpty(x.Base), orEmpty(x.New))
}

func orEmpty(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// differenceDetail is why it may matter.
func differenceDetail(x *compare.Difference) string {
	var parts []string
	if x.Slower != "" {
		parts = append(parts, "the "+x.Slower+" side is likely slower for it")
	}
	for _, text := range []string{x.Why, x.Note} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	if x.Argument != "" {
		parts = append(parts, "boot argument: "+x.Argument)
	}
	return strings.Join(parts, "; ")
}

// differencesOf a new run, the likeliest to matter first.
func differencesOf(d *compare.Document, run string) []*compare.Difference {
	var out []*compare.Difference
	for i := range d.Differences {
		if d.Differences[i].Run == run {
			out = append(out, &d.Differences[i])
		}
	}
	return out
}

// unmatchedText names the cells that only one side has; empty when there are none.
func unmatchedText(d *compare.Document, n *compare.ComparedRun) []string {
	var lines []string
	for _, side := range []struct{ id, name string }{{d.Base.ID, d.Base.Name}, {n.ID, n.Name}} {
		var names []string
		for _, u := range d.Unmatched {
			if u.Run == n.ID && u.Only == side.id {
				name := u.Job
				if p := paramText(&Cell{Job: u.Job, Params: u.Params, Levels: u.Levels}, nil); p != "" {
					name += " (" + p + ")"
				}
				if u.N == 0 {
					name += ", which measured nothing"
				}
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			lines = append(lines, fmt.Sprintf("Not compared, of %s: %s.", side.name, prose.List(names)))
		}
		if d.Base.ID == n.ID {
			break
		}
	}
	return lines
}

// noFacts says why no difference is listed; empty when some are.
func noFacts(n *compare.ComparedRun, differences int) string {
	switch {
	case differences > 0:
		return ""
	case n.FactsKnown:
		return "Nothing else that is known of the two differs."
	}
	return "Nothing is known of the machine on one side, so what else differs can't be said."
}
