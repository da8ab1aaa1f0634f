package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// The simulations ask whether searches find what was planted, and how soon. `go test` runs a few of each kind;
// scripts/bench runs 400 a row (HEADROOM_SEARCHES), for the figures that docs/explanation/culprits.md quotes.

// searches of every row in the benchmark.
func searches() int {
	n := 400
	fmt.Sscan(os.Getenv("HEADROOM_SEARCHES"), &n)
	return n
}

// machine is simulated: some candidates change its speed, and each measurement has noise.
type machine struct {
	// log of its speed with a bundle, but for the noise.
	log   func(search.Subset) float64
	noise func() float64
}

func (m machine) measure(b search.Subset) float64 {
	return math.Exp(math.Log(1000) + m.log(b) + m.noise())
}

// planted effects add up; negative ones make slower.
func planted(effects map[int]float64) func(search.Subset) float64 {
	return func(b search.Subset) float64 {
		sum := 0.0
		for c, effect := range effects {
			if b[c] {
				sum += effect
			}
		}
		return sum
	}
}

// kind of noise, with its mean and standard deviation.
type kind struct {
	name     string
	model    noise.Model
	mean, sd float64
	// source of the noise of one measurement after the other, where it depends on time; nil where the model says it
	// all.
	source func(r *rand.Rand) func() float64
}

// begin with one machine.
func (k kind) begin(r *rand.Rand) func() float64 {
	if k.source != nil {
		return k.source(r)
	}
	return func() float64 { return k.model.Runs(r, 1)[0] }
}

func kinds() []kind {
	gap := math.Log1p(-0.15)
	return []kind{
		{name: "Gaussian", model: noise.Gaussian(0.03), sd: 0.03},
		{name: "Student t3", model: noise.StudentT3(0.03), sd: 0.03},
		{name: "two-mode", model: noise.TwoMode(0.15, 0.3, 0.02, 0), mean: 0.3 * gap,
			sd: math.Sqrt(0.3*0.7*gap*gap + 0.02*0.02)},
	}
}

// row of the table: many searches alike.
type row struct {
	name string
	// d is the culprit's effect in units of the noise.
	d    float64
	kind kind
	// plant the culprits and what else has an effect, given the culprit's.
	plant func(r *rand.Rand, effect float64) (log func(search.Subset) float64, culprits []int)
	space search.Space
	terms search.Terms
	// mean and p90 of measurements that are promised; 0 for no promise.
	mean, p90 float64
	// unsure: "undecided" is as good as right.
	unsure bool
}

// result of many searches.
type result struct {
	counts, proofs   []float64
	right, undecided int
}

func terms() search.Terms {
	return search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.005, MaxMeasurements: 300}
}

// run the searches, on all cores.
func (w row) run(n int) result {
	var all result
	var lock sync.Mutex
	var group sync.WaitGroup
	next := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range next {
				s, culprits := w.once(seed)
				a := s.Answer()
				slices.Sort(a.Culprits)
				lock.Lock()
				all.counts = append(all.counts, float64(s.Measurements()))
				all.proofs = append(all.proofs, float64(s.Proofs()))
				switch {
				case !a.Finished():
					all.undecided++
				case slices.Equal(a.Culprits, culprits):
					all.right++
				}
				lock.Unlock()
			}
		})
	}
	for seed := range n {
		next <- uint64(seed + 1)
	}
	close(next)
	group.Wait()
	slices.Sort(all.counts)
	return all
}

// once is one search from beginning to end.
func (w row) once(seed uint64) (s *search.Search, culprits []int) {
	r := rand.New(rand.NewPCG(seed, 77))
	log, culprits := w.plant(r, -w.d*w.kind.sd)
	m := machine{log, w.kind.begin(r)}
	terms := w.terms
	terms.Seed = seed
	s = search.New(w.space, terms)
	finish(s, m)
	return s, culprits
}

