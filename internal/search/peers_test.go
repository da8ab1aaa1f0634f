package search_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
)

// Other methods search on the same simulated machines. All of them ask "is this state slow?", so that each needs a
// threshold, which it gets by measuring the ends first, and repeats, so that noise seldom crosses it. No user knows how
// many; here each row has been searched for those that suit the method best, and ours is left at one setting.

// tuning of a method that asks for fast or slow.
type tuning struct {
	// repeats of each state that is asked for, and anchors: measurements of each end.
	repeats, anchors int
	// median of them, instead of the mean.
	median bool
	// share of the way from the fast end to the slow one, at which the threshold is.
	share float64
}

func (s tuning) String() string {
	middle := "mean"
	if s.median {
		middle = "median"
	}
	return fmt.Sprintf("%s of %d, ends %d, threshold %g", middle, s.repeats, s.anchors, s.share)
}

func (s tuning) middle(v []float64) float64 {
	if !s.median {
		return stat.Mean(v, nil)
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// all settings that are tried.
func (p peer) all() []tuning {
	var list []tuning
	counts := []int{1, 2, 3, 5, 8, 12, 20, 32}
	for _, share := range p.shares {
		for _, repeats := range counts {
			for _, anchors := range counts {
				list = append(list, tuning{repeats, anchors, false, share})
				if max(repeats, anchors) > 2 {
					list = append(list, tuning{repeats, anchors, true, share})
				}
			}
		}
	}
	return list
}

// maxQuestions in one search; a method that asks more has lost its way.
const maxQuestions = 1000

// tester says of states whether they are slow.
type tester struct {
	machine         machine
	tuning          tuning
	threshold       float64
	asked, measured int
}

func newTester(m machine, space search.Space, s tuning) *tester {
	t := &tester{machine: m, tuning: s}
	fast := t.level(space.None(), s.anchors)
	t.threshold = fast + s.share*(t.level(space.All(), s.anchors)-fast)
	return t
}

func (t *tester) level(b search.Subset, times int) float64 {
	log, values := t.machine.log(b), make([]float64, times)
	for i := range values {
		values[i] = log + t.machine.noise()
	}
	t.measured += times
	return t.tuning.middle(values)
}

func (t *tester) slow(b search.Subset) bool {
	t.asked++
	return t.level(b, t.tuning.repeats) < t.threshold
}

// finder searches once.
type finder func(search.Space, *tester) ([]int, error)

// peer is a method that asks for fast or slow.
type peer struct {
	name string
	// cheap to simulate: all settings are tried at length.
	cheap  bool
	shares []float64
	open   func() (find finder, end func() error, err error)
}

// score of a method in a row.
type score struct {
	tuning   tuning
	searches int
	right    int
	measured int
}

func (s score) mean() float64  { return float64(s.measured) / float64(s.searches) }
func (s score) share() float64 { return float64(s.right) / float64(s.searches) }

// play so many searches with each of the settings, on all cores.
func (p peer) play(w row, list []tuning, n int) ([]score, error) {
	type search struct {
		which int
		seed  uint64
	}
	scores := make([]score, len(list))
	var lock sync.Mutex
	var failed error
	var group sync.WaitGroup
	next := make(chan search)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			find, end, err := p.open()
			opened := err == nil
			for s := range next {
				if err != nil {
					continue
				}
				r := rand.New(rand.NewPCG(s.seed, 77))
				log, culprits := w.plant(r, -w.d*w.kind.sd)
				test := newTester(machine{log, func() float64 { return w.kind.model.Runs(r, 1)[0] }},
					w.space, list[s.which])
				var found []int
				if found, err = find(w.space, test); err != nil {
					continue
				}
				slices.Sort(found)
				lock.Lock()
				at := &scores[s.which]
				at.tuning = list[s.which]
				at.searches++
				at.measured += test.measured
				if slices.Equal(found, culprits) {
					at.right++
				}
				lock.Unlock()
			}
			if opened {
				err = errors.Join(err, end())
			}
			lock.Lock()
			failed = cmp.Or(failed, err)
			lock.Unlock()
		})
	}
	for which := range list {
		for seed := range n {
			next <- search{which, uint64(seed + 1)}
		}
	}
	close(next)
	group.Wait()
	return scores, failed
}

