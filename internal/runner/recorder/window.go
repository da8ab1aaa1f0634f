package recorder

import (
	"maps"
	"time"

	"headroom/internal/load/fio"
	"headroom/internal/profile"
)

// How long a profiled load goes on besides its ramp, at most: one that has a time of its own has a shorter one then.
// Counting calls takes short bursts, but reading them may take longer than they do.
const (
	maxTimeProfiled  = 8 * time.Second
	maxCallsProfiled = 6 * time.Second
)

// Around is what a recorder takes besides the load: to get ready, and to put names to what it has seen.
const Around = 3 * time.Second

// tracedTime is how long functions are traced, in all bursts together: enough for thousands of I/Os of a slow disk.
const tracedTime = 600 * time.Millisecond

// Window is what a recorder does of the time of a load.
type Window struct{ Delay, Sample, Follow, Trace time.Duration }

// Shortened is a load of fio's as it is profiled, by its parameters, with the time that it takes, ramp included, which
// is 0 for one that ends by size. The recorder waits until it is under way, and ends before it does, because fio takes
// a moment to begin.
func Shortened(params map[string]string, part profile.Part) (shorter map[string]string, takes time.Duration, w Window) {
	most := maxTimeProfiled
	if part == profile.Calls {
		most = maxCallsProfiled
	}
	runtime, ramp := fio.WantedRuntime(params), fio.Ramp(params)
	if runtime > most {
		runtime = most
		params = maps.Clone(params)
		delete(params, "timeout") // another name of it
		params["runtime"] = runtime.String()
	}
	if runtime > 0 {
		takes = runtime + ramp
	} else {
		runtime = most
	}
	w.Delay = ramp + runtime/8
	if part == profile.Calls {
		w.Trace = tracedTime
	} else {
		w.Sample, w.Follow = runtime*11/20, runtime/4
	}
	return params, takes, w
}
