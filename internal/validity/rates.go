package validity

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

const (
	// rateShare is the part of an asked rate from which it counts as kept. fio holds a rate to within 1%.
	rateShare = 0.98
	// rateMissed is the part below which it was not: a short run may end in the middle of one of fio's rate cycles.
	rateMissed = 0.95
)

// rateLimited is for the rate itself, which says nothing of the storage; rateNotReached for the latencies of one that
// the storage could not keep.
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
				"latencies are those of an overloaded queue and grow with the run time; lower the rate",
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
