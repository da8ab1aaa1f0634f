package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/stat/pairorder"
	"github.com/headroom/headroom/internal/testing/noise"
)

// turnsOn returns the turns of eight pairs on a machine with such noise; the new side is faster by a share, and second
// runs are slower by another.
func turnsOn(m noise.Model, seed uint64, faster, second float64) (turns []Turn) {
	r := rand.New(rand.NewPCG(seed, 5))
	runs := m.Runs(r, 2*pairorder.Pairs)
	for pair, newFirst := range pairorder.Draw(r) {
		for k := range 2 {
			t := Turn{At: 2*pair + k, Second: k == 1}
			if newFirst == (k == 0) {
				t.Arm = 1
			}
			t.Value = 1000 * math.Exp(runs[t.At])
			if t.Arm == 1 {
				t.Value *= 1 + faster
			}
			if t.Second {
				t.Value *= 1 - second
			}
			turns = append(turns, t)
		}
	}
	return turns
}

func TestFindRhythm(t *testing.T) {
	wave := noise.Wave(0.1, 3.3, 0.005)
	for seed := range uint64(100) {
		r := FindRhythm(turnsOn(wave, seed, 0.05, 0))
		if !r.Found() || math.Abs(r.Period-3.3) > 0.3 {
			t.Errorf("%d: %+v", seed, r)
		}
		ratio, reach := r.Ratio(1, 0)
		if e := math.Log(ratio/1.05) / reach; math.Abs(e) > 6 { // Student's t with 9 degrees of freedom
			t.Errorf("%d: the ratio is %v, %.1f standard errors off", seed, ratio, e)
		}
	}
	if r := FindRhythm(nil); r.Found() {
		t.Errorf("found in nothing: %+v", r)
	}
	if r := FindRhythm(turnsOn(wave, 1, 0, 0)[:5]); r.Found() {
		t.Errorf("found in five runs: %+v", r)
	}
}

// TestFewFalseRhythms checks that chance, a slower second run, a drift and a change don't pass for a rhythm.
func TestFewFalseRhythms(t *testing.T) {
	const trials = 1000
	for _, m := range []noise.Model{noise.Gaussian(0.03), noise.StudentT3(0.03), noise.Drift(0.02, 0.01)} {
		found := 0
		for seed := range uint64(trials) {
			if FindRhythm(turnsOn(m, seed, 0.2, 0.1)).Found() {
				found++
			}
		}
		t.Logf("%s: %d of %d", m.Name, found, trials)
		if found > trials*4/100 {
			t.Errorf("%s: a rhythm in %d of %d", m.Name, found, trials)
		}
	}
}

// TestRhythmWidens checks that the interval of a change is extended to the change without the rhythm, if one was found.
func TestRhythmWidens(t *testing.T) {
	seen := Change{Ratio: 1.1, Lo: 1.05, Hi: 1.15, Confidence: 0.95, N: 8, Spread: 0.05}
	r := FindRhythm(turnsOn(noise.Wave(0.1, 3.3, 0.005), 1, 0, 0))
	ratio, _ := r.Ratio(1, 0)
	if wide := r.Widen(seen, 1, 0); !(wide.Lo < ratio) || wide.Lo < 0.95 || wide.Hi != seen.Hi {
		t.Errorf("%+v; without the wave the ratio is %v", wide, ratio)
	}
	if back, _ := r.Ratio(0, 1); math.Abs(back*ratio-1) > 1e-9 {
		t.Errorf("%v one way, %v the other", ratio, back)
	}
	r.P = 0.5
	if same := r.Widen(seen, 1, 0); same != seen {
		t.Errorf("%+v", same)
	}
}
