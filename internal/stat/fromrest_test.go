package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"headroom/internal/figure"
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

// Where the distribution is counted out otherwise, it is the same.
func TestLopsidedRanksAreThoseOfTheWholeDistribution(t *testing.T) {
	for _, few := range []int{1, 2, 3, 4, 5} {
		for _, many := range []int{510, 600} {
			tail := 1e-4
			want, below := 0, 0.0
			for _, ways := range arrangements(few, many) {
				if below += ways / choose(few+many, few); below > tail {
					break
				}
				want++
			}
			if got := lopsidedRank(few, many, 1-2*tail); few*many > exactLimit && got != want {
				t.Errorf("%d and %d: rank %d, want %d", few, many, got, want)
			}
		}
	}
}

func TestFewestFromRest(t *testing.T) {
	for _, c := range []struct {
		groups     int
		confidence float64
		want       int
	}{{12, FamilyWise(0.05, 12), 3}, {1000, FamilyWise(0.05, 1000), 2}, {3, FamilyWise(0.05, 3), 4}, {2, 1 - 1e-12, 0}} {
		most := 20
		if c.want == 0 {
			most = 5
		}
		if got := FewestFromRest(c.groups, c.confidence, most); got != c.want {
			t.Errorf("%d groups at %v: %d, want %d", c.groups, c.confidence, got, c.want)
		}
	}
}

// Of machines that differ by a little as a rule, none is said to be farther from the rest than it is: in all tables together as rarely as was asked for.
func TestNobodyIsNamedThatIsLikeTheRest(t *testing.T) {
	const margin, alpha = 0.03, 0.05
	for name, draw := range map[string]func(r *rand.Rand) (machine func() float64){
		"alike": func(r *rand.Rand) func() float64 { return func() float64 { return math.Exp(0.02 * r.NormFloat64()) } },
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
		"heavy tails": func(r *rand.Rand) func() float64 {
			return func() float64 { return math.Exp(0.01 * r.NormFloat64() / max(0.05, math.Abs(r.NormFloat64()))) }
		},
	} {
		for _, size := range []struct{ groups, n int }{{5, 4}, {12, 3}, {60, 3}} {
			r := rand.New(rand.NewPCG(7, uint64(size.groups)))
			wrong, tables := 0, 4000/size.groups
			for range tables {
				groups := make([][]float64, size.groups)
				for i := range groups {
					machine := draw(r)
					for range size.n {
						groups[i] = append(groups[i], machine())
					}
				}
				named := false
				for _, c := range FromRest(groups, FamilyWise(alpha, size.groups)) {
					named = named || c.Known() && (c.Hi < 1/(1+margin) || c.Lo > 1+margin)
				}
				if named {
					wrong++
				}
			}
			figure.Record(t, figure.Share(figure.Name("outliers/wrong", name, fmt.Sprintf("%d machines, %d values", size.groups, size.n)), wrong, tables, figure.Lower).
				Saying("%s, %d machines, %d values each: tables in which somebody is named wrongly", name, size.groups, size.n))
			if expected := alpha * float64(tables); float64(wrong) > expected+3*math.Sqrt(expected*(1-alpha)) {
				t.Errorf("%s, %d machines, %d values each: %d of %d tables", name, size.groups, size.n, wrong, tables)
			}
		}
	}
}

// One that is slower by a fifth is found where there are enough others.
func TestAnOutlierIsFound(t *testing.T) {
	for _, size := range []struct{ groups, n int }{{5, 4}, {12, 3}, {1000, 2}} {
		r := rand.New(rand.NewPCG(3, 1))
		groups := make([][]float64, size.groups)
		for i := range groups {
			for range size.n {
				groups[i] = append(groups[i], math.Exp(0.01*r.NormFloat64()))
			}
		}
		for k := range groups[1] {
			groups[1][k] *= 0.82
		}
		c := FromRest(groups, FamilyWise(0.05, size.groups))[1]
		if !c.Known() || c.Hi > 0.87 || c.Lo > 0.82 || c.Hi < 0.82 || math.Abs(c.Ratio-0.82) > 0.03 {
			t.Errorf("%d groups of %d: %+v", size.groups, size.n, c)
		}
	}
}
