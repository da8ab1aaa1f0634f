package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// Cost is the cost of measurements: the time of their loads, 0 if unknown, and what they write if they touch storage.
type Cost struct {
	Time    time.Duration
	Writes  suite.Writes
	Storage bool
	// Profiles describes the loads that are also profiled; empty for none.
	Profiles string
}

// CostOf is what measurements take together, each carried out so many times.
func CostOf(times int, all ...*Measurement) Cost {
	var c Cost
	for _, m := range all {
		w := m.Workload()
		c.Time += time.Duration(times) * w.Time()
		if m.Place().Kind != lab.NoPlace {
			c.Storage, c.Writes = true, c.Writes.And(w.Writes(w.SuiteCells()).Times(times))
		}
	}
	return c
}

// Text adds it to what is measured, with the words in which the time is said: "3 cells; about 2m; writes 1.33 GB". Most
// is set where less may be written.
func (c Cost) Text(what, about string, most bool) string {
	if c.Profiles != "" {
		what += "; " + c.Profiles
	}
	if c.Time > 0 {
		what += "; " + fmt.Sprintf(about, unit.Duration(c.Time))
	}
	if c.Storage {
		what += "; writes " + WrittenText(c.Writes, most)
	}
	return what
}

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

// estimate is what the run costs: loads, time, bytes written to a drive of the target.
func (w Workload) estimate(ctx context.Context, t host.Target) []string {
	cells := w.SuiteCells()
	place := w.place()
	parts := []string{prose.Count(len(cells), "cell"), prose.Count(w.Planned()-len(w.Saved), "load")}
	profiles := profilesText(w.profiles())
	if profiles != "" {
		parts = append(parts, profiles)
	}
	if takes := w.Time(); takes > 0 {
		parts = append(parts, "about "+unit.Duration(takes+w.profilesTime()))
	}
	writes := w.Writes(w.withProfiles(cells))
	if w.Run.Anytime {
		parts = w.adaptiveEstimate()
		if profiles != "" {
			parts = append(parts, profiles+", which takes "+unit.Duration(w.profilesTime()))
		}
		writes = w.writesAtMost(cells)
	}
	if place.Kind == lab.NoPlace {
		return parts
	}
	text := "writes " + WrittenText(writes, w.Run.Anytime)
	if place.Kind == lab.Device && writes.Total()+float64(len(writes.Unbounded)) > 0 {
		text += wear(ctx, t, place.Disks, writes)
	}
	return append(parts, text)
}

// describeDirectory names the storage under the place and the file that is made there.
func (w Workload) describeDirectory() string {
	place := w.place()
	text := place.Filesystem
	if len(place.Disks) > 0 {
		text += " on " + strings.Join(place.Disks, ", ")
	}
	var made []string
	if w.laidOut {
		return text + "; the scratch file that lies there already"
	}
	if place.Size > 0 {
		made = append(made, "a scratch file of "+unit.Bytes(float64(place.Size)))
	}
	if slices.ContainsFunc(w.Run.Cells, func(c lab.Cell) bool { return c.Command != nil }) {
		made = append(made, "a folder for what commands write")
	}
	return fmt.Sprintf("%s; %s, removed at the end", text, strings.Join(made, " and "))
}

// wear returns how much of a drive's life is used and how much of it the run takes, if the drive reports that.
func wear(ctx context.Context, t host.Target, disks []string, writes suite.Writes) string {
	if len(disks) == 0 {
		return ""
	}
	w := storage.Endurance(ctx, t, disks[0])
	if w.Unknown != "" {
		return "; its wear is unknown"
	}
	text := fmt.Sprintf("; %s of its rated life is used", unit.Percent(w.Used))
	if w.Rated > 0 {
		about := "about"
		if writes.InTime > 0 {
			about = "at most"
		}
		text += fmt.Sprintf(", and this is %s %s of it", about, unit.Percent(writes.Total()/float64(w.Rated)))
	}
	return text
}
