package outliers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// simulatedRun is a run of targets that are all alike, each with a part of the noise of its own.
func simulatedRun(m noise.Model, r *rand.Rand, targets, repetitions int) []Sample {
	all := make([]Sample, targets)
	for i := range all {
		all[i] = Sample{Role: fmt.Sprintf("node-%d", i), Cell: "read", Metric: "read.iops", Better: lab.Higher,
			Values: map[int]float64{}}
		for n, v := range m.Runs(r, repetitions) {
			all[i].Values[n+1] = math.Exp(v)
		}
	}
	return all
}

// Where levels last as long as a run, targets that are all alike are distinguished in many runs, and rightly so of that
// run. Hardly one of them is called so for good.
func TestSimulatedLevelsThatLast(t *testing.T) {
	models, repetitions := []noise.Model{noise.TwoMode(0.15, 0.2, 0.003, 0.9)}, []int{3}
	if figure.Whole {
		recorded, err := noise.Recorded()
		if err != nil {
			t.Fatal(err)
		}
		models = append(append(models, noise.Gaussian(0.03), noise.Wandering(0.8, 0.05), noise.Wandering(0.9, 0.05)),
			recorded...)
		repetitions = []int{2, 3, 5, 10, 20}
	}
	const targets = 20
	for k, m := range models {
		for _, n := range repetitions {
			trials := figure.Times(100, 2000/n) // ranks of many values take long
			r := rand.New(rand.NewPCG(26, uint64(100*k+n)))
			inOne, lasting := 0, 0
			for range trials {
				d := Find(simulatedRun(m, r, targets, n))
				if len(d.Found) == 0 {
					continue
				}
				inOne++
				d.AddOtherRuns([][]Sample{simulatedRun(m, r, targets, n), simulatedRun(m, r, targets, n)})
				for _, o := range d.Found {
					if o.OtherRuns.Lasting {
						lasting++
						break
					}
				}
			}
			what := fmt.Sprintf("%d targets, %d repetitions", targets, n)
			figure.Record(t, figure.Share(figure.Name("decisions/outliers/in-one-run", what, m.Name), inOne, trials,
				"").
				Saying("%s, all alike, %s: runs that tell any from the others", what, m.Name))
			figure.Record(t, figure.Share(figure.Name("decisions/outliers/lasting-wrong", what, m.Name), lasting,
				trials, figure.Lower).
				Saying("%s, all alike, %s: any is called so for good, after three runs", what, m.Name))
			if figure.Whole {
				continue
			}
			if inOne < trials/10 || lasting > trials/10 {
				t.Errorf("%s, %s: %d of %d runs tell one from the others, %d after three", what, m.Name, inOne, trials,
					lasting)
			}
		}
	}
}
