package stages

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/paths"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/suite"
)

// gathered is what is kept of a cell's repetitions.
type gathered struct {
	n      int
	values map[string][]float64
	blocks map[string]map[int]float64
	// samples of the repetition with the highest, by metric.
	samples map[string]lab.Samples
	// found are the warnings about what the links carry, by direction.
	found map[string]lab.WarningCounts
	paths paths.Counted
}

func gather(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], links map[string]ceiling.Links) (
	map[string]*gathered, error) {
	ceilings := map[string][]ceiling.Ceiling{}
	direct := map[string]bool{}
	all := map[string]*gathered{}
	for _, c := range run.Cells {
		all[c.ID] = &gathered{values: map[string][]float64{}, blocks: map[string]map[int]float64{},
			samples: map[string]lab.Samples{},
			found:   map[string]lab.WarningCounts{}}
		direct[c.ID] = reference.Known(c.Params, c.Partial, "direct") != "0"
		if l, ok := links[stageOf(run, c)]; ok {
			ceilings[c.ID] = l.Ceilings()
		}
	}
	err := run.Read(repetitions, func(c lab.Cell, rep lab.Repetition) error {
		g := all[c.ID]
		g.add(rep)
		for _, direction := range []string{lab.Read, lab.Write} {
			own := slices.DeleteFunc(slices.Clone(ceilings[c.ID]), func(c ceiling.Ceiling) bool {
				return c.Metric != lab.Bandwidth(direction)
			})
			warnings := slices.Concat(ceiling.Check(rep.Values, rep.Series, own),
				ceiling.CheckExtremes(rep.Samples, rep.Values, own))
			for i := range warnings {
				if w := &warnings[i]; !direct[c.ID] && strings.HasSuffix(w.Code, "above-ceiling") {
					w.Text += "; the load has no direct=1, so the page cache of the machine that ran it took part"
				}
			}
			counts := g.found[direction]
			counts.AddRepetition(warnings)
			g.found[direction] = counts
		}
		return nil
	})
	return all, err
}

func (g *gathered) add(rep lab.Repetition) {
	g.n++
	g.paths.Add(rep)
	for metric, v := range rep.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			continue
		}
		g.values[metric] = append(g.values[metric], v)
		if g.blocks[metric] == nil {
			g.blocks[metric] = map[int]float64{}
		}
		if rep.Block > 0 {
			g.blocks[metric][rep.Block] = v
		}
	}
	for metric, s := range rep.Samples {
		if old, ok := g.samples[metric]; !ok || s.Max > old.Max {
			g.samples[metric] = s
		}
	}
}

func stageOf(run lab.Run, c lab.Cell) string {
	for _, a := range run.Arms {
		if a.ID == c.Arm {
			return a.Levels[lab.StageLevel]
		}
	}
	return ""
}

// addRows makes a row of each direction of each cell, stage by stage.
func (d *Document) addRows(run lab.Run, g map[string]*gathered) {
	without := 0
	for _, s := range d.Stages {
		for _, c := range run.Cells {
			if stageOf(run, c) != s.Name {
				continue
			}
			some := false
			for _, direction := range lab.Directions() {
				cell := g[c.ID]
				iops, bandwidth := cell.values[lab.IOPS(direction)], cell.values[lab.Bandwidth(direction)]
				if direction == lab.Sync || len(iops)+len(bandwidth) == 0 {
					continue
				}
				some = true
				r := Row{Stage: s.Name, Cell: c.ID, Job: c.Job, Params: c.Params, Partial: c.Partial,
					Direction: direction, N: cell.n, Group: -1,
					Title: suite.TitleOf(c)}
				if len(iops) > 0 {
					r.IOPS = stat.Median(iops)
				}
				if len(bandwidth) > 0 {
					r.Bandwidth = stat.Median(bandwidth)
				}
				if samples, ok := cell.samples[lab.Bandwidth(direction)]; ok {
					r.Samples = &samples
				}
				r.blocks, r.Paths = cell.blocks[r.metric()], cell.paths.Shares()
				d.Rows = append(d.Rows, r)
			}
			if !some {
				without++
			}
		}
	}
	if without > 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("loads without a rate, which are left out: %d", without))
	}
	if n := len(slices.DeleteFunc(slices.Clone(run.Cells), func(c lab.Cell) bool { return stageOf(run, c) != "" })); n >
		0 {
		d.Notes = append(d.Notes, fmt.Sprintf("loads in no stage, which are left out: %d", n))
	}
}

// metric that shares are taken of: bytes, which are the same whatever the size of the pieces, and operations where no
// bytes are known.
func (r *Row) metric() string {
	if r.Bandwidth > 0 {
		return lab.Bandwidth(r.Direction)
	}
	return lab.IOPS(r.Direction)
}

// loadParams returns the parameters that define a load.
func loadParams() []string {
	return []string{"rw", "bs", "iodepth", "numjobs", "direct", "ioengine", "size", "rwmixread", "fsync", "fdatasync",
		"sync", "rate", "rate_iops"}
}

// unlike are the parameters in which two loads differ, where a parameter that is not set has fio's default.
func unlike(here, there *Row) []Difference {
	var all []Difference
	for _, name := range loadParams() {
		a, b := here.parameter(name), there.parameter(name)
		if reference.Plain(a) != reference.Plain(b) {
			all = append(all, Difference{Param: name, Value: a, Other: b})
		}
	}
	if here.Job != there.Job && !(here.Named() && there.Named()) {
		all = append(all, Difference{Param: "job", Value: here.Job, Other: there.Job})
	}
	return all
}

// parameter returns a parameter as fio took it; empty where it is not known.
func (r *Row) parameter(name string) string { return reference.Known(r.Params, r.Partial, name) }

// Named reports whether it is known what a load does, and in pieces of which size. If it is not, loads of one job are
// taken for one.
func (r *Row) Named() bool { return r.parameter("rw") != "" && r.parameter("bs") != "" }

// kind is what two loads have in common that are set against each other at all: what is done, in pieces of which size.
func (r *Row) kind() string {
	words := []string{r.Direction, r.parameter("rw"), reference.Plain(r.parameter("bs"))}
	if !r.Named() {
		words = append(words, r.Job)
	}
	return strings.Join(words, " ")
}

// work is the kind of a load and how many operations it has on their way: what people call one load, whichever tool
// generates it and however it goes to the storage.
func (r *Row) work() string {
	return strings.Join([]string{r.kind(), r.parameter("iodepth"),
		r.parameter("numjobs")}, " ")
}
