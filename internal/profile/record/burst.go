package record

import "time"

// Bursts begin short, since nobody knows how many functions a kernel calls in a second. The longest is short against
// the change of a load, and the shortest is what a busy machine keeps to.
const (
	firstBurst    = 20 * time.Millisecond
	longestBurst  = 100 * time.Millisecond
	shortestBurst = time.Millisecond
	// aimedFill is the share of the fullest CPU's buffer that a burst may take.
	aimedFill = 0.4
)

// mostEvents is how many events are enough, however short they took: reading them takes CPUs from the load.
const mostEvents = 3_000_000

// nextBurst is how long the next burst should be after one that filled the fullest buffer so far, or more than that.
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
