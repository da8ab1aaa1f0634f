package stat

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestOverSessionsAddsWhatSessionsDifferBy(t *testing.T) {
	c := Change{Ratio: 1.1, Lo: 1.1 / 1.02, Hi: 1.1 * 1.02, Confidence: 0.95, Estimator: "Hodges-Lehmann"}
	few := slices.Repeat([]float64{100, 101}, 6)
	for _, levels := range [][]float64{nil, few, append(few, 103), append(few, 103, 0, math.NaN())} {
		if wide, known := c.OverSessions(levels); known || wide != c {
			t.Errorf("%v: %+v, %v", levels, wide, known)
		}
	}
	wide, known := c.OverSessions(slices.Repeat([]float64{100}, MinSessions))
	if !known || math.Abs(wide.Lo-c.Lo) > 1e-12 || math.Abs(wide.Hi-c.Hi) > 1e-12 {
		t.Errorf("sessions that agree change the interval: %+v", wide)
	}
	// A standard deviation of 2% (8 deviations of 2% x sqrt(14/8) around 7 that have none, over 14 degrees), and
	// Student's t of seven degrees, 2.365.
	var levels []float64
	for range 4 {
		levels = append(levels, math.Exp(-0.02*math.Sqrt(14.0/8)), math.Exp(0.02*math.Sqrt(14.0/8)))
	}
	wide, _ = c.OverSessions(append(levels, slices.Repeat([]float64{1}, 7)...))
	reach := math.Hypot(math.Log(1.02), 2.364624*0.02*math.Sqrt2)
	if math.Abs(math.Log(wide.Hi/1.1)-reach) > 1e-6 || math.Abs(math.Log(1.1/wide.Lo)-reach) > 1e-6 {
		t.Errorf("[%v, %v], want %v on both sides", wide.Lo, wide.Hi, reach)
	}
}

// What two of the others differ by is what two sessions of one system may differ by, though one of many is at the
// other level.
func TestOverSessionsTakesInALevelThatWasMet(t *testing.T) {
	c := Change{Ratio: 0.7, Lo: 0.7 / 1.01, Hi: 0.7 * 1.01, Confidence: 0.95, Estimator: "Hodges-Lehmann"}
	alike := slices.Repeat([]float64{100}, 29)
	if wide, _ := c.OverSessions(append(slices.Clone(alike), 70)); wide.Decide(0.03) != Undecided {
		t.Errorf("one of 30 others lies as low: %+v", wide)
	}
	if wide, _ := c.OverSessions(append(alike, 100)); wide.Decide(0.03) != Below {
		t.Errorf("none of 30 others does: %+v", wide)
	}
}

// sessionsThatDiffer have so many repetitions, whose spread is 1%, and differ from one another by this standard
// deviation.
func sessionsThatDiffer(repetitions int, between float64, r *rand.Rand) func() []float64 {
	return func() []float64 {
		level := between * r.NormFloat64()
		values := make([]float64, repetitions)
		for i := range values {
			values[i] = math.Exp(level + 0.01*r.NormFloat64())
		}
		return values
	}
}

// sessionsApart is how often two sessions of one system are called different, by themselves and where so many others
// are known.
func sessionsApart(session func() []float64, others, trials int) (alone, wide int) {
	for range trials {
		c := UnpairedChange(session(), session(), 0.95)
		if d := c.Decide(0.03); d == Above || d == Below {
			alone++
		}
		levels := make([]float64, others)
		for i := range levels {
			levels[i] = MedianInterval(session(), 0.95).Center
		}
		w, _ := c.OverSessions(levels)
		if d := w.Decide(0.03); d == Above || d == Below {
			wide++
		}
	}
	return alone, wide
}

func TestSessionsThatDifferAreNotCalledDifferent(t *testing.T) {
	alone, wide := sessionsApart(sessionsThatDiffer(10, 0.02, rand.New(rand.NewPCG(1, 1))), MinSessions, 400)
	if alone < 160 || wide > 24 {
		t.Errorf("of 400 comparisons of a system with itself, %d are called different by two sessions alone, and %d "+
			"by what others tell", alone, wide)
	}
}