// finish a search on a machine.
func finish(s *search.Search, m machine) {
	for {
		q, more := s.Next()
		if !more {
			return
		}
		if err := s.Add(q, m.measure(q.Subset)); err != nil {
			panic(err)
		}
	}
}

// check a row: whole, its promises; else that a few searches end well.
func (w row) check(t *testing.T, few int) {
	t.Helper()
	n := figure.Times(few, searches())
	r := w.run(n)
	mean, p90 := stat.Mean(r.counts, nil), stat.Quantile(0.9, stat.Empirical, r.counts, nil)
	share := func(k int) float64 { return 100 * float64(k) / float64(n) }
	what := fmt.Sprintf("%s, d=%g, %s", w.name, w.d, w.kind.name)
	promise := ""
	if w.mean > 0 {
		promise = fmt.Sprintf(" (at most %.1f)", w.mean)
	}
	called := func(kind string) string {
		return figure.Name("search", kind, w.name, fmt.Sprintf("d %g", w.d), w.kind.name)
	}
	for _, f := range []figure.Figure{
		figure.Mean(called("measurements"), "", r.counts, figure.Lower).Saying("%s: measurements%s", what, promise),
		{Name: called("p90"), Center: p90, N: n, Better: figure.Lower, Text: what +
			": measurements that nine of ten take"},
		figure.Mean(called("proof"), "", r.proofs, figure.Lower).Saying("%s: measurements for the proof", what),
		figure.Share(called("right"), r.right, n, figure.Higher).Saying("%s: right", what),
		figure.Share(called("wrong"), n-r.right-r.undecided, n, figure.Lower).Saying("%s: wrong", what),
		figure.Share(called("undecided"), r.undecided, n, figure.Lower).Saying("%s: undecided", what),
	} {
		figure.Record(t, f)
	}
	good := r.right
	if w.unsure {
		good += r.undecided
	}
	if !figure.Whole {
		if good < n-1 {
			t.Errorf("%d of %d right", good, n)
		}
		return
	}
	if share(good) < 95 {
		t.Errorf("%.1f%% right, at least 95%% promised", share(good))
	}
	if w.mean > 0 && mean > w.mean {
		t.Errorf("%.1f measurements on average, at most %.1f promised", mean, w.mean)
	}
	if w.p90 > 0 && p90 > w.p90 {
		t.Errorf("%.0f measurements at the 90th percentile, at most %.0f promised", p90, w.p90)
	}
}

// one culprit among the first n.
func one(n int) func(*rand.Rand, float64) (func(search.Subset) float64, []int) {
	return func(r *rand.Rand, effect float64) (func(search.Subset) float64, []int) {
		c := r.IntN(n)
		return planted(map[int]float64{c: effect}), []int{c}
	}
}

// beside one culprit some other candidates have a share of its effect.
func beside(n, others int, share float64) func(*rand.Rand, float64) (func(search.Subset) float64, []int) {
	return func(r *rand.Rand, effect float64) (func(search.Subset) float64, []int) {
		order := r.Perm(n)
		effects := map[int]float64{order[0]: effect}
		for _, c := range order[1 : 1+others] {
			effects[c] = share * effect
		}
		return planted(effects), order[:1]
	}
}

func two(n int) func(*rand.Rand, float64) (func(search.Subset) float64, []int) {
	return func(r *rand.Rand, effect float64) (func(search.Subset) float64, []int) {
		culprits := r.Perm(n)[:2]
		slices.Sort(culprits)
		return planted(map[int]float64{culprits[0]: effect, culprits[1]: effect}), culprits
	}
}

func last(n int) func(*rand.Rand, float64) (func(search.Subset) float64, []int) {
	return func(_ *rand.Rand, effect float64) (func(search.Subset) float64, []int) {
		return planted(map[int]float64{n - 1: effect}), []int{n - 1}
	}
}

