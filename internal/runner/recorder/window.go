package recorder

import (
	"fmt"
	"maps"
	"time"

	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/profile"
)

// Around is the time that a recorder takes before and after the load: to get ready, and to find the names of functions.
const Around = 3 * time.Second

// The parts of a recorder's time. It waits until a load is under way, then samples and follows, or traces: in all
// bursts together enough for thousands of I/Os of a slow disk.
const (
	settling    = time.Second
	sampledTime = 4 * time.Second
	followed    = 2 * time.Second
	tracedTime  = 600 * time.Millisecond
	// reading is what bursts take longer than they trace, on a machine that is neither busy nor emulated.
	reading = 2 * time.Second
)

// MaxProfiled is how long a load with a set time runs while its recorder is not done: emulated machines take many times
// as long as others.
const MaxProfiled = time.Minute

// Window is what a recorder does of the time of a load.
type Window struct{ Delay, Sample, Follow, Trace time.Duration }

// Profiled is a load of fio's as it is profiled, by its parameters, with the time that it takes, ramp included, which
// is 0 for one that ends by size. One with a set time is ended when the recorder is done.
func Profiled(params map[string]string, part profile.Part) (profiled map[string]string, takes time.Duration, w Window) {
	ramp := fio.Ramp(params)
	w.Delay = ramp + settling
	if part == profile.Calls {
		w.Trace, takes = tracedTime, w.Delay+tracedTime+reading
	} else {
		w.Sample, w.Follow, takes = sampledTime, followed, w.Delay+sampledTime+followed
	}
	if fio.WantedRuntime(params) == 0 {
		return params, 0, w
	}
	params = maps.Clone(params)
	delete(params, "timeout") // another name of it
	params["runtime"] = fmt.Sprintf("%gs", MaxProfiled.Seconds())
	return params, takes, w
}
