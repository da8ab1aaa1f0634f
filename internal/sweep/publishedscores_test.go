package sweep

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/stat"
)

// Where the baseline has the best mean, how much another level may gain is bounded by what is known of the others: what
// lies within is not denied.
func TestBesideABaselineThatIsBest(t *testing.T) {
	four, lo, hi := 0.97, 0.8, 1.3
	d := Document{Baseline: "0", Cells: []Cell{{Cell: "c", Params: map[string]string{"rw": "read", "bs": "4k"},
		Top: "0", Gain: ratio(1, 1, 1),
		Levels: []Point{{Level: "0", Value: &four, ToBaseline: ratio(1, 1, 1)},
			{Level: "4", Value: &four, ToBaseline: ratio(four, lo, hi)}}}}}
	for percent, want := range map[string]string{"0": "within", "18": "within", "30": "within",
		"33": "above", "-3": "below"} {
		m, err := reference.ParseScores("theirs",
			strings.NewReader("bs,rw,gain %,smallest guest:iothreads for 90%\n4096,read,"+percent+",2\n"))
		if err != nil {
			t.Fatal(err)
		}
		if d.AddPublished(m); d.Published.Loads[0].Agrees != want {
			t.Errorf("%s%%: %+v, want %s", percent, d.Published.Loads[0], want)
		}
	}
	d.Cells[0].Levels[1].ToBaseline.Bounds = stat.Bounds{}
	m, _ := reference.ParseScores("theirs",
		strings.NewReader("bs,rw,gain %,smallest guest:iothreads for 90%\n4096,read,18,2\n"))
	if d.AddPublished(m); d.Published.Loads[0].Agrees != "" || d.Published.Loads[0].Known() {
		t.Errorf("nothing is known of level 4: %+v", d.Published.Loads[0])
	}
}

func ratio(value, lo, hi float64) *Ratio {
	return &Ratio{RatioEstimate: stat.RatioEstimate{Ratio: value, Bounds: stat.BoundsOf(lo, hi)}, N: 4}
}

// A published gain is compared with the interval here, within half a per cent, to which it was rounded.
func TestBeside(t *testing.T) {
	run, reps := sweepRun("guest:iothreads", "0", "4")
	in, err := FromRun(run, sequence(reps, nil), Known{})
	if err != nil {
		t.Fatal(err)
	}
	d := Analyze(in)
	g := d.Cells[0].Gain
	if g == nil || !g.Known() {
		t.Fatalf("%+v", d.Cells[0])
	}
	for percent, want := range map[string]string{"98": "within", "60": "below", "300": "above"} {
		m, err := reference.ParseScores("theirs",
			strings.NewReader(
				"bs,rw,numjobs,iodepth,gain %,smallest guest:iothreads for 90%\n4096,randread,1,1,"+percent+",2\n"+
					"4096,randread,16,1,10,2\n4096,write,1,1,10,2\n4096,total,1,1,10,2\n"))
		if err != nil {
			t.Fatal(err)
		}
		d.AddPublished(m)
		if p := d.Published; len(p.Loads) != 1 || p.Missing != 2 || p.Loads[0].Agrees != want ||
			p.Loads[0].Cell != d.Cells[0].Cell || p.Loads[0].Smallest != "2" {
			t.Errorf("%s%%, here [%g, %g]: %+v", percent, *g.Lo, *g.Hi, p)
		}
	}
}
