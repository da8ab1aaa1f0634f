package summary

import (
	"math"

	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/stat"
)

// Undecided is a metric that is not as precise as was asked for.
type Undecided struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	N      int    `json:"n"`
	// Width is how far the interval reaches from its centre, as a share of it; absent where there is no interval yet.
	Width *float64 `json:"width,omitempty"`
	// More is how many more repetitions are enough in four of five cases, and Seconds what they take; without an
	// interval the fewest that give one.
	More    int     `json:"more"`
	Seconds float64 `json:"seconds,omitempty"`
}

// undecided are those among the metrics by which a cell is decided; each is how many seconds a repetition takes.
func undecided(c Cell, within, each float64) []Undecided {
	if within == 0 {
		return nil
	}
	var list []Undecided
	for _, name := range c.Deciding() {
		m := c.Metrics[name]
		i := stat.Interval{Center: m.Center, Lo: math.NaN(), Hi: math.NaN()}
		if m.Interval != nil {
			i.Lo, i.Hi = m.Lo, m.Hi
		}
		width := plan.Width(i)
		more := plan.AdditionalRepetitions(width, within, len(m.Values))
		if more == 0 {
			continue
		}
		u := Undecided{Cell: c.ID, Metric: name, N: len(m.Values), More: more, Seconds: float64(more) * each}
		if !math.IsInf(width, 1) {
			u.Width = &width
		}
		list = append(list, u)
	}
	return list
}
