package validity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// contradictionChecks are of figures that can't all be right.
func contradictionChecks() []Check {
	return []Check{
		{
			Code:       disagreeing,
			Weight:     Spoils,
			Title:      "The figures contradict each other",
			Repetition: disagrees,
			Taints:     "IOPS and bandwidth of that direction",
			When: "the bandwidth is not IOPS times block size, within what rounding explains; or a figure is " +
				"negative",
			Do:     "look at the file: the units, and whether both figures are of one load",
			Source: "arithmetic; fio #492",
		},
		{
			Code:       "above-depth",
			Weight:     Spoils,
			Title:      "More I/Os in flight than could be",
			Repetition: aboveDepth,
			Taints:     "the load's directions",
			When: fmt.Sprintf("IOPS times mean latency is more than %.1f times iodepth times jobs, where these "+
				"are known", aboveShare),
			Do: "read the median, not the mean; see whether the clock jumped, or unlike jobs or passes were " +
				"averaged",
			Source: "Little's law; fio #902",
		},
		{
			Code:       "clock-jumped",
			Weight:     Spoils,
			Title:      "Latencies of zero: the clock jumped back",
			Repetition: clockJumped,
			Taints:     "latency",
			When: fmt.Sprintf("fio 3 prints a minimum latency of 0 ns beside a mean of %s or more",
				unit.Latency(jumpMean)),
			Do:     "look at the guest's clock source and at the hypervisor; clocksource=clock_gettime may help",
			Source: "fio's gettime.c; fio #902",
		},
	}
}

// disagreeing is the code of figures that contradict each other, or themselves.
const disagreeing = "import-disagrees"

const (
	// leftOver is what may part a bandwidth from IOPS times block size when rounding is accounted for, and
	// leftOverOfText the same of fio's text, where one may be of the whole run and the other a mean of samples.
	leftOver       = 0.001
	leftOverOfText = 0.05
	// usualRun is how many seconds a run is taken to have lasted where that is not known: kubestr's runtime.
	usualRun = 15
	// aboveShare is how far above the limit the I/Os in flight must be. Figures of three digits, and rates over
	// slightly different times, explain some 5%.
	aboveShare = 1.2
	// jumpMean is the mean latency from which no I/O takes less than fio's resolution, 1 ns.
	jumpMean = 2e-6
)

// disagrees compares bandwidth with IOPS times block size, in both directions.
func disagrees(e *Evidence) []lab.Warning {
	var all []lab.Warning
	sizes, least := e.options().blockSizes(), leftOver
	most, _ := e.limit()
	if e.Document.Partial {
		least = leftOverOfText
	}
	for _, d := range e.directions() {
		iops, _ := e.value(lab.IOPS(d))
		bandwidth, _ := e.value(lab.Bandwidth(d))
		block := float64(sizes[d])
		if block <= 0 || iops <= 0 || bandwidth <= 0 {
			continue
		}
		moved := iops * block
		printed := 0.0
		for _, u := range unit.Bandwidths() {
			printed = max(printed, grain(bandwidth, u))
		}
		for _, u := range unit.Bitrates() {
			printed = max(printed, grain(bandwidth, u/8))
		}
		rounding := grain(iops, 1)*block + printed + least*max(moved, bandwidth)
		// The last block of a file may be a part of one. What is in flight as a ramp of fio ends is counted in bytes
		// only: kubestr prints 317 IOPS of 4 KiB at depth 64, and 1.3% more bytes.
		rounding += block * most / cmp.Or(e.ran(), usualRun)
		if math.Abs(bandwidth-moved) > rounding {
			all = append(all, warn(speedMetrics(d), "%s IOPS of %s would be %s, and the bandwidth is %s: these are not "+
				"figures of one load, or not in these units; look at the file", unit.IOPS(iops), unit.Bytes(block),
				unit.Bandwidth(moved), unit.Bandwidth(bandwidth))...)
		}
	}
	return all
}

// grain is the step in which a figure seems to be printed, if that is in a unit: 1 MiB/s of 113 MiB/s, 0.1k of 19.6k.
// Figures of two digits and more are taken to have two.
func grain(v, of float64) float64 {
	largest := 0.0
	for step := 1e-3; step < 1e300 && step*of <= v && (step <= 1 || 10*step*of <= v); step *= 10 {
		if n := v / (step * of); math.Abs(n-math.Round(n)) <= 1e-6*n {
			largest = step * of
		}
	}
	return largest
}

// aboveDepth is the other side of depthNotReached: what can't be in flight was not.
func aboveDepth(e *Evidence) []lab.Warning {
	limit, known := e.limit()
	inFlight := 0.0
	// fio reads to verify when the writes have ended.
	o := e.options()
	apart := o.isOn("verify") || slices.ContainsFunc(e.directions(), func(d string) bool { return !o.asksFor(d) })
	for _, d := range e.directions() {
		if n := e.traffic(d).inAll; apart {
			inFlight = max(inFlight, n)
		} else {
			inFlight += n
		}
	}
	if !known || !(inFlight > aboveShare*limit) { // NaN where no latency is known
		return nil
	}
	return warn(metricsOf(e.directions()...), "IOPS times mean latency is %.3g I/Os in flight, and %.0f could be (iodepth "+
		"times numjobs): rate and mean are not of the same I/Os; unlike jobs or passes may have been averaged, or the "+
		"clock jumped", inFlight, limit)
}

// clockJumped looks for latencies of zero: where time went back between two readings, fio takes 0 for the difference.
// Before fio 3 a zero is less than a microsecond.
func clockJumped(e *Evidence) []lab.Warning {
	if len(e.Group.Jobs) == 0 || e.Document.Version == "" || e.olderThan(3, 0) || e.options().engine() == "null" {
		return nil
	}
	var all []lab.Warning
	for _, d := range e.directions() {
		share, zero := 0.0, false
		for _, j := range e.Group.Jobs {
			l := j.Directions[d].Completion
			if l == nil || l.Mean < jumpMean || l.Max <= 0 || l.Min > 0 || l.Microseconds {
				continue
			}
			zero = true
			for at, v := range l.Percentiles {
				if v == 0 {
					share = max(share, at)
				}
			}
		}
		if !zero {
			continue
		}
		some := "some"
		if share > 0 {
			some = unit.Percent(share) + " of the"
		}
		all = append(all, warn(latencyMetrics(d), "fio prints a latency of 0 ns for %s %s: time went back between two "+
			"readings of the clock, as in guests that are moved or whose CPUs' counters differ; the mean and the highest "+
			"percentiles may hold the jumps, so trust the rate and look at the clock source", some, plural(d))...)
	}
	return all
}

// DropImpossible takes out what can't be a measurement, however well it parsed: a damaged digit makes a latency
// negative.
func DropImpossible(values map[string]float64) []lab.Warning {
	var found []lab.Warning
	for metric, v := range values {
		if v >= 0 && !math.IsInf(v, 0) {
			continue
		}
		delete(values, metric)
		w := warn([]string{metric}, "the file says that %s is %g, which can't be; it is left out, look at the file", metric,
			v)[0]
		w.Code = disagreeing
		found = append(found, w)
	}
	slices.SortFunc(found, func(a, b lab.Warning) int { return strings.Compare(a.Text, b.Text) })
	return found
}
