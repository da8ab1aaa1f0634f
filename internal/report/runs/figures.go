package runs

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// shown prints the number of a metric, or the sign for an absent one.
func shown(m *summary.Metric) string {
	if m == nil {
		return document.Absent
	}
	return unit.Value(m.Unit, m.Shown())
}

// confidenceText rounds down, so that 99.6% is not printed as certainty.
func confidenceText(c float64) string { return fmt.Sprintf("%.0f%%", math.Floor(c*100+1e-9)) }