// Steps in order: commits, releases.
func TestOrderedSearches(t *testing.T) {
	for _, n := range []int{128, 1024} {
		for _, d := range []float64{1, 2, 3, 5} {
			for _, k := range kinds() {
				limit := search.Limit(n, d, 0.95)
				w := row{name: fmt.Sprintf("%d steps", n), d: d, kind: k, plant: one(n), mean: 1.8*limit + 64/(d*d),
					space: search.Space{Candidates: n, Ordered: true}, terms: terms()}
				w.terms.MaxMeasurements = 1000
				t.Run(fmt.Sprint(w.name, d, k.name), func(t *testing.T) {
					if !figure.Whole && n > 128 && k.name != "Gaussian" {
						t.Skip("takes long; scripts/bench runs it")
					}
					w.check(t, few(d))
				})
			}
		}
	}
}

// few searches where each takes long.
func few(d float64) int {
	if d < 2 {
		return 2
	}
	return 4 // one of them may be wrong: of searches of which 95% are right, 1.4% of such fours have two
}

// Settings, which combine in any way.
func TestUnorderedSearches(t *testing.T) {
	n := 1000
	if !figure.Whole {
		n = 100
	}
	weights := make([]float64, n)
	for i := range 5 {
		weights[i] = 1
	}
	plain, ranked := search.Space{Candidates: n}, search.Space{Candidates: n, Priors: search.Mix(weights, 0.2)}
	for _, d := range []float64{2, 3, 5} {
		for _, k := range kinds() {
			for _, w := range []row{
				{name: fmt.Sprint("1 of ", n), plant: one(n), space: plain, mean: 48, p90: 60},
				{name: fmt.Sprint("1 of ", n) + ", 20 others at 10%", plant: beside(n, 20, 0.1), space: plain, mean: 48,
					p90: 60},
				{name: fmt.Sprint("1 of ", n) + ", 20 others at 25%", plant: beside(n, 20, 0.25), space: plain,
					unsure: true},
				{name: fmt.Sprint("2 of ", n), plant: two(n), space: plain, mean: 70},
				{name: "1 of the 5 with 80% of the prior", plant: one(5), space: ranked, mean: 12 + 32/(d*d)},
			} {
				w.d, w.kind, w.terms = d, k, terms()
				t.Run(fmt.Sprint(w.name, d, k.name), func(t *testing.T) {
					if !figure.Whole && (d < 3 || k.name != "Gaussian") {
						t.Skip("takes long; scripts/bench runs it")
					}
					w.check(t, 2)
				})
			}
		}
	}
}

// A prior that is wrong costs a bounded number of measurements: as many as it takes to choose among five.
func TestAWrongPriorCostsLittle(t *testing.T) {
	const n = 1000
	weights := make([]float64, n)
	for i := range 5 {
		weights[i] = 1
	}
	if !figure.Whole {
		t.Skip("a difference of means takes many searches; scripts/bench runs it")
	}
	for _, d := range []float64{2, 3, 5} {
		for _, k := range kinds() {
			cold := row{d: d, kind: k, plant: last(n), space: search.Space{Candidates: n}, terms: terms()}
			wrong := cold
			wrong.space.Priors = search.Mix(weights, 0.2)
			a, b := cold.run(searches()), wrong.run(searches())
			more, limit := stat.Mean(b.counts, nil)-stat.Mean(a.counts, nil), math.Log2(5)/search.Capacity(d)
			what := fmt.Sprintf("a prior of 0.8 on five others, d=%g, %s", d, k.name)
			called := func(kind string) string {
				return figure.Name("search/wrong-prior", kind, fmt.Sprintf("d %g", d), k.name)
			}
			figure.Record(t, figure.Figure{Name: called("more"), Center: more, N: searches(), Better: figure.Lower,
				Text: fmt.Sprintf("%s: measurements more than the %.1f without (at most %.1f)", what,
					stat.Mean(a.counts, nil), limit)})
			figure.Record(t, figure.Share(called("right"), b.right, searches(), figure.Higher).Saying("%s: right",
				what))
			if more > limit {
				t.Errorf("%.1f measurements more, at most %.1f promised", more, limit)
			}
		}
	}
}
