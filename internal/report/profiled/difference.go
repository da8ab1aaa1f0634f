package profiled

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
)

// Sides are further parts of two compared profiles: stages, stacks, and warnings about their times.
type Sides struct{ A, B Document }

// Difference builds the document about two profiles: the layers and functions that differ, those that explain most
// first.
func Difference(d difference.Document, s Sides, o Options) document.Document {
	out := document.Document{Title: "Profiles of " + d.A + " and " + d.B}
	t, warnings := newText(slices.Concat(s.A.Warnings, s.B.Warnings), o)
	out.Blocks = append(out.Blocks, document.Sentence{Role: document.Subject,
		Text: "A is " + d.A + ", B is " + d.B})
	if len(d.Cells) == 0 {
		out.Blocks = append(out.Blocks, document.Sentence{Role: document.Answer,
			Text: "No load was profiled on both sides"})
	}
	for _, c := range d.Cells {
		blocks := t.differenceOfCell(c, cellOf(s.A, c.A), cellOf(s.B, c.B))
		if len(d.Cells) > 1 {
			out.Blocks = append(out.Blocks, document.Sentence{Role: document.Subject, Text: c.Cell})
		}
		out.Blocks = append(out.Blocks, blocks...)
	}
	out.Blocks = append(out.Blocks, report.Sentences(document.Note, onOneSide(s))...)
	out.Blocks = append(out.Blocks, warnings...)
	out.Blocks = append(out.Blocks, report.Sentences(document.Reading, differenceReading(d))...)
	if len(d.Cells) > 0 {
		out.Blocks = append(out.Blocks, document.Terminal{Blocks: []document.Block{document.Command{
			What: "as a page, with a flame graph of the difference",
			Text: "headroom profile diff " + lab.ShellQuote([]string{d.A, d.B}) + " -o diff.html"}}})
	}
	return out
}

// onOneSide names the loads that only one side has.
func onOneSide(s Sides) []string {
	var texts []string
	for _, side := range []struct {
		name          string
		cells, others []Cell
	}{{"A", s.A.Cells, s.B.Cells}, {"B", s.B.Cells, s.A.Cells}} {
		var only []string
		for _, c := range side.cells {
			same := func(other Cell) bool { return other.Cell == c.Cell && other.Role == c.Role }
			if !slices.ContainsFunc(side.others, same) {
				only = append(only, cellName(c))
			}
		}
		if len(only) > 0 {
			texts = append(texts, "Only "+side.name+" has profiles of "+report.FirstNames(only))
		}
	}
	return texts
}

// cellOf returns the cell of one side that a profile belongs to; an empty one if its loads are unknown.
func cellOf(d Document, p cost.Profile) Cell {
	for _, c := range d.Cells {
		if c.Cell == p.Cell && c.Arm == p.Arm && c.Role == p.Role {
			return c
		}
	}
	return Cell{Profile: p}
}

func (t text) differenceOfCell(c difference.Cell, a, b Cell) []document.Block {
	blocks := []document.Block{document.Sentence{Role: document.Answer, Text: differenceAnswer(c)}}
	blocks = append(blocks, report.Sentences(document.Detail, append(littleTexts(c), t.totals(c)...))...)
	blocks = append(blocks, report.Sentences(document.Note, differenceDoubts(c))...)
	blocks = append(blocks, t.accountOf(c)...)
	if len(c.Layers) > 0 {
		blocks = append(blocks, document.Heading{Text: "Layers that differ"}, t.differentLayers(c))
	}
	if len(c.Functions) > 0 {
		blocks = append(blocks, t.differentFunctions(c)...)
	}
	blocks = append(blocks, t.flameOfDifference(c, a, b)...)
	blocks = append(blocks, t.stagesOfBoth(c, a, b)...)
	return append(blocks, renamed(c)...)
}

