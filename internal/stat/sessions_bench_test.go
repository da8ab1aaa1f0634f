//go:build bench

package stat

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"headroom/internal/figure"
)

// Two sessions of one system, by themselves and with what other sessions tell.
func TestSimulatedSessions(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 1))
	const trials = 3000
	for _, between := range []float64{0, 0.005, 0.01, 0.02} {
		for _, repetitions := range []int{5, 10} {
			for _, others := range []int{3, 6, 20} {
				alone, wide := sessionsApart(repetitions, others, between, trials, r)
				name := fmt.Sprintf("decisions/sessions/%gpct/%d-repetitions", 100*between, repetitions)
				if others == 3 {
					f := figure.Share(name+"/alone", alone, trials, figure.Lower)
					f.Text = "comparisons of a system with itself that two sessions alone would have called different"
					figure.Record(t, f)
				}
				f := figure.Share(fmt.Sprintf("%s/%d-others", name, others), wide, trials, figure.Lower)
				f.Text = "comparisons of a system with itself that are called different, going by other sessions"
				figure.Record(t, f)
				if float64(wide) > 0.06*trials {
					t.Errorf("%s with %d others: %d of %d are called different", name, others, wide, trials)
				}
			}
		}
	}
}
