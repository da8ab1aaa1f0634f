package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// machine is a simulated one: what a repetition of a cell measures and how long it takes.
type machine struct {
	random  *rand.Rand
	value   map[string]func(*rand.Rand) float64
	seconds func(*rand.Rand) float64
}

func (m machine) carryOut(r Repetition) Done {
	d := Done{Repetition: r, Seconds: 10, Values: map[string]float64{}}
	if m.seconds != nil {
		d.Seconds = m.seconds(m.random)
	}
	if value := m.value[r.Cell]; value != nil {
		d.Values["read.iops"] = value(m.random)
	}
	return d
}

// follow carries a plan out to its end.
func (m machine) follow(t *testing.T, p Plan, done []Done) []Done {
	t.Helper()
	for range 100_000 {
		next, more := p.Next(done)
		if !more {
			return done
		}
		done = append(done, m.carryOut(next))
	}
	t.Fatal("the plan does not come to an end")
	return nil
}

// noisy values have the median 1000 and a spread that is a share of it.
func noisy(spread float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return 1000 * (1 + spread*r.NormFloat64()) }
}

func threeCells() []Cell {
	return []Cell{{ID: "a", Repetitions: 3, Seconds: 10}, {ID: "b", Repetitions: 3, Seconds: 10},
		{ID: "c", Repetitions: 3, Seconds: 10}}
}

func threeNoises(seed uint64) machine {
	return machine{random: rand.New(rand.NewPCG(seed, 1)), value: map[string]func(*rand.Rand) float64{"a": noisy(0.001),
		"b": noisy(0.03), "c": noisy(0.06)}}
}

func counts(done []Done) map[string]int {
	n := map[string]int{}
	for _, d := range done {
		n[d.Cell]++
	}
	return n
}

// The promise that a user relies on: at the end, whenever that is, the intervals cover the medians.
func TestIntervalsCoverWhenStoppedByPrecision(t *testing.T) {
	models := map[string]func(*rand.Rand) float64{
		"normal": noisy(0.03),
		"skewed": func(r *rand.Rand) float64 { return 1000 * math.Exp(0.04*r.NormFloat64()) },
		"heavy tails": func(r *rand.Rand) float64 { // Student t with 3 degrees of freedom
			x, y, z := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			return 1000 * (1 + 0.02*r.NormFloat64()/math.Sqrt((x*x+y*y+z*z)/3))
		},
		"two modes": func(r *rand.Rand) float64 { // the median is that of the mixture: 0.5 = 0.6·Φ(x), x = 0.967
			if r.Float64() < 0.6 {
				return 1000 * (1 + 0.01*(r.NormFloat64()-0.9674))
			}
			return 1150 * (1 + 0.01*r.NormFloat64())
		},
	}
	const runs = 100
	misses, fixed, all := 0, 0, 0
	for name, model := range models {
		missed, intervals, repetitions := 0, 0, []int{}
		for seed := range uint64(runs) {
			m := machine{random: rand.New(rand.NewPCG(seed, 7)),
				value: map[string]func(*rand.Rand) float64{"a": model, "b": model}}
			p := ByPrecision(threeCells()[:2], Interleaved, seed, Goal{Within: 0.03, Most: 100})
			for _, s := range p.CellEstimates(m.follow(t, p, nil)) {
				intervals++
				repetitions = append(repetitions, s.N)
				if e := s.Metrics[0]; !e.Known() || e.Lo > 1000 || e.Hi < 1000 {
					missed++
				}
			}
		}
		figure.AtMost(t, name+": intervals that miss the median", missed, intervals, 0.05)
		slices.Sort(repetitions)
		figure.Record(t, figure.Share(figure.Name("precision/missed", name), missed, intervals,
			figure.Lower).Saying("%s noise, stopped at ±3%%: intervals that miss the median", name))
		byFixed := fixedMisses(model, intervals)
		figure.Record(t, figure.Share(figure.Name("precision/missed-fixed", name), byFixed, intervals, "").
			Saying("%s noise, stopped at ±3%%: intervals for a fixed number, looked at from 6 on, that miss it", name))
		figure.Record(t, figure.Figure{Name: figure.Name("precision/repetitions", name),
			Center: float64(repetitions[len(repetitions)/2]), N: intervals, Better: figure.Lower,
			Text: name + " noise: repetitions until ±3%, median"})
		misses, fixed, all = misses+missed, fixed+byFixed, all+intervals
	}
	figure.Record(t, figure.Share("precision/missed", misses, all,
		figure.Lower).Saying("intervals that miss the median when a run stops at ±3%%, four kinds of noise"))
	figure.Record(t, figure.Share("precision/missed-fixed", fixed, all,
		"").Saying("the same with intervals for fixed numbers"))
}

