package cli

import (
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
)

func TestSidesAreCalledByWhatTheyDifferIn(t *testing.T) {
	side := func(id, suite, place string) compare.Run {
		return compare.Run{Name: id,
			Run: lab.Run{ID: id, Pair: "A", Suite: suite, Targets: []lab.RunTarget{{Place: lab.Place{Path: place}}}}}
	}
	unrelated, labelled := side("B", "quick", "/b"), side("B", "quick", "/b")
	unrelated.Pair, labelled.Label = "", "mine"
	for _, c := range []struct {
		name       string
		a, b       compare.Run
		base, next string
	}{
		{"places", side("A", "quick", "/a"), side("B", "quick", "/b"), "/a", "/b"},
		{"suites", side("A", "one", "/a"), side("B", "two", "/a"), "one", "two"},
		{"parameters", side("A", "quick", "/a"), side("B", "quick", "/a"), "base", "new"},
		{"parameters, the other way round", side("B", "quick", "/a"), side("A", "quick", "/a"), "B", "A"},
		{"both", side("A", "one", "/a"), side("B", "two", "/b"), "base", "new"},
		{"one side twice", side("A", "quick", "/a"), side("A", "quick", "/a"), "A", "A"},
		{"no live comparison", side("A", "quick", "/a"), unrelated, "A", "B"},
		{"labels that differ", side("A", "quick", "/a"), labelled, "A", "B"},
	} {
		runs := []compare.Run{c.a, c.b}
		results.NameSides(runs)
		if runs[0].Name != c.base || runs[1].Name != c.next {
			t.Errorf("%s: they are called %s and %s", c.name, runs[0].Name, runs[1].Name)
		}
	}
}
