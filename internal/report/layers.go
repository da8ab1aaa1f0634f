package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/layers"
)

// WriteLayers writes what each layer adds: the answer, a table for each number of each job, whether the parts add up, and what weakens
// it.
func WriteLayers(w io.Writer, d layers.Document, o Options) error {
	out := &paragraphs{out: bufio.NewWriter(w), width: o.width(), o: o}
	all := layersMarks(&d)
	out.wrapped(strong, layersHeadline(d, all), 0)
	for i, s := range d.Steps {
		if s.Layer == 0 {
			out.layersTable(d, d.Steps[i:i+len(d.Layers)], all)
		}
	}
	out.line("")
	for _, s := range d.Sums {
		out.wrapped(plain, sumText(s), 2)
	}
	for _, m := range all {
		writeMark(out.out, m, false, out.width, o)
	}
	for _, n := range d.Notes {
		out.marked("! ", n, 2)
	}
	out.wrapped(faint, fmt.Sprintf("Each interval holds with %s by itself. Differences are taken within a pass, so that what drifts meets all layers alike. "+
		"CPU is that of the load's own process: threads of the kernel are not in it.", confidenceDigits(d.Confidence)), 0)
	ids := make([]string, len(d.Layers))
	for i, l := range d.Layers {
		ids[i] = l.Run
		if o.ShortID != nil {
			ids[i] = o.ShortID(l.Run)
		}
	}
	out.wrapped(plain, "saved as "+strings.Join(ids, ", ")+"; once more: headroom compare --layers --resume "+ids[0], 2)
	return out.out.Flush() // keeps the first error of all writes
}

// layersHeadline is the answer for one operation at a time, or where no such load was run, what was measured.
func layersHeadline(d layers.Document, all []mark) string {
	bottom, top := d.Layers[0].Name, d.Layers[len(d.Layers)-1].Name
	plainly := fmt.Sprintf("what the %d layers from %s to %s add", len(d.Layers), bottom, top)
	if !d.Stacked() {
		plainly = fmt.Sprintf("how the %d places from %s to %s differ", len(d.Layers), bottom, top)
	}
	for i, s := range d.Steps {
		if s.Layer != 0 || !strings.HasSuffix(s.Metric, "latency.mean") {
			continue
		}
		steps := d.Steps[i : i+len(d.Layers)]
		last := steps[len(steps)-1]
		if s.N == 0 || last.N == 0 {
			continue
		}
		var most *layers.Step // of those that are clear of nothing at all
		total := 0.0
		var codes []string
		for _, step := range steps {
			codes = append(codes, step.Warnings...)
		}
		for _, step := range steps[1:] {
			if step.Added == nil {
				return plainly
			}
			total += step.Added.Value
			if step.Added.Lo != nil && *step.Added.Lo > 0 && (most == nil || step.Added.Value > most.Added.Value) {
				most = &step
			}
		}
		text := s.Title + ": " + betweenText(d, difference(s.Unit, total), most != nil)
		if most != nil && len(steps) > 2 {
			text += fmt.Sprintf(", most of it at %s (%s)", d.Layers[most.Layer].Name, difference(most.Unit, most.Added.Value))
		}
		return joinNonEmpty(text, codeSigns(all, codes))
	}
	return plainly
}

// betweenText says what is between bottom and top: what layers add, where they lie on each other.
func betweenText(d layers.Document, total string, clear bool) string {
	bottom, top := d.Layers[0].Name, d.Layers[len(d.Layers)-1].Name
	switch {
	case !d.Stacked() && clear:
		return fmt.Sprintf("%s differs from %s by %s on average", top, bottom, total)
	case !d.Stacked():
		return fmt.Sprintf("%s differs from %s by no more than the noise (%s on average)", top, bottom, total)
	case clear:
		return fmt.Sprintf("from %s to %s %s on average", bottom, top, total)
	default:
		return fmt.Sprintf("what the layers from %s to %s add does not stand out from the noise (%s on average)", bottom, top, total)
	}
}

// layersMarks numbers the warnings of all layers by code, in the order of the layers.
func layersMarks(d *layers.Document) []mark {
	titles := map[string]string{}
	for _, s := range d.Steps {
		titles[s.Cell] = s.Title
	}
	var out []mark
	for _, w := range d.Warnings {
		about := d.Layers[w.Layer].Name
		if w.Cell != "" {
			title := titles[w.Cell]
			if title == "" {
				title = w.Cell // no number of it is shown
			}
			about = title + " on " + about
		}
		out = addMark(out, Warning{Warning: w.Warning, Repetitions: w.Repetitions}, &Cell{N: w.N}, about)
	}
	return out
}

