package varied

import (
	"testing"

	"headroom/internal/sweep"
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
