package compare

import (
	"math"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/headroom/headroom/internal/stat"
)

// power finds the changes that comparisons at one confidence could have detected. stat finds them by simulation if
// there are few values, which takes some ten milliseconds: too long for each of a thousand cells of a matrix, but few
// numbers of repetitions occur.
type power struct {
	confidence float64
	reaches    map[[2]int]reach
	planned    map[int]*stat.GroupSequential
}

func newPower(confidence float64) *power {
	return &power{confidence: confidence, reaches: map[[2]int]reach{}, planned: map[int]*stat.GroupSequential{}}
}

// sequential returns the plan of a live comparison of a number of pairs.
func (p *power) sequential(pairs int) *stat.GroupSequential {
	if p.planned[pairs] == nil {
		p.planned[pairs] = stat.NewGroupSequential(1-p.confidence, pairs)
	}
	return p.planned[pairs]
}

// reach is the logarithm of the smallest detectable change as a function of the spread. It is a straight line:
// intervals on logarithms grow with the spread, except for the jump between modes that few values must allow for, which
// is constant.
type reach struct{ slope, jump float64 }

func (r reach) at(spread float64) float64 { return r.slope*spread + r.jump }

func (p *power) reach(base, next int) reach {
	key := [2]int{base, next}
	if r, known := p.reaches[key]; known {
		return r
	}
	const one, two = 0.01, 0.02
	near := math.Log(stat.MinimumDetectable(one, base, next, p.confidence))
	far := math.Log(stat.MinimumDetectable(two, base, next, p.confidence))
	slope := (far - near) / (two - one)
	r := reach{slope, near - slope*one}
	p.reaches[key] = r
	return r
}

// smallest returns the smallest change, as a share, that four of five such comparisons would have detected.
func (p *power) smallest(s sample, change stat.Change) float64 {
	switch {
	case s.planned > 0:
		return p.sequential(s.planned).Detectable(change.Spread, change.N) - 1
	case s.per == perPair:
		return stat.MinimumDetectablePairs(change.Spread, change.N, 1-p.confidence) - 1
	}
	return math.Expm1(p.reach(len(s.base), len(s.next)).at(change.Spread))
}

// maxAdditional is the largest number of further repetitions that is printed: more are not practical.
const maxAdditional = 1_000_000

// advice returns the advice on an undecided change. The true change may differ from the observed one: half of the
// margin is always allowed for.
func (p *power) advice(s sample, change stat.Change, margin float64) Advice {
	m, d := math.Log1p(margin), math.Abs(math.Log(change.Ratio))
	wanted := max(m/2, m-d, d-m/2)
	a := Advice{Smallest: p.smallest(s, change), More: p.moreFor(s, change, wanted), Decides: math.Expm1(wanted)}
	if wanted > m {
		a.MarginMore = p.moreFor(s, change, m)
	}
	return a
}

// moreFor returns how many further values each side needs to find a change whose logarithm is given. The number allows
// for a spread that is known from few values. It can't make up for differences between sessions.
func (p *power) moreFor(s sample, change stat.Change, wanted float64) int {
	if s.per == perPair {
		needed := stat.PairsFor(change, math.Exp(wanted), 1-p.confidence)
		if s.planned > 0 {
			needed = p.sequential(s.planned).PairsFor(change, math.Exp(wanted))
		}
		if needed == 0 || needed-change.N > maxAdditional {
			return 0
		}
		return max(needed-change.N, 1)
	}
	freedom := 4 / (1/float64(len(s.base)-1) + 1/float64(len(s.next)-1))
	spread := stat.UncertainSpread(change.Spread, freedom, distuv.UnitNormal.Quantile(0.5+p.confidence/2))
	sessions := s.sessionsReach(p.confidence)
	enough := func(i int) bool {
		n := change.N + 1 + i
		return math.Hypot(p.reach(n, n).at(spread), sessions) <= wanted
	}
	if i := sort.Search(maxAdditional, enough); i < maxAdditional {
		return i + 1
	}
	return 0
}