// wanted is the share of searches that end right, and surely the share for those who want more.
const (
	wanted = 0.95
	surely = 0.99
)

// best first: those that are right often enough, by their measurements; then the others, the one that is most often
// right first.
func best(scores []score, enough float64) []score {
	scores = slices.Clone(scores)
	slices.SortStableFunc(scores, func(a, b score) int {
		switch good, other := a.share() >= enough, b.share() >= enough; {
		case good && other:
			return cmp.Compare(a.mean(), b.mean())
		case good != other:
			return map[bool]int{true: -1, false: 1}[good]
		}
		return cmp.Or(cmp.Compare(b.share(), a.share()), cmp.Compare(a.mean(), b.mean()))
	})
	return scores
}

// compete with all settings, at length or in two heats and a final.
func (p peer) compete(w row, n int) ([]score, error) {
	if p.cheap {
		return p.play(w, p.all(), 5*n)
	}
	// A heat is short: who is a little below may still be good enough, and who made no error may be surer.
	list := p.all()
	for _, heat := range []struct{ searches, stay int }{{12, 12}, {50, 4}} {
		scores, err := p.play(w, list, min(heat.searches, n))
		if err != nil {
			return nil, err
		}
		list = nil
		for _, enough := range []float64{0.9, wanted, 1} {
			for _, s := range best(scores, enough)[:heat.stay] {
				if !slices.Contains(list, s.tuning) {
					list = append(list, s.tuning)
				}
			}
		}
	}
	return p.play(w, list, n)
}

// ours is this package, with what it says first, and once that is proved.
type ours struct {
	searches                      int
	first, firstRight             int
	measured, proofs, provedRight int
	undecided                     int
}

func (o ours) of(n int) float64 { return float64(n) / float64(o.searches) }

// ourSearches on the same machines.
func (w row) ourSearches(n int) ours {
	all := ours{searches: n}
	var lock sync.Mutex
	var group sync.WaitGroup
	next := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for seed := range next {
				one := w.ourSearch(seed)
				lock.Lock()
				all.first += one.first
				all.firstRight += one.firstRight
				all.measured += one.measured
				all.proofs += one.proofs
				all.provedRight += one.provedRight
				all.undecided += one.undecided
				lock.Unlock()
			}
		})
	}
	for seed := range n {
		next <- uint64(seed + 1)
	}
	close(next)
	group.Wait()
	return all
}

func (w row) ourSearch(seed uint64) ours {
	r := rand.New(rand.NewPCG(seed, 77))
	log, culprits := w.plant(r, -w.d*w.kind.sd)
	m := machine{log, func() float64 { return w.kind.model.Runs(r, 1)[0] }}
	terms := w.terms
	terms.Seed = seed
	s := search.New(w.space, terms)
	o := ours{searches: 1, first: -1}
	right := func() int {
		found := slices.Sorted(slices.Values(s.Answer().Culprits))
		if slices.Equal(found, culprits) {
			return 1
		}
		return 0
	}
	for {
		q, more := s.Next()
		if o.first < 0 && (!more || q.Purpose == search.Proof) {
			o.first = s.Measurements()
			if s.Answer().Likely {
				o.firstRight = right()
			}
		}
		if !more {
			break
		}
		if err := s.Add(q, m.measure(q.Subset)); err != nil {
			panic(err)
		}
	}
	o.measured, o.proofs = s.Measurements(), s.Proofs()
	if s.Answer().Finished() {
		o.provedRight = right()
	} else {
		o.undecided = 1
	}
	return o
}

