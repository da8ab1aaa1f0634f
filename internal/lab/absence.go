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
