package search_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
)

// series is a simulated history of commits, some of which can't be measured.
type series struct {
	steps  int
	broken map[int]bool // by state
	speed  func(state int) float64
}

func (x series) space() search.Space { return search.Space{Candidates: x.steps, Ordered: true} }

// finish a search of it, and return how often each state was asked for.
func (x series) finish(t *testing.T, s *search.Search, m machine) map[int]int {
	t.Helper()
	asked := map[int]int{}
	for {
		q, more := s.Next()
		if !more {
			return asked
		}
		n := q.Subset.Count()
		if asked[n]++; s.Skipped(q.Subset) {
			t.Fatalf("state %d was asked for again, though it can't be measured", n)
		}
		if x.broken[n] {
			if err := s.Skip(q.Subset); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := s.Add(q, m.measure(q.Subset)); err != nil {
			t.Fatal(err)
		}
	}
}

func stepAt(culprit int) func(int) float64 {
	return func(state int) float64 {
		if state > culprit {
			return -1
		}
		return 0
	}
}

func commits() search.Terms {
	return search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, Probes: 9, MaxMeasurements: 150}
}

// Of 64 commits ten don't build, and one crashes; which ones is drawn. The slow one is found, or else the range that it
// is in, which is as narrow as the commits allow.
func TestCommitsThatCannotBeMeasured(t *testing.T) {
	ranges := 0
	var met, measured, proofs []float64
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 8))
		x := series{steps: 64, broken: map[int]bool{}}
		for _, n := range r.Perm(63)[:11] {
			x.broken[n+1] = true
		}
		culprit := r.IntN(64)
		x.speed = stepAt(culprit)
		s := search.New(x.space(), commits())
		asked := x.finish(t, s, simulated(seed, func(b search.Subset) float64 { return x.speed(b.Count()) }))
		a := s.Answer()
		first, last := culprit, culprit
		for x.broken[first] {
			first--
		}
		for x.broken[last+1] {
			last++
		}
		if !a.Finished() || !slices.Equal(a.Culprits, []int{first}) {
			t.Errorf("seed %d: %+v, planted step %d of %d to %d", seed, a, culprit, first, last)
			continue
		}
		if f, l := s.Range(a.Culprits[0]); f != first || l != last {
			t.Errorf("seed %d: steps %d to %d, and %d to %d can't be told apart", seed, f, l, first, last)
		}
		if last > first {
			ranges++
		}
		tried := 0
		for n, times := range asked {
			if x.broken[n] {
				tried++
				if times > 1 {
					t.Errorf("seed %d: state %d was tried %d times", seed, n, times)
				}
			}
		}
		sum := 0.0
		for _, p := range s.Probabilities()[first : last+1] {
			sum += p
		}
		if sum < 0.8 || len(s.Probabilities()) != 64 {
			t.Errorf("seed %d: %g for steps %d to %d", seed, sum, first, last)
		}
		met, measured, proofs = append(met, float64(tried)), append(measured, float64(s.Measurements())),
			append(proofs, float64(s.Proofs()))
	}
	figure.Record(t, figure.Mean("search/skip/measurements", "", measured,
		figure.Lower).Saying("one slow commit of 64, of which 11 can't be measured: measurements"))
	figure.Record(t, figure.Mean("search/skip/proof", "", proofs,
		figure.Lower).Saying("the same: measurements for the proof"))
	figure.Record(t, figure.Mean("search/skip/met", "", met,
		figure.Lower).Saying("the same: commits met that can't be measured"))
	if ranges == 0 {
		t.Error("no culprit lay beside a commit that can't be measured")
	}
}

// Where nothing between the ends can be measured, all that can be said is that it happened between them; and where they
// are alike, that there is nothing to find.
func TestNothingBetweenTheEndsCanBeMeasured(t *testing.T) {
	for _, culprit := range []int{3, 99} {
		x := series{steps: 6, broken: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true}, speed: stepAt(culprit)}
		terms := commits()
		terms.Probes = 5
		s := search.New(x.space(), terms)
		x.finish(t, s, simulated(3, func(b search.Subset) float64 { return x.speed(b.Count()) }))
		a := s.Answer()
		if culprit == 99 {
			if !a.SameSpeed {
				t.Errorf("%+v", a)
			}
			continue
		}
		if first, last := s.Range(0); !a.Finished() || !slices.Equal(a.Culprits, []int{0}) || first != 0 || last != 5 {
			t.Errorf("%+v, steps %d to %d", a, first, last)
		}
		if e := s.Effects().StepEffect(0); e.Lo > 0.368 || e.Hi < 0.367 {
			t.Errorf("%+v, planted 1/e", e)
		}
	}
}

