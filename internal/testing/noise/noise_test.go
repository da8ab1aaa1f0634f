package noise

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

// The standard deviation of a run is the requested one; otherwise the noise of a benchmark would not match its name.
func TestSpreadOfRuns(t *testing.T) {
	const slow, gap = 0.2, 0.15
	twoLevels := math.Sqrt(slow*(1-slow)) * -math.Log1p(-gap)
	for _, c := range []struct {
		model Model
		sd    float64
		// tolerance for the measured one; t3 has no fourth moment, sticky levels are few
		slack float64
	}{
		{Gaussian(0.03), 0.03, 0.02}, {StudentT3(0.03), 0.03, 0.3},
		{TwoMode(gap, slow, 0, 0), twoLevels, 0.03}, {TwoMode(gap, slow, 0, 0.9), twoLevels, 0.1},
		{Rhythm("sf", gap, 0), -math.Log1p(-gap) / 2, 0.01},
		{Autocorrelated(0.6, 0.03), 0.03, 0.05}, {Autocorrelated(0.9, 0.03), 0.03, 0.05},
		{Wandering(0.5, 0.03), 0.03, 0.05},
	} {
		got := stat.StdDev(c.model.Runs(rand.New(rand.NewPCG(1, 1)), 20000), nil)
		if math.Abs(got/c.sd-1) > c.slack {
			t.Errorf("%s: standard deviation %v, want %v", c.model.Name, got, c.sd)
		}
	}
}

// The other kinds match their names: the spread of the quarters of the runs, the correlation of neighbours, and how
// much the tenth to fiftieth run is below the first.
func TestWorlds(t *testing.T) {
	for _, c := range []struct {
		model          Model
		quarters, lag1 float64 // less than 0: not checked
		fall           float64
	}{
		{StudentT(1, 0.03), 0.06, -1, 0}, {StudentT(1.5, 0.03), 0.0525, 0, 0},
		{Warming(0.25, 4, 0.001), -1, -1, -math.Log1p(-0.25)},
		{Wave(0.15, 48, 0.0001), -math.Log1p(-0.15) / math.Sqrt2, -1, 0}, {Whole(3, 0.001), 0, -1, 0},
		{Alternating(0.03), 0.0405, -0.5, 0},
	} {
		r := rand.New(rand.NewPCG(3, 3))
		runs := c.model.Runs(r, 48*400)
		sorted := slices.Sorted(slices.Values(runs))
		apart := sorted[3*len(runs)/4] - sorted[len(runs)/4]
		if c.quarters >= 0 && math.Abs(apart-c.quarters) > 0.03*c.quarters {
			t.Errorf("%s: the quarters are %v apart, want %v", c.model.Name, apart, c.quarters)
		}
		if c.lag1 == -0.5 {
			if got := stat.Correlation(runs[1:], runs[:len(runs)-1], nil); math.Abs(got-c.lag1) > 0.03 {
				t.Errorf("%s: neighbours are alike by %v", c.model.Name, got)
			}
		}
		if fall := runs[0] - stat.Mean(runs[10:50], nil); c.fall > 0 && math.Abs(fall-c.fall) > 0.01 {
			t.Errorf("%s: the runs fall by %v", c.model.Name, fall)
		}
	}
	for _, m := range Worlds() {
		for _, v := range m.Runs(rand.New(rand.NewPCG(4, 4)), 1000) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%s: a run of %v", m.Name, v)
			}
		}
	}
}

func TestStickyLevelsStay(t *testing.T) {
	// 2·0.2·0.8 change level, less those that stay
	for _, c := range []struct{ stay, want float64 }{{0, 0.32}, {0.9, 0.032}} {
		runs := TwoMode(0.15, 0.2, 0, c.stay).Runs(rand.New(rand.NewPCG(1, 1)), 20000)
		changes := 0
		for i := 1; i < len(runs); i++ {
			if runs[i] != runs[i-1] {
				changes++
			}
		}
		if got := float64(changes) / float64(len(runs)); math.Abs(got-c.want) > 0.1*c.want {
			t.Errorf("stay %v: the level changes in %v of the runs, want %v", c.stay, got, c.want)
		}
	}
}

func TestOrders(t *testing.T) {
	drift := Drift(0.01, 0) // run i lies i·log(1.01) up, so a pair says which of its runs came first
	up := math.Log(1.01)
	for _, order := range []Order{RandomOrder, BalancedOrder, FixedOrder} {
		pairs := drift.Pairs(rand.New(rand.NewPCG(1, 1)), 1000, order)
		swapped, opposite := 0, 0
		for i, p := range pairs {
			if math.Abs(math.Abs(p)-up) > 1e-9 {
				t.Fatalf("%v: pair %d is %v, not two neighbours", order, i, p)
			}
			if p < 0 {
				swapped++
			}
			if i%2 == 1 && p*pairs[i-1] < 0 {
				opposite++
			}
		}
		want := map[Order][2]int{RandomOrder: {500, 250}, BalancedOrder: {500, 339}, FixedOrder: {0, 0}}[order]
		if math.Abs(float64(swapped-want[0])) > 60 || math.Abs(float64(opposite-want[1])) > 60 {
			t.Errorf("%v: %d of 1000 pairs swapped, %d of 500 blocks in opposite orders", order, swapped, opposite)
		}
	}
}

func TestRecordedTraces(t *testing.T) {
	models, err := Recorded()
	if err != nil || len(models) == 0 {
		t.Fatalf("%d traces, %v", len(models), err)
	}
	for _, m := range models {
		runs := m.Runs(rand.New(rand.NewPCG(1, 1)), 2000)
		sd := stat.StdDev(runs, nil)
		if sd < 0.001 || sd > 1 {
			t.Errorf("%s: standard deviation %v", m.Name, sd)
		}
		// not all of it comes as often
		if center := slices.Sorted(slices.Values(runs))[1000]; math.Abs(center) > 0.05*sd+0.005 {
			t.Errorf("%s: the median is %v", m.Name, center)
		}
	}
}

func TestReplayKeepsTheOrder(t *testing.T) {
	runs := Replay("three", []float64{1, 2, 4}).Runs(rand.New(rand.NewPCG(1, 1)), 7)
	for i := 1; i < len(runs); i++ {
		step := runs[i] - runs[i-1]
		if math.Abs(step-math.Ln2) > 1e-12 && math.Abs(step+2*math.Ln2) > 1e-12 {
			t.Errorf("runs %v", runs)
		}
	}
}

func TestBadTraces(t *testing.T) {
	for _, text := range []string{"", "# nothing\niops\n", "iops\n1\nx\n", "iops\n0\n", "iops\n-3\n", "iops\nNaN\n"} {
		if levels, err := parseTrace(text); err == nil {
			t.Errorf("%q is read as %v", text, levels)
		}
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add("# head\niops\n1\n2.5\n")
	f.Fuzz(func(t *testing.T, text string) {
		levels, err := parseTrace(text)
		if (err == nil) != (len(levels) > 0) {
			t.Errorf("%q: %v, %v", text, levels, err)
		}
	})
}
