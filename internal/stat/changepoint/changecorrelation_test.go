package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// wandering is a series of n runs of which each resembles the one before, whose level changes by a factor in the
// middle.
func wandering(r *rand.Rand, n int, phi, factor float64) []float64 {
	values, level := make([]float64, n), r.NormFloat64()
	for i := range values {
		values[i] = 1000 * math.Exp(0.01*level)
		if i >= n/2 {
			values[i] *= factor
		}
		level = phi*level + math.Sqrt(1-phi*phi)*r.NormFloat64()
	}
	return values
}

// Where neighbouring runs are alike, chance makes steps. With the correlation taken out few of them are called proved,
// and steps that are real are found. The search without it is the negative control.
func TestChangePointsOfRunsThatAreAlike(t *testing.T) {
	lengths, correlations := []int{50}, []float64{0.4}
	if figure.Whole {
		lengths, correlations = []int{24, 50}, []float64{0, 0.2, 0.4, 0.6, 0.8, 0.9}
	}
	trials := figure.Times(40, 1000)
	for _, n := range lengths {
		search := NewChangeSearch(0.05, 1)
		for _, phi := range correlations {
			for _, factor := range []float64{1, 0.98, 0.95} {
				r := rand.New(rand.NewPCG(23, uint64(n)))
				var wrongly, likely, warned, before, found, foundProved, foundBefore int
				for range trials {
					values := wandering(r, n, phi, factor)
					all := search.ChangePoints(values)
					var proved []ChangePoint
					for _, p := range all {
						if !p.Likely {
							proved = append(proved, p)
						}
					}
					hitProved, wrong := hitsAndMisses(proved, n/2, factor != 1)
					anyHit, anyWrong := hitsAndMisses(all, n/2, factor != 1)
					hitBefore, wrongBefore := hitsAndMisses(search.search(values), n/2, factor != 1)
					found, foundProved, foundBefore = found+anyHit, foundProved+hitProved, foundBefore+hitBefore
					wrongly, before = wrongly+wrong, before+wrongBefore
					if anyWrong > wrong {
						likely++
					}
					if wrong > 0 && StepCorrelation(values, proved) > ClearCorrelation(n, len(proved)) {
						warned++
					}
				}
				what := fmt.Sprintf("%d runs, correlation %g, step %g%%", n, phi, math.Round(100*(1-factor)))
				record := func(name string, hits, of int, better string) {
					if of > 0 {
						figure.Record(t, figure.Share(figure.Name("decisions/history", name, what), hits, of,
							better).Saying("%s: %s", name, what))
					}
				}
				record("false-proved", wrongly, trials, figure.Lower)
				record("false-likely-only", likely, trials, figure.Lower)
				record("false-as-if-independent", before, trials, "")
				record("false-and-warned", warned, wrongly, "")
				if factor != 1 {
					record("found", found, trials, figure.Higher)
					record("found-and-proved", foundProved, trials, figure.Higher)
					record("found-as-if-independent", foundBefore, trials, "")
				}
				if figure.Whole {
					continue
				}
				if factor == 1 && (wrongly > trials*10/100 || before < trials*25/100) ||
					factor == 0.95 && (found < trials*95/100 || foundProved < trials*85/100) {
					t.Errorf("%s: %d of %d false, %d as if independent; found in %d", what, wrongly, trials, before,
						found)
				}
			}
		}
	}
}

// hitsAndMisses are 1 where a point is near the step, and 1 where any is elsewhere.
func hitsAndMisses(points []ChangePoint, at int, isStep bool) (hit, wrong int) {
	for _, p := range points {
		if isStep && p.Index >= at-2 && p.Index <= at+2 {
			hit = 1
		} else {
			wrong = 1
		}
	}
	return hit, wrong
}

// What fitting levels takes of the correlation is given back.
func TestStepCorrelation(t *testing.T) {
	r := rand.New(rand.NewPCG(24, 1))
	for _, phi := range []float64{0, 0.4} {
		const trials = 400
		for _, points := range [][]ChangePoint{nil, {{Index: 15}, {Index: 30}}} {
			sum := 0.0
			for range trials {
				sum += StepCorrelation(wandering(r, 50, phi, 1), points) / trials
			}
			near(t, fmt.Sprintf("correlation %g, %d points", phi, len(points)), sum, phi, 0.05)
		}
	}
	if r := StepCorrelation([]float64{1, 1, 1, 1}, nil); !math.IsNaN(r) {
		t.Errorf("a constant series: %v", r)
	}
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}
