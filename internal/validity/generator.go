package validity

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// generatorChecks are of what the load generator did and did not.
func generatorChecks() []Check {
	return []Check{
		{
			Code:       "generator-bound",
			Weight:     Slows,
			Title:      "The processor was the limit, not the storage",
			Repetition: generatorBound,
			Taints:     "the load's directions",
			When: fmt.Sprintf("a job used %s of a core, without polling or a rate; or all cores were %s busy",
				unit.Percent(fullCore), unit.Percent(fullMachine)),
			Do:     "use more jobs or larger blocks, without refill_buffers and verify",
			Source: "fio #1496, #456, #1448",
		},
		{
			Code:       "depth-not-reached",
			Weight:     Spoils,
			Title:      "Fewer I/Os in flight than asked for",
			Repetition: depthNotReached,
			Taints:     "the load's directions",
			When: fmt.Sprintf("%s of iodepth times jobs were in flight; or submission blocked a job for %s of "+
				"its time, at half as much CPU time", below(depthShare), unit.Percent(blockedShare)),
			Do:     "check the engine, and what limits the queue below; lay the file out first",
			Source: "Little's law; fio #833",
		},
		{
			Code:       "sync-engine",
			Weight:     Spoils,
			Title:      "A synchronous engine was asked for depth",
			Repetition: syncEngine,
			Taints:     "everything",
			When:       "ioengine is sync, psync, vsync, pvsync, pvsync2 or mmap, and iodepth is above 1",
			Do:         "use io_uring or libaio, or more jobs",
			Source:     "fio's HOWTO, iodepth; clearcontainers #957",
		},
		{
			Code:       "buffered-async",
			Weight:     Spoils,
			Title:      "libaio without direct=1 does not queue",
			Repetition: bufferedAsync,
			Taints:     "everything",
			When:       "ioengine=libaio without direct=1, and iodepth is above 1",
			Do:         "set direct=1, or use io_uring",
			Source:     "fio's HOWTO, iodepth",
		},
		{
			Code:       "latency-target",
			Weight:     Spoils,
			Title:      "fio searched the depth itself",
			Repetition: latencyTarget,
			Taints:     "everything",
			When:       "with latency_target, the depth that fio found is not iodepth",
			Do:         "measure at the depth found",
			Source:     "fio's HOWTO, latency_target; fio #577",
		},
		{
			Code:       "rate-limited",
			Weight:     Spoils,
			Title:      "The rate is the setting, not the limit",
			Repetition: rateLimited,
			Taints:     "IOPS and bandwidth",
			When: fmt.Sprintf("%s of rate=, rate_iops= or iperf3's --bitrate was reached; UDP has 1.05 Mbit/s by default",
				unit.Percent(rateShare)),
			Do:     "read the latency, or remove the rate",
			Source: "fio's HOWTO, rate; UDP_RATE in iperf3's iperf.h",
		},
		{
			Code:       "rate-not-reached",
			Weight:     Spoils,
			Title:      "The load could not keep its rate",
			Repetition: rateNotReached,
			Taints:     "latency",
			When:       fmt.Sprintf("%s of rate=, rate_iops= or sockperf's mps= was reached", below(rateMissed)),
			Do:         "lower the rate",
			Source:     "queueing theory",
		},
		{
			Code:       "same-blocks",
			Weight:     Spoils,
			Title:      "Several jobs use the same blocks in step",
			Repetition: sameBlocks,
			Taints:     "the load's directions",
			When:       "several jobs do sequential I/O on one file or device, without offset_increment",
			Do:         "use one job, or offset_increment with size",
			Source:     "fio #1501; ezfio #18",
		},
		{
			Code:       "repeated-offsets",
			Weight:     Spoils,
			Title:      "Every repetition reads the same blocks",
			Repetition: repeatedOffsets,
			Taints:     "reads",
			When: "random reads with fio's default randrepeat=1, buffered or over a network, from the second " +
				"repetition on",
			Do:     "set randrepeat=0",
			Source: "fio's HOWTO, randrepeat",
		},
		{
			Code:       "gtod-reduce",
			Weight:     Spoils,
			Title:      "No latency was measured",
			Repetition: gtodReduce,
			Taints:     "latency",
			When:       "gtod_reduce=1",
			Do:         "remove it, unless you want the highest rate alone",
			Source:     "kubestr #99, #144",
		},
		{
			Code:       "clock-source",
			Weight:     Slows,
			Title:      "Reading the time is slow here",
			Repetition: clockSource,
			Taints:     "the load's directions",
			When: fmt.Sprintf("the clock is hpet, acpi_pm or jiffies, at %s IOPS or more",
				unit.IOPS(slowClockRate)),
			Do:     "find out why tsc is not used (dmesg)",
			Source: "fio's HOWTO, gtod_reduce",
		},
		{
			Code:       "fio-version",
			Weight:     Spoils,
			Title:      "This version of fio misreports something",
			Repetition: fioVersion,
			Taints:     "what it misreports",
			When: fmt.Sprintf("fio 2 and a median below %s; lat_percentiles=1 before 3.18; "+
				"unified_rw_reporting=both before 3.39", unit.Latency(wholeMicroseconds)),
			Do:     "use a newer fio",
			Source: "fio #691, #920, #1882",
		},
		{
			Code:       "ramp-longer-than-run",
			Weight:     Spoils,
			Title:      "The ramp is longer than the run",
			Repetition: rampOutlastsRun,
			Taints:     "the load's directions",
			When:       "ramp_time is above runtime",
			Do:         "use a shorter ramp",
			Source:     "fio #2041",
		},
		{
			Code:       "latency-clipped",
			Weight:     Spoils,
			Title:      "Percentiles at the end of fio's scale",
			Repetition: latencyClipped,
			Taints:     "those percentiles",
			When:       fmt.Sprintf("a percentile is at least %.0f s", lastBin),
			Do:         "read the maximum",
			Source:     "fio #1668",
		},
	}
}

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

