package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// wander draws an AR(1) series around a level: each value remembers phi of the last one's deviation. spread is the
// standard deviation of a single value.
func wander(r *rand.Rand, n int, level, spread, phi float64) []float64 {
	values := make([]float64, n)
	x := r.NormFloat64() * spread
	for i := range values {
		x = phi*x + r.NormFloat64()*spread*math.Sqrt(1-phi*phi)
		values[i] = level + x
	}
	return values
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s = %v, want %v ± %v", what, got, want, tolerance)
	}
}

func TestLag1(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, phi := range []float64{0, 0.3, 0.6, 0.9, -0.5} {
		near(t, "Lag1", Lag1(wander(r, 20_000, 100, 5, phi)), phi, 0.02)
	}
	near(t, "Lag1 of a saw", Lag1([]float64{1, -1, 1, -1, 1, -1}), -5.0/6, 1e-12)
	for _, undefined := range [][]float64{nil, {1}, {1, 2}, {5, 5, 5, 5}} {
		if got := Lag1(undefined); !math.IsNaN(got) {
			t.Errorf("Lag1(%v) = %v, want NaN", undefined, got)
		}
	}
}

func TestBatchMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	if _, length := BatchMeans(wander(r, 400, 100, 5, -0.1)); length != 1 {
		t.Errorf("values that forget at once are joined in batches of %d", length)
	}
	values := wander(r, 4000, 100, 5, 0.6)
	means, length := BatchMeans(values)
	if length < 4 || len(means) != 4000/length {
		t.Errorf("phi 0.6: %d batches of %d", len(means), length)
	}
	if got := Lag1(means); got >= independent {
		t.Errorf("phi 0.6: batches of %d still correlate by %.2f", length, got)
	}
	// 43 values in batches of 4: the first three are dropped.
	ramp := make([]float64, 43)
	for i := range ramp {
		ramp[i] = float64(i)
	}
	means, length = BatchMeans(ramp)
	if length != 4 || len(means) != 10 || means[0] != 4.5 {
		t.Errorf("ramp of 43: %d batches of %d, the first %v; want 10 of 4, 4.5", len(means), length, means[0])
	}
}

func TestQuantile(t *testing.T) {
	values := []float64{4, 1, 3, 2, math.NaN()}
	for q, want := range map[float64]float64{0: 1, 0.5: 2.5, 1: 4, 2: 4, -1: 1} {
		near(t, "Quantile", Quantile(values, q), want, 1e-12)
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("Quantile of nothing = %v", got)
	}
}

func TestSteadyState(t *testing.T) {
	for _, c := range []struct {
		name   string
		rounds []float64
		want   Steadiness
		steady bool
	}{
		{"flat", []float64{100, 100, 100, 100, 100}, Steadiness{0, 0}, true},
		{"within both", []float64{95, 104, 99, 103, 99}, Steadiness{0.09, 0.028}, true},
		// Rises by 2.5 a round: 10 of 100 across the window, the very limit.
		{"slope at the limit", []float64{95, 97.5, 100, 102.5, 105}, Steadiness{0.10, 0.10}, true},
		{"slope above", []float64{94, 97, 100, 103, 106}, Steadiness{0.12, 0.12}, false},
		{"range above, no slope", []float64{88, 112, 100, 112, 88}, Steadiness{0.24, 0}, false},
		{"falling", []float64{130, 115, 100, 85, 70}, Steadiness{0.6, -0.6}, false},
	} {
		got := SteadyState(c.rounds)
		near(t, c.name+" range", got.Range, c.want.Range, 1e-9)
		near(t, c.name+" rise", got.Rise, c.want.Rise, 1e-9)
		if got.Steady() != c.steady {
			t.Errorf("%s: Steady() = %v with %+v", c.name, got.Steady(), got)
		}
	}
	for _, none := range [][]float64{nil, {1}, {0, 0}} {
		if got := SteadyState(none); got.Steady() || !math.IsNaN(got.Range) {
			t.Errorf("SteadyState(%v) = %+v", none, got)
		}
	}
}

func TestRounds(t *testing.T) {
	got := Rounds([]float64{99, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}, 5)
	for i, want := range []float64{1, 2, 3, 4, 5} {
		near(t, "round", got[i], want, 0)
	}
	if got := Rounds([]float64{1, 2, 3}, 5); got != nil {
		t.Errorf("three values in five rounds: %v", got)
	}
}

