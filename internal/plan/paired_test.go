package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/stat/pairorder"
)

func terms(claims int) lab.Terms {
	return lab.Terms{Margin: 0.03, Alpha: 0.05, Claims: claims, Pairs: 20, Confirm: 4}
}

// twoArms answers a repetition with its IOPS; load is how many were carried out before.
type twoArms func(r Repetition, load int) float64

// followPairs carries out a plan on a twoArms until it ends.
func followPairs(t testing.TB, p Plan, measure twoArms) []Done {
	t.Helper()
	var done []Done
	for {
		r, more := p.Next(done)
		if !more {
			return done
		}
		if len(done) > 100_000 {
			t.Fatal("the plan does not end")
		}
		d := Done{Repetition: r, Seconds: 1}
		if v := measure(r, len(done)); v > 0 {
			d.Values = map[string]float64{"read.iops": v}
		}
		done = append(done, d)
	}
}

// noisyPairs is a twoArms whose new arm is effect times its base, with a relative noise.
func noisyPairs(random *rand.Rand, effect, noise float64) twoArms {
	return func(r Repetition, _ int) float64 {
		v := 1000 * math.Exp(noise*random.NormFloat64())
		if r.Arm == New {
			v *= effect
		}
		return v
	}
}

func named(ids ...string) []Cell {
	var list []Cell
	for _, id := range ids {
		list = append(list, Cell{ID: id})
	}
	return list
}

func TestTheTwoHalvesOfAPairFollowEachOther(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	done := followPairs(t, Paired(cells(3, 0), terms(3), 0, 7), noisyPairs(random, 1, 0.05))
	if len(done)%2 != 0 || len(done) == 0 {
		t.Fatalf("%d repetitions", len(done))
	}
	for i := 0; i < len(done); i += 2 {
		a, b := done[i].Repetition, done[i+1].Repetition
		if a.Cell != b.Cell || a.Block != b.Block || a.Number != b.Number || a.Arm == b.Arm ||
			b.Position != a.Position+1 {
			t.Errorf("%+v is followed by %+v", a, b)
		}
	}
}

// Cells take turns, so that none has all its pairs in a bad hour.
func TestEveryCellHasOnePairAPass(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	done := followPairs(t, Paired(cells(4, 0), terms(4), 0, 7), noisyPairs(random, 1, 0.2))
	var order [][]string
	for _, d := range done {
		for len(order) < d.Block {
			order = append(order, nil)
		}
		if d.Position != len(order[d.Block-1])+1 {
			t.Fatalf("%+v is at place %d of its pass", d.Repetition, len(order[d.Block-1])+1)
		}
		order[d.Block-1] = append(order[d.Block-1], d.Cell)
	}
	if reflect.DeepEqual(order[0], order[1]) && reflect.DeepEqual(order[1], order[2]) {
		t.Errorf("each pass has the same order %v", order[0])
	}
}

func TestACellWithItsVerdictIsDroppedAndConfirmed(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	p := Paired(named("clear", "noisy"), terms(2), 0, 3)
	clear, hard := noisyPairs(random, 0.5, 0.01), noisyPairs(random, 1.02, 0.3)
	done := followPairs(t, p, func(r Repetition, n int) float64 {
		if r.Cell == "clear" {
			return clear(r, n)
		}
		return hard(r, n)
	})
	count := map[string]int{}
	confirming := map[string]int{}
	for _, d := range done {
		count[d.Cell]++
		if d.Confirms {
			confirming[d.Cell]++
		}
	}
	if want := map[string]int{"clear": 2 * (10 + 4), "noisy": 2 * 10}; !reflect.DeepEqual(count, want) {
		t.Errorf("%v repetitions, want %v", count, want)
	}
	if want := map[string]int{"clear": 2 * 4}; !reflect.DeepEqual(confirming, want) {
		t.Errorf("%v repetitions confirm, want %v", confirming, want)
	}
	metrics, ending := p.Verdicts("clear", done)
	if len(metrics) != 1 || ending != Decided {
		t.Fatalf("%+v, %q", metrics, ending)
	}
	s := metrics[0]
	if s.Decision != stat.Below || s.Change.N != 10 || s.Confirmed.N != 4 || math.Abs(s.Confirmed.Ratio-0.5) > 0.02 {
		t.Errorf("%+v", s)
	}
	if metrics, ending := p.Verdicts("noisy", done); metrics[0].Decision != stat.Undecided || ending != Futile {
		t.Errorf("%+v, %q", metrics, ending)
	}
}

