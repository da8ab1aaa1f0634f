package varied

import (
	"fmt"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/unit"
)

// measuredMetric is the metric by which a search decides.
type measuredMetric struct {
	// name is empty if several metrics form one result.
	name   string
	unit   lab.Unit
	better lab.Better
}

func metricOf(d bisection.Document) measuredMetric {
	m := measuredMetric{d.Metric, d.Unit, d.Better}
	if m.name == "" {
		m.unit = lab.Count
	}
	return m
}

func (m measuredMetric) title() string {
	if m.name == "" {
		return "result"
	}
	return report.MetricTitle(m.name, false)
}

func (m measuredMetric) value(v float64) string { return unit.Value(m.unit, v) }

// change prints the change of the metric: if less of it is better, a loss is a plus. A nil change was not measured.
func (m measuredMetric) change(r *bisection.Ratio) string {
	if r == nil {
		return document.Absent
	}
	r = m.towards(r)
	return fmt.Sprintf("%s%% [%s, %s]", report.SignedPercent(r.Ratio, false), report.SignedPercent(r.Lo, true),
		report.SignedPercent(r.Hi, true))
}

// towards returns the ratio of the metric itself: for rates, the same ratio.
func (m measuredMetric) towards(r *bisection.Ratio) *bisection.Ratio {
	if m.better == lab.Lower {
		return &bisection.Ratio{Ratio: 1 / r.Ratio, Lo: 1 / r.Hi, Hi: 1 / r.Lo}
	}
	return r
}