// fixedMisses is how many intervals for a fixed number of values miss the median when they are looked at after every
// one and measuring stops at ±3%: what the plan would do if it took the intervals of other runs.
func fixedMisses(model func(*rand.Rand) float64, runs int) int {
	missed := 0
	for seed := range uint64(runs) {
		random := rand.New(rand.NewPCG(seed, 8))
		var values []float64
		for len(values) < 100 {
			values = append(values, model(random))
			if i := stat.MedianInterval(values, confidence); len(values) >= 6 && Width(i) <= 0.03 ||
				len(values) == 100 {
				if i.Lo > 1000 || i.Hi < 1000 {
					missed++
				}
				break
			}
		}
	}
	return missed
}

func TestRepetitionsGoWhereTheIntervalIsWidest(t *testing.T) {
	within := 0.03
	total := map[string]int{}
	for seed := range uint64(10) {
		p := ByPrecision(threeCells(), Interleaved, seed, Goal{Within: within, Most: 100})
		done := threeNoises(seed).follow(t, p, nil)
		for cell, n := range counts(done) {
			total[cell] += n
		}
		for _, s := range p.CellEstimates(done) {
			if s.N < 100 && !s.Precise(within) ||
				s.Precise(within) != (AdditionalRepetitions(s.Width(), within, s.N) == 0) {
				t.Errorf("seed %d: ended at %+v", seed, s)
			}
		}
	}
	// Twice the noise takes four times as many.
	if total["a"] != 10*MinForQuantile || total["b"] < 2*total["a"] || total["c"] < 2*total["b"] {
		t.Errorf("%v", total)
	}
}

func TestTheBudgetIsSpentAndNotOverrun(t *testing.T) {
	for seed := range uint64(10) {
		for _, budget := range []float64{30, 100, 345, 1000} {
			for _, within := range []float64{0, 0.001} {
				m := threeNoises(seed)
				p := ByPrecision(threeCells(), Interleaved, seed, Goal{Within: within, Budget: budget, Most: 1000})
				if spent := sum(m.follow(t, p, nil)); spent > budget || spent <= budget-10 {
					t.Errorf("seed %d, budget %v: %v s spent", seed, budget, spent)
				}
				m.seconds = func(r *rand.Rand) float64 { return 5 + 10*r.Float64() }
				done := m.follow(t,
					ByPrecision(threeCells(), Interleaved, seed, Goal{Within: within, Budget: budget, Most: 1000}), nil)
				if last := done[len(done)-1]; len(done) > 3 && sum(done)-last.Seconds > budget {
					t.Errorf("seed %d, budget %v: %v s were spent before the last repetition", seed, budget,
						sum(done)-last.Seconds)
				}
			}
		}
	}
}

func TestTheFirstPassIsWholeWhateverTheBudget(t *testing.T) {
	done := threeNoises(1).follow(t, ByPrecision(threeCells(), Interleaved, 1, Goal{Budget: 1, Most: 100}), nil)
	if n := counts(done); len(done) != 3 || len(n) != 3 {
		t.Errorf("%v", n)
	}
}

func TestNoCellIsStarved(t *testing.T) {
	for seed := range uint64(20) {
		done := threeNoises(seed).follow(t, ByPrecision(threeCells(), Shuffled, seed, Goal{Budget: 2000, Most: 1000}),
			nil)
		last := map[string]int{}
		for _, d := range done {
			if d.Block-last[d.Cell] > fullPassEvery {
				t.Errorf("seed %d: %s has its turn in pass %d and then in pass %d", seed, d.Cell, last[d.Cell], d.Block)
			}
			last[d.Cell] = d.Block
		}
		if n := counts(done); n["c"] < n["a"]*2 {
			t.Errorf("seed %d: the budget went to %v", seed, n)
		}
	}
}

// What drifts during the run must not be charged to one cell: two cells with the same noise have their turns alike.
func TestAlikeCellsAreSpreadOverTheRunAlike(t *testing.T) {
	for seed := range uint64(20) {
		m := machine{random: rand.New(rand.NewPCG(seed, 1)),
			value: map[string]func(*rand.Rand) float64{"a": noisy(0.05), "b": noisy(0.05), "c": noisy(0.001)}}
		done := m.follow(t, ByPrecision(threeCells(), Interleaved, seed, Goal{Budget: 1500, Most: 1000}), nil)
		when := map[string]float64{}
		for i, d := range done {
			when[d.Cell] += float64(i) / float64(len(done)) / float64(counts(done)[d.Cell])
		}
		if math.Abs(when["a"]-when["b"]) > 0.05 {
			t.Errorf("seed %d: on average a was measured after %.2f of the run, b after %.2f", seed,
				when["a"], when["b"])
		}
	}
}

func TestTheSameResultsGiveTheSameNext(t *testing.T) {
	goal := Goal{Within: 0.02, Budget: 900, Most: 100}
	done := threeNoises(3).follow(t, ByPrecision(threeCells(), Interleaved, 3, goal), nil)
	for i := range done {
		again := ByPrecision(threeCells(), Interleaved, 3, goal)
		if next, more := again.Next(done[:i]); !more || next != done[i].Repetition {
			t.Fatalf("after %d repetitions %+v, then %+v", i, done[i].Repetition, next)
		}
	}
}

