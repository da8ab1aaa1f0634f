package validity

import (
	"fmt"
	"math"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// steadinessChecks are of what changes from one second to the next.
func steadinessChecks() []Check {
	return []Check{
		{
			Code:       "warming-up",
			Weight:     Moves,
			Title:      "Measured while warming up",
			Repetition: warmingUp,
			Taints:     "the direction",
			When: fmt.Sprintf("MSER-5 cuts off the start of %d values or more, and it differs from the rest by "+
				"over %s", minSeries+1, unit.Percent(warmUpRise)),
			Do:     "use a longer ramp_time",
			Source: "White et al., Winter Simulation Conference 2000",
		},
		{
			Code:       "drifting",
			Weight:     Moves,
			Title:      "Faster or slower all the time",
			Repetition: drifting,
			Taints:     "the direction",
			When: fmt.Sprintf("a trend (Mann-Kendall on batch means, P < %.2g) of more than %s", driftAlpha,
				unit.Percent(stat.SteadyRise)),
			Do:     "run until steady",
			Source: "SNIA SSS PTS",
		},
		{
			Code:       "not-steady",
			Weight:     Moves,
			Title:      "Not at a steady state",
			Repetition: notSteady,
			Taints:     "the direction",
			When: fmt.Sprintf("fifths of the run differ by over %s of their mean, or their line rises or falls "+
				"by over %s, without the other warnings of this kind", unit.Percent(stat.SteadyRange),
				unit.Percent(stat.SteadyRise)),
			Do:     "run longer",
			Source: "SNIA SSS PTS",
		},
		{
			Code:       "stalls",
			Weight:     Slows,
			Title:      "Large stalls inside the run",
			Repetition: stalls,
			Taints:     "the direction",
			When: fmt.Sprintf("%s of the values, in %d stretches or more, lie below %s of the median",
				unit.Percent(stallShare), stallEpisodes, unit.Percent(stallBelow)),
			Do:     "look for flushes and garbage collection",
			Source: "headroom's own",
		},
	}
}

const (
	// minSeries is the number of values from which a series is judged at all: below ten, one stray second is a tenth.
	minSeries = 10
	// minTrend and minRounds are the same for a trend and for fifths of the run. Seconds remember each other (0.6 is
	// common), and in simulated series of that kind without a trend, 5% noise, shorter ones raised an alarm in 3% and
	// 6%.
	minTrend  = 20
	minRounds = 30
	// warmUpRise is by how much the start must differ from the rest before it counts as warming up, and is as much
	// as SNIA lets the fitted line of a steady state move.
	warmUpRise = stat.SteadyRise
	// driftAlpha is the probability below which a trend is taken as real.
	driftAlpha = 0.01
	// stallBelow is the share of the median speed below which a second counts as stalled: half is more than
	// noise, journal commits or one slow flush do.
	stallBelow = 0.5
	// stallShare is the part of the time that stalls may fill, and stallEpisodes how many are no accident.
	stallShare    = 0.05
	stallEpisodes = 2
)

// speeds are the series of operations a second by direction, or those of bandwidth where there are no others. The last
// value is left out: fio closes it when the load ends, so it covers a part of a second or is printed twice (fio's
// HOWTO, log_avg_msec).
func speeds(all []lab.Series) map[string][]float64 {
	series := map[string][]float64{}
	for _, suffix := range []string{".bandwidth", ".iops"} {
		for _, s := range all {
			if d, ok := strings.CutSuffix(s.Metric, suffix); ok && len(s.Values) > minSeries {
				series[d] = s.Values[:len(s.Values)-1]
			}
		}
	}
	return series
}

// eachSpeed asks a question about each direction's series.
func (e *Evidence) eachSpeed(question func(direction string, values []float64) []lab.Warning) []lab.Warning {
	if e.throttledByDesign() {
		return nil // what moves then is the setting
	}
	series := speeds(e.Repetition.Series)
	var all []lab.Warning
	for _, d := range lab.Directions() {
		if values, ok := series[d]; ok {
			all = append(all, question(d, values)...)
		}
	}
	return all
}

// warmUp is how the start of a series compares with the rest.
func warmUp(values []float64) (cut int, ratio float64, warming bool) {
	cut, settled := stat.WarmUp(values)
	if cut == 0 || !settled {
		return 0, 1, false
	}
	head, rest := stat.Median(values[:cut]), stat.Median(values[cut:])
	if rest <= 0 {
		return 0, 1, false
	}
	ratio = head / rest
	return cut, ratio, math.Abs(ratio-1) > warmUpRise
}

// interval returns the seconds between two values of all series.
func interval(all []lab.Series) float64 {
	if len(all) > 0 && all[0].Interval > 0 {
		return all[0].Interval
	}
	return 1
}

func warmingUp(e *Evidence) []lab.Warning {
	seconds := interval(e.Repetition.Series)
	return e.eachSpeed(func(d string, values []float64) []lab.Warning {
		cut, ratio, warming := warmUp(values)
		if !warming {
			return nil
		}
		wrong := math.Abs(ratio-1) * float64(cut) / float64(len(values))
		return mostError(wrong,
			warn(metricsOf(d), "the first %.0f s of %s ran at %s of the speed of the rest: a cache was filling or "+
				"emptying; add ramp_time=%.0f or more, and run longer",
				float64(cut)*seconds, plural(d), unit.Percent(ratio), math.Ceil(float64(cut)*seconds)))
	})
}

func drifting(e *Evidence) []lab.Warning {
	return e.eachSpeed(func(d string, values []float64) []lab.Warning {
		if cut, _, warming := warmUp(values); warming {
			values = values[cut:]
		}
		if len(values) < minTrend {
			return nil
		}
		trend := stat.Drift(values)
		if !(trend.P < driftAlpha) || math.Abs(trend.Rise) <= stat.SteadyRise {
			return nil
		}
		how := "fell"
		if trend.Rise > 0 {
			how = "rose"
		}
		return mostError(math.Abs(trend.Rise),
			warn(metricsOf(d), "the speed of %s %s by %s from start to end: the device was not in a lasting state "+
				"(a cache filled, garbage collection began, it got warm); "+
				"run until it is steady (suite soak)", plural(d), how, unit.Percent(math.Abs(trend.Rise))))
	})
}

// notSteady is for what moves without being a start, a trend or stalls.
func notSteady(e *Evidence) []lab.Warning {
	return e.eachSpeed(func(d string, values []float64) []lab.Warning {
		if len(values) < minRounds || len(warmingUp(e))+len(drifting(e)) > 0 || stalled(values) {
			return nil
		}
		s := stat.SteadyState(stat.Rounds(values, stat.SteadyRounds))
		if math.IsNaN(s.Range) || s.Steady() {
			return nil
		}
		return mostError(s.Range,
			warn(metricsOf(d), "the speed of %s is not steady: between fifths of the run it differs by %s (up to "+
				"%s is steady) and changes by %s along a line (up to %s); run longer, or until steady",
				plural(d), unit.Percent(s.Range), unit.Percent(stat.SteadyRange),
				unit.Percent(math.Abs(s.Rise)), unit.Percent(stat.SteadyRise)))
	})
}

func stalled(values []float64) bool {
	s := stat.Stalls(values, stallBelow)
	return s.Episodes >= stallEpisodes && s.Share >= stallShare
}

func stalls(e *Evidence) []lab.Warning {
	return e.eachSpeed(func(d string, values []float64) []lab.Warning {
		if !stalled(values) {
			return nil
		}
		s := stat.Stalls(values, stallBelow)
		often := ""
		if s.Period > 0 {
			often = ", one every " + unit.Latency(s.Period*interval(e.Repetition.Series))
		}
		return mostError(s.Share,
			warn(metricsOf(d), "%s stalled: %s of the time below half the usual speed, in %d stretches%s, the "+
				"slowest second at %s of it; the mean hides that, so read the series and p99.9, "+
				"and look for flushes, garbage collection or another user of the device",
				plural(d), unit.Percent(s.Share), s.Episodes, often, unit.Percent(s.Low/s.Median)))
	})
}
