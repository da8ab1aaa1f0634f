package compare

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// meanChange returns the geometric mean of the changes of several numbers. An effect on all numbers of a repetition, a
// boot or a pair (a busy neighbour, another layout of memory) makes them dependent. So they are first averaged within
// it, if enough of them share it, and the averages are compared as the values of one number. Otherwise the mean has an
// interval that holds however they depend on each other. The mean of two sessions includes the differences between
// sessions, or has no interval if these are not known for all numbers.
func meanChange(samples []sample, confidence float64) stat.Change {
	p := newPower(confidence)
	if slices.ContainsFunc(samples, func(s sample) bool { return s.sessions }) {
		return meanOverSessions(samples, p)
	}
	if joint, ok := averaged(samples); ok {
		return joint.change(p)
	}
	changes := make([]stat.Change, len(samples))
	for i, s := range samples {
		changes[i] = s.change(p)
	}
	return stat.GeometricMean(changes)
}

// meanOverSessions returns the mean of changes that each include the differences between sessions.
func meanOverSessions(samples []sample, p *power) stat.Change {
	changes, all := make([]stat.Change, len(samples)), true
	for i, s := range samples {
		var known bool
		changes[i], known = s.overSessions(s.change(p))
		all = all && (known || !s.sessions)
	}
	mean := stat.GeometricMean(changes)
	if !all {
		mean.Lo, mean.Hi, mean.Confidence = math.NaN(), math.NaN(), 0
	}
	return mean
}

// overSessions returns a change that includes the differences between sessions, if enough of them are known.
func (s sample) overSessions(c stat.Change) (wide stat.Change, known bool) {
	if !s.sessions {
		return c, false
	}
	return c.OverSessions(s.levels())
}

// levels returns the levels of the other sessions of the load.
func (s sample) levels() (levels []float64) {
	for _, session := range s.others() {
		levels = append(levels, stat.Median(session))
	}
	return levels
}

// sessionsReach returns the logarithm of the change that four of five comparisons of two sessions find, however many
// repetitions they have. It is 0 for other comparisons, and if it is not known how far sessions differ.
func (s sample) sessionsReach(confidence float64) float64 {
	if !s.sessions {
		return 0
	}
	return stat.DetectableOverSessions(s.levels(), confidence)
}

// averaged returns the sample of the means over all samples within each repetition, boot or pair that all have. It
// returns false if that leaves fewer than two, or fewer than half of the values of one sample.
func averaged(samples []sample) (sample, bool) {
	if len(samples) == 1 {
		return samples[0], true
	}
	out := sample{per: samples[0].per}
	for _, s := range samples {
		if s.per != out.per {
			return sample{}, false
		}
	}
	var ok [2]bool
	out.base, ok[0] = averagedSide(samples, func(s sample) ([]float64, []string) { return s.base, s.at[0] })
	out.next, ok[1] = averagedSide(samples, func(s sample) ([]float64, []string) {
		if s.per == perPair {
			return s.next, s.at[0]
		}
		return s.next, s.at[1]
	})
	return out, ok[0] && ok[1]
}

// averagedSide averages one side, in the order of the first sample.
func averagedSide(samples []sample, side func(sample) ([]float64, []string)) ([]float64, bool) {
	logs, counts := map[string]float64{}, map[string]int{}
	most := 0
	for _, s := range samples {
		values, at := side(s)
		most = max(most, len(values))
		for i, v := range values {
			logs[at[i]] += math.Log(v)
			counts[at[i]]++
		}
		if len(values) != len(slices.Compact(slices.Sorted(slices.Values(at)))) {
			return nil, false // several values of one repetition: repetition numbers are unknown
		}
	}
	var means []float64
	_, order := side(samples[0])
	for _, key := range order {
		if counts[key] == len(samples) {
			means = append(means, math.Exp(logs[key]/float64(len(samples))))
		}
	}
	return means, len(means) >= 2 && 2*len(means) >= most
}
