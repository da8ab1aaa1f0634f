package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/golden"
)

// permuted returns the largest energy distances of so many permutations of n values, ascending.
func permuted(n, times int) []float64 {
	r, weights, out := rand.New(rand.NewPCG(31, uint64(n))), newWeights(n), make([]float64, times)
	for i := range out {
		_, _, out[i] = mostDifferent(r.Perm(n), weights)
	}
	slices.Sort(out)
	return out
}

// TestNulls checks the table of nulls with permutations. With UPDATE_GOLDEN=1 and the tag bench it makes the table,
// which takes a quarter of an hour.
func TestNulls(t *testing.T) {
	if golden.Update() && figure.Whole {
		golden.Equal(t, "nulls.tsv", newNulls())
	}
	lengths := []int{51, 120}
	if figure.Whole {
		lengths = []int{51, 60, 84, 120, 240, 480, 960, 1920, 5000}
	}
	for _, n := range lengths {
		times := figure.Times(1000, min(20_000, 5e9/n/n))
		distances := permuted(n, times)
		for _, share := range []float64{0.5, 0.2, 0.05, 0.01} {
			reached := nullTable().p(n, distances[times-int(share*float64(times))])
			if error := 4 * math.Sqrt(share*(1-share)/float64(times)); math.Abs(reached-share) > error+share/20 {
				t.Errorf("%d values: the table says that %.2f%% reach what %g%% reached", n, 100*reached, 100*share)
			}
		}
	}
}

// TestNullsFall checks that more distance is reached more seldom, within the table and beyond it on all sides.
func TestNullsFall(t *testing.T) {
	for _, n := range []int{51, 100, 1000, 3000, 10_000, 100_000} {
		before := 1.0
		for x := 0.01; x < 20; x += 0.01 {
			p := nullTable().p(n, x*float64(n))
			if !(p < before) || p < 0 {
				t.Fatalf("%d values: at %.2f p is %g, before it %g", n, x, p, before)
			}
			before = p
		}
	}
	for x := 2.; x < 8; x += 0.5 {
		before := 0.0
		for _, n := range []int{51, 100, 1000, 3000, 10_000, 100_000} {
			p := nullTable().p(n, x*float64(n))
			if p < before {
				t.Errorf("%d values reach %.1f in %g, fewer in %g", n, x, p, before)
			}
			before = p
		}
	}
}

// newNulls makes the table.
func newNulls() string {
	const shares = 10
	lengths := []int{50, 70, 100, 140, 200, 280, 400, 560, 800, 1100, 1600, 2200, 3000}
	lines := make([]string, len(lengths))
	var all sync.WaitGroup
	for i, n := range lengths {
		all.Go(func() {
			times := max(40_000, min(200_000, 64_000_000/n))
			distances := permuted(n, times)
			lines[i] = fmt.Sprint(n)
			for k := 1; k <= shares; k++ {
				lines[i] += fmt.Sprintf("\t%.4f", distances[times-times>>k]/float64(n))
			}
		})
	}
	all.Wait()
	head := "# values"
	for k := 1; k <= shares; k++ {
		head += fmt.Sprintf("\t1/%d", 1<<k)
	}
	return head + "\n" + strings.Join(lines, "\n") + "\n"
}
