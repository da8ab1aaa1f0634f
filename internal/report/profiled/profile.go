// Package profiled builds documents about profiles: the cost of an I/O by layer and by function, and the differences of
// two profiles.
package profiled

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// ShownFunctions is the default number of listed functions.
const ShownFunctions = 15

// Options of the documents.
type Options struct {
	report.Options
	// Functions is how many functions of each cell are listed; 0 means all.
	Functions int
	// Layers determine the colours of frames in pictures; nil for one colour.
	Layers *layer.Layers
}

// Profile builds the document about a profile. Each cell has a section: the cost of an I/O, by layer and by function,
// the time of requests in each stage, and where threads wait.
func Profile(d Document, o Options) document.Document {
	id := o.ID(d.Run)
	out := document.Document{Title: "Profile of " + id}
	t, warnings := newText(d.Warnings, o)
	if len(d.Cells) == 0 {
		out.Blocks = append(out.Blocks, document.Sentence{Role: document.Answer, Text: id + " has no profiled loads"})
	}
	for _, c := range d.Cells {
		out.Blocks = append(out.Blocks, t.cell(c)...)
	}
	out.Blocks = append(out.Blocks, warnings...)
	out.Blocks = append(out.Blocks, report.Sentences(document.Reading, t.reading(d))...)
	out.Blocks = append(out.Blocks, next(d, id))
	return out
}

// next returns the commands that show more.
func next(d Document, id string) document.Block {
	if len(d.Cells) == 0 {
		return document.Terminal{}
	}
	t := document.Terminal{Blocks: []document.Block{document.Command{What: "as a page, with flame graphs",
		Text: "headroom profile show " + id + " -o profile.html"}}}
	var arms []string
	for _, c := range d.Cells {
		if c.Arm != "" && !slices.Contains(arms, c.Arm) {
			arms = append(arms, c.Arm)
		}
	}
	if len(arms) > 1 {
		t.Blocks = append(t.Blocks, document.Command{What: "by what arms differ", Text: "headroom profile diff " +
			lab.ShellQuote([]string{id + ":" + arms[0], id + ":" + arms[len(arms)-1]})})
	}
	return t
}

// text builds the text of cells.
type text struct {
	Options
	// signs of warnings by their codes.
	signs map[string]string
}

// newText returns a text that knows the signs of warnings, and the warnings as blocks for the end of the document. Each
// code has one sign.
func newText(all []lab.Warning, o Options) (text, []document.Block) {
	t := text{Options: o, signs: map[string]string{}}
	var warnings []document.Block
	for _, w := range all {
		if t.signs[w.Code] != "" {
			continue
		}
		sign := fmt.Sprintf("!%d", len(warnings)+1)
		t.signs[w.Code] = sign
		warnings = append(warnings, document.WarningBlock{Sign: sign, Code: w.Code, Explained: report.Explained(w.Code),
			Texts: []document.WarningText{{Text: w.Text}}})
	}
	return t, warnings
}

// EmulatedGuest is the code of the warning that times are not those of real hardware.
const EmulatedGuest = "emulated-guest"

// cell returns the part of the document about one cell.
func (t text) cell(c Cell) []document.Block {
	name := cellName(c)
	blocks := []document.Block{document.Sentence{Role: document.Subject, Text: name + ", kernel " + c.Kernel},
		document.Sentence{Role: document.Answer, Text: t.answer(c)}}
	blocks = append(blocks, report.Sentences(document.Detail, recorded(c))...)
	blocks = append(blocks, report.Sentences(document.Note, doubts(c))...)
	if len(c.Layers) > 0 {
		blocks = append(blocks, document.Heading{Text: "Layers"}, t.layers(c, name))
	}
	if len(c.Functions) > 0 {
		blocks = append(blocks, t.functions(c, name)...)
	}
	blocks = append(blocks, t.flame(c)...)
	blocks = append(blocks, t.stages(c, name)...)
	return append(blocks, waits(c, name)...)
}

func cellName(c Cell) string {
	name := c.Cell
	var of []string
	if c.Arm != "" {
		of = append(of, c.Arm)
	}
	if c.Role != "" {
		of = append(of, "on "+c.Role)
	}
	if len(of) > 0 {
		name += " (" + strings.Join(of, ", ") + ")"
	}
	return name
}

// answer describes the cost of an I/O, and its main layers.
func (t text) answer(c Cell) string {
	total := totalCalls(c.Profile)
	var text string
	switch {
	case c.CPU != nil:
		text = prose.Join("An I/O takes", withInterval(c.CPU, nanoseconds), t.signs[EmulatedGuest], "of CPU time")
		if total > 0 {
			text += " and " + calls(total) + " calls of kernel functions"
		}
	case total > 0:
		text = "An I/O takes " + calls(total) + " calls of kernel functions"
	case len(c.Functions) > 0:
		return "Only static tracepoints could be counted"
	default:
		return "Neither CPU time nor calls could be recorded"
	}
	if shares := largest(c, total); len(shares) > 0 {
		text += ": " + strings.Join(shares, ", ")
	}
	return text
}

