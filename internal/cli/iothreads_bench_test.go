//go:build bench && system && guests

package cli

import (
	"testing"

	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/figure"
)

// What none to four IOThreads gain in an emulated guest, on a disk of nothing, too, and how much of the disk of this
// machine such a guest reaches: less than the machine itself.
func TestIOThreadsAgainstTheHostPrecisely(t *testing.T) {
	cells := iothreadsAgainstTheHost(t, map[string]string{"real": "0,1,2,4", "nothing": "0,4"})
	for disk, c := range cells {
		t.Logf("%s: best with %s IOThreads (told apart: %v)", disk, c.Top, c.Distinguishable)
		for name, r := range map[string]*sweep.Ratio{"gain over none": c.Gain, "to the host": c.ToReference} {
			if r == nil {
				continue
			}
			f := figure.Figure{Name: figure.Name("iothreads/guest", disk, name), Unit: "ratio", Center: r.Ratio, N: r.N,
				Text: "IOPS of a guest's disk, " + disk + ", with its best number of IOThreads: " + name}
			if r.Known() {
				f.Lo, f.Hi, f.Confidence = *r.Lo, *r.Hi, r.Confidence
			}
			figure.Record(t, f)
		}
	}
	if c, ok := cells["real"]; !ok || c.Reference == nil || *c.Reference.Value <= *c.Levels[0].Value {
		t.Errorf("the host itself reaches %+v, its emulated guest %+v", c.Reference, c.Levels)
	}
}
