package sweep

import (
	"strings"
	"testing"

	"headroom/internal/reference"
)

// A published gain is held against the interval here, within half a per cent, to which it was rounded.
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
		m, err := reference.ParseMerits("theirs", strings.NewReader("bs,rw,numjobs,iodepth,gain %,smallest guest:iothreads for 90%\n4096,randread,1,1,"+percent+",2\n"+
			"4096,randread,16,1,10,2\n4096,write,1,1,10,2\n4096,total,1,1,10,2\n"))
		if err != nil {
			t.Fatal(err)
		}
		d.Beside(m)
		if p := d.Published; len(p.Loads) != 1 || p.Missing != 2 || p.Loads[0].Agrees != want || p.Loads[0].Cell != d.Cells[0].Cell || p.Loads[0].Smallest != "2" {
			t.Errorf("%s%%, here [%g, %g]: %+v", percent, *g.Lo, *g.Hi, p)
		}
	}
}
