package validity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/unit"
)

const (
	// fullCore is the share of a core from which a job has no time left to wait for the device. fio's figures
	// are relative to the run time and miss start-up, so that a busy loop shows 96% to 100%.
	fullCore = 0.95
	// fullMachine is the same for all cores together, interrupts included.
	fullMachine = 0.97
	// othersShare is fio's part of a full machine below which something else must be named.
	othersShare = 0.5
	// depthShare is the part of the asked depth that must be in flight on average. A healthy queue holds 90% and more:
	// what is missing is the time between a completion and the next submission.
	depthShare = 0.5
	// blockedShare is the part of a job's time inside submission calls from which these block. They should return at
	// once: on a healthy queue they take CPU time only.
	blockedShare = 0.5
	// unevenShare is by how much the run times of jobs may differ whose rates are added up.
	unevenShare = 0.05
	// slowClockRate is the rate from which an expensive clock shows: each operation reads it about three times, at 1 µs
	// each through the HPET.
	slowClockRate = 20e3
	// wholeMicroseconds is the latency below which fio 2's resolution of 1 µs is more than 1%.
	wholeMicroseconds = 100e-6
	// lastBin is where the bins of fio 3 end: 29 groups of powers of two from 64 ns, 2^34 ns. Whatever took longer is
	// counted in the last bin.
	lastBin = 17.0
)

func syncEngine(e *Evidence) []lab.Warning {
	engine, depth := e.engine(), e.depth()
	if !slices.Contains(synchronousEngines(), engine) || depth <= 1 {
		return nil
	}
	return warn(allMetrics(), "ioengine=%s carries out one I/O at a time, so iodepth=%.0f had no effect: this is "+
		"depth 1 in each job; use ioengine=io_uring or libaio, or more jobs", engine, depth)
}

func bufferedAsync(e *Evidence) []lab.Warning {
	direct, known := e.direct()
	if e.engine() != "libaio" || !known || direct || e.depth() <= 1 {
		return nil
	}
	return warn(allMetrics(), "libaio without direct=1 does buffered I/O one after the other inside io_submit, so "+
		"iodepth=%.0f was not reached, whatever fio's depth table shows; "+
		"add direct=1, or use ioengine=io_uring", e.depth())
}

// depthNotReached compares what was asked with what was in flight by Little's law (rate times latency), because fio's
// own table of depths counts what it submitted, which may wait anywhere. The table is the fallback
// where no latency was measured.
func depthNotReached(e *Evidence) []lab.Warning {
	direct, known := e.direct()
	engine := e.engine()
	if e.depth() <= 1 || engine == "null" || slices.Contains(synchronousEngines(), engine) || e.throttledByDesign() ||
		e.syncsAtTheEnd() || e.batches() || engine == "libaio" && known && !direct {
		return nil
	}
	var all traffic
	for _, d := range e.directions() {
		t := e.traffic(d)
		all.inFlight += t.inFlight
		all.inSubmission += t.inSubmission
	}
	asked := e.depth() * e.jobs()
	taints := metricsOf(e.directions()...)
	switch share := e.shallowShare(); {
	case len(taints) == 0:
		return nil
	case all.inSubmission/e.jobs() >= blockedShare && e.cpu() < all.inSubmission/e.jobs()/2:
		return warn(taints, "fio spent %s of its time blocked in calls that submit I/O and should return at once, "+
			"so the queue of %.0f was not kept full; "+
			"the file may have been growing (lay it out first), or the file system or engine does this I/O "+
			"synchronously", unit.Percent(all.inSubmission/e.jobs()), asked)
	case all.inFlight < depthShare*asked:
		return warn(taints, "%.0f I/Os were asked to be in flight (iodepth %.0f times numjobs %.0f) and on average "+
			"%.1f were; %s",
			asked, e.depth(), e.jobs(), all.inFlight, e.whyShallow())
	case math.IsNaN(all.inFlight) && share > depthShare:
		return warn(taints, "iodepth=%.0f was asked for, and fio had less than half of that in flight %s of the "+
			"time; %s",
			e.depth(), unit.Percent(share), e.whyShallow())
	}
	return nil
}

func (e *Evidence) whyShallow() string {
	switch {
	case e.syncsAsItWrites():
		return "each fsync waits until the queue is empty: compare with depth 1, or use more jobs"
	case e.cpu() >= fullCore:
		return "the job's core is full: use more jobs"
	default:
		return "look at the engine (does it queue?), at limits of the file system or network below, and at whether " +
			"the job's core is full"
	}
}

// batches says whether the load waits for several completions at a time, so that the queue drains by design.
func (e *Evidence) batches() bool {
	for _, name := range []string{"iodepth_low", "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete",
		"iodepth_batch_complete_min", "serialize_overlap"} {
		if _, ok := e.param(name); ok {
			return true
		}
	}
	return false
}

