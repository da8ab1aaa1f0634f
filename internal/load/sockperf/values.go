package sockperf

import (
	"math"

	"github.com/headroom/headroom/internal/lab"
)

// Values returns the values of the test by metric, in base units. A percentile is reported only if at least one answer
// took longer: of a hundred answers, sockperf prints the slowest as their 99.9th percentile.
func (r Result) Values() map[string]float64 {
	values := map[string]float64{}
	if r.OneWay.Seconds > 0 {
		values[lab.SendRate] = float64(r.OneWay.Sent) / r.OneWay.Seconds
	}
	if r.Valid.Seconds <= 0 || r.Valid.Received == 0 {
		return values
	}
	values[lab.RequestRate] = float64(r.Valid.Received) / r.Valid.Seconds
	values[lab.Latency(lab.Request, "mean")] = r.Mean
	values[lab.Latency(lab.Request, "min")] = r.Least
	values[lab.Latency(lab.Request, "max")] = r.Most
	for _, q := range lab.Quantiles() {
		for percent, v := range r.Percentiles {
			if math.Abs(percent/100-q.Q) < 1e-9 && (1-q.Q)*float64(r.Valid.Received) >= 1 {
				values[lab.Latency(lab.Request, q.Name)] = v
			}
		}
	}
	if r.Dropped > 0 {
		values[lab.RequestsLost] = r.lost()
	}
	return values
}

// lost returns the share of requests that have no answer.
func (r Result) lost() float64 { return float64(r.Dropped) / float64(r.Dropped+r.Valid.Received) }

// Ran returns how many seconds counted.
func (r Result) Ran() float64 { return max(r.Valid.Seconds, r.OneWay.Seconds) }
