//go:build bench && system

package cli

import (
	"math"
	"time"
)

// byteSample is what all links of a host had received at a moment.
type byteSample struct {
	at    time.Time
	bytes float64
}

// rateBetween is in bytes a second.
func rateBetween(looks []byteSample, from, to time.Time) float64 {
	var first, last byteSample
	for _, l := range looks {
		if first.at.IsZero() && !l.at.Before(from) {
			first = l
		}
		if !l.at.After(to) {
			last = l
		}
	}
	return (last.bytes - first.bytes) / last.at.Sub(first.at).Seconds()
}

// independentEstimate are the longest time after a moment in which less than a hundredth of a rate came through, and
// when a quarter of a second first had 95% of it.
func independentEstimate(looks []byteSample, after, until time.Time, rate float64) (stall, back float64) {
	begun := after
	for i := 1; i < len(looks); i++ {
		l := looks[i]
		if l.at.Before(after) || l.at.After(until) {
			continue
		}
		if l.bytes-looks[i-1].bytes > 0.01*rate*l.at.Sub(looks[i-1].at).Seconds() {
			stall = max(stall, l.at.Sub(begun).Seconds())
			begun = l.at
		}
	}
	for _, l := range looks {
		if to := l.at.Add(time.Second); l.at.After(after) && to.Before(until) && rateBetween(looks, l.at, to) >
			0.95*rate && rateBetween(looks, l.at, l.at.Add(100*time.Millisecond)) > 0.9*rate {
			return stall, l.at.Sub(after).Seconds()
		}
	}
	return stall, math.NaN()
}