// differenceAnswer names what accounts for most of the loss; if no loss is clear, the layer that differs most. For a
// layer it names the most important functions, and for waiting the functions in which threads wait.
func differenceAnswer(c difference.Cell) string {
	if c.Account.Clear() {
		text := prose.Capital(report.AccountText(c.Account))
		most, clearly := c.Account.Most()
		if !clearly {
			return text
		}
		return text + changesText(slices.DeleteFunc(slices.Clone(c.Functions), func(f difference.Function) bool {
			return f.Layer != most.Layer && (most.Reason != difference.Waiting || !f.Waits.Changed())
		}))
	}
	if len(c.Layers) == 0 {
		return nothingDiffers(c)
	}
	first := c.Layers[0]
	text := "Only " + first.Title + " differs"
	if len(c.Layers) > 1 {
		text = first.Title + " differs most"
	}
	functions := functionsOf(c, first.ID)
	switch d, n := first.NS, first.Calls; {
	case len(functions) > 0:
		return text + changesText(functions)
	case d != nil && d.Change != "":
		return text + ": " + nanoseconds(d.A) + " → " + nanoseconds(d.B) + " of CPU time per I/O"
	case n != nil:
		return text + ": " + calls(n.A) + " → " + calls(n.B) + " calls per I/O"
	}
	return text
}

// functionsOf returns the functions of a layer that differ.
func functionsOf(c difference.Cell, layer string) []difference.Function {
	return slices.DeleteFunc(slices.Clone(c.Functions), func(f difference.Function) bool { return f.Layer != layer })
}

// changesText returns how the first functions changed, after a colon. It is empty without functions.
func changesText(functions []difference.Function) string {
	const most = 2
	var named []string
	for _, f := range functions[:min(most, len(functions))] {
		named = append(named, functionChange(f))
	}
	if len(named) == 0 {
		return ""
	}
	return ": " + strings.Join(named, "; ")
}

// littleTexts returns a sentence for each layer that differs and accounts for little of the loss.
func littleTexts(c difference.Cell) []string {
	var texts []string
	for _, l := range c.Layers {
		functions := slices.DeleteFunc(functionsOf(c, l.ID), func(f difference.Function) bool {
			return !c.Account.Little(f)
		})
		share := "0%" // nothing of it was sampled
		for _, p := range partsOf(c) {
			if p.Layer == l.ID {
				share = report.ShareText(p.Share)
			}
		}
		if len(functions) > 0 {
			texts = append(texts, "Differs, but accounts for little: "+l.Title+", "+share+changesText(functions))
		}
	}
	return texts
}

// partsOf returns the parts of a clear loss.
func partsOf(c difference.Cell) []difference.Part {
	if !c.Account.Clear() {
		return nil
	}
	return c.Account.Parts
}

// functionChange describes how a function changed: "qi_submit_sync appeared, 0.02 → 1.00 calls per I/O".
func functionChange(f difference.Function) string {
	var parts []string
	if d := f.Calls; d.Changed() {
		parts = append(parts, calls(d.A)+" → "+calls(d.B)+" calls per I/O")
	}
	if d := f.Waits; d.Changed() {
		parts = append(parts, calls(d.A)+" → "+calls(d.B)+" waits per I/O")
	}
	if d := f.NS; d.Changed() {
		parts = append(parts, nanoseconds(d.A)+" → "+nanoseconds(d.B)+" of CPU time per I/O")
	}
	name := functionName(f.Name, f.Module)
	if d := f.Calls; d != nil && (d.Change == difference.Appeared || d.Change == difference.Vanished) {
		name += " " + string(d.Change) + ","
	}
	return name + " " + strings.Join(parts, ", ")
}

// nothingDiffers reports that there is no difference, and which differences would have been detected.
func nothingDiffers(c difference.Cell) string {
	if c.Same == 0 {
		return "Nothing could be compared"
	}
	var looked []string
	if totalCalls(c.A) > 0 && totalCalls(c.B) > 0 && min(c.A.CallLoads, c.B.CallLoads) > 1 {
		looked = append(looked, "appeared, vanished or is called a fifth more or less often per I/O")
	}
	if min(c.A.WaitLoads, c.B.WaitLoads) > 1 {
		looked = append(looked, "is waited in on one side only")
	}
	if min(c.A.TimeLoads, c.B.TimeLoads) > 1 {
		looked = append(looked, leastTime(c))
	}
	text := prose.Count(c.Same, "function") + " none " + strings.Join(looked, ", and none ")
	if slower(c) {
		return fmt.Sprintf("Everything takes %.2f times as long in B, and nothing stands out: of %s beyond that",
			c.Slower, text)
	}
	return "Nothing differs: of " + text
}

