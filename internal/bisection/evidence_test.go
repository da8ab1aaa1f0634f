package bisection

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
)

// proved is a search that has found the first of two candidates, with what a simulated kernel counts: rates by counter
// of a state, in a second or for each unit of work.
func proved(r *rand.Rand, measurements int, perSecond, perWork func(with bool) map[string]float64) *Progress {
	space := search.Space{Candidates: 2}
	p := &Progress{}
	for i := range measurements {
		subset := []search.Subset{space.None(), space.Only(0), space.Only(1), space.All()}[i%4]
		noise := func() float64 { return math.Exp(0.05 * r.NormFloat64()) }
		rate, seconds := 1000*noise(), 5*noise()
		if subset[0] {
			rate *= 0.4
		}
		counters := map[string]float64{lab.CounterSeconds: seconds, lab.CounterBusy: seconds * noise()}
		for name, n := range perSecond(subset[0]) {
			counters[name] += n * seconds * noise()
		}
		for name, n := range perWork(subset[0]) {
			counters[name] += n * rate * seconds * noise()
		}
		p.Steps = append(p.Steps, Step{Number: i + 1, Question: search.Question{Subset: subset},
			rate: rate, counters: counters})
	}
	return p
}

func between() [][2]search.Subset {
	space := search.Space{Candidates: 2}
	return [][2]search.Subset{{space.None(), space.Only(0)}, {space.Without(0), space.All()}}
}

// many counters that come as often in a second, or as often for the same work, whatever is slow.
func many(scale float64) map[string]float64 {
	all := map[string]float64{}
	for i := range 40 {
		all[fmt.Sprintf("vmstat.n%g.%d", scale, i)] = scale * float64(i+1)
	}
	return all
}

// Only what comes more often even in a second, or more seldom even for the same work, is evidence.
func TestEvidence(t *testing.T) {
	const trials = 100
	wrong := 0
	for seed := range uint64(trials) {
		p := proved(rand.New(rand.NewPCG(seed, 1)), 16, func(with bool) map[string]float64 {
			all := many(100)
			if with {
				all["interrupts.TLB"] = 5000
			}
			return all
		}, func(with bool) map[string]float64 {
			all := many(2)
			all["stat.ctxt"] = 2
			if with {
				all["stat.ctxt"] = 0.5
			}
			return all
		})
		e := p.evidence(between())
		if e == nil || e.CPU == nil || e.Counters != 82 {
			t.Fatalf("%+v", e)
		}
		if e.CPU.Lo > 2.5 || e.CPU.Hi < 2.5 {
			wrong++
		}
		names := []string{}
		for _, m := range e.Changed {
			names = append(names, m.Counter)
		}
		if len(names) < 2 || names[0] != "interrupts.TLB" || !slices.Contains(names, "stat.ctxt") {
			t.Fatalf("seed %d: %q", seed, names)
		}
		if len(names) > 2 {
			wrong++
		}
	}
	figure.Record(t, figure.Share("bisection/evidence/wrong", wrong, trials, figure.Lower).
		Saying("searches that named a counter that did not move, or gave CPU time an interval without the truth"))
	if wrong > 20 { // 10 are expected; more than 20 come by chance once in a thousand times
		t.Errorf("%d of %d", wrong, trials)
	}
}

// What was not counted, or too seldom measured, is no evidence of anything.
func TestNoEvidence(t *testing.T) {
	none := func(bool) map[string]float64 { return nil }
	r := rand.New(rand.NewPCG(1, 1))
	if e := proved(r, 4, none, none).evidence(between()); e != nil {
		t.Errorf("%+v of one measurement each", e)
	}
	p := proved(r, 16, none, func(with bool) map[string]float64 { return map[string]float64{"interrupts.MCE": 0.001} })
	if e := p.evidence(between()); e == nil || e.Counters != 0 || len(e.Changed) > 0 {
		t.Errorf("%+v of what is rare", e)
	}
	for i := range p.Steps {
		p.Steps[i].counters = nil
	}
	if e := p.evidence(between()); e != nil {
		t.Errorf("%+v of nothing", e)
	}
}
