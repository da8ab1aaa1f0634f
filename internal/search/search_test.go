package search_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/search"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// simulated machine with 3% noise.
func simulated(seed uint64, log func(search.Subset) float64) machine {
	r := rand.New(rand.NewPCG(seed, 5))
	model := noise.Gaussian(0.03)
	return machine{log, func() float64 { return model.Runs(r, 1)[0] }}
}

func settings(n int) search.Space { return search.Space{Candidates: n} }

// Ends that don't differ are no reason to search.
func TestNoDifferenceToFind(t *testing.T) {
	for seed := range uint64(20) {
		s := search.New(settings(24), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 100,
			Seed: seed})
		finish(s, simulated(seed, planted(nil)))
		if a := s.Answer(); !a.SameSpeed || len(a.Culprits) > 0 {
			t.Errorf("seed %d: %+v", seed, a)
		}
		if s.Measurements() > 60 {
			t.Errorf("seed %d: %d measurements to see no difference of 5%% at 3%% noise", seed, s.Measurements())
		}
	}
}

// A machine that drifts is compared with itself a moment ago. Its speed wanders by a tenth, and two measurements in a
// row differ by 5%.
func TestNoDifferenceOnAMachineThatDrifts(t *testing.T) {
	sum := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 9))
		drift := 0.1 * r.NormFloat64()
		m := machine{planted(nil), func() float64 {
			drift = 0.95*drift + 0.1*math.Sqrt(1-0.95*0.95)*r.NormFloat64()
			return drift + 0.02*r.NormFloat64()
		}}
		s := search.New(settings(24), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 300,
			Seed: seed})
		finish(s, m)
		if a := s.Answer(); !a.SameSpeed || len(a.Culprits) > 0 {
			t.Errorf("seed %d: %+v after %d", seed, a, s.Measurements())
		}
		sum += s.Measurements()
	}
	// Were all of one end compared with all of the other, it would take 37.
	figure.Record(t, figure.Figure{Name: "search/alike/drifting", Center: float64(sum) / 20, N: 20,
		Better: figure.Lower,
		Text:   "measurements to see no difference where speed wanders by 10% and two in a row differ by 5%"})
	if sum > 20*25 {
		t.Errorf("%d measurements in 20 searches", sum)
	}
}

// TestAMachineThatAlternates searches on a machine that is slower in each second measurement, with no culprit. If the
// ends were measured in turns, a fifth of the searches would prove an innocent setting. If the order of each pair of a
// proof were random, an eighth would prove an innocent step.
func TestAMachineThatAlternates(t *testing.T) {
	const searches = 60
	for what, space := range map[string]search.Space{"settings": settings(24),
		"steps": {Candidates: 32, Ordered: true}} {
		accused := 0
		for seed := range uint64(searches) {
			r := rand.New(rand.NewPCG(seed, 5))
			slow := r.IntN(2) == 0
			m := machine{planted(nil), func() float64 {
				slow = !slow
				if slow {
					return -0.1 + 0.005*r.NormFloat64()
				}
				return 0.005 * r.NormFloat64()
			}}
			s := search.New(space, search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 300,
				Seed: seed})
			finish(s, m)
			if s.Answer().Proved {
				accused++
			}
		}
		if accused > searches/20 {
			t.Errorf("%d of %d searches among %s prove a culprit where there is none", accused, searches, what)
		}
	}
}

// A difference that is seen, and not worth a search, is not searched; but noise can make it look larger in 1 or 2 of
// 100 searches.
func TestADifferenceThatIsNotWorthASearch(t *testing.T) {
	otherwise := 0
	for seed := range uint64(20) {
		s := search.New(settings(24), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 100,
			Seed: seed})
		finish(s, simulated(seed, planted(map[int]float64{7: +0.03})))
		if a := s.Answer(); !a.SameSpeed {
			otherwise++
			t.Logf("seed %d: %+v after %d measurements", seed, a, s.Measurements())
		}
	}
	if otherwise > 1 {
		t.Errorf("%d of 20 found something, or were undecided", otherwise)
	}
}

// Where forty candidates each do a fortieth, none of them is a culprit.
func TestManySmallEffects(t *testing.T) {
	effects := map[int]float64{}
	for c := range 40 {
		effects[c] = -0.01
	}
	named := 0
	for seed := range uint64(10) {
		s := search.New(settings(40), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 150,
			Seed: seed})
		finish(s, simulated(seed, planted(effects)))
		switch a := s.Answer(); {
		case a.ManySmall:
			named++
		case a.Finished():
			t.Errorf("seed %d: %+v", seed, a)
		}
	}
	if named < 5 {
		t.Errorf("many small effects were named as such in %d of 10", named)
	}
}

