//go:build bench && system

package cli

import (
	"fmt"
	"testing"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/testing/figure"
)

// An ablation of three settings over eight pairs and two links prices the one that is planted, a link that carries a
// quarter, accuses none of the others, and says that all of them together cost what the one does.
func TestAblationOverEightPairsPrecisely(t *testing.T) {
	h := twoLinks(t)
	if out, err := h.command("ablate", h.overBothLinks(), "--seed", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	d := documentOf[ablation.Document](h, h.command("ablate", "--show", "last", "--json"))
	want := (goodputOf(40) + goodputOf(10)) / (2 * goodputOf(40))
	for i, s := range d.Settings {
		for which, e := range map[string]*ablation.Effect{"alone": s.Alone, "removed": s.Removed} {
			if !e.Known() {
				t.Errorf("%s, %s, was not measured", s.Factor, which)
				continue
			}
			figure.Record(t, figure.Figure{Name: figure.Name("net", "ablation", []string{"second-link", "tcp-rmem",
				"mtu"}[i], which), Center: e.Ratio, Lo: *e.Lo, Hi: *e.Hi, Confidence: e.Confidence, N: e.Blocks,
				Text: fmt.Sprintf("what %s=%s over eight pairs and two links comes to; planted is %.3f of the first "+
					"setting, and nothing of the others", s.Factor, s.Level, want)})
			if planted := []float64{want, 1, 1}[i]; e.Ratio < 0.95*planted || e.Ratio > 1.05*planted {
				t.Errorf("%s, %s: %.3f, and %.3f is planted", s.Factor, which, e.Ratio, planted)
			}
		}
		if accused := s.Verdict == ablation.Slower; accused != (i == 0) {
			t.Errorf("%s is %s", s.Factor, s.Verdict)
		}
	}
	for _, u := range d.Unexplained {
		if u.Together.Ratio < 0.95*want || u.Together.Ratio > 1.05*want || u.Seen.Verdict == ablation.Slower ||
			u.Seen.Verdict == ablation.Faster {
			t.Errorf("all together come to %.3f, and %.3f is planted: %+v", u.Together.Ratio, want, u.Seen)
		}
	}
	if len(d.Unexplained) != 1 || len(d.Suspects) > 0 {
		t.Errorf("%d sums, suspects %v", len(d.Unexplained), d.Suspects)
	}
	h.checkNothingLeft()
}
