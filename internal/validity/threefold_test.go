package validity

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// shuffledRun is a run of the four commands in passes of random order, with noise, and an effect on reads that come
// right after the write. It says how often they did.
func shuffledRun(r *rand.Rand, model noise.Model, passes int, effect float64) (run lab.Run, reps []lab.Repetition,
	after int) {
	var orders [][]int
	for range passes {
		orders = append(orders, r.Perm(4))
	}
	runs, at := model.Runs(r, 4*passes), 0
	s := session{cells: fourCells(), orders: orders, seed: r.Uint64()}
	s.effect = func(cell, before, _, _ int) float64 {
		v := math.Exp(runs[at])
		at++
		if cell == 0 && before == 1 {
			after++
			v *= effect
		}
		return v
	}
	run, reps = s.run()
	return run, reps, after
}

// positions counts the warnings on the order.
func positions(run lab.Run, reps []lab.Repetition) (all, ofRead int, text string) {
	list, texts := found(run, reps)
	for _, w := range list {
		if strings.Contains(w, "position-effect") || strings.Contains(w, "fresh-layout") {
			all++
		}
		if w == "c1 position-effect" {
			ofRead++
		}
	}
	return all, ofRead, texts
}

// orderNoises are what is known of machines, recorded disks among them.
func orderNoises(t *testing.T) []noise.Model {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	return append(models, noise.Gaussian(0.02), noise.Gaussian(0.1), noise.Gaussian(0.3), noise.StudentT3(0.05),
		noise.TwoMode(0.15, 0.3, 0.01, 0), noise.TwoMode(0.6, 0.2, 0.02, 0), noise.TwoMode(0.6, 0.2, 0.02, 0.8),
		noise.Autocorrelated(0.99, 0.05), noise.Drift(-0.02, 0.01), noise.Rhythm("sff", 0.2, 0.02))
}

// Reads that are three times as fast right after the write are told at three repetitions where one of them came there.
func TestSimulatedThreefoldOrderEffects(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 1))
	told, single, any, some, says := 0, 0, 0, 0, ""
	for range figure.Times(120, 2000) {
		run, reps, after := shuffledRun(r, noise.Gaussian(0.02), 3, 3)
		_, ofRead, texts := positions(run, reps)
		if after > 0 && after < 3 {
			some++
			any += min(ofRead, 1)
		}
		if after == 1 {
			single++
			told += min(ofRead, 1)
			if ofRead > 0 && says == "" {
				says = texts
			}
		}
	}
	figure.Record(t, figure.Share("decisions/order/told/threefold-at-three", told, single, figure.Higher).Saying(
		"threefold order effects told at three repetitions of which one came after the load that makes it"))
	figure.Record(t, figure.Share("decisions/order/told/threefold-at-three-any", any, some, figure.Higher).Saying(
		"threefold order effects told at three repetitions of which one or two came after the load that makes it"))
	t.Logf("%d of %d with one, %d of %d with one or two", told, single, any, some)
	if single == 0 || told*100 < single*95 {
		t.Errorf("told in %d of %d", told, single)
	}
	if !strings.Contains(says, "(1 against 2 repetitions; less than 2.5 times as fast takes 2 of each to be told)") {
		t.Errorf("it says %s", says)
	}
}

// Where the order does nothing, no single repetition is taken for an effect of it. Other warnings on the order come as
// often as with more repetitions.
func TestSimulatedOrdersWithoutEffect(t *testing.T) {
	single, wrong, all := 0, 0, 0
	for _, model := range orderNoises(t) {
		r := rand.New(rand.NewPCG(12, 2))
		ofOne, of := 0, 0
		for range figure.Times(60, 1000) {
			run, reps, _ := shuffledRun(r, model, 3, 1)
			warnings, _, texts := positions(run, reps)
			all++
			of += min(warnings, 1)
			ofOne += min(strings.Count(texts, "(1 against 2")+strings.Count(texts, "(2 against 1 "), 1)
		}
		single, wrong = single+ofOne, wrong+of
		if of > 0 {
			t.Logf("%s: %d, of a single repetition %d", model.Name, of, ofOne)
		}
	}
	figure.Record(t, figure.Share("decisions/order/wrong/single-at-three", single, all, figure.Lower).Saying(
		"runs of three repetitions of which a single one is taken for an effect of the order, where it does nothing"))
	figure.Record(t, figure.Share("decisions/order/wrong/at-three", wrong, all, figure.Lower).Saying(
		"runs of three repetitions said to depend on their order in any way, where it does nothing"))
	t.Logf("%d of %d, of a single repetition %d", wrong, all, single)
	if single*200 > all || wrong*20 > all {
		t.Errorf("%d of %d runs are said to depend on their order, %d by a single repetition", wrong, all, single)
	}
}