// A state that was measured and then fails is not reliable: what was measured of it is forgotten, and the answer is a
// range.
func TestAStateThatFailsNowAndThen(t *testing.T) {
	x := series{steps: 64, speed: stepAt(20)}
	m := simulated(1, func(b search.Subset) float64 { return x.speed(b.Count()) })
	s := search.New(x.space(), commits())
	times := 0
	for {
		q, more := s.Next()
		if !more {
			break
		}
		if q.Subset.Count() == 21 {
			if times++; times == 2 {
				before := s.Measurements() + s.Proofs()
				if err := s.Skip(q.Subset); err != nil {
					t.Fatal(err)
				}
				if after := s.Measurements() + s.Proofs(); after != before-1 {
					t.Errorf("%d measurements, and %d without the first of that state", before, after)
				}
				continue
			}
		}
		if err := s.Add(q, m.measure(q.Subset)); err != nil {
			t.Fatal(err)
		}
	}
	a := s.Answer()
	if first, last := s.Range(20); times != 2 || !a.Finished() || !slices.Equal(a.Culprits, []int{20}) ||
		first != 20 || last != 21 {
		t.Errorf("%+v, steps %d to %d, asked for %d times", a, first, last, times)
	}
}

// Two commits that made it slower are both found, one of them as a range.
func TestTwoStepsOneOfThemARange(t *testing.T) {
	x := series{steps: 64, broken: map[int]bool{10: true, 11: true, 30: true}}
	x.speed = func(state int) float64 { return -0.5*float64(btoi(state > 9)) - 0.5*float64(btoi(state > 40)) }
	s := search.New(x.space(), commits())
	x.finish(t, s, simulated(2, func(b search.Subset) float64 { return x.speed(b.Count()) }))
	if a := s.Answer(); !a.Finished() || !slices.Equal(a.Culprits, []int{9, 40}) {
		t.Fatalf("%+v", a)
	}
	if first, last := s.Range(9); first != 9 || last != 11 {
		t.Errorf("steps %d to %d", first, last)
	}
	if first, last := s.Range(40); first != 40 || last != 40 {
		t.Errorf("steps %d to %d", first, last)
	}
}

