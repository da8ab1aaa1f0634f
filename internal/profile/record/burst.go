package record

import "time"

// Bursts begin short, since the number of function calls per second is unknown. The longest is short compared with
// changes of a load, and the shortest is what a busy machine can keep to.
const (
	firstBurst    = 20 * time.Millisecond
	longestBurst  = 100 * time.Millisecond
	shortestBurst = time.Millisecond
	// aimedFill is the share of the fullest CPU's buffer that a burst should fill.
	aimedFill = 0.4
)

// mostEvents is how many events are enough, however short they took: reading them takes CPU time from the load.
const mostEvents = 3_000_000

// nextBurst returns the length of the next burst, from how full the last one left the fullest buffer, and whether it
// lost events.
func nextBurst(last time.Duration, fill float64, lost bool, longest time.Duration) time.Duration {
	next := last * 2
	switch {
	case lost:
		next = last / 4
	case fill > aimedFill/2:
		next = time.Duration(float64(last) * aimedFill / fill)
	}
	return max(shortestBurst, min(longest, next))
}
