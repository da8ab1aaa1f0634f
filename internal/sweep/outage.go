package sweep

import "github.com/headroom/headroom/internal/lab"

// Outage is a load that has no figure at a level where it ran.
type Outage struct {
	Level string `json:"level"`
	lab.Outage
}

// outages returns the loads that failed each time at a level, and the metrics of the others that were 0 at a level.
func (in *Input) outages() []Outage {
	var out []Outage
	for _, c := range in.Cells {
		metrics := metricsOf(c, in.byCell[c.ID])
		for level := range in.arms() {
			var repetitions []map[string]float64
			for _, m := range in.byCell[c.ID] {
				if m.Level == level {
					repetitions = append(repetitions, m.Values)
				}
			}
			load := lab.Outage{Cell: c.ID, Title: c.Title}
			for _, o := range lab.OutagesOf(load, c.Metrics, metrics, repetitions) {
				out = append(out, Outage{in.name(level), o})
			}
		}
	}
	return out
}

// arms returns the number of levels, with the reference.
func (in *Input) arms() int {
	if in.Reference != nil {
		return len(in.Levels) + 1
	}
	return len(in.Levels)
}

// stands reports whether a repetition of a cell at a level measured 0 of a metric.
func (in *Input) stands(cell CellInput, metric string, level int) bool {
	for _, m := range in.byCell[cell.ID] {
		if m.Level == level && lab.Stands(cell.Metrics, metric, m.Values) {
			return true
		}
	}
	return false
}

// failed reports whether the load failed.
func (m Measured) failed() bool { return len(m.Values) == 0 }