// sharedCodes are those of the warnings that taint the numbers of all layers: they stand once above the table.
func sharedCodes(steps []layers.Step) []string {
	return slices.DeleteFunc(slices.Clone(steps[0].Warnings), func(code string) bool {
		return slices.ContainsFunc(steps, func(s layers.Step) bool { return !slices.Contains(s.Warnings, code) })
	})
}

// codeSigns are the signs of some codes, in the order of their numbers.
func codeSigns(all []mark, codes []string) string {
	var signs []string
	for _, m := range all {
		if slices.Contains(codes, m.code) {
			signs = append(signs, m.sign())
		}
	}
	return strings.Join(signs, " ")
}

func (p *paragraphs) layersTable(d layers.Document, steps []layers.Step, all []mark) {
	first := steps[0]
	layer, value := column{title: "layer"}, column{title: "mean", right: true}
	signs := column{gap: 1, optional: true}
	word := "added"
	if !d.Stacked() {
		word = "differs"
	}
	added, bounds := column{title: word, right: true, optional: true}, column{gap: 1, drop: 1, optional: true}
	ratio, fall := column{title: "times", drop: 2, right: true, optional: true}, column{drop: 3, optional: true}
	shared := sharedCodes(steps)
	inAll := func(code string) bool { return slices.Contains(shared, code) }
	most := 0.0
	for _, s := range steps {
		most = max(most, s.Value)
	}
	for i, s := range steps {
		layer.cells = append(layer.cells, d.Layers[s.Layer].Name)
		number := absent
		if s.N > 0 {
			number = figure(s.Unit, s.Value)
		}
		value.cells, signs.cells = append(value.cells, number), append(signs.cells, codeSigns(all, slices.DeleteFunc(slices.Clone(s.Warnings), inAll)))
		diff, diffBounds, times := "", "", ""
		if s.Added != nil {
			diff = difference(s.Unit, s.Added.Value)
			if s.Added.Lo != nil {
				diffBounds = "[" + difference(s.Unit, *s.Added.Lo) + ", " + difference(s.Unit, *s.Added.Hi) + "]"
			}
		}
		if s.Ratio != nil {
			times = factor(s.Ratio.Value) + "x"
		}
		added.cells, bounds.cells = append(added.cells, diff), append(bounds.cells, diffBounds)
		ratio.cells = append(ratio.cells, times)
		from := 0.0
		if i > 0 {
			from = steps[i-1].Value
		}
		fall.cells = append(fall.cells, waterfall(from, s.Value, most))
	}
	p.line("")
	p.wrapped(strong, joinNonEmpty(first.Title+", "+metricName(first.Metric), codeSigns(all, shared)), 0)
	g, _ := fit([]column{layer, value, signs, added, bounds, ratio, fall}, p.width)
	for _, l := range g.lines(p.o) {
		p.line(l)
	}
}

// waterfallWidth is how many columns the largest value takes.
const waterfallWidth = 16

// waterfall draws what a layer adds where the one below ends: "      ███".
func waterfall(from, to, most float64) string {
	if !(most > 0) {
		return ""
	}
	at := func(v float64) int { return int(math.Round(v / most * waterfallWidth)) }
	lo, hi, mark := at(from), at(to), "█"
	if hi < lo {
		lo, hi, mark = hi, lo, "░"
	}
	return strings.Repeat(" ", lo) + strings.Repeat(mark, max(1, hi-lo))
}

// difference prints a number with its sign.
func difference(u lab.Unit, v float64) string {
	if v < 0 {
		return "-" + figure(u, -v)
	}
	return "+" + figure(u, v)
}

// metricName is a metric in the words of a table: "read latency mean", "CPU per I/O".
func metricName(metric string) string {
	if metric == "cpu.per_io" {
		return "CPU per I/O"
	}
	direction, quantity, part := cutMetric(metric)
	return strings.TrimSpace(direction + " " + strings.ReplaceAll(quantity, "iops", "IOPS") + " " + part)
}

// sumText says whether the parts add up.
func sumText(s layers.Sum) string {
	text := fmt.Sprintf("%s, %s: the parts add up to %s of %s", s.Title, metricName(s.Metric), difference(lab.Seconds, s.Parts.Value), difference(lab.Seconds, s.Whole.Value))
	if s.Whole.Lo != nil {
		text += fmt.Sprintf(" [%s, %s]", difference(lab.Seconds, *s.Whole.Lo), difference(lab.Seconds, *s.Whole.Hi))
	}
	text += " from bottom to top, measured in other passes"
	if !s.Agree {
		text += ": they do not agree, so the machine changed while it was measured; repeat with more --pairs"
	}
	return text
}