// largest returns the layers with the largest shares of the CPU time; of calls if that was not recorded.
func largest(c Cell, calls float64) []string {
	const most = 3
	var shares []string
	for _, l := range c.Layers {
		share := meanOf(l.Calls) / max(calls, 1)
		if c.CPU != nil {
			share = meanOf(l.NS) / max(c.CPU.Mean, 1)
		}
		if share > 0 && len(shares) < most {
			shares = append(shares, l.Title+" "+unit.Percent(share))
		}
	}
	return shares
}

func totalCalls(c cost.Profile) float64 {
	total := 0.0
	for _, l := range c.Layers {
		if l.Calls != nil {
			total += l.Calls.Mean
		}
	}
	return total
}

// recorded describes from how many loads the profile is, how it was recorded, and the cost of recording.
func recorded(c Cell) []string {
	var texts, parts []string
	if c.TimeLoads > 0 {
		part := "CPU time from " + prose.Count(c.TimeLoads, "load")
		if c.Event != "" {
			part += ", sampled by " + c.Event
		}
		parts = append(parts, part)
	}
	if c.CallLoads > 0 {
		what := "calls from "
		if totalCalls(c.Profile) == 0 {
			what = "static tracepoints from "
		}
		parts = append(parts, what+prose.Count(c.CallLoads, "load"))
	}
	if len(parts) > 0 {
		texts = append(texts, prose.Capital(strings.Join(parts, "; "))+".")
	}
	parts = nil
	for _, p := range []struct {
		part profile.Part
		text string
	}{{profile.Time, "while CPU time was sampled"}, {profile.Calls, "while calls were counted"}} {
		if o, ok := c.Overhead[p.part]; ok {
			text := prose.Join(report.MetricName(o.Metric), report.ChangeText(o.Ratio.Mean))
			if r := o.Ratio; r.Low != nil && r.High != nil {
				text += " [" + report.SignedPercent(*r.Low, true) + ", " + report.SignedPercent(*r.High, true) + "]"
			}
			parts = append(parts, text+" "+p.text)
		}
	}
	if len(parts) > 0 {
		texts = append(texts, "What profiling costs: "+strings.Join(parts, ", ")+".")
	}
	if o := c.Others; o != nil && c.CPU != nil && o.Mean >= leastTold*c.CPU.Mean {
		texts = append(texts, "Other programs ran meanwhile, which is not included: "+withInterval(o, nanoseconds)+
			" of CPU time per I/O.")
	}
	if s := c.SpinLocks; s != nil && s.Mean >= leastTold {
		texts = append(texts, "CPUs waited for spin locks of others in "+withInterval(s, unit.Percent)+" of the CPU "+
			"time.")
	}
	return texts
}

// leastTold is the share of the CPU time from which something is worth a line.
const leastTold = 0.01

// doubts lists what could not be recorded, with a solution.
func doubts(c Cell) []string {
	var texts []string
	for _, m := range c.Missing {
		texts = append(texts, missingText(m))
	}
	if c.Lost > 0 {
		texts = append(texts, prose.Count(int(min(c.Lost, 1<<40)), "event")+" found no room in the kernel's buffer: "+
			"calls are too low, not equally for all functions")
	}
	return texts
}

func missingText(m profile.Missing) string {
	text := "no " + strings.TrimPrefix(m.What, "no ") + ": " + m.Why
	if m.Hint != "" {
		text += ". The way out: " + m.Hint
	}
	return text
}

// reading explains what was shown.
func (t text) reading(d Document) []string {
	var texts []string
	has := func(test func(Cell) bool) bool { return slices.ContainsFunc(d.Cells, test) }
	if has(func(c Cell) bool { return c.TimeLoads > 1 || c.CallLoads > 1 }) {
		texts = append(texts,
			"Brackets are 95% intervals of the mean over the profiled loads; of stages, the smallest "+
				"and the largest median of a load.")
	}
	if has(func(c Cell) bool { return len(c.Requests) > 0 }) {
		texts = append(texts, "A request is queued once the scheduler or the driver may have it: waiting for a free "+
			"tag is before that.")
	}
	if has(func(c Cell) bool { return c.Event == "cpu-clock" }) {
		texts = append(texts, "cpu-clock is a timer: code that runs with interrupts off is charged to where they are "+
			"switched on again. Calls are exact there.")
	}
	return texts
}
