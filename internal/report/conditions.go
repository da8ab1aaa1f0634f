package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/prose"
	"headroom/internal/stat"
	"headroom/internal/unit"
)

// conditions of a run in the order in which they are asked for. What is not known is left out.
func conditions(s *Summary) []document.Condition {
	var out []document.Condition
	add := func(name, text string) {
		if text != "" {
			out = append(out, document.Condition{Name: name, Text: text})
		}
	}
	for _, t := range s.Targets {
		role := ""
		if len(s.Targets) > 1 {
			role = " (" + t.Role + ")"
		}
		add("machine"+role, machineText(t))
		add("kernel"+role, joinFacts(t, " ", "kernel.release"))
		add("system"+role, joinFacts(t, " ", "os.name"))
		add(placeName(t.Place)+role, placeText(t))
	}
	add("suite", suiteText(s))
	add("when", whenText(s))
	add("how often", repetitionText(s))
	for _, t := range s.Targets {
		onlyCommands := !slices.ContainsFunc(s.Cells, func(c Cell) bool { return !c.namesMetrics() })
		if v := joinFacts(t, " ", "tool.fio.version"); v != "" && !onlyCommands {
			add("load", "fio "+strings.TrimPrefix(v, "fio-"))
			break
		}
	}
	if s.Source == lab.Imported {
		add("source", strings.TrimSpace("imported "+s.Format))
	}
	return out
}

// joinFacts joins the values of the facts that are known.
func joinFacts(t lab.RunTarget, gap string, keys ...string) string {
	var values []string
	for _, key := range keys {
		i := slices.IndexFunc(t.Facts, func(f lab.Fact) bool { return f.Key == key })
		if i >= 0 && t.Facts[i].Value != "" {
			values = append(values, t.Facts[i].Value)
		}
	}
	return strings.Join(values, gap)
}

// machineText names the hardware. The host's name is with the facts: what a report is about is the machine's kind.
func machineText(t lab.RunTarget) string {
	parts := []string{joinFacts(t, " ", "machine.vendor", "machine.product"), joinFacts(t, "", "cpu.model")}
	text := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
	if name := t.Remote(); name != "" {
		text = strings.TrimSuffix(name+": "+text, ": ")
	}
	return text
}

func placeName(p lab.Place) string {
	if p.Kind == lab.Directory {
		return "directory"
	}
	return "device"
}

func placeText(t lab.RunTarget) string {
	p := t.Place
	words := []string{p.Path}
	if p.Resolved != "" && p.Resolved != p.Path {
		words = append(words, "("+p.Resolved+")")
	}
	// Several disks under one place are numbered; the first tells what they are.
	if model := joinFacts(t, ", ", "disk.under-test.model", "disk.under-test.1.model"); model != "" {
		words = append(words, model)
	}
	if p.Filesystem != "" {
		words = append(words, p.Filesystem)
	}
	if p.Size > 0 && p.Kind == lab.Device {
		words = append(words, unit.Capacity(float64(p.Size)))
	}
	if p.Size > 0 && p.Kind == lab.Directory {
		words = append(words, "file of "+unit.Bytes(float64(p.Size)))
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

func suiteText(s *Summary) string {
	text := s.Suite
	if s.AsPublished {
		text += ", as published"
	}
	if s.Order != "" {
		text += ", " + s.Order
	}
	return text
}

func whenText(s *Summary) string {
	if s.Created.IsZero() {
		return ""
	}
	text := s.Created.UTC().Format("2006-01-02 15:04 MST")
	if s.Finished.After(s.Created) {
		text += ", took " + unit.Duration(s.Finished.Sub(s.Created))
	}
	return text
}

// repetitionText says how many repetitions the cells have, fewest and most.
func repetitionText(s *Summary) string {
	least, most := repetitionRange(s)
	switch {
	case most == 0:
		return ""
	case least == most:
		return prose.Count(most, "repetition")
	default:
		return fmt.Sprintf("%d to %s", least, prose.Count(most, "repetition"))
	}
}

// repetitionRange leaves out the cells that were never begun.
func repetitionRange(s *Summary) (least, most int) {
	for _, c := range s.Cells {
		if c.N > 0 && (least == 0 || c.N < least) {
			least = c.N
		}
		most = max(most, c.N)
	}
	return least, most
}

// readingOfSpread says what stands in the middle, what the ± covers and how surely.
func readingOfSpread(s *Summary) []string {
	least, most := repetitionRange(s)
	if most == 0 {
		return nil
	}
	if most == 1 {
		line := "Each job was measured once, so the spread is not known"
		switch {
		case s.Anytime:
			line += fmt.Sprintf("; it takes %d repetitions, which is a larger --budget", plan.MinForQuantile)
		case s.Source == lab.Measured:
			line += "; --repeat 6 or more gives one that is 95% sure"
		}
		return []string{line + "."}
	}
	var lines []string
	of := strconv.Itoa(most)
	if least != most {
		of = fmt.Sprintf("%d to %d", least, most)
	}
	line := "Each number is the median of " + of + " repetitions; ± covers the true median" + confidenceSentence(s)
	if s.Anytime && most < plan.MinForQuantile {
		line = fmt.Sprintf("Each number is the median of %s repetitions; an interval (±) takes %d", of,
			plan.MinForQuantile)
	} else if s.Anytime && least < plan.MinForQuantile {
		line += fmt.Sprintf("; it takes %d repetitions", plan.MinForQuantile)
	} else if least < 2 {
		line += "; a number without ± was measured once"
	}
	lines = append(lines, line+".")
	if text := dependenceText(s, most); text != "" {
		lines = append(lines, text)
	}
	if slices.ContainsFunc(s.Cells, func(c Cell) bool { return len(c.Latency) > 0 }) {
		lines = append(lines, "p50, p99 and p99.9 are of the operations of all repetitions together.")
	}
	return lines
}

// notablyWider is how many times wider an interval must be for alike neighbours before it is mentioned.
const notablyWider = 1.5

// dependenceText says what the intervals take for granted of neighbouring repetitions.
func dependenceText(s *Summary, most int) string {
	if most < stat.MinForDependence {
		if s.Anytime {
			return ""
		}
		return "± takes repetitions as independent, which fewer than " + strconv.Itoa(stat.MinForDependence) +
			" can't show."
	}
	widest := 0.0
	for _, c := range s.Cells {
		for _, name := range c.primary() {
			if i := c.Metrics[name].Interval; i != nil {
				widest = max(widest, i.Widened)
			}
		}
	}
	if widest < notablyWider {
		return ""
	}
	return fmt.Sprintf("Neighbouring repetitions are alike, so ± is up to %.2g times wider; levels that last as long "+
		"as the run are not in it.", widest)
}

// confidenceSentence says with which confidence the intervals hold. Below 95% it says what would be enough: six is the
// fewest values of which [min, max] covers the median with 95%.
func confidenceSentence(s *Summary) string {
	least, most := 1.0, 0.0
	for _, c := range s.Cells {
		for _, m := range c.Metrics {
			if m.Interval != nil {
				least, most = min(least, m.Confidence), max(most, m.Confidence)
			}
		}
	}
	switch {
	case most == 0:
		return ""
	case s.Anytime:
		return ", 95% sure, however often one looked"
	case least >= confidence:
		return ", 95% sure"
	case least == most:
		return ", " + confidenceText(least) + " sure (6 repetitions would be 95%)"
	default:
		return ", " + confidenceText(least) + " sure where there are fewest (6 repetitions would be 95%)"
	}
}