// A cell between two verdicts that may still reach one has all its pairs, and no more.
func TestACellHasAtMostThePairsOfTheTerms(t *testing.T) {
	for pairs := 4; pairs < 12; pairs += 2 {
		some := terms(1)
		some.Pairs = pairs
		p := Paired(named("a"), some, 0, 1)
		// every other block says 4% more, the others 1.5% less
		done := followPairs(t, p, func(r Repetition, _ int) float64 {
			switch {
			case r.Arm == Base:
				return 1000
			case (r.Number-1)/pairsPerBlock%2 == 0:
				return 1040
			}
			return 985
		})
		if _, ending := p.Verdicts("a", done); len(done) > 2*pairs || ending == Decided ||
			len(done) < 2*pairs && ending != Futile {
			t.Errorf("%d pairs allowed, %d loads, %q", pairs, len(done), ending)
		}
	}
}

// Whatever was saved in whichever order, the plan goes on as if nothing had happened.
func TestAnInterruptedComparisonGoesOnTheSame(t *testing.T) {
	p := Paired(cells(3, 0), terms(3), 0, 11)
	done := followPairs(t, p, noisyPairs(rand.New(rand.NewPCG(4, 4)), 1.03, 0.04))
	for n, d := range done {
		saved := slices.Clone(done[:n])
		slices.SortStableFunc(saved, func(a, b Done) int { return len(a.Arm) - len(b.Arm) }) // one run, then the other
		if next, more := p.Next(saved); !more || next != d.Repetition {
			t.Fatalf("after %d: %+v, %v, want %+v", n, next, more, d.Repetition)
		}
	}
}

// A comparison that ended can be given more pairs: a cell with its verdict keeps it, wherever the terms ended then, and
// the others go on.
func TestMorePairsLeaveVerdictsAlone(t *testing.T) {
	decidedAtTheEnd, reopened := 0, 0
	for seed := range uint64(300) {
		before := terms(2)
		before.Pairs, before.Confirm = 10, int(seed%2)*2
		p := Paired(named("a", "b"), before, 0, seed)
		measure := noisyPairs(rand.New(rand.NewPCG(6, seed)), 0.85, 0.08)
		done := followPairs(t, p, measure)
		after := before
		after.Pairs, after.EarlierPairs = 30, []int{before.Pairs}
		longer := Paired(named("a", "b"), after, 0, seed)
		all := slices.Clone(done)
		for {
			r, more := longer.Next(all)
			if !more {
				break
			}
			all = append(all,
				Done{Repetition: r, Seconds: 1, Values: map[string]float64{"read.iops": measure(r, len(all))}})
		}
		for _, cell := range []string{"a", "b"} {
			was, ending := p.Verdicts(cell, done)
			is, now := longer.Verdicts(cell, all)
			switch ending {
			case Decided:
				if was[0].Change.N == before.Pairs {
					decidedAtTheEnd++
				}
				if was[0].Change != is[0].Change || was[0].Confirmed.N != is[0].Confirmed.N || now != Decided {
					t.Errorf("%s was %+v, is %+v, %q", cell, was, is, now)
				}
			default:
				if is[0].Change.N > was[0].Change.N {
					reopened++
				}
				if is[0].Change.N == was[0].Change.N && now != Futile || now == Open || is[0].Change.N > after.Pairs {
					t.Errorf("%s, %q, was %+v, is %+v, %q", cell, ending, was, is, now)
				}
			}
		}
	}
	if decidedAtTheEnd < 10 || reopened < 10 {
		t.Errorf("%d verdicts at the last pair and %d cells that go on test nothing", decidedAtTheEnd, reopened)
	}
}

// Nor a block, whose two pairs belong together.
func TestAFailedLoadMakesNoPair(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	measure := noisyPairs(random, 1, 0.001)
	p := Paired(named("a"), terms(1), 0, 1)
	done := followPairs(t, p, func(r Repetition, n int) float64 {
		if r.Number == 1 && r.Arm == New {
			return 0
		}
		return measure(r, n)
	})
	metrics, ending := p.Verdicts("a", done)
	if metrics[0].Change.N != 8 || metrics[0].Decision != stat.Same || ending != Decided {
		t.Errorf("%+v, %q", metrics[0], ending)
	}
}

