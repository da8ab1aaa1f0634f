package sweep

import "headroom/internal/lab"

// Outage is a load that has no figure at a level where it was run: it failed each time, or measured 0, which has no
// ratio to anything.
type Outage struct {
	Level string `json:"level"`
	Cell  string `json:"cell"`
	Title string `json:"title"`
	// Metric is empty where the load failed each time.
	Metric string `json:"metric,omitempty"`
	// Failed and Zero are how many of N repetitions failed, and measured 0.
	Failed int `json:"failed,omitempty"`
	Zero   int `json:"zero,omitempty"`
	N      int `json:"n"`
}

// outages are the loads that failed each time at a level, and the metrics of the others that were 0 at one.
func (in *Input) outages() []Outage {
	var out []Outage
	for _, c := range in.Cells {
		metrics := metricsOf(c, in.byCell[c.ID])
		for level := range in.arms() {
			n, failed := 0, 0
			for _, m := range in.byCell[c.ID] {
				if m.Level == level {
					n++
					if m.failed() {
						failed++
					}
				}
			}
			o := Outage{Level: in.name(level), Cell: c.ID, Title: c.Title, Failed: failed, N: n}
			if n > 0 && failed == n {
				out = append(out, o)
				continue
			}
			for _, metric := range metrics {
				if o.Zero = in.zeros(c, metric, level); o.Zero > 0 {
					o.Metric = metric
					out = append(out, o)
				}
			}
		}
	}
	return out
}

// arms is how many levels there are, with the reference.
func (in *Input) arms() int {
	if in.Reference != nil {
		return len(in.Levels) + 1
	}
	return len(in.Levels)
}

// zeros is how many repetitions of a cell at a level measured 0 of a metric.
func (in *Input) zeros(cell CellInput, metric string, level int) int {
	n := 0
	for _, m := range in.byCell[cell.ID] {
		if m.Level == level && m.stands(cell, metric) {
			n++
		}
	}
	return n
}

// failed reports whether the load failed.
func (m Measured) failed() bool { return len(m.Values) == 0 }

// stands reports whether a repetition measured 0 of a metric, or has no latency since it did nothing: a load that sets
// its own pace is judged by that.
func (m Measured) stands(cell CellInput, metric string) bool {
	if m.failed() {
		return false
	}
	if v, ok := m.Values[metric]; ok && v == 0 {
		return true // also where less is better: it has no ratio
	}
	return lab.DidNothing(cell.Metrics, metric, m.Values)
}