// Two that only do harm together are both needed; of two that do the same harm, each is enough.
func TestCulpritsThatActTogether(t *testing.T) {
	for name, c := range map[string]struct {
		log  func(search.Subset) float64
		role search.Role
	}{
		"both needed": {func(b search.Subset) float64 { return -0.4 * float64(btoi(b[3] && b[17])) },
			search.Role{Needed: true}},
		"each does it all": {func(b search.Subset) float64 { return -0.4 * float64(btoi(b[3] || b[17])) },
			search.Role{Enough: true}},
		"each does half": {planted(map[int]float64{3: -0.2, 17: -0.2}), search.Role{Needed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			right := 0
			for seed := range uint64(10) {
				s := search.New(settings(40), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05,
					MaxMeasurements: 150, Seed: seed})
				finish(s, simulated(seed, c.log))
				a := s.Answer()
				if a.Finished() && slices.Equal(a.Culprits, []int{3, 17}) &&
					slices.Equal(a.Roles, []search.Role{c.role, c.role}) {
					right++
				} else {
					t.Logf("seed %d: %+v", seed, a)
				}
			}
			if right < 9 {
				t.Errorf("%d of 10", right)
			}
		})
	}
}

// Mixtures show that each of three culprits has a part, so that one is seldom missed, and of two that do the same harm
// what each does alone is measured: where what it does beside the other is measured first, it takes twice as many.
func TestSeveralCulpritsTakeFewMeasurements(t *testing.T) {
	for name, c := range map[string]struct {
		log      func(search.Subset) float64
		culprits []int
		most     int
	}{
		"three": {planted(map[int]float64{3: -0.05, 11: -0.05, 17: -0.05}), []int{3, 11, 17}, 90},
		"each does it all": {func(b search.Subset) float64 { return -0.09 * float64(btoi(b[3] || b[17])) }, []int{3,
			17}, 85},
	} {
		const n = 15
		right, shown, measured := 0, 0, 0
		for seed := range uint64(n) {
			s := search.New(settings(24), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.005,
				MaxMeasurements: 200, Seed: seed})
			finish(s, simulated(seed, c.log))
			measured += s.Measurements() + s.Proofs()
			a := s.Answer()
			if a.Proved && slices.Equal(a.Culprits, c.culprits) {
				right++
			} else {
				t.Logf("%s, seed %d: %+v", name, seed, a)
			}
			if s.Effects().Shown(0).Hi < 1 {
				shown++
			}
		}
		if right < n-1 || name == "three" && shown < n*4/5 || measured > n*c.most {
			t.Errorf("%s: %d of %d right, %d shown by mixtures, after %d measurements", name, right, n, shown, measured)
		}
	}
}

// An answer says whether the rest of the loss leaves room for another culprit.
func TestTheRestOfTheLoss(t *testing.T) {
	for seed := range uint64(5) {
		s := search.New(settings(24), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 100,
			Seed: seed})
		finish(s, simulated(seed, planted(map[int]float64{5: -0.5})))
		if rest := s.Effects().Rest(); s.Answer().Further != search.No || rest.Lo > 1 || rest.Hi < 1 {
			t.Errorf("one culprit, seed %d: %v, %+v", seed, s.Answer().Further, rest)
		}
		effects := map[int]float64{5: -0.5}
		for c := 6; c < 16; c++ {
			effects[c] = -0.04
		}
		s = search.New(settings(24), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 100,
			Seed: seed})
		finish(s, simulated(seed, planted(effects)))
		if a := s.Answer(); a.Proved && (a.Further != search.Yes || s.Effects().Rest().Hi > 0.8) {
			t.Errorf("and ten small ones, seed %d: %+v, %+v", seed, a, s.Effects().Rest())
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Opposite effects hide each other at the ends. What makes the slow state faster is no culprit, however large its
// effect: without it alone the slow state would be slower. It is reported as what it is.
func TestOppositeEffects(t *testing.T) {
	for seed := range uint64(5) {
		s := search.New(settings(40), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 150,
			Seed: seed})
		finish(s, simulated(seed, planted(map[int]float64{5: -0.5, 30: +0.25})))
		a := s.Answer()
		if !a.Finished() || !slices.Equal(a.Culprits, []int{5}) || !slices.Equal(a.Opposing, []int{30}) ||
			!slices.Equal(a.Roles, []search.Role{{Needed: true, Enough: true}}) {
			t.Errorf("seed %d: %+v", seed, a)
		}
		// the slow state with it to without it alone: exp(-0.5) is 0.61
		if reverted, _ := s.Effects().OwnProof(0); !(reverted.Hi < 0.8) {
			t.Errorf("seed %d: without the culprit %+v", seed, reverted)
		}
	}
}

// Where the state that is called slow is the faster one, what makes it so is named as making it faster, and what works
// against that opposes it.
func TestAGainIsNoLoss(t *testing.T) {
	for seed := range uint64(5) {
		s := search.New(settings(40), search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 150,
			Seed: seed})
		finish(s, simulated(seed, planted(map[int]float64{5: +0.5, 30: -0.25})))
		a := s.Answer()
		if !a.Finished() || !slices.Equal(a.Culprits, []int{5}) || !slices.Equal(a.Opposing, []int{30}) ||
			!a.Roles[0].Faster {
			t.Errorf("seed %d: %+v", seed, a)
		}
	}
}

