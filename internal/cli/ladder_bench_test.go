//go:build bench && system && guests

package cli

import (
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Of 400 reads a second that two drives allow, a delay over both leaves 160.
func TestLadderFindsHowLongADelayOverAStripeIs(t *testing.T) {
	rung := named(t, delayOverAStripe(t))
	if rung.Name != "/dev/mapper/slow" || rung.Cells[0].Reached == nil || rung.Cells[0].Reached.Lo == nil {
		t.Fatalf("%+v is named", rung)
	}
	c := rung.Cells[0]
	figure.Record(t, figure.Figure{Name: "ladder/delay-over-a-stripe", Unit: "share", Center: c.Reached.Value,
		Lo: *c.Reached.Lo, Hi: *c.Reached.Hi, Confidence: 0.95, N: c.N,
		Text: "what a delay over two drives leaves, in an emulated guest; planted are 0.4"})
	if c.Reached.Value < 0.3 || c.Reached.Value > 0.5 {
		t.Errorf("of 400 reads a second 160 can be had, and %.0f%% are found", 100*c.Reached.Value)
	}
}
