//go:build bench

package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Two sessions of one system, by themselves and with what other sessions tell.
func TestSimulatedSessions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	for _, between := range []float64{0, 0.005, 0.01, 0.02} {
		for _, repetitions := range []int{5, 10} {
			name := figure.Name("decisions/sessions", fmt.Sprintf("%gpct", 100*between),
				fmt.Sprintf("%d repetitions", repetitions))
			if most := recordSessions(t, name, sessionsThatDiffer(repetitions, between, r)); most > 0.06 {
				t.Errorf("%s: %.1f%% are called different", name, 100*most)
			}
		}
	}
}

// Sessions whose repetitions resemble their neighbours, and sessions anywhere in the traces of real disks.
func TestSimulatedSessionsOfDependentRuns(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	models = append([]noise.Model{noise.Wandering(0.2, 0.03), noise.Wandering(0.5, 0.03), noise.Wandering(0.9, 0.03),
		noise.TwoMode(0.15, 0.5, 0.003, 0.9),
		noise.TwoMode(0.15, 0.2, 0.003, 0.9), noise.TwoMode(0.3, 0.1, 0.003, 0.99),
		noise.TwoMode(0.3, 0.0625, 0.003, 0.99)}, models...)
	for i, m := range models {
		for _, repetitions := range []int{5, 10, 20} {
			r := rand.New(rand.NewPCG(12, uint64(100*i+repetitions)))
			recordSessions(t, figure.Name("decisions/sessions", m.Name, fmt.Sprintf("%d repetitions", repetitions)),
				func() []float64 {
					values := m.Runs(r, repetitions)
					for k := range values {
						values[k] = math.Exp(values[k])
					}
					return values
				})
		}
	}
}

// recordSessions gives the largest share of comparisons that are called different, going by other sessions.
func recordSessions(t *testing.T, name string, session func() []float64) (most float64) {
	t.Helper()
	const trials = 3000
	for _, others := range []int{MinSessions, 20, 40} {
		alone, wide := sessionsApart(session, others, trials)
		if others == MinSessions {
			figure.Record(t, figure.Share(name+"/alone", alone, trials, figure.Lower).Saying(
				"comparisons of a system with itself that two sessions alone would have called different"))
		}
		figure.Record(t, figure.Share(fmt.Sprintf("%s/%d-others", name, others), wide, trials, figure.Lower).
			Saying("comparisons of a system with itself that are called different, going by other sessions"))
		most = max(most, float64(wide)/trials)
	}
	return most
}