// The series of kernels of the Talos report: 6.1 is slow, 6.2 and 6.3 lack the patch, 6.4 and later have it. The ends
// are alike.
func TestASeriesThatGoesUpAndDown(t *testing.T) {
	speed := []float64{0, 0.5, 0.5, 0, 0, 0, 0, 0, 0, 0, 0} // 6.1 to 6.11
	steps := search.Space{Candidates: len(speed) - 1, Ordered: true}
	for seed := range uint64(20) {
		s := search.New(steps, search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, Probes: 9,
			MaxMeasurements: 150, Seed: seed})
		finish(s, simulated(seed, func(b search.Subset) float64 { return speed[b.Count()] }))
		a := s.Answer()
		if !a.Finished() || !slices.Equal(a.Culprits, []int{0, 2}) ||
			!slices.Equal(a.Roles, []search.Role{{Faster: true}, {Needed: true}}) {
			t.Errorf("seed %d: %+v after %d", seed, a, s.Measurements())
		}
	}
}

// A series without a difference is no reason to search either.
func TestASeriesWithoutADifference(t *testing.T) {
	steps := search.Space{Candidates: 6, Ordered: true}
	alike := 0
	for seed := range uint64(10) {
		s := search.New(steps, search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.1, Probes: 5,
			MaxMeasurements: 150, Seed: seed})
		finish(s, simulated(seed, planted(nil)))
		if a := s.Answer(); a.SameSpeed {
			alike++
		} else if a.Finished() {
			t.Errorf("seed %d: %+v", seed, a)
		}
	}
	if alike < 9 {
		t.Errorf("%d of 10 were found to have none", alike)
	}
}

// A search that gets the same measurements again asks the same again: that is how one goes on after an interruption.
func TestAReplayedSearchAsksTheSame(t *testing.T) {
	for _, space := range []search.Space{settings(60), {Candidates: 60, Ordered: true}} {
		terms := search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, MaxMeasurements: 60, Seed: 3}
		m := simulated(1, planted(map[int]float64{20: -0.1}))
		s, again := search.New(space, terms), search.New(space, terms)
		for {
			q, more := s.Next()
			if r, andMore := again.Next(); more != andMore || !slices.Equal(q.Subset, r.Subset) ||
				q.Purpose != r.Purpose {
				t.Fatalf("after %d: %v and %v", s.Measurements(), q, r)
			}
			if !more {
				break
			}
			value := m.measure(q.Subset)
			if err := s.Add(q, value); err != nil {
				t.Fatal(err)
			}
			if err := again.Add(q, value); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWhatCannotBeAdded(t *testing.T) {
	steps := search.Space{Candidates: 3, Ordered: true}
	s := search.New(steps, search.Terms{Confidence: 0.8, Noise: 0.05})
	for _, bad := range []struct {
		subset search.Subset
		value  float64
	}{
		{search.Subset{true}, 1}, {search.Subset{false, true, false}, 1}, {steps.All(), 0}, {steps.All(), -1},
		{steps.All(), math.NaN()}, {steps.All(), math.Inf(1)},
	} {
		if err := s.Add(search.Question{Subset: bad.subset}, bad.value); err == nil {
			t.Errorf("%v with %v was taken", bad.subset, bad.value)
		}
	}
	if s.Measurements() != 0 {
		t.Errorf("%d measurements", s.Measurements())
	}
}

// The limit of information, against figures that others computed: the capacity of the binary-input Gaussian channel at
// an amplitude of 1 and a spread of 1 is 0.4860 bits (T. Richardson and R. Urbanke, Modern Coding Theory, chapter 4).
func TestCapacity(t *testing.T) {
	for d, want := range map[float64]float64{2: 0.4860, 0.001: 0, 20: 1} {
		if got := search.Capacity(d); math.Abs(got-want) > 0.002 {
			t.Errorf("d=%g: %.4f, want %.4f", d, got, want)
		}
	}
}

// A step that makes it several times slower is found as soon as one that makes it a little slower, and nothing is
// thought of beside it.
func TestALargeStep(t *testing.T) {
	for _, times := range []float64{1.5, 3, 10} {
		for seed := range uint64(10) {
			culprit := int(seed*seed*7) % 64
			s := search.New(search.Space{Candidates: 64, Ordered: true},
				search.Terms{Confidence: 0.8, Noise: 0.05, MinEffect: 0.05, Probes: 9, MaxMeasurements: 150,
					Seed: seed})
			finish(s, simulated(seed, planted(map[int]float64{culprit: -math.Log(times)})))
			if a := s.Answer(); !a.Finished() || !slices.Equal(a.Culprits, []int{culprit}) || s.Measurements() > 40 {
				t.Errorf("%g times slower, seed %d: %+v after %d, planted step %d", times, seed, a, s.Measurements(),
					culprit)
			}
		}
	}
}