func TestWarmUp(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	flat := wander(r, 60, 1000, 20, 0.3)
	if cut, settled := WarmUp(flat); cut > 25 || !settled {
		t.Errorf("a flat series: cut %d, settled %v", cut, settled)
	}
	// A cache that fills: twice the speed for the first 15 of 60 seconds.
	cached := wander(r, 60, 1000, 20, 0.3)
	for i := range 15 {
		cached[i] *= 2
	}
	if cut, settled := WarmUp(cached); cut < 15 || cut > 20 || !settled {
		t.Errorf("15 fast seconds of 60: cut %d, settled %v", cut, settled)
	}
	// Half as fast at the start.
	slow := wander(r, 63, 1000, 20, 0)
	for i := range 8 {
		slow[i] /= 2
	}
	if cut, settled := WarmUp(slow); cut != 8 || !settled {
		t.Errorf("8 slow seconds of 63: cut %d, settled %v", cut, settled)
	}
	falling := wander(r, 60, 1000, 5, 0)
	for i := range falling {
		falling[i] -= 10 * float64(i)
	}
	if cut, settled := WarmUp(falling); settled {
		t.Errorf("a falling series settles after %d", cut)
	}
	if cut, settled := WarmUp([]float64{5, 1, 1, 1}); cut != 0 || !settled {
		t.Errorf("four values: cut %d, settled %v", cut, settled)
	}
}

func TestDriftFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, rise := range []float64{-0.4, -0.2, 0.2, 0.5} {
		values := wander(r, 60, 1000, 20, 0.3)
		for i := range values {
			values[i] += 1000 * rise * float64(i) / 59
		}
		// Three stalls do not bend the line.
		values[10], values[30], values[50] = 5, 5, 5
		got := Drift(values)
		near(t, "rise", got.Rise, rise/(1+rise/2), 0.06)
		if got.P > 0.01 {
			t.Errorf("a rise of %v has P = %v", rise, got.P)
		}
	}
	if got := Drift([]float64{1, 2, 3}); !math.IsNaN(got.P) {
		t.Errorf("three values: %+v", got)
	}
	constant := Drift([]float64{7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7})
	if constant.Rise != 0 || constant.P != 1 {
		t.Errorf("a constant series: %+v", constant)
	}
}

// Of series without a trend few are called drifting at P < 0.01: 1 in 100 when values are independent, up to 3 in 100
// when they remember each other, which 60 values are too few to mend wholly. A second that was not measured is left
// out; and a series that can't be judged has an answer, where it once had no end.
func TestDriftWithoutSomeValues(t *testing.T) {
	rising, holes := make([]float64, 60), []float64{}
	for i := range rising {
		rising[i] = 100 + float64(i)
		holes = append(holes, rising[i])
		if i%20 == 7 {
			holes = append(holes, math.NaN())
		}
	}
	if got, want := Drift(holes), Drift(rising); got != want || !(got.P < 0.01) {
		t.Errorf("%+v, without holes %+v", got, want)
	}
	rising[3], rising[4] = math.Inf(1), math.Inf(-1)
	Drift(rising)
	if got := Drift(slices.Repeat([]float64{math.NaN()}, 30)); !math.IsNaN(got.P) || !math.IsNaN(got.Rise) {
		t.Errorf("nothing measured: %+v", got)
	}
}

func TestDriftFalseAlarms(t *testing.T) {
	const trials = 1000
	for _, phi := range []float64{0, 0.3, 0.6} {
		r := rand.New(rand.NewPCG(3, 6))
		alarms := 0
		for range trials {
			if Drift(wander(r, 60, 1000, 50, phi)).P < 0.01 {
				alarms++
			}
		}
		t.Logf("phi %.1f: %d false alarms of %d at P < 0.01", phi, alarms, trials)
		if alarms > trials*3/100 {
			t.Errorf("phi %.1f: %d false alarms of %d", phi, alarms, trials)
		}
	}
}

func TestStalls(t *testing.T) {
	values := make([]float64, 60)
	for i := range values {
		values[i] = 100
	}
	if got := Stalls(values, 0.5); got.Share != 0 || got.Episodes != 0 || got.Period != 0 {
		t.Errorf("an even series: %+v", got)
	}
	for i := 4; i < 60; i += 10 {
		values[i], values[i+1] = 10, 0
	}
	got := Stalls(values, 0.5)
	if got.Median != 100 || got.Low != 0 || got.Episodes != 6 || got.Longest != 2 || got.Period != 10 {
		t.Errorf("two seconds in ten: %+v", got)
	}
	near(t, "share", got.Share, 0.2, 1e-12)
	irregular := make([]float64, 60)
	for i := range irregular {
		irregular[i] = 100
	}
	for _, i := range []int{2, 4, 33, 58} {
		irregular[i] = 1
	}
	if got := Stalls(irregular, 0.5); got.Period != 0 || got.Episodes != 4 {
		t.Errorf("dips at odd times: %+v", got)
	}
	if got := Stalls(nil, 0.5); got.Episodes != 0 || !math.IsNaN(got.Median) {
		t.Errorf("nothing: %+v", got)
	}
}
