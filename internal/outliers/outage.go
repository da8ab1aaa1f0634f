package outliers

import (
	"fmt"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Outage is a target on which a load stood still.
type Outage struct {
	Role string `json:"role"`
	lab.Outage
}

// outages are the targets that measured 0 of a metric of which more is better, where others have figures.
func outages(table []Sample) []Outage {
	var out []Outage
	for _, s := range table {
		o := Outage{s.Role, lab.Outage{Cell: s.Cell, Title: s.Cell, Metric: s.Metric, N: len(s.Values)}}
		for _, v := range s.Values {
			if v == 0 && s.Better == lab.Higher {
				o.Zero++
			}
		}
		if o.Zero > 0 {
			out = append(out, o)
		}
	}
	if len(out) == len(table) {
		return nil // the load does nothing anywhere
	}
	return out
}

// mostOutages is how many are named.
const mostOutages = 3

// outageText names the targets on which a load stood still, in a sentence; empty where there are none.
func (d *Document) outageText() string {
	var parts []string
	for i, o := range d.Outages {
		if i == mostOutages {
			parts = append(parts, fmt.Sprintf("%d more (--json has all of them)", len(d.Outages)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s measured 0 of %s of %s in %d of %s", o.Role, o.Metric, o.Cell, o.Zero,
			prose.Count(o.N, "repetition")))
	}
	if len(parts) == 0 {
		return ""
	}
	return prose.List(parts) + ". "
}