func TestPassesAreNumberedAndCellsCounted(t *testing.T) {
	done := threeNoises(3).follow(t, ByPrecision(threeCells(), Interleaved, 3, Goal{Within: 0.02, Most: 30}), nil)
	number, position, block := map[string]int{}, 0, 0
	for _, d := range done {
		if d.Block != block {
			position = 0
		}
		number[d.Cell]++
		position++
		if d.Block < block || d.Block > block+1 || d.Number != number[d.Cell] || d.Position != position {
			t.Fatalf("%+v after block %d, position %d", d.Repetition, block, position-1)
		}
		block = d.Block
	}
}

func TestStagesShareTheBudget(t *testing.T) {
	list := []Cell{{ID: "a", Repetitions: 3, Seconds: 10, Stage: 1}, {ID: "b", Repetitions: 3, Seconds: 10},
		{ID: "c", Repetitions: 3, Seconds: 10}}
	for seed := range uint64(10) {
		done := threeNoises(seed).follow(t, ByPrecision(list, Interleaved, seed, Goal{Budget: 900, Most: 1000}), nil)
		begins := slices.IndexFunc(done, func(d Done) bool { return d.Cell == "a" })
		for _, d := range done[begins:] {
			if d.Cell != "a" || d.Block <= done[begins-1].Block {
				t.Fatalf("seed %d: %+v after the second stage had begun", seed, d.Repetition)
			}
		}
		if begins != 60 || len(done) != 90 {
			t.Errorf("seed %d: the first stage has %d of %d repetitions, want 60 of 90", seed, begins, len(done))
		}
	}
}

func TestACellThatOnlyFailsIsGivenUp(t *testing.T) {
	m := threeNoises(1)
	m.value["b"] = nil
	p := ByPrecision(threeCells(), Interleaved, 1, Goal{Within: 0.03, Most: 100})
	done := m.follow(t, p, nil)
	if n := counts(done); n["b"] != enoughFailures {
		t.Errorf("%v", n)
	}
}

func TestHowManyMoreItTakes(t *testing.T) {
	for _, c := range []struct {
		width float64
		n     int
		want  int
	}{{0.03, 10, 0}, {0.06, 10, 53}, {0.031, 10, 7}, {math.Inf(1), 3, MinForQuantile - 3}, {math.Inf(1), 9, 1}} {
		if got := AdditionalRepetitions(c.width, 0.03, c.n); got != c.want {
			t.Errorf("±%v after %d: %d more, want %d", c.width, c.n, got, c.want)
		}
	}
	var values []float64
	for i := range MinForQuantile {
		if stat.MedianSequence(values, confidence).Known() {
			t.Errorf("%d values have an interval", i)
		}
		values = append(values, float64(i))
	}
	if !stat.MedianSequence(values, confidence).Known() {
		t.Errorf("%d values have no interval", MinForQuantile)
	}
}

// The forecast is shown to people. It is about what four of five runs need, though a run ends the first time that it is
// precise.
func TestTheForecastIsAboutRight(t *testing.T) {
	var forecasts, needed []float64
	for seed := range uint64(60) {
		m := machine{random: rand.New(rand.NewPCG(seed, 7)),
			value: map[string]func(*rand.Rand) float64{"a": noisy(0.06)}}
		p := ByPrecision([]Cell{{ID: "a", Repetitions: 3}}, Interleaved, seed, Goal{Within: 0.03, Most: 1000})
		done := m.follow(t, p, nil)
		const measured = 20
		if len(done) <= measured {
			continue
		}
		more := AdditionalRepetitions(p.CellEstimates(done[:measured])[0].Width(), 0.03, measured)
		forecasts, needed = append(forecasts, float64(more)), append(needed, float64(len(done)-measured))
	}
	slices.Sort(forecasts)
	slices.Sort(needed)
	median, ofFive := forecasts[len(forecasts)/2], needed[len(needed)*4/5]
	if median < 0.8*ofFive || median > 2*ofFive {
		t.Errorf("%g repetitions were foretold (median), and four of five runs needed %g", median, ofFive)
	}
}

func ExampleByPrecision() {
	p := ByPrecision([]Cell{{ID: "a", Repetitions: 1, Seconds: 10}}, Interleaved, 1,
		Goal{Within: 0.03, Budget: 600, Most: 100})
	var done []Done
	for {
		next, more := p.Next(done)
		if !more {
			break
		}
		done = append(done, Done{Repetition: next, Values: map[string]float64{"read.iops": 1000}, Seconds: 10})
	}
	fmt.Println(len(done), "repetitions of a cell without noise")
	// Output: 8 repetitions of a cell without noise
}