// A search that is told again what was measured and what could not be asks the same again.
func TestAReplayedSearchSkipsTheSame(t *testing.T) {
	x := series{steps: 64, broken: map[int]bool{7: true, 21: true, 22: true, 23: true, 50: true}, speed: stepAt(22)}
	m := simulated(1, func(b search.Subset) float64 { return x.speed(b.Count()) })
	s, again := search.New(x.space(), commits()), search.New(x.space(), commits())
	for {
		q, more := s.Next()
		if r, andMore := again.Next(); more != andMore || !slices.Equal(q.Subset, r.Subset) || q.Purpose != r.Purpose {
			t.Fatalf("after %d: %v and %v", s.Measurements(), q, r)
		}
		if !more {
			break
		}
		value := m.measure(q.Subset)
		for _, to := range []*search.Search{s, again} {
			var err error
			if x.broken[q.Subset.Count()] {
				err = to.Skip(q.Subset)
			} else {
				err = to.Add(q, value)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWhatCannotBeSkipped(t *testing.T) {
	steps := search.Space{Candidates: 3, Ordered: true}
	s := search.New(steps, commits())
	for _, end := range []search.Subset{steps.None(), steps.All()} {
		if err := s.Skip(end); !errors.Is(err, search.ErrEnd) {
			t.Errorf("%v", err)
		}
	}
	if err := s.Skip(search.Subset{false, true, false}); err == nil {
		t.Error("a bundle with gaps was skipped")
	}
	if err := search.New(settings(4), commits()).Skip(settings(4).All()); !errors.Is(err, search.ErrEnd) {
		t.Errorf("%v", err)
	}
	if err := s.Skip(steps.First(1)); err != nil || !s.Skipped(steps.First(1)) || s.Skipped(steps.First(2)) {
		t.Error(err)
	}
	if err := s.Skip(steps.First(1)); err != nil {
		t.Error(err)
	}
	if err := s.Add(search.Question{Subset: steps.First(1)}, 1); err == nil {
		t.Error("a skipped state was measured")
	}
}

// Mixtures of settings can be broken that are not at the ends: one setting needs another. The culprit is found beside
// them, and nothing broken is asked for twice. Where one side of its proof is broken the other shows it; where both are
// it stays unproved.
func TestCulpritsBesideBrokenMixtures(t *testing.T) {
	needs := func(one, other int) func(search.Subset) bool {
		return func(b search.Subset) bool { return b[one] && !b[other] }
	}
	both := func(x, y func(search.Subset) bool) func(search.Subset) bool {
		return func(b search.Subset) bool { return x(b) || y(b) }
	}
	const culprit = 7
	for _, c := range []struct {
		name   string
		broken func(search.Subset) bool
		role   search.Role
		proved bool
	}{
		{"others", both(needs(2, 3), needs(11, 12)), search.Role{Needed: true, Enough: true}, true},
		{"it needs another", needs(culprit, 3), search.Role{Needed: true}, true},
		{"another needs it", needs(3, culprit), search.Role{Enough: true}, true},
		{"it needs another, and is needed", both(needs(culprit, 3), needs(4, culprit)), search.Role{}, false},
	} {
		for seed := range uint64(8) {
			x := mixtures{space: settings(24), broken: c.broken}
			s := search.New(x.space, search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 150,
				Seed: seed})
			x.finish(t, s, simulated(seed, planted(map[int]float64{culprit: -0.3})))
			a := s.Answer()
			if !a.Finished() || !slices.Equal(a.Culprits, []int{culprit}) || a.Proved != c.proved ||
				a.Unprovable == c.proved || c.proved && a.Roles[0] != c.role {
				t.Errorf("%s, seed %d: %+v after %d measurements", c.name, seed, a, s.Measurements())
			}
			if reverted, applied := explained(s, a); c.proved && (math.IsNaN(reverted) == c.role.Needed ||
				math.IsNaN(applied) == c.role.Enough) {
				t.Errorf("%s, seed %d: reverted %g, applied %g", c.name, seed, reverted, applied)
			}
		}
	}
}

func explained(s *search.Search, a search.Answer) (reverted, applied float64) {
	if !a.Proved {
		return math.NaN(), math.NaN()
	}
	r, e := s.Effects().Proof()
	return r.Ratio, e.Ratio
}

// mixtures of simulated settings, some of which can't be measured.
type mixtures struct {
	space  search.Space
	broken func(search.Subset) bool
}

// finish a search among them.
func (x mixtures) finish(t *testing.T, s *search.Search, m machine) {
	t.Helper()
	var refused []search.Subset
	for {
		q, more := s.Next()
		if !more {
			return
		}
		if !x.broken(q.Subset) {
			if err := s.Add(q, m.measure(q.Subset)); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if slices.ContainsFunc(refused, func(b search.Subset) bool { return slices.Equal(b, q.Subset) }) {
			t.Fatalf("%v was asked for again, though it can't be measured", q.Subset)
		}
		refused = append(refused, q.Subset)
		if err := s.Skip(q.Subset); err != nil {
			t.Fatal(err)
		}
	}
}

// What was measured of a mixture before it failed counts no longer, and the rest does.
func TestAMixtureThatFailsLater(t *testing.T) {
	space := settings(3)
	s := search.New(space, search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 50})
	for _, b := range []search.Subset{space.All(), space.None(), space.Only(1)} {
		if err := s.Add(search.Question{Subset: b}, 1+float64(b.Count())); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Skip(space.Only(1)); err != nil || s.Measurements() != 2 {
		t.Errorf("%v, and %d measurements are left", err, s.Measurements())
	}
	if err := s.Add(search.Question{Subset: space.Only(1)}, 1); err == nil {
		t.Error("a skipped mixture was measured")
	}
}
