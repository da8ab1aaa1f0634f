//go:build bench && system

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/testing/figure"
)

// comparisonsWanted names the variable that says how often each kind of live comparison is made, where it is not the
// fifty that the docs quote.
const comparisonsWanted = "HEADROOM_LIVE_COMPARISONS"

// directSuite reaches the storage: the first pace is none.
const directSuite = `version: 1
name: direct
title: short random reads past the page cache
place: directory
size: 64m
defaults: {ioengine: psync, direct: 1, bs: 4k, runtime: 400ms, time_based: 1, randrepeat: 0%s}
jobs:
  - {name: read, fio: {rw: randread}}
`

// TestLiveOnRealStorage counts right, wrong and missing verdicts on a file of a real disk, whose other users are part
// of the test.
func TestLiveOnRealStorage(t *testing.T) {
	wanted := 50
	if text := os.Getenv(comparisonsWanted); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		wanted = n
	}
	for _, c := range []struct {
		name, what string
		base, next string // paces
		right      compare.Verdict
		least      int // right, or undecided with what would have been seen, of 50
		undecided  bool
	}{
		{"same", "an unlimited load against itself on a busy disk", "", "", compare.Same, 45, true},
		{"20-slower", "a load that is 20% slower (rate_iops)", "500", "400", compare.Slower, 48, false},
		{"5-slower", "a load that is 5% slower (rate_iops)", "500", "475", compare.Slower, 40, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newComparisonFixture(t)
			base, next := a.paced("base", c.base), a.paced("next", c.next)
			counts := map[compare.Verdict]int{}
			wrong, good, pairs := 0, 0, 0
			for range wanted {
				cell := a.verdict(base, next)
				counts[cell.Verdict]++
				switch {
				case cell.Verdict == c.right, c.undecided && claimsNothing(cell.Verdict) && cell.Why != "":
					good++
				case cell.Verdict == compare.Faster || c.right == compare.Same && cell.Verdict == compare.Slower:
					wrong++
				}
				if cell.Change != nil {
					pairs += cell.Change.N
				}
				clearStore(t, a.store)
			}
			name := func(kind string) string { return figure.Name("live", c.name, kind) }
			figure.Record(t, figure.Share(name("wrong"), wrong, wanted, figure.Lower).Saying("live, %s: wrong", c.what))
			for _, v := range []compare.Verdict{compare.Same, compare.Slower, compare.Undecided} {
				figure.Record(t, figure.Share(name("called-"+string(v)), counts[v], wanted,
					"").Saying("live, %s: called %s", c.what, v))
			}
			figure.Record(t, figure.Figure{Name: name("pairs"), Center: float64(pairs) / float64(wanted), N: wanted,
				Better: figure.Lower, Text: "live, " + c.what + ": pairs it took"})
			most := 0 // in the wrong direction
			if c.right == compare.Same {
				most = wanted / 10
			}
			if wrong > most || good*50 < c.least*wanted {
				t.Errorf("%d wrong, %d as they should be, of %d", wrong, good, wanted)
			}
		})
	}
}

// claimsNothing is said of a comparison that the machine's other users made impossible, or too coarse.
func claimsNothing(v compare.Verdict) bool {
	return v == compare.Undecided || v == compare.Incomparable
}

// paced is a suite with a pace; empty for none.
func (a comparisonFixture) paced(name, pace string) string {
	a.t.Helper()
	if pace != "" {
		pace = ", rate_iops: " + pace
	}
	path := filepath.Join(filepath.Dir(a.suite), name+".yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, directSuite, pace), 0o644); err != nil {
		a.t.Fatal(err)
	}
	return path
}

// verdict makes a live comparison of one load and returns what it says.
func (a comparisonFixture) verdict(base, next string) compare.ComparedMetric {
	a.t.Helper()
	return onlyComparison(a.t, a.command("compare", "--live", "--json", "--confirm", "0", base, next, a.place))
}

// onlyComparison runs a comparison of one load and returns what it says.
func onlyComparison(t *testing.T, cmd *exec.Cmd) compare.ComparedMetric {
	t.Helper()
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var d compare.Document
	if err := json.Unmarshal(out, &d); err != nil || len(d.Cells) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	if d.Cells[0].Verdict == compare.Incomparable {
		t.Logf("incomparable: %s", d.Cells[0].Why)
	}
	return d.Cells[0]
}