// Pairs without those in which a side stood still would call it as fast as ever.
func TestASideThatStandsStillIsNotTheSame(t *testing.T) {
	p := Paired(named("a"), terms(1), 0, 1)
	var done []Done
	for {
		r, more := p.Next(done)
		if !more {
			break
		}
		v := 1000.0
		if r.Arm == New && r.Number%4 == 0 {
			v = 0
		}
		done = append(done, Done{Repetition: r, Seconds: 1, Values: map[string]float64{"read.iops": v}})
	}
	metrics, ending := p.Verdicts("a", done)
	if len(metrics) != 1 || !metrics[0].Zeros || metrics[0].Decision != stat.Undecided || ending != Futile ||
		len(done) != 8 {
		t.Errorf("%d loads, %+v, %q", len(done), metrics, ending)
	}
}

// TestOrderOfArms checks that four of eight pairs begin with the new arm, in all 44 orders, and one of two confirming
// pairs.
func TestOrderOfArms(t *testing.T) {
	p := Paired(named("a"), terms(1), 0, 1)
	orders := map[string]bool{}
	c := p.sort(named("a"), nil)[0]
	for drawn := range 2000 {
		order := ""
		for place := range pairorder.Pairs {
			order += p.order(c, drawn*pairorder.Pairs+place+1)[0] + " "
		}
		if strings.Count(order, New) != pairorder.Pairs/2 {
			t.Errorf("pairs begin with %s", order)
		}
		orders[order] = true
	}
	if len(orders) != 44 {
		t.Errorf("%d orders of 44 were drawn", len(orders))
	}
	confirming := map[string]bool{}
	for seed := range uint64(40) {
		p := Paired(named("a"), terms(1), 0, seed)
		random := rand.New(rand.NewPCG(1, 1))
		done := followPairs(t, p, noisyPairs(random, 0.5, 0.01))
		var firsts []string
		for i := 0; i < len(done); i += 2 {
			if done[i].Confirms {
				firsts = append(firsts, done[i].Arm)
			}
		}
		if len(firsts) != 4 || firsts[0] == firsts[1] || firsts[2] == firsts[3] {
			t.Errorf("pairs that confirm begin with %v", firsts)
		}
		confirming[strings.Join(firsts, " ")] = true
	}
	if len(confirming) != 4 {
		t.Errorf("%d orders of 4 were drawn for pairs that confirm", len(confirming))
	}
}

func TestACellThatAlwaysFailsIsGivenUp(t *testing.T) {
	p := Paired(cells(2, 0), terms(2), 0, 1)
	done := followPairs(t, p, func(r Repetition, _ int) float64 {
		if r.Cell == "c0" && r.Arm == Base {
			return 0
		}
		return 1000
	})
	count := map[string]int{}
	for _, d := range done {
		count[d.Cell]++
	}
	if count["c0"] != 2*pairsPerBlock {
		t.Errorf("%d repetitions of a cell that never works, want %d", count["c0"], 2*pairsPerBlock)
	}
	if _, ending := p.Verdicts("c0", done); ending != Failing {
		t.Errorf("it ended as %q", ending)
	}
}

func TestTheBudgetEndsBetweenPairs(t *testing.T) {
	for budget := 1.0; budget < 30; budget++ {
		done := followPairs(t, Paired(cells(2, 0), terms(2), budget, 1),
			noisyPairs(rand.New(rand.NewPCG(6, 6)), 1, 0.02))
		if len(done)%2 != 0 {
			t.Errorf("a budget of %g s ends within a pair, after %d loads of 1 s", budget, len(done))
		}
		// Nobody knows how long the first pair of a cell takes.
		if n := float64(len(done)); n > max(budget, 4) || n < budget-1 {
			t.Errorf("a budget of %g s is %g loads of 1 s", budget, n)
		}
	}
}