// busiestCPU returns the busiest job's use of a core.
func busiestCPU(jobs []fio.Job) float64 {
	busiest := 0.0
	for _, j := range jobs {
		busiest = max(busiest, jobCPU(j))
	}
	return busiest
}

func generatorBound(e *Evidence) []lab.Warning {
	taints := metricsOf(e.directions()...)
	o := e.options()
	if len(taints) == 0 || o.isOn("hipri") || o.isOn("thinktime_spin") || e.throttledByDesign() {
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
		case o.isOn("verify"):
			advice = "verify= checks each block on that core: measure without it"
		case o.isOn("refill_buffers"), o.isOn("buffer_compress_percentage"), o.isOn("dedupe_percentage"):
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
			"storage; %s", who, unit.Percent(busiestCPU(e.Group.Jobs)),
			unit.Percent(e.Group.Jobs[0].UserCPU), unit.Percent(e.Group.Jobs[0].SystemCPU), advice)
	}
	if busy, _, ok := e.counted().cpu(); ok && busy >= fullMachine {
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
	if !e.options().isOn("gtod_reduce") {
		return nil
	}
	return warn(latencyMetrics(e.directions()...),
		"gtod_reduce=1 measures no latency, and makes the operations cheaper "+
			"than any program's; take it for the highest rate only, and leave it out for latency")
}

func fioVersion(e *Evidence) []lab.Warning {
	var all []lab.Warning
	for _, d := range e.directions() {
		if p50, ok := e.Group.Values[lab.Latency(d, "p50")]; ok && e.olderThan(3, 0) && p50 < wholeMicroseconds {
			all = append(all, warn(latencyMetrics(d), "%s counts latency in whole microseconds, which is coarse for a "+
				"median of %s; use fio 3", e.Document.Version, unit.Latency(p50))...)
		}
	}
	if e.options().isOn("lat_percentiles") && e.olderThan(3, 18) {
		all = append(all, warn(latencyMetrics(e.directions()...), "%s with lat_percentiles=1 may print percentiles of "+
			"another latency (completion or total) than it says; leave that out, or use fio 3.18",
			e.Document.Version)...)
	}
	if v, _ := e.options().param("unified_rw_reporting"); v == "both" && e.olderThan(3, 39) {
		all = append(all, warn(metricsOf(lab.Mixed), "%s prints zeros for the sum with unified_rw_reporting=both (fio "+
			"#1882); use the directions one by one, or fio 3.39", e.Document.Version)...)
	}
	return all
}

