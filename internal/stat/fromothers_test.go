package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

func TestMediansOfOthers(t *testing.T) {
	for _, values := range [][]float64{{3, 1, 2}, {5, 5, 1, 9}, {1, 2}, {4, 4, 4, 4, 4}, {7, 3, 9, 1, 5, 2}} {
		for i, got := range MediansOfOthers(values) {
			var others []float64
			for j, v := range values {
				if j != i {
					others = append(others, v)
				}
			}
			if want := Median(others); got != want {
				t.Errorf("%v without number %d: %v, want %v", values, i, got, want)
			}
		}
	}
	if got := MediansOfOthers([]float64{1}); !math.IsNaN(got[0]) {
		t.Errorf("the others of one have the median %v", got)
	}
}

// Of machines that differ by a little as a rule, none is said to be farther from the rest than it is: in all tables
// together as rarely as was asked for.
func TestNobodyIsNamedThatIsLikeTheRest(t *testing.T) {
	const margin, alpha = 0.03, 0.05
	for name, draw := range map[string]func(r *rand.Rand) (machine func() float64){
		"alike": func(r *rand.Rand) func() float64 {
			return func() float64 { return math.Exp(0.02 * r.NormFloat64()) }
		},
		"each a little other": func(r *rand.Rand) func() float64 {
			own := 0.008 * r.NormFloat64()
			return func() float64 { return math.Exp(own + 0.01*r.NormFloat64()) }
		},
		"now and then 15% down": func(r *rand.Rand) func() float64 {
			return func() float64 {
				v := math.Exp(0.01 * r.NormFloat64())
				if r.Float64() < 0.05 {
					v *= 0.85
				}
				return v
			}
		},
		"each like the one before": func(r *rand.Rand) func() float64 {
			level := r.NormFloat64()
			return func() float64 {
				level = 0.8*level + 0.6*r.NormFloat64()
				return math.Exp(0.05 * level)
			}
		},
		"heavy tails": func(r *rand.Rand) func() float64 {
			return func() float64 { return math.Exp(0.01 * r.NormFloat64() / max(0.05, math.Abs(r.NormFloat64()))) }
		},
	} {
		for _, size := range []struct{ groups, n int }{{5, 4}, {12, 3}, {20, 10}, {60, 3}} {
			r := rand.New(rand.NewPCG(7, uint64(size.groups)))
			wrong, tables := 0, figure.Times(1000, 20000)/size.groups
			for range tables {
				groups := make([][]float64, size.groups)
				for i := range groups {
					machine := draw(r)
					for range size.n {
						groups[i] = append(groups[i], machine())
					}
				}
				named := false
				for _, c := range FromOthers(groups, FamilyWise(alpha, size.groups)).Changes {
					named = named || c.Known() && (c.Hi < 1/(1+margin) || c.Lo > 1+margin)
				}
				if named {
					wrong++
				}
			}
			figure.Record(t, figure.Share(figure.Name("outliers/wrong", name,
				fmt.Sprintf("%d machines, %d values", size.groups, size.n)), wrong, tables, figure.Lower).
				Saying("%s, %d machines, %d values each: tables in which somebody is named wrongly", name,
					size.groups, size.n))
			if expected := alpha * float64(tables); float64(wrong) > expected+3*math.Sqrt(expected*(1-alpha)) {
				t.Errorf("%s, %d machines, %d values each: %d of %d tables", name, size.groups, size.n, wrong, tables)
			}
		}
	}
}

// groupsOf are so many groups with so many values each, of which the first ones are slower.
func groupsOf(r *rand.Rand, groups, n, slow int, by, sd float64) [][]float64 {
	out := make([][]float64, groups)
	for i := range out {
		for range n {
			v := math.Exp(sd * r.NormFloat64())
			if i < slow {
				v *= 1 - by
			}
			out[i] = append(out[i], v)
		}
	}
	return out
}

// Slow ones are found where most others are not, however many they are, and those are not blamed for it.
func TestSlowOnesDoNotHideEachOther(t *testing.T) {
	for _, c := range []struct {
		groups, n, slow int
		by, sd          float64
	}{{20, 10, 6, 0.10, 0.01}, {20, 10, 8, 0.20, 0.02}, {20, 2, 1, 0.50, 0.03}, {5, 5, 1, 0.20, 0.01},
		{3, 5, 1, 0.50, 0.01}, {12, 3, 1, 0.30, 0.01}, {1000, 2, 1, 0.50, 0.01}} {
		groups := groupsOf(rand.New(rand.NewPCG(3, 1)), c.groups, c.n, c.slow, c.by, c.sd)
		for i, change := range FromOthers(groups, FamilyWise(0.05, c.groups)).Changes {
			if slow := change.Known() && change.Hi < 1/1.03; slow != (i < c.slow) || change.Lo > 1.03 {
				t.Errorf("%+v: number %d is %+v", c, i, change)
			}
			if i < c.slow && math.Abs(change.Ratio-1+c.by) > 0.03 {
				t.Errorf("%+v: number %d has a ratio of %v", c, i, change.Ratio)
			}
		}
	}
}

// What slows all of them at a time is no difference, also where one was not measured then.
func TestCommonDipsAreNoDifference(t *testing.T) {
	groups := groupsOf(rand.New(rand.NewPCG(4, 1)), 12, 4, 0, 0, 0.01)
	for i := range groups {
		groups[i][2] /= 2
	}
	groups[7][2] = math.NaN()
	for i, c := range FromOthers(groups, FamilyWise(0.05, 12)).Changes {
		if !c.Known() || math.Abs(c.Ratio-1) > 0.03 {
			t.Errorf("number %d: %+v", i, c)
		}
	}
}

// What short rows show of an AR(1) on average is what its moments say.
func TestMomentsOfShortRows(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	for _, n := range []int{3, 8} {
		const phi, trials = 0.7, 20000
		var square, product, ofMean float64
		for range trials {
			row, level := make([]float64, n), r.NormFloat64()
			for i := range row {
				row[i] = level
				level = phi*level + math.Sqrt(1-phi*phi)*r.NormFloat64()
			}
			one := poolRows([][]float64{row}).rows[0]
			square, product, ofMean = square+one.square/trials, product+one.product/trials,
				ofMean+one.level*one.level/trials
		}
		want := shortAR(phi, n)
		nearTo(t, "squares", square, want.square, 0.1)
		nearTo(t, "products", product, want.product, 0.1)
		nearTo(t, "variance of the mean", ofMean, want.ofMean, 0.03)
	}
}

func TestFromOthersOfFew(t *testing.T) {
	got := FromOthers([][]float64{{1}, {1}, {2}, nil, {0, math.NaN()}}, 0.95)
	if c := got.Changes[2]; c.Known() || math.Abs(c.Ratio-2) > 1e-9 {
		t.Errorf("one value each: %+v", c)
	}
	if c := got.Changes[3]; c.Known() || !math.IsNaN(c.Ratio) || !math.IsNaN(got.Changes[4].Ratio) {
		t.Errorf("no value: %+v", got.Changes)
	}
	for _, c := range FromOthers([][]float64{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, 0.95).Changes {
		if c.Ratio != 1 || c.Lo != 1 || c.Hi != 1 {
			t.Errorf("values that do not vary: %+v", c)
		}
	}
}

func nearTo(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}