// What drifts, and what comes from coming second, must not be taken for a change. Always A before B is the negative
// control: it takes a lasting effect of coming second for one.
func TestDriftAndOrderAreNoChange(t *testing.T) {
	const trials = 300
	wrong, wrongFixed := 0, 0
	for seed := range uint64(trials) {
		random := rand.New(rand.NewPCG(seed, 99))
		p := Paired(named("a"), terms(1), 0, seed)
		previous := ""
		done := followPairs(t, p, func(r Repetition, n int) float64 {
			v := 1000 * math.Exp(0.01*random.NormFloat64()-0.002*float64(n)) // slower and slower
			if previous == "" || previous != fmt.Sprint(r.Block) {
				v *= 1.04 // the first of a pair finds a rested drive
			}
			previous = fmt.Sprint(r.Block)
			return v
		})
		metrics, _ := p.Verdicts("a", done)
		if d := metrics[0].Decision; d == stat.Above || d == stat.Below {
			wrong++
		}
		var fixed []float64
		for range 20 {
			fixed = append(fixed, 0.014*random.NormFloat64()-math.Log(1.04))
		}
		if d := stat.PairedChange(fixed, 0.05).Decide(0.03); d == stat.Above || d == stat.Below {
			wrongFixed++
		}
	}
	t.Logf("wrong verdicts under drift and an order effect: %d of %d, in a fixed order %d", wrong, trials, wrongFixed)
	if wrong > trials*5/100 {
		t.Errorf("%d of %d claim a change", wrong, trials)
	}
	if wrongFixed < trials/2 {
		t.Errorf("the negative control is wrong %d times only, so this test shows nothing", wrongFixed)
	}
}

// All claims of a suite together are wrong in at most 5% of the suites.
func TestWholeSuitesAgainstThemselves(t *testing.T) {
	const suites, size = 200, 8
	wrong := 0
	for seed := range uint64(suites) {
		p := Paired(cells(size, 0), terms(size), 0, seed)
		done := followPairs(t, p, noisyPairs(rand.New(rand.NewPCG(seed, 5)), 1, 0.03))
		if slices.ContainsFunc(cells(size, 0), func(c Cell) bool {
			metrics, _ := p.Verdicts(c.ID, done)
			return metrics[0].Decision == stat.Above || metrics[0].Decision == stat.Below
		}) {
			wrong++
		}
	}
	t.Logf("suites of %d cells with a wrong claim: %d of %d", size, wrong, suites)
	if wrong > suites*5/100 {
		t.Errorf("%d of %d suites claim a change", wrong, suites)
	}
}

func TestAChangeIsFoundEarly(t *testing.T) {
	for _, c := range []struct {
		effect, noise float64
		most          int // pairs, median
	}{{1.10, 0.01, 8}, {0.80, 0.03, 8}, {1.00, 0.01, 8}} {
		var pairs []int
		wrong := 0
		for seed := range uint64(100) {
			p := Paired(named("a"), terms(1), 0, seed)
			done := followPairs(t, p, noisyPairs(rand.New(rand.NewPCG(seed, 7)), c.effect, c.noise))
			metrics, _ := p.Verdicts("a", done)
			pairs = append(pairs, metrics[0].Change.N)
			right := stat.Same
			if c.effect > 1 {
				right = stat.Above
			} else if c.effect < 1 {
				right = stat.Below
			}
			if d := metrics[0].Decision; d != right && d != stat.Undecided {
				wrong++
			}
		}
		slices.Sort(pairs)
		t.Logf("effect %g, noise %g: %d pairs in the median, %d at the worst, %d of 100 wrong", c.effect, c.noise,
			pairs[50], pairs[99], wrong)
		if pairs[50] > c.most || wrong > 5 {
			t.Errorf("effect %g, noise %g: %d pairs in the median, %d wrong", c.effect, c.noise, pairs[50], wrong)
		}
	}
}

// What a stage leaves behind is dear to make again, so each is finished before the next.
func TestPairsFinishAStageBeforeTheNext(t *testing.T) {
	list := []Cell{{ID: "filled", Stage: 1}, {ID: "a"}, {ID: "b"}}
	done := followPairs(t, Paired(list, terms(3), 0, 1), noisyPairs(rand.New(rand.NewPCG(8, 8)), 0.5, 0.01))
	var stages []string
	for _, d := range done {
		stage := "empty"
		if d.Cell == "filled" {
			stage = "filled"
		}
		stages = append(stages, stage)
	}
	if got := slices.Compact(stages); !slices.Equal(got, []string{"empty", "filled"}) {
		t.Errorf("stages %v", got)
	}
}