func rampOutlastsRun(e *Evidence) []lab.Warning {
	ramp, run := e.options().seconds("ramp_time"), e.Wanted.Seconds()
	if run == 0 {
		run = e.options().seconds("runtime")
	}
	if run == 0 || ramp <= run {
		return nil
	}
	return warn(metricsOf(e.directions()...), "ramp_time (%.0f s) is longer than runtime (%.0f s), where fio starts "+
		"both clocks at once and does additional I/O in between (fio #2041); make the ramp shorter than the run",
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
			if v, ok := e.Group.Values[name]; ok && v >= lastBin && !e.olderThan(3, 0) {
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
	o := e.options()
	file, named := o.param("filename")
	shared := named && !strings.Contains(file, ":") || // a colon separates several files
		e.Place.Kind == lab.Device || e.Place.Kind == lab.Directory && e.Repetition.Layout.Kind == "file"
	sequential := slices.Contains([]string{"read", "write", "rw", "readwrite", "trim", "trimwrite"}, o.pattern())
	if !shared || !sequential || e.jobs() <= 1 || o.isOn("offset_increment") || o.engine() == "null" {
		return nil
	}
	return warn(metricsOf(e.directions()...), "%.0f jobs go through the same blocks of one file in step, so all but "+
		"the first find them in a cache; use one job, or offset_increment with size", e.jobs())
}

// repeatedOffsets matters only where a cache can remember from one repetition to the next.
func repeatedOffsets(e *Evidence) []lab.Warning {
	direct, known := e.options().direct()
	remembers := known && !direct || e.backing().onNetwork()
	_, seeded := e.options().param("randseed")
	repeat, set := e.options().param("randrepeat")
	repeats := set && repeat != "0" || !set && e.options().complete()
	if !repeats || seeded || e.Repetition.Number < 2 || !e.options().random() || !e.did(lab.Read) || !remembers {
		return nil
	}
	cache := "this machine's page cache"
	if e.backing().onNetwork() {
		cache = "the server's"
	}
	return warn(metricsOf(lab.Read),
		"fio's default randrepeat=1 reads the same blocks in each repetition, and a cache "+
			"(%s) may remember them from the last; add randrepeat=0", cache)
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
		name := j.Name
		if name == mine.Name {
			name = "another job of that name"
		}
		beside := j.Group == mine.Group && j.Host == mine.Host && !e.Document.Together(j, mine)
		if beside && !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return warn(allMetrics(), "%s ran at the same time as %s, so each slowed the other; put stonewall between jobs "+
		"that are to run one after the other", mine.Name, strings.Join(others, ", "))
}

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

const (
	// rateShare is the part of an asked rate from which it counts as kept. fio holds a rate to within 1%.
	rateShare = 0.98
	// rateMissed is the part below which it was not: a short run may end in the middle of one of fio's rate cycles.
	rateMissed = 0.95
)

// rateLimited is about the rate itself, which then does not describe the storage; rateNotReached is about the latencies
// of a rate that the storage could not keep.
func rateLimited(e *Evidence) []lab.Warning {
	var all []lab.Warning
	for _, r := range e.rates() {
		if r.got >= rateShare*r.asked {
			all = append(all, warn(speedMetrics(r.direction), "fio held itself to the %s that were asked for, and the "+
				"storage kept up: this is the setting, not the limit; "+
				"read the latency, or take the rate away", r.format(r.asked, r.direction))...)
		}
	}
	return all
}

func rateNotReached(e *Evidence) []lab.Warning {
	var all []lab.Warning
	for _, r := range e.rates() {
		if r.got < rateMissed*r.asked && r.got > 0 {
			all = append(all, warn(latencyMetrics(r.direction), "%s were asked for and %s of that reached: the "+
				"latencies describe an overloaded queue and grow with the run time; lower the rate",
				r.format(r.asked, r.direction), unit.Percent(r.got/r.asked))...)
		}
	}
	return all
}

type rate struct {
	direction  string
	asked, got float64
	format     func(v float64, direction string) string
}

// rates are those that the load was held to, all jobs together. fio's rate and rate_iops are one value for each job, or
// one for reads, writes and trims each.
func (e *Evidence) rates() []rate {
	kinds := []struct {
		param  string
		metric func(string) string
		format func(v float64, direction string) string
	}{
		{"rate", lab.Bandwidth, func(v float64, d string) string { return unit.Bandwidth(v) + " of " + plural(d) }},
		{"rate_iops", lab.IOPS, func(v float64, d string) string {
			return unit.IOPS(v) + " " + plural(d) + " a second"
		}},
	}
	var all []rate
	for _, k := range kinds {
		v, ok := e.options().param(k.param)
		if !ok {
			continue
		}
		parts := splitList(v)
		for i, d := range []string{lab.Read, lab.Write, lab.Trim} {
			if i >= len(parts) && len(parts) > 1 {
				break
			}
			got, did := e.value(k.metric(d))
			asked, err := unit.ParseBytes(parts[min(i, len(parts)-1)])
			if err != nil || asked == 0 || !did {
				continue
			}
			all = append(all, rate{d, float64(asked) * e.jobs(), got, k.format})
		}
	}
	return all
}