// beside prints a row, and fails where a method that can't but succeed does not.
func (w row) beside(t *testing.T, peers ...peer) {
	t.Helper()
	n := besideSearches()
	print := func(who string, mean float64, right, n int, how string) {
		what := fmt.Sprintf("%s, d=%g, %s, %s%s", w.name, w.d, w.kind.name, who, how)
		called := func(kind string) string {
			return figure.Name("search/beside", kind, w.name, fmt.Sprintf("d %g", w.d), w.kind.name, who)
		}
		figure.Record(t, figure.Figure{Name: called("measurements"), Center: mean, N: n, Better: figure.Lower,
			Text: what + ": measurements on average"})
		figure.Record(t, figure.Share(called("right"), right, n, figure.Higher).Saying("%s: right", what))
	}
	o := w.ourSearches(n)
	print("ours, proved", o.of(o.measured+o.proofs), o.provedRight, n,
		fmt.Sprintf(" (undecided %.1f%%; %.1f measurements for the proof)", 100*o.of(o.undecided), o.of(o.proofs)))
	print("ours, first answer", o.of(o.first), o.firstRight, n, "")
	surer := w
	surer.terms.Confidence = wanted
	if w.space.Candidates < 1000 { // takes as long again
		s := surer.ourSearches(n)
		print("ours, first answer, 95% sure", s.of(s.first), s.firstRight, n, "")
	}
	if w.d >= 3 && o.of(o.provedRight) < 0.9 {
		t.Errorf("ours is right in %.1f%%, where there is little noise", 100*o.of(o.provedRight))
	}
	for _, p := range peers {
		scores, err := p.compete(w, n)
		if err != nil {
			t.Error(err)
			continue
		}
		b := best(scores, wanted)[0]
		print(p.name, b.mean(), b.right, b.searches, fmt.Sprintf(" (%v)", b.tuning))
		if b.share() < 0.8 && w.d >= 5 {
			t.Errorf("%s is right in %.1f%%, where there is hardly any noise", p.name, 100*b.share())
		}
		if b = best(scores, surely)[0]; b.share() >= surely {
			print(p.name+", 99% right", b.mean(), b.right, b.searches, fmt.Sprintf(" (%v)", b.tuning))
		}
	}
}

// besideSearches of every row: ±3% where 95% are right.
func besideSearches() int {
	n := 200
	_, _ = fmt.Sscan(os.Getenv("HEADROOM_SEARCHES"), &n)
	return figure.Times(10, n)
}

// Commits and releases. Where history is a line, plain bisection and git bisect are one (TestGitBisectsTheSame).
func TestBesideOthersOrdered(t *testing.T) {
	python := pythonOfPeers(t)
	for _, n := range []int{128, 1024} {
		for _, d := range []float64{1, 2, 3, 5} {
			for _, k := range kinds() {
				w := row{name: fmt.Sprintf("%d steps", n), d: d, kind: k, plant: one(n),
					space: search.Space{Candidates: n, Ordered: true}, terms: terms()}
				w.terms.MaxMeasurements = 1000
				peers := []peer{bisection()}
				if python != "" && (n <= 128 || k.name == "Gaussian") {
					peers = append(peers, bayesect(python))
				}
				t.Run(fmt.Sprintf("%s d=%g %s", w.name, d, k.name), func(t *testing.T) {
					if !figure.Whole && (n > 128 || d < 5) {
						t.Skip("takes long; scripts/bench runs it")
					}
					w.beside(t, peers...)
				})
			}
		}
	}
}

// Settings, which combine in any way. A single culprit among them can also be bisected, in any order.
func TestBesideOthersUnordered(t *testing.T) {
	python := pythonOfPeers(t)
	for _, c := range []struct {
		candidates, culprits int
		plant                func(*rand.Rand, float64) (func(search.Subset) float64, []int)
		ds                   []float64
		kinds                []kind
	}{
		{100, 1, one(100), []float64{2, 3, 5}, kinds()},
		{100, 2, two(100), []float64{2, 3, 5}, kinds()},
		{1000, 1, one(1000), []float64{2, 3, 5}, kinds()[:1]},
	} {
		for _, d := range c.ds {
			for _, k := range c.kinds {
				w := row{name: fmt.Sprintf("%d of %d", c.culprits, c.candidates), d: d, kind: k, plant: c.plant,
					space: search.Space{Candidates: c.candidates}, terms: terms()}
				var peers []peer
				if c.culprits == 1 {
					peers = append(peers, bisection())
				}
				if python != "" {
					peers = append(peers, ddmin(python))
				}
				t.Run(fmt.Sprintf("%s d=%g %s", w.name, d, k.name), func(t *testing.T) {
					if !figure.Whole && (c.candidates > 100 || d < 5 || k.name != "Gaussian") {
						t.Skip("takes long; scripts/bench runs it")
					}
					w.beside(t, peers...)
				})
			}
		}
	}
}