// cpu is the busiest job's use of a core.
func (e *Evidence) cpu() float64 {
	busiest := 0.0
	for _, j := range e.Group.Jobs {
		busiest = max(busiest, jobCPU(j))
	}
	return busiest
}

// shallowShare is the part of fio's table of depths that lies wholly below half the asked depth. Each level goes from
// its name up to the next: "4" counts 4 to 7.
func (e *Evidence) shallowShare() float64 {
	shallow, all := 0.0, 0.0
	for _, j := range e.Group.Jobs {
		for level, share := range j.Depth {
			all += share
			if from, err := strconv.Atoi(level); err == nil && float64(2*from-1) < depthShare*e.depth() {
				shallow += share
			}
		}
	}
	if all == 0 {
		return 0
	}
	return shallow / all
}

func generatorBound(e *Evidence) []lab.Warning {
	taints := metricsOf(e.directions()...)
	if len(taints) == 0 || e.isOn("hipri") || e.isOn("thinktime_spin") || e.throttledByDesign() {
		return nil // polling uses all of a core by design, as does fio's waiting for its rate
	}
	full := 0
	for _, j := range e.Group.Jobs {
		if jobCPU(j) >= fullCore {
			full++
		}
	}
	if full > 0 {
		advice := "use more jobs, or larger blocks"
		switch {
		case e.isOn("verify"):
			advice = "verify= checks each block on that core: measure without it"
		case e.isOn("refill_buffers"), e.isOn("buffer_compress_percentage"), e.isOn("dedupe_percentage"):
			advice = "fio makes new data for each write on that core: leave out refill_buffers and its like, or " +
				"use more jobs"
		}
		who := "the fio job used"
		if len(e.Group.Jobs) > 1 {
			who = fmt.Sprintf("%d of %d fio jobs used up to", full, len(e.Group.Jobs))
		} else if e.jobs() > 1 {
			who = fmt.Sprintf("each of the %.0f fio jobs used, on average,", e.jobs())
		}
		return warn(taints, "%s %s of a core (user %s, system %s): this is the speed of a core, not of the "+
			"storage; %s", who, unit.Percent(e.cpu()),
			unit.Percent(e.Group.Jobs[0].UserCPU), unit.Percent(e.Group.Jobs[0].SystemCPU), advice)
	}
	if busy, _, ok := e.machineCPU(); ok && busy >= fullMachine {
		advice := "this is the speed of its CPUs, not of the storage; fewer jobs may be as fast"
		if own := e.ownCPU(); own < othersShare*busy {
			advice = fmt.Sprintf("fio itself used %s, other programs or the kernel's work behind this I/O the "+
				"rest; see with top what runs, and repeat without it", unit.Percent(own))
		}
		return warn(taints, "all cores of the machine together were %s busy: %s", unit.Percent(busy), advice)
	}
	return nil
}

// ownCPU is the part of the machine's CPU time that fio's jobs used.
func (e *Evidence) ownCPU() float64 {
	if e.Machine.Cores == 0 {
		return 0
	}
	return (e.Group.Values["cpu.user"] + e.Group.Values["cpu.system"]) / float64(e.Machine.Cores)
}

func gtodReduce(e *Evidence) []lab.Warning {
	if !e.isOn("gtod_reduce") {
		return nil
	}
	return warn(latencyMetrics(e.directions()...),
		"gtod_reduce=1 measures no latency, and makes the operations cheaper "+
			"than any program's; take it for the highest rate only, and leave it out for latency")
}

func fioVersion(e *Evidence) []lab.Warning {
	var all []lab.Warning
	for _, d := range e.directions() {
		if p50, ok := e.Group.Values[lab.Latency(d, "p50")]; ok && e.before(3, 0) && p50 < wholeMicroseconds {
			all = append(all, warn(latencyMetrics(d), "%s counts latency in whole microseconds, which is coarse for a "+
				"median of %s; use fio 3", e.Document.Version, unit.Latency(p50))...)
		}
	}
	if e.isOn("lat_percentiles") && e.before(3, 18) {
		all = append(all, warn(latencyMetrics(e.directions()...), "%s with lat_percentiles=1 may print percentiles of "+
			"another latency (completion or total) than it says; leave that out, or use fio 3.18",
			e.Document.Version)...)
	}
	if v, _ := e.param("unified_rw_reporting"); v == "both" && e.before(3, 39) {
		all = append(all, warn(metricsOf(lab.Mixed), "%s prints zeros for the sum with unified_rw_reporting=both (fio "+
			"#1882); use the directions one by one, or fio 3.39", e.Document.Version)...)
	}
	return all
}

func rampOutlastsRun(e *Evidence) []lab.Warning {
	ramp, run := e.seconds("ramp_time"), e.Wanted.Seconds()
	if run == 0 {
		run = e.seconds("runtime")
	}
	if run == 0 || ramp <= run {
		return nil
	}
	return warn(metricsOf(e.directions()...), "ramp_time (%.0f s) is longer than runtime (%.0f s), where fio starts "+
		"both clocks at once and does I/O of its own in between (fio #2041); make the ramp shorter than the run",
		ramp, run)
}

