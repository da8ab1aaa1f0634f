package varied

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/sweep"
)

// That no change is shown is not that there is none.
func TestNoChangeBetweenKernels(t *testing.T) {
	for _, c := range []struct {
		compared, undecided int
		want                string
	}{
		{4, 0, "no change of more than 3% between neighbours of 3 kernels"},
		{4, 3, "no change is shown between neighbours of 3 kernels; undecided in 3 of 4 comparisons"},
		{1, 1, "no change is shown between neighbours of 3 kernels; undecided in 1 of 1 comparison"},
		{0, 0, "neighbours of 3 kernels can't be compared"},
	} {
		d := sweep.Document{Margin: 0.03, Chain: &sweep.Chain{Kernels: make([]sweep.Kernel, 3), Compared: c.compared,
			Undecided: c.undecided}}
		if got := chainAnswer(&d); len(got) != 1 || got[0] != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// Of a kernel on which loads fail, it is not said that nothing changed: each load that failed is named.
func TestKernelsOnWhichLoadsFail(t *testing.T) {
	for _, c := range []struct {
		failing int // of four loads, on the second kernel
		level   float64
		want    string
	}{
		{0, 14600, "no change of more than 3% between neighbours of 2 kernels"},
		{3, 14600, "no change of more than 3% between neighbours of 2 kernels where both have a figure; not compared: " +
			"a failed at 6.12.117, b failed at 6.12.117 and c failed at 6.12.117"},
		{4, 14600, "neighbours of 2 kernels can't be compared; not compared: a failed at 6.12.117, "},
		{3, 147, "6.12.117 is slower than 6.1.56: 0.01x in d (another branch); not compared: a failed at 6.12.117, "},
	} {
		in := sweep.Input{Factor: "kernel:", Levels: []sweep.Arm{{Name: "6.1.56"}, {Name: "6.12.117"}},
			Settings: sweep.Settings{Margin: 0.03, Alpha: 0.05, Share: 0.9}}
		for i, name := range []string{"a", "b", "c", "d"} {
			in.Cells = append(in.Cells, sweep.CellInput{Title: name, Cell: lab.Cell{ID: name, Job: name,
				Params: map[string]string{"rw": "randread", "bs": "4k"}}})
			for block := 1; block <= 8; block++ {
				in.Measured = append(in.Measured, sweep.Measured{Level: 0, Cell: name, Block: block,
					Values: map[string]float64{"read.iops": 14600}})
				later := map[string]float64{"read.iops": c.level}
				if i < c.failing {
					later = nil
				}
				in.Measured = append(in.Measured, sweep.Measured{Level: 1, Cell: name, Block: block, Values: later})
			}
		}
		d := sweep.Analyze(in)
		if got := sweepAnswer(&d); !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%d fail: %q, want %q", c.failing, got, c.want)
		}
	}
}
