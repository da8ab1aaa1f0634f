package report

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile/difference"
)

func within(value, half float64) difference.Range {
	return difference.Range{Value: value, Low: value - half, High: value + half}
}

// TestAccountText checks that the text names what accounts for most of a loss, with the facts that may explain it.
func TestAccountText(t *testing.T) {
	isolation := difference.FactChange{Key: "cpu.pti", Title: "page-table isolation", A: "off", B: "on"}
	model := difference.FactChange{Key: "cpu.model", Title: "the CPU's model", A: "old", B: "new"}
	for want, c := range map[string]struct {
		loss float64
		part difference.Part
	}{
		"everything takes 2.36 times as long, which accounts for 88% [80, 96] of the 280 µs that an I/O takes longer; " +
			"page-table isolation (off → on) differs and could be why": {280_000, difference.Part{
			Reason: difference.Uniform, Factor: 2.36, Causes: []difference.FactChange{isolation},
			Share: within(0.88, 0.08)}},
		"everything takes 0.50 times as long, which accounts for 88% [80, 96] of the 280 µs that an I/O takes less; " +
			"page-table isolation (off → on) and the CPU's model (old → new) differ and could be why": {-280_000,
			difference.Part{Reason: difference.Uniform, Factor: 0.5, Share: within(0.88, 0.08),
				Causes: []difference.FactChange{isolation, model}}},
		"block layer accounts for 60% [30, 90] of the 4.00 µs that an I/O takes longer": {4000, difference.Part{
			Reason: difference.InLayer, Layer: "block", Title: "block layer", Share: within(0.6, 0.3)}},
		"nothing clearly accounts for the 4.00 µs that an I/O takes longer; the largest part is block layer, " +
			"60% [0, 120]": {4000, difference.Part{Reason: difference.InLayer, Layer: "block", Title: "block layer",
			Share: within(0.6, 0.601)}},
		"nothing clearly accounts for the 4.00 µs that an I/O takes longer; the largest part is that everything takes " +
			"2.36 times as long, 95% [-38, 228]": {4000, difference.Part{Reason: difference.Uniform, Factor: 2.36,
			Causes: []difference.FactChange{isolation}, Share: within(0.95, 1.33)}},
		"waiting accounts for 60% [50, 70] of the 4.00 µs that an I/O takes longer": {4000, difference.Part{
			Reason: difference.Waiting, Share: within(0.6, 0.1)}},
	} {
		a := &difference.Account{A: 1000, B: 1000 + c.loss, Loss: within(c.loss, 100), Parts: []difference.Part{c.part}}
		if got := AccountText(a); got != want {
			t.Errorf("%q\nwant %q", got, want)
		}
	}
}

// TestLittleText checks that the text says that a changed function accounts for little.
func TestLittleText(t *testing.T) {
	a := &difference.Account{A: 1000, B: 2000, Loss: within(1000, 100), Parts: []difference.Part{
		{Reason: difference.Uniform, Factor: 2, Share: within(0.95, 0.01)},
		{Reason: difference.InLayer, Layer: "dma", Title: "DMA", Share: within(0.05, 0.01)}}}
	flushes := difference.Function{Name: "qi_submit_sync", Layer: "dma",
		Calls: &difference.Delta{B: 1, Change: difference.Appeared}}
	lines := FunctionsText("In new", []difference.CellFunctions{{Cell: "read", Account: a,
		Functions: []difference.Function{flushes}}})
	if len(lines) != 2 || lines[1] != "In new, read: qi_submit_sync 0.00 → 1.00 calls per I/O; that accounts for little." ||
		!strings.HasPrefix(lines[0], "In new, read: everything takes 2.00 times as long, which accounts for 95%") {
		t.Errorf("%q", lines)
	}
	a.Parts[1].Share = within(0.5, 0.01)
	lines = FunctionsText("In new", []difference.CellFunctions{{Cell: "read", Account: a,
		Functions: []difference.Function{flushes}}})
	if len(lines) != 2 || strings.Contains(lines[1], "little") {
		t.Errorf("%q", lines)
	}
	if lines = FunctionsText("In new", []difference.CellFunctions{{Cell: "read", Account: a}}); len(lines) != 1 {
		t.Errorf("%q", lines)
	}
}