// leastTime describes the smallest change of CPU time that would have been reported.
func leastTime(c difference.Cell) string {
	if c.Emulated() {
		return "takes ten times as much CPU time, or as little"
	}
	return "takes a quarter more or less CPU time"
}

// slower reports whether times of B are divided by the factor by which everything takes longer.
func slower(c difference.Cell) bool { return c.Slower != 0 && c.Slower != 1 }

// totals returns the cost of an I/O on both sides.
func (t text) totals(c difference.Cell) []string {
	var texts []string
	if a, b := c.A.CPU, c.B.CPU; a != nil && b != nil {
		text := "CPU time per I/O: " + withInterval(a, nanoseconds) + " → " + withInterval(b, nanoseconds)
		texts = append(texts, prose.Join(text, t.signs[EmulatedGuest]))
	}
	if a, b := totalCalls(c.A), totalCalls(c.B); a > 0 && b > 0 {
		texts = append(texts, "Calls of kernel functions per I/O: "+calls(a)+" → "+calls(b))
	}
	if len(c.Functions) > 0 {
		texts = append(texts, fmt.Sprintf("%s changed; of %d others none did clearly",
			prose.Count(len(c.Functions), "function"), c.Same))
	}
	if len(c.OwnPace) > 0 {
		texts = append(texts, fmt.Sprintf("Left out as other work: what interrupts and kernel threads call as often a "+
			"second on both sides, while I/Os are not as many (%s)", prose.Count(len(c.OwnPace), "function")))
	}
	return texts
}

// differenceDoubts describes what can't be compared, and reasons for doubt.
func differenceDoubts(c difference.Cell) []string {
	var texts []string
	if c.A.Kernel != c.B.Kernel {
		texts = append(texts, "The kernels differ, A "+c.A.Kernel+", B "+c.B.Kernel+": functions are matched by their "+
			"names, and one that is inlined or renamed in one of them looks as if it came or went")
	}
	if slower(c) && len(c.Layers) > 0 {
		texts = append(texts, fmt.Sprintf("The median function takes %.2f times as long in B: times of B in the tables of "+
			"layers and functions are divided by that", c.Slower))
	}
	for _, m := range c.Missing {
		same := func(of profile.Missing) bool { return of.What == m.What }
		if !slices.ContainsFunc(slices.Concat(c.A.Missing, c.B.Missing), same) {
			texts = append(texts, missingText(m))
		}
	}
	for _, m := range c.A.Missing {
		if slices.Contains(c.B.Missing, m) {
			texts = append(texts, "On both sides "+missingText(m))
		} else {
			texts = append(texts, "A has "+missingText(m))
		}
	}
	for _, m := range c.B.Missing {
		if !slices.Contains(c.A.Missing, m) {
			texts = append(texts, "B has "+missingText(m))
		}
	}
	return texts
}

func differenceReading(d difference.Document) []string {
	if len(d.Cells) == 0 {
		return nil
	}
	var texts []string
	if slices.ContainsFunc(d.Cells, func(c difference.Cell) bool { return c.Account.Clear() }) {
		texts = append(texts, "The time of an I/O is what samples found CPUs at work for it, and waiting: the rest of "+
			"the time from one I/O to the next, of as many CPUs as the load keeps busy. What accounts for it adds up; "+
			"each interval is of 95%, by how much loads differ.")
	}
	return append(texts, fmt.Sprintf("Brackets are intervals of B - A. All changes told by intervals are right together with "+
		"%s confidence; intervals of others only show how much they scatter.", report.Confidence(1-d.Alpha)),
		"Counts alone tell which function appears or vanishes: every load of one side calls it at least 0.9 "+
			"times per I/O, and every load of the other at most 0.2 times. More or less are changes of calls by "+
			"more than a fifth, of CPU time by more than a quarter (on an emulated CPU: tenfold); or one side never "+
			"calls it, and every load of the other at least 0.5 times. Waits appear where every load's threads leave "+
			"the CPU in a function at least 0.05 times per I/O, and in every load of the other side at most 0.005 times.")
}
