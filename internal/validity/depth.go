package validity

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

func syncEngine(e *Evidence) []lab.Warning {
	engine, depth := e.options().engine(), e.options().depth()
	if !slices.Contains(synchronousEngines(), engine) || depth <= 1 {
		return nil
	}
	return warn(allMetrics(), "ioengine=%s carries out one I/O at a time, so iodepth=%.0f had no effect: this is "+
		"depth 1 in each job; use ioengine=io_uring or libaio, or more jobs", engine, depth)
}

// searchedDepth is the depth that fio found for a latency_target, at which it ran in the end; 0 where it searched none.
func searchedDepth(jobs []fio.Job) (found int64) {
	for _, j := range jobs {
		if j.LatencyTarget > 0 {
			found = max(found, j.LatencyDepth)
		}
	}
	return found
}

func latencyTarget(e *Evidence) []lab.Warning {
	found := searchedDepth(e.Group.Jobs)
	if found == 0 || float64(found) == e.options().depth() {
		return nil
	}
	return warn(allMetrics(), "fio searched the depth that keeps the latency below latency_target, and found %d: this is "+
		"no result at iodepth=%.0f, and it includes I/Os at other depths; measure again at the one found", found,
		e.options().depth())
}

func bufferedAsync(e *Evidence) []lab.Warning {
	direct, known := e.options().direct()
	if e.options().engine() != "libaio" || !known || direct || e.options().depth() <= 1 {
		return nil
	}
	return warn(allMetrics(), "libaio without direct=1 does buffered I/O one after the other inside io_submit, so "+
		"iodepth=%.0f was not reached, whatever fio's depth table shows; "+
		"add direct=1, or use ioengine=io_uring", e.options().depth())
}

// depthNotReached compares what was asked with what was in flight by Little's law (rate times latency), because fio's
// own table of depths counts what it submitted, which may wait anywhere. The table is the fallback
// where no latency was measured.
func depthNotReached(e *Evidence) []lab.Warning {
	direct, known := e.options().direct()
	engine := e.options().engine()
	_, said := e.options().param("iodepth")
	// fio at depth 1 is as fast as its job's core, and its flushes are timed apart.
	shallow := e.options().depth() <= 1 && (len(e.Group.Jobs) > 0 || !said)
	if shallow || engine == "null" || slices.Contains(synchronousEngines(), engine) || e.throttledByDesign() ||
		e.options().syncsAtTheEnd() || e.options().batches() || engine == "libaio" && known && !direct {
		return nil
	}
	var all traffic
	for _, d := range e.directions() {
		t := e.traffic(d)
		all.inFlight += t.inFlight
		all.inSubmission += t.inSubmission
	}
	asked := e.options().depth() * e.allJobs()
	taints := metricsOf(e.directions()...)
	switch share := e.shallowShare(); {
	case len(taints) == 0:
		return nil
	case all.inSubmission/e.jobs() >= blockedShare && busiestCPU(e.Group.Jobs) < all.inSubmission/e.jobs()/2:
		return warn(taints, "fio spent %s of its time blocked in calls that submit I/O and should return at once, "+
			"so the queue of %.0f was not kept full; "+
			"the file may have been growing (lay it out first), or the file system or engine does this I/O "+
			"synchronously", unit.Percent(all.inSubmission/e.jobs()), asked)
	case all.inFlight < depthShare*asked:
		whole, found := fmt.Sprintf("%.0f I/Os were", asked), fmt.Sprintf("%.1f", all.inFlight)
		if asked == 1 {
			whole, found = "1 I/O was", fmt.Sprintf("%.2g", all.inFlight)
		}
		return warn(taints, "%s asked to be in flight (iodepth %.0f times numjobs %.0f) and on average %s were; %s",
			whole, e.options().depth(), e.allJobs(), found, e.whyShallow())
	case math.IsNaN(all.inFlight) && share > depthShare:
		return warn(taints, "iodepth=%.0f was asked for, and fio had less than half of that in flight %s of the "+
			"time; %s",
			e.options().depth(), unit.Percent(share), e.whyShallow())
	}
	return nil
}

func (e *Evidence) whyShallow() string {
	switch {
	case e.options().syncsAsItWrites():
		return "each fsync waits until the queue is empty: compare with depth 1, or use more jobs"
	case busiestCPU(e.Group.Jobs) >= fullCore:
		return "the job's core is full: use more jobs"
	case len(e.Group.Jobs) == 0:
		return "the rest of the time went elsewhere: a flush at the end, a limit below, or passes that were averaged"
	default:
		return "look at the engine (does it queue?), at limits of the file system or network below, and at whether " +
			"the job's core is full"
	}
}

// shallowShare is the part of fio's table of depths that lies wholly below half the asked depth. Each level goes from
// its name up to the next: "4" counts 4 to 7.
func (e *Evidence) shallowShare() float64 {
	shallow, all := 0.0, 0.0
	for _, j := range e.Group.Jobs {
		for level, share := range j.Depth {
			all += share
			if from, err := strconv.Atoi(level); err == nil && float64(2*from-1) < depthShare*e.options().depth() {
				shallow += share
			}
		}
	}
	if all == 0 {
		return 0
	}
	return shallow / all
}
