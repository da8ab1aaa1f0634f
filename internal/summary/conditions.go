package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// Conditions of a run in the order in which they are asked for. What is not known is left out.
func Conditions(s *Run) []document.Condition {
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
		onlyCommands := !slices.ContainsFunc(s.Cells, func(c Cell) bool { return !c.NamesMetrics() })
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
	// Several disks under one place are numbered; the model of the first is taken for all.
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

func suiteText(s *Run) string {
	text := s.Suite
	if s.AsPublished {
		text += ", as published"
	}
	if s.Order != "" {
		text += ", " + s.Order
	}
	return text
}

func whenText(s *Run) string {
	if s.Created.IsZero() {
		return ""
	}
	text := s.Created.UTC().Format("2006-01-02 15:04 MST")
	if s.Finished.After(s.Created) {
		text += ", took " + unit.Duration(s.Finished.Sub(s.Created))
	}
	return text
}

// repetitionText returns text about how many repetitions the cells have, fewest and most.
func repetitionText(s *Run) string {
	least, most := RepetitionRange(s)
	switch {
	case most == 0:
		return ""
	case least == most:
		return prose.Count(most, "repetition")
	default:
		return fmt.Sprintf("%d to %s", least, prose.Count(most, "repetition"))
	}
}

// RepetitionRange leaves out the cells that were never begun.
func RepetitionRange(s *Run) (least, most int) {
	for _, c := range s.Cells {
		if c.N > 0 && (least == 0 || c.N < least) {
			least = c.N
		}
		most = max(most, c.N)
	}
	return least, most
}
