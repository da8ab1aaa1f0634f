package document

import (
	"strings"
	"testing"
)

// Texts within sections and folded parts are rewritten, too.
func TestRewrittenContainers(t *testing.T) {
	serial := []Block{Sentence{Text: "SERIAL"}}
	d := Document{Blocks: []Block{Section{Document{Title: "SERIAL", Blocks: serial}},
		Folded{Title: "SERIAL", Open: true, Blocks: []Block{Terminal{serial}}},
		Listing{"SERIAL", "SERIAL"}, Conditions{[]Condition{{Name: "disk", Text: "SERIAL"}}},
		Warnings{List: []WarningBlock{{Brief: WarningText{Text: "SERIAL"}}}}}}
	hidden := d.Rewritten(func(text string) string { return strings.ReplaceAll(text, "SERIAL", "-") })
	sentences := 0
	for b := range All(hidden.Blocks) {
		switch b := b.(type) {
		case Sentence:
			if sentences++; b.Text != "-" {
				t.Errorf("%q", b.Text)
			}
		case Folded:
			if b.Title != "-" || !b.Open {
				t.Errorf("%+v", b)
			}
		case Listing:
			if b != (Listing{"-", "-"}) {
				t.Errorf("%+v", b)
			}
		case Conditions:
			if b.List[0].Text != "-" {
				t.Errorf("%+v", b)
			}
		case Warnings:
			if b.List[0].Brief.Text != "-" {
				t.Errorf("%+v", b)
			}
		}
	}
	if sentences != 2 || hidden.Blocks[0].(Section).Title != "-" || d.Blocks[0].(Section).Title != "SERIAL" {
		t.Errorf("%d sentences in %+v", sentences, hidden)
	}
	for range All(d.Blocks) {
		break
	}
}
