package experiment

import (
	"fmt"
	"math"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// Writes bounds what cells write, with one layout or fill where none lies there.
func (w Workload) Writes(cells []suite.Cell) suite.Writes {
	writes := suite.EstimateWrites(cells, w.place().Size, w.bandwidth())
	if w.laidOut {
		writes.Prepare = 0
	}
	return writes
}

// bandwidth returns what the place takes at most for each cell: what the way to it carries, where the facts tell, or as
// many of the fastest links of a drive as it has disks.
func (w Workload) bandwidth() func(cell string) suite.Bandwidth {
	ceilings := ceiling.OfCells(w.Run)
	_, fastest, _ := ceiling.PCIe(32, 4, 0) // PCIe 5.0 x4
	assumed := suite.Bandwidth{Most: fastest * float64(max(1, len(w.place().Disks))), Assumed: true}
	return func(cell string) suite.Bandwidth {
		c, known := ceiling.Tightest(ceilings[cell], lab.Bandwidth(lab.Write))
		if !known || math.IsInf(c.Most, 1) || !(c.Most > 0) {
			return assumed
		}
		return suite.Bandwidth{Most: c.Most}
	}
}

// writeLimit reads --max-writes, and refuses at once what is known to go beyond it. The runner watches
// how much a load writes in its time, which is unknown beforehand.
func (w Workload) writeLimit(maxWrites string) (int64, error) {
	if maxWrites == "" {
		return 0, nil
	}
	limit, err := Size(maxWrites)
	if err != nil || limit == 0 {
		return 0, app.Usage("--max-writes "+maxWrites+" is not an amount", "write something like 500g")
	}
	writes := suite.EstimateWrites(w.SuiteCells(), w.place().Size, w.bandwidth())
	if known := writes.Total() - writes.InTime; known > float64(limit) {
		return 0, &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("this would write %s, more than --max-writes %s",
			unit.Capacity(known), unit.Capacity(float64(limit))),
			Hints: []string{"raise the limit, or leave out the cells that fill the device"}}
	}
	return limit, nil
}

// WrittenText is what is written: "1.33 GB and what 2 cells can write in the time". A cell of several arms is one. Less
// than that may be written where most is set, and where a load ends with its time before it has written all.
func WrittenText(w suite.Writes, most bool) string {
	unbounded := map[string]bool{}
	for _, id := range w.Unbounded {
		cell, _, _ := strings.Cut(id, "@")
		unbounded[cell] = true
	}
	var parts []string
	if w.Total() > 0 || len(unbounded) == 0 {
		parts = append(parts, unit.Capacity(w.Total()))
	}
	if n := len(unbounded); n > 0 {
		parts = append(parts, "what "+prose.Count(n, "cell")+" can write in the time")
	}
	text := strings.Join(parts, " and ")
	if most || w.InTime > 0 {
		return "at most " + text
	}
	return text
}
