package ladder

import (
	"fmt"

	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Network is what carries the loads of a rung between pods.
type Network string

// The networks. Pods is the one that the cluster's plugin (CNI) makes; Nodes is the network of the nodes themselves, in
// which the same pods are measured without it.
const (
	Nodes Network = "nodes"
	Pods  Network = "pods"
)

// PodLoss is what one load loses between pods of what it reaches between their nodes, by as many streams.
type PodLoss struct {
	// Rung between the pods by its place from 0, and the cell.
	Rung    int     `json:"rung"`
	Cell    string  `json:"cell"`
	Verdict Verdict `json:"verdict"`
	// Cost is the share that is lost; below 0 where pods do more. Its bounds hold together with all others of the
	// ladder.
	Cost stat.Estimate `json:"cost"`
	Text string        `json:"text"`
}

// throughPodNetwork reports whether a cell is compared with the same between the nodes.
func (r *Rung) throughPodNetwork(c *Cell) bool {
	return r.Network == Pods && r.Kind != Loopback && c.Reached != nil
}

// cost is what is missing of what was expected.
func (c *Cell) cost() stat.Estimate {
	e := stat.Estimate{Value: 1 - c.Reached.Value}
	if c.Reached.Known() {
		e.Bounds = stat.BoundsOf(1-*c.Reached.Hi, 1-*c.Reached.Lo)
	}
	return e
}

// costText returns text about the cost of the pod network.
func (c *Cell) costText(r *Rung) string {
	name := "the pod network"
	if r.CNI != "" {
		name += " (" + r.CNI + ")"
	}
	cost := c.cost()
	text := name + " costs " + unit.Percent(cost.Value)
	if c.Reached.Informative() {
		text += fmt.Sprintf(" [%s, %s]", unit.Percent(*cost.Lo), unit.Percent(*cost.Hi))
	}
	return text
}

// podLosses has an entry for each load between pods that takes all streams one way. One flow, and both ways at once,
// are in the rungs.
func podLosses(d *Document) []PodLoss {
	var list []PodLoss
	for i := range d.Rungs {
		r := &d.Rungs[i]
		for j := range r.Cells {
			c := &r.Cells[j]
			if r.Kind != Port || !r.throughPodNetwork(c) {
				continue
			}
			l := PodLoss{Rung: i, Cell: c.Cell, Verdict: c.Verdict, Cost: c.cost(),
				Text: fmt.Sprintf("%s: %s: %s does %s, %s %s", c.Title, c.costText(r), r.Name,
					amount(c.Unit, *c.Center), c.Expected.From, amount(c.Unit, c.Expected.Value))}
			switch c.Verdict {
			case Reaches:
				l.Text += fmt.Sprintf("; that is at most %g%% for sure", 100*d.Margin)
			case Undecided:
				l.Text = fmt.Sprintf("whether the pod network costs more than %g%% is undecided: %s", 100*d.Margin,
					openText(d, r, c))
			}
			list = append(list, l)
		}
	}
	return list
}
