package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// evidence is the likelihood ratio of a t statistic: its density with the effect (in standard deviations of a pair)
// drawn from a normal distribution of variance 4, over its density without effect. Here by its definition, there solved
// for t.
func evidence(t float64, n int) float64 {
	k := 1 + 4*float64(n)
	return math.Pow(k, -0.5) * math.Pow((1+t*t/float64(n-1))/(1+t*t/float64(n-1)/k), float64(n)/2)
}

// Under "no change" the likelihood ratio is 1 on average, whatever the number of pairs: that is what makes 1/alpha a
// bound on the error.
func TestEvidenceIsOneOnAverage(t *testing.T) {
	for _, n := range []int{2, 4, 7, 20, 100} {
		student := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}
		const steps = 20000
		sum := 0.0
		for i := range steps { // over t = sinh(x), for tails as long as those of few pairs
			x := -30 + 60*(float64(i)+0.5)/steps
			sum += evidence(math.Sinh(x), n) * student.Prob(math.Sinh(x)) * math.Cosh(x) * 60 / steps
		}
		if math.Abs(sum-1) > 1e-3 {
			t.Errorf("n=%d: the mean likelihood ratio is %v", n, sum)
		}
	}
}

func TestCriticalTReachesTheEvidence(t *testing.T) {
	for _, alpha := range []float64{0.1, 0.05, 0.01, 0.05 / 8, 0.05 / 144} {
		for n := 2; n <= 3000; n += 1 + n/50 {
			critical := criticalT(n, alpha)
			if math.IsInf(critical, 1) {
				if n >= FewestPairs(alpha) || evidence(1e9, n) > 1/alpha {
					t.Errorf("alpha %v: %d pairs never decide", alpha, n)
				}
				continue
			}
			if got := evidence(critical, n) * alpha; math.Abs(got-1) > 1e-9 {
				t.Errorf("alpha %v, n=%d: at the critical %v the evidence is %v of what it must be", alpha, n, critical,
					got)
			}
		}
	}
}

// The exact chance of a wrong claim where a disk jumps between two levels and has no other noise at all: every path of
// up and down jumps over 100 pairs. It is the hardest noise for a t statistic, and independent of the jump's size.
func TestJumpsBetweenTwoLevelsAreNoChange(t *testing.T) {
	for _, family := range []float64{1, 8, 144} {
		alpha := 0.05 / family
		// up, and down as often; 0.25 where half the runs are slow
		for _, jump := range []float64{0.01, 0.05, 0.1, 0.15, 0.2, 0.25} {
			if wrong := claimOfJumps(t, jump, alpha, 100); wrong > alpha {
				t.Errorf("alpha 0.05/%g, jumps %v: a wrong claim with probability %.5f, that is %.2f of alpha", family,
					jump, wrong, wrong/alpha)
			}
		}
	}
}

// claimOfJumps is the probability that PairedChange excludes "no change" after any of so many pairs, each +1 or -1 with
// the probability of a jump, else 0.
func claimOfJumps(t *testing.T, jump, alpha float64, most int) float64 {
	t.Helper()
	type path struct{ up, down int }
	at := map[path]float64{{}: 1}
	wrong := 0.0
	for n := 1; n <= most; n++ {
		next := make(map[path]float64, len(at)+n)
		for p, chance := range at {
			next[path{p.up + 1, p.down}] += jump * chance
			next[path{p.up, p.down + 1}] += jump * chance
			next[p] += (1 - 2*jump) * chance
		}
		at = next
		if n < FewestPairs(alpha) {
			continue
		}
		critical := criticalT(n, alpha)
		for p, chance := range at {
			// The t statistic of counts; of equal differences it is infinite.
			sum := float64(p.up - p.down)
			squares := float64(p.up+p.down) - sum*sum/float64(n)
			if sum*sum*float64(n-1) > critical*critical*squares*float64(n) && sum != 0 {
				wrong += chance
				delete(at, p)
			}
		}
	}
	return wrong
}

func TestPairedChangeWaitsForEnoughPairs(t *testing.T) {
	for _, c := range []struct {
		alpha float64
		want  int
	}{{0.05, 8}, {0.05 / 8, 11}, {0.05 / 144, 15}, {0.5, 4}} {
		same := make([]float64, c.want)
		for i := range same {
			same[i] = math.Log(0.8)
		}
		if before := PairedChange(same[1:], c.alpha); before.Known() || before.Decide(0.03) != Undecided {
			t.Errorf("alpha %v: %d pairs claim %+v", c.alpha, c.want-1, before)
		}
		if got := PairedChange(same, c.alpha); got.Decide(0.03) != Below || math.Abs(got.Ratio-0.8) > 1e-12 ||
			got.Confidence != 1-c.alpha {
			t.Errorf("alpha %v: %d equal pairs give %+v", c.alpha, c.want, got)
		}
	}
}

func TestPairedChangeOfFewOrNone(t *testing.T) {
	for _, logs := range [][]float64{nil, {math.NaN()}, {0.1}, {0.1, 0.2, math.NaN(), 0.3}} {
		for _, c := range []Change{PairedChange(logs, 0.05), PairedOnce(logs[:min(1, len(logs))], 0.95)} {
			if c.Known() || c.Confidence != 0 || c.Decide(0.03) != Undecided {
				t.Errorf("%v claims %+v", logs, c)
			}
		}
	}
}

// The t interval of a textbook: differences 1, 2, 3, 4 have mean 2.5, standard error 0.6455 and t(0.975, 3) = 3.1824.
func TestPairedOnceIsTheTextbooks(t *testing.T) {
	c := PairedOnce([]float64{1, 2, 3, 4}, 0.95)
	if lo, hi := math.Log(c.Lo), math.Log(c.Hi); math.Abs(lo-0.4457) > 1e-3 || math.Abs(hi-4.5543) > 1e-3 {
		t.Errorf("got [%v, %v]", lo, hi)
	}
}

func BenchmarkPairedChange(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	logs := make([]float64, 20)
	for i := range logs {
		logs[i] = r.NormFloat64()
	}
	for b.Loop() {
		PairedChange(logs, 0.05)
	}
}

// Pairs that scatter less than they are known to have the interval of those that do.
func TestPairedOnceSpread(t *testing.T) {
	quiet := []float64{0.05, 0.0501, 0.0499, 0.05, 0.05}
	c := PairedOnceSpread(quiet, 0.02, 0.95)
	half := 2.7764 * 0.02 / math.Sqrt(5) // Student's t with 4 degrees of freedom
	near(t, "lower end", c.Lo, math.Exp(0.05-half), 1e-4)
	near(t, "upper end", c.Hi, math.Exp(0.05+half), 1e-4)
	if got, want := PairedOnceSpread(quiet, 1e-9, 0.95), PairedOnce(quiet, 0.95); got != want {
		t.Errorf("%+v, want the spread of the pairs themselves: %+v", got, want)
	}
	if equal := PairedOnceSpread([]float64{0.05, 0.05, 0.05, 0.05}, 0.02, 0.95); equal.Lo >= 1.05 || equal.Hi <= 1.05 {
		t.Errorf("pairs that are all equal: %+v", equal)
	}
}
