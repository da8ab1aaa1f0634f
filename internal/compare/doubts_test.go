package compare

import (
	"os"
	"strings"
	"testing"

	"headroom/internal/lab"
)

func TestWhatOnlyWarningsForbid(t *testing.T) {
	warned := func(code string) Warning {
		return Warning{Warning: lab.Warning{Code: code, Text: code, Taints: []string{"*"}}, Repetitions: 6}
	}
	base := run("BASE", reads, 100, 101, 102, 99, 98, 100)
	for _, c := range []struct {
		name  string
		codes []string
		load  string
		would bool
	}{
		{"a doubt", []string{"other-load"}, reads, true},
		{"two doubts", []string{"other-load", "short-run"}, reads, true},
		{"no number of the storage", []string{"page-cache"}, reads, false},
		{"a doubt and no number of the storage", []string{"other-load", "page-cache"}, reads, false},
		{"a doubt, and another load", []string{"other-load"}, strings.Replace(reads, "=32", "=8", 1), false},
	} {
		next := run("NEXT", c.load, 80, 81, 82, 79, 78, 80)
		for _, code := range c.codes {
			next.Cells[0].Warnings = append(next.Cells[0].Warnings, warned(code))
		}
		d := Compare(knowledge(t), base, []Run{next}, Options{})
		got := only(t, d)
		if got.Verdict != Incomparable || got.Change != nil || d.Comparisons != 0 {
			t.Errorf("%s: it is judged: %s", c.name, got.Verdict)
		}
		if (got.Would != nil) != c.would || d.New[0].Doubtful != boolInt(c.would) {
			t.Errorf("%s: would be %v, %d doubtful", c.name, got.Would, d.New[0].Doubtful)
		}
		if anyway := only(t, Compare(knowledge(t), base, []Run{next}, Options{Anyway: true})); c.would &&
			(*anyway.Change.Lo != *got.Would.Lo || *anyway.Change.Hi != *got.Would.Hi || anyway.Would != nil) {
			t.Errorf("%s: would be %v, but with Anyway is %v", c.name, got.Would, anyway.Change)
		}
	}
	if d := Compare(knowledge(t), base, []Run{base}, Options{}); d.New[0].Doubtful != 0 || only(t, d).Would != nil {
		t.Error("what is comparable is no doubt")
	}
}

// A code that is misspelt would never be met.
func TestDoubtsAreCodesOfWarnings(t *testing.T) {
	page, err := os.ReadFile("../../docs/warnings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range doubts() {
		if !strings.Contains(string(page), "\n## `"+code+"`\n") {
			t.Errorf("no warning has the code %s", code)
		}
	}
}
