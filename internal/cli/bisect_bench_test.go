//go:build bench && system

package cli

import (
	"os"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/testing/figure"
)

// What a culprit does shows in what the kernel counts: one that starts programs differs from one that sleeps. The
// kernel counts for the whole machine, so that it takes a quiet one.
func TestWhatACulpritMoves(t *testing.T) {
	v := newFixture(t)
	if err := os.WriteFile(v.suite, []byte(`version: 1
jobs:
  - name: work
    exec: [sh, -c, 'i=0; while [ $i -lt 100 ]; do if [ "$STARTS" = slow ]; then /bin/true; fi; i=$((i+1)); done; if [ "$SLEEPS" = slow ]; then sleep 0.1; fi; sleep 0.05']
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, culprit := range []string{"STARTS", "SLEEPS"} {
		if out, err := v.command("bisect", "settings", v.suite, "--setting", "env:A=fast,slow", "--setting",
			"env:"+culprit+"=fast,slow", "--setting", "env:B=fast,slow").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		d := found(t, v)
		if d.Outcome != bisection.Found || d.Evidence == nil || d.Evidence.Counters == 0 {
			t.Fatalf("%s: %s, %+v", culprit, d.Outcome, d.Evidence)
		}
		i := slices.IndexFunc(d.Evidence.Changed, func(m bisection.ChangedCounter) bool {
			return m.Counter == "stat.processes"
		})
		if (i >= 0) != (culprit == "STARTS") {
			t.Errorf("%s: %+v", culprit, d.Evidence.Changed)
		}
		if i >= 0 {
			m := d.Evidence.Changed[i]
			figure.Record(t, figure.Figure{Name: "evidence/new-processes", Unit: "ratio", Center: m.Ratio, Lo: m.Lo,
				Hi: m.Hi, Confidence: 0.95,
				Text: "new processes for the same work, with what starts 100 programs and without it"})
			if m.Ratio < 5 || m.Lo <= 1 || m.With <= m.Without {
				t.Errorf("%+v", m)
			}
		}
	}
}
