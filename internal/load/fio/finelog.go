package fio

import (
	"math"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Fine adds up the samples of all jobs and directions of a log with log_unix_epoch in even steps, and returns when the
// first step began by the clock of the machine that fio ran on. A step of a tenth of a second is not much longer than
// the possible delay of the thread that reads the counters, so a sample covers the time from the previous one to its
// own:
//
//	1795411731284, 2030, 0, 0, 0
//	1795411731384, 2000, 0, 0, 0
//	1795411732260, 15990, 0, 0, 0
//
// If there is none for two intervals or more, nothing was done until one interval before the sample: fio writes no
// sample then. quantity is "iops" or "bandwidth". Source: __add_samples in fio's stat.c, and logs of 3.33 of a load
// that was stopped.
func Fine(samples []LogSample, quantity string, interval time.Duration) (s lab.Series, start time.Time, ok bool) {
	if len(samples) == 0 || interval <= 0 {
		return lab.Series{}, time.Time{}, false
	}
	scale := 1.0
	if quantity == "bandwidth" {
		scale = 1024
	}
	first, last := samples[0].Time, samples[0].Time
	for _, sample := range samples {
		first, last = min(first, sample.Time), max(last, sample.Time)
	}
	origin := first - interval
	if (last-origin)/interval >= maxIntervals {
		return lab.Series{}, time.Time{}, false
	}
	// position of a time in steps. A time next to the edge of a step is moved to the edge: a hundredth of the
	// neighbouring step would hide that nothing was done.
	position := func(at time.Duration) float64 {
		steps := float64(at-origin) / float64(interval)
		if edge := math.Round(steps); math.Abs(steps-edge) < edgeTolerance {
			return edge
		}
		return steps
	}
	s = lab.Series{Metric: quantity, Interval: interval.Seconds(), Values: make([]float64, int(position(last)))}
	before := map[string]time.Duration{} // by direction; if time goes back, the samples of the next job begin
	for _, sample := range samples {
		from := sample.Time - interval
		if b, known := before[sample.Direction]; known && b <= sample.Time && sample.Time-b < 2*interval-interval/10 {
			from = b
		}
		before[sample.Direction] = sample.Time
		begin, end := position(max(from, origin)), position(sample.Time)
		for i := int(begin); i < len(s.Values) && float64(i) < end; i++ {
			s.Values[i] += sample.Value * scale * (min(end, float64(i+1)) - max(begin, float64(i)))
		}
	}
	return s, time.UnixMilli(origin.Milliseconds()), len(s.Values) > 0
}

// edgeTolerance is how close to the edge of a step a time is moved to the edge, in steps.
const edgeTolerance = 0.2
