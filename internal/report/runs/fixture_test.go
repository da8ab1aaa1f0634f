package runs

import (
	"testing"

	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

func summarized(t testing.TB, name string) summary.Run {
	t.Helper()
	s, err := summary.Of(summarytest.Run(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Cells) == 0 {
		t.Fatalf("the fixture %s has no cells", name)
	}
	return s
}

// fixtures are all runs of summarytest.
func fixtures(t testing.TB) []summary.Run {
	t.Helper()
	var out []summary.Run
	for _, name := range summarytest.Names() {
		out = append(out, summarized(t, name))
	}
	return out
}
