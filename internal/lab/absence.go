package lab

import "slices"

// Absence is the reason why a run has no level of a load that it was meant to measure.
type Absence string

// The kinds of absences.
const (
	// LoadFailed: all repetitions failed.
	LoadFailed Absence = "failed"
	// MeasuredZero: the load completed nothing in its time.
	MeasuredZero Absence = "zero"
	// NotReached: the run ended before the load.
	NotReached Absence = "not-reached"
	// NoValue: the load has values, but none of the metric.
	NoValue Absence = "no-value"
	// SomeFailed: there is a level, but some repetitions failed.
	SomeFailed Absence = "some-failed"
	// ZeroIsBest: the metric is 0, and less of it is better. It has no ratio to anything.
	ZeroIsBest Absence = "zero-is-best"
)

// Absences returns all kinds of absence, the gravest first.
func Absences() []Absence {
	return []Absence{LoadFailed, MeasuredZero, NotReached, NoValue, SomeFailed, ZeroIsBest}
}

// Outage reports whether the load did nothing. For the other kinds too little is known.
func (a Absence) Outage() bool { return a == LoadFailed || a == MeasuredZero }

// DidNothing reports whether a load did nothing, judged by its values. That is so if the metric is 0 and higher is
// better, or if the metric is absent or 0 because the deciding rate of its direction is 0. own are the metrics that the
// load defines itself.
func DidNothing(own map[string]MetricInfo, metric string, values map[string]float64) bool {
	if v, ok := values[metric]; ok && (v != 0 || MetricOf(own, metric).Better == Higher) {
		return v == 0
	}
	direction, _, _ := CutMetric(metric)
	return slices.ContainsFunc(Deciding(own, nil, values), func(name string) bool {
		of, _, _ := CutMetric(name)
		return (direction == "" || of == direction) && values[name] == 0 && MetricOf(own, name).Better == Higher
	})
}

// Outage is a load without a figure in an arm where it was run: it failed each time, or it measured 0, which has no
// ratio to anything.
type Outage struct {
	Cell  string `json:"cell"`
	Title string `json:"title"`
	// Metric is empty where the load failed each time.
	Metric string `json:"metric,omitempty"`
	// Failed and Zero are how many of N repetitions failed, and measured 0.
	Failed int `json:"failed,omitempty"`
	Zero   int `json:"zero,omitempty"`
	N      int `json:"n"`
}

// Whole reports whether no repetition had a figure.
func (o Outage) Whole() bool { return o.Failed+o.Zero == o.N }

// OutagesOf returns the outages of a load, judged by the values of its repetitions. A failed repetition has no values.
// If every repetition failed there is one outage, otherwise one for each metric that measured 0. own are the metrics
// that the load defines itself.
func OutagesOf(load Outage, own map[string]MetricInfo, metrics []string, repetitions []map[string]float64) []Outage {
	load.N, load.Failed = len(repetitions), 0
	for _, values := range repetitions {
		if len(values) == 0 {
			load.Failed++
		}
	}
	if load.N > 0 && load.Failed == load.N {
		return []Outage{load}
	}
	var out []Outage
	for _, metric := range metrics {
		load.Metric, load.Zero = metric, 0
		for _, values := range repetitions {
			if Stands(own, metric, values) {
				load.Zero++
			}
		}
		if load.Zero > 0 {
			out = append(out, load)
		}
	}
	return out
}

// Stands reports whether a repetition stood still: it measured 0 of a metric, even one of which less is better, or it
// did nothing. A load that sets its own pace is judged by its latency, which is absent if it did nothing. A failed
// repetition has no values and does not count as standing still.
func Stands(own map[string]MetricInfo, metric string, values map[string]float64) bool {
	if len(values) == 0 {
		return false
	}
	if v, ok := values[metric]; ok && v == 0 {
		return true
	}
	return DidNothing(own, metric, values)
}