func latencyClipped(e *Evidence) []lab.Warning {
	var taints []string
	longest := 0.0
	for _, d := range append(e.directions(), lab.Sync) {
		if v, ok := e.Group.Values[lab.Latency(d, "max")]; ok && v < lastBin {
			continue // as almost always, and quicker than to look at each
		}
		for _, q := range lab.Quantiles() {
			name := lab.Latency(d, q.Name)
			if v, ok := e.Group.Values[name]; ok && v >= lastBin && !e.before(3, 0) {
				taints = append(taints, name)
				longest = max(longest, e.Group.Values[lab.Latency(d, "max")])
			}
		}
	}
	if len(taints) == 0 {
		return nil
	}
	return warn(taints, "fio counts every latency above %.0f s in one bin, so these percentiles are lower bounds "+
		"(the longest took %s); the maximum is right", lastBin,
		unit.Latency(longest))
}

// sameBlocks speaks of one file or device that several jobs walk through from the same offset.
func sameBlocks(e *Evidence) []lab.Warning {
	if e.Place.Members != nil {
		return nil // a job for each device
	}
	file, named := e.param("filename")
	shared := named && !strings.Contains(file, ":") || // a colon separates several files
		e.Place.Kind == lab.Device || e.Place.Kind == lab.Directory && e.Repetition.Layout.Kind == "file"
	sequential := slices.Contains([]string{"read", "write", "rw", "readwrite", "trim", "trimwrite"}, e.pattern())
	if !shared || !sequential || e.jobs() <= 1 || e.isOn("offset_increment") || e.engine() == "null" {
		return nil
	}
	return warn(metricsOf(e.directions()...), "%.0f jobs go through the same blocks of one file in step, so all but "+
		"the first find them in a cache; use one job, or offset_increment with size", e.jobs())
}

// repeatedOffsets matters only where a cache can remember from one repetition to the next.
func repeatedOffsets(e *Evidence) []lab.Warning {
	direct, known := e.direct()
	remembers := known && !direct || e.onNetwork()
	_, seeded := e.param("randseed")
	repeat, set := e.param("randrepeat")
	repeats := set && repeat != "0" || !set && e.paramsComplete()
	if !repeats || seeded || e.Repetition.Number < 2 || !e.random() || !e.did(lab.Read) || !remembers {
		return nil
	}
	return warn(metricsOf(lab.Read),
		"fio's default randrepeat=1 reads the same blocks in each repetition, and a cache "+
			"(%s) may remember them from the last; add randrepeat=0", e.cacheName())
}

func (e *Evidence) cacheName() string {
	if e.onNetwork() {
		return "the server's"
	}
	return "this machine's page cache"
}

func clockSource(e *Evidence) []lab.Warning {
	slow := slices.Contains([]string{"hpet", "acpi_pm", "jiffies", "refined-jiffies"}, e.Machine.ClockSource)
	total := 0.0
	for _, d := range e.directions() {
		total += e.traffic(d).iops
	}
	if !slow || total < slowClockRate {
		return nil
	}
	return warn(metricsOf(e.directions()...),
		"the kernel's clock is %s, which costs about a microsecond each time fio "+
			"reads it, three times an I/O: at %s IOPS that is part of what was measured; "+
			"find out why tsc is not used (dmesg), or add gtod_reduce=1 for the rate alone",
		e.Machine.ClockSource, unit.IOPS(total))
}

func concurrentJobs(e *Evidence) []lab.Warning {
	if len(e.Group.Jobs) == 0 {
		return nil
	}
	mine := e.Group.Jobs[0]
	var others []string
	for _, j := range e.Document.Jobs {
		if j.Group == mine.Group && j.Name != mine.Name && !slices.Contains(others, j.Name) && j.Host == mine.Host {
			others = append(others, j.Name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return warn(allMetrics(), "%s ran at the same time as %s, so each slowed the other; put stonewall between jobs "+
		"that are to run one after the other", mine.Name, strings.Join(others, ", "))
}

func unevenJobs(e *Evidence) []lab.Warning {
	if len(e.Group.Jobs) < 2 {
		return nil
	}
	bySeconds := func(a, b fio.Job) int { return cmp.Compare(a.Seconds, b.Seconds) }
	first, last := slices.MinFunc(e.Group.Jobs, bySeconds).Seconds, slices.MaxFunc(e.Group.Jobs, bySeconds).Seconds
	if first <= 0 || (last-first)/last <= unevenShare {
		return nil
	}
	return warn(speedMetrics(e.directions()...), "the first of %d jobs ended after %.1f s and the last after %.1f s: "+
		"their rates were added up, though they ran together only in part; "+
		"use time_based with runtime", len(e.Group.Jobs), first, last)
}
