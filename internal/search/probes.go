package search

import (
	"math"
	"math/rand/v2"
)

// probes are the states of a series that are measured before anything is thought of it: the ends, and some between.
type probes struct {
	states   []int
	measured record
}

func (p probes) times(state int) int { return len(p.measured.logsWith(state)) }

// wanted reports whether a probe must be measured: some have few measurements, or it is not known that states differ.
func (p probes) wanted(differ bool) bool {
	for _, state := range p.states {
		if !differ || p.times(state) < minAnchors {
			return true
		}
	}
	return false
}

// next returns the probe with the fewest measurements. After the first turn it chooses at random between probes with
// equally many.
func (p probes) next(r *rand.Rand) int {
	if len(p.measured) >= len(p.states) {
		r.Shuffle(len(p.states), func(i, j int) { p.states[i], p.states[j] = p.states[j], p.states[i] })
	}
	var next, least int
	for i, state := range p.states {
		if n := p.times(state); i == 0 || n < least {
			next, least = state, n
		}
	}
	return next
}

// sameSpeed reports whether the probes differ by less than is worth a search.
func (p probes) sameSpeed(spread, worth float64) bool {
	lowest, highest, least := math.Inf(1), math.Inf(-1), math.MaxInt
	for _, state := range p.states {
		logs := p.measured.logsWith(state)
		least = min(least, len(logs))
		if least <= minAnchors {
			return false
		}
		lowest, highest = min(lowest, mean(logs)), max(highest, mean(logs))
	}
	return highest-lowest+standardErrorsAlike*spread*math.Sqrt(2/float64(least)) <= math.Log1p(worth)
}
