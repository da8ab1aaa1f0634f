package lab

import "slices"

// Absence says why a run has no level of a load that it was meant to measure.
type Absence string

// The kinds of absences.
const (
	// LoadFailed: all repetitions failed.
	LoadFailed Absence = "failed"
	// MeasuredZero: the load did nothing in the time that it had.
	MeasuredZero Absence = "zero"
	// NotReached: the run ended before the load.
	NotReached Absence = "not-reached"
	// NoValue: the load has values, and none of the metric.
	NoValue Absence = "no-value"
	// SomeFailed: there is a level, but some repetitions failed.
	SomeFailed Absence = "some-failed"
	// ZeroIsBest: the metric is 0, and less of it is better. It has no ratio to anything.
	ZeroIsBest Absence = "zero-is-best"
)

// Absences are the kinds of absences, the gravest first.
func Absences() []Absence {
	return []Absence{LoadFailed, MeasuredZero, NotReached, NoValue, SomeFailed, ZeroIsBest}
}

// Outage reports whether the load did nothing, rather than that too little is known of it.
func (a Absence) Outage() bool { return a == LoadFailed || a == MeasuredZero }

// DidNothing reports whether a load did nothing, by its values: the metric is 0 and more of it is better, or it is
// absent or 0 since the rate that decides about its direction is 0. own are the metrics that the load names itself.
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

// Outage is a load that has no figure in an arm where it was run: it failed each time, or measured 0, which has no
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

// OutagesOf returns the outages of a load by the values of its repetitions, of which one that failed has none: one if
// it failed each time, else one for each of the metrics that measured 0. own are the metrics that the load names
// itself.
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

// Stands reports whether a repetition measured 0 of a metric, also where less of it is better, or did nothing: a load
// that sets its own pace is judged by its latency, and has none then. One that failed has no values, and does not
// stand.
func Stands(own map[string]MetricInfo, metric string, values map[string]float64) bool {
	if len(values) == 0 {
		return false
	}
	if v, ok := values[metric]; ok && v == 0 {
		return true
	}
	return DidNothing(own, metric, values)
}
