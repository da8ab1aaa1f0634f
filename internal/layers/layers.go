package layers

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Measured is one repetition, by layer and block.
type Measured struct {
	Layer  int
	Cell   string
	Block  int
	Values map[string]float64
}

// Cell is a cell with its title as people read it.
type Cell struct {
	lab.Cell
	Title string
}

const confidence = 0.95

// Compare makes the document. Cells are those that all layers were measured with.
func Compare(list []Layer, cells []Cell, measured []Measured, warnings []LayerWarning, notes []string) Document {
	d := Document{Schema: Schema, Layers: list, Confidence: confidence, Steps: []Step{}, Sums: []Sum{},
		Warnings: append([]LayerWarning{}, warnings...), Notes: append([]string{}, notes...)}
	for _, cell := range cells {
		v := byLayer(len(list), cell.ID, measured)
		for _, metric := range metricsOf(cell) {
			if !v.has(metric) {
				continue
			}
			for i := range list {
				s := v.step(cell, metric, i)
				s.Warnings = tainting(warnings, i, cell.ID, metric)
				d.Steps = append(d.Steps, s)
			}
			if sum, ok := v.sum(cell, metric); ok {
				d.Sums = append(d.Sums, sum)
			}
		}
	}
	return d
}

// tainting are the codes of the warnings that cast doubt on a metric of a cell at a layer.
func tainting(warnings []LayerWarning, layer int, cell, metric string) []string {
	var codes []string
	for _, w := range warnings {
		about := w.Layer == layer && (w.Cell == "" || w.Cell == cell)
		if about && w.Tainted(metric) && !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

// metricsOf are the metrics that tell what a layer adds to a load: the latency of one operation at a time, the rate of
// many, and what either costs in CPU time.
func metricsOf(c Cell) []string {
	direction := lab.Read
	if strings.HasSuffix(c.Params["rw"], "write") {
		direction = lab.Write
	}
	var names []string
	switch {
	case c.Params["iodepth"] == "" || c.Params["iodepth"] == "1":
		names = []string{lab.Latency(direction, "mean"), lab.Latency(direction, "p99")}
		if c.Params["fsync"] != "" {
			names = append(names, lab.Latency(lab.Sync, "mean"))
		}
	case large(c.Params["bs"]):
		names = []string{lab.Bandwidth(direction)}
	default:
		names = []string{lab.IOPS(direction)}
	}
	return append(names, "cpu.per_io")
}

// large reports whether people read bandwidth for blocks of a size.
func large(bs string) bool {
	n, err := unit.ParseBytes(bs)
	return err == nil && n >= 64<<10
}

// values of a cell: by layer, then by block.
type values []map[int]map[string]float64

func byLayer(n int, cell string, measured []Measured) values {
	v := make(values, n)
	for i := range v {
		v[i] = map[int]map[string]float64{}
	}
	for _, m := range measured {
		if m.Cell == cell {
			v[m.Layer][m.Block] = m.Values
		}
	}
	return v
}

// has reports whether some layer has the metric.
func (v values) has(metric string) bool {
	return slices.ContainsFunc(v, func(blocks map[int]map[string]float64) bool {
		for _, b := range blocks {
			if _, ok := b[metric]; ok {
				return true
			}
		}
		return false
	})
}

// pairs are the values of a metric in the blocks that both layers have, in the order of the blocks; only odd or even
// ones where asked.
func (v values) pairs(lower, upper int, metric string, which func(block int) bool) (below, above []float64) {
	var blocks []int
	for b := range v[upper] {
		blocks = append(blocks, b)
	}
	slices.Sort(blocks)
	for _, b := range blocks {
		x, okX := v[lower][b][metric]
		y, okY := v[upper][b][metric]
		if okX && okY && which(b) {
			below, above = append(below, x), append(above, y)
		}
	}
	return below, above
}

func everyBlock(int) bool       { return true }
func oddBlocks(block int) bool  { return block%2 == 1 }
func evenBlocks(block int) bool { return block%2 == 0 }

// step is a layer against the one below.
func (v values) step(cell Cell, metric string, layer int) Step {
	info := lab.Metric(metric)
	s := Step{Cell: cell.ID, Title: cell.Title, Job: cell.Job, Params: cell.Params, Metric: metric, Unit: info.Unit,
		Better: info.Better, Layer: layer}
	s.Value, s.N = v.mean(layer, metric)
	if layer == 0 {
		return s
	}
	below, above := v.pairs(layer-1, layer, metric, everyBlock)
	if len(below) == 0 {
		return s
	}
	// A layer that lacks a block has a mean of other blocks than its neighbours.
	lower, _ := v.mean(layer-1, metric)
	interval := func(confidence float64) stat.Interval {
		return stat.MeanInterval(differences(below, above), confidence).Agreeing(s.Value - lower)
	}
	added := interval(confidence).Estimate()
	s.Added, s.Clear = &added, interval(stat.FamilyWise(1-confidence, len(v)-1)).Lo > 0
	c := stat.RatioOfMeans(below, above, confidence).Agreeing(lower, s.Value)
	if !math.IsNaN(c.Ratio) {
		s.Ratio = &stat.Estimate{Value: c.Ratio, Bounds: stat.BoundsOf(c.Lo, c.Hi)}
	}
	return s
}

// mean returns the mean of all blocks of a layer, and how many they are: differences of means add up, those of medians
// do not.
func (v values) mean(layer int, metric string) (mean float64, n int) {
	_, here := v.pairs(layer, layer, metric, everyBlock)
	if len(here) == 0 {
		return 0, 0
	}
	return stat.MeanInterval(here, confidence).Center, len(here)
}

func differences(below, above []float64) []float64 {
	d := make([]float64, len(below))
	for i := range below {
		d[i] = above[i] - below[i]
	}
	return d
}

// sum holds the parts of a mean latency against the whole. Percentiles do not add up, and rates are no sums.
func (v values) sum(cell Cell, metric string) (Sum, bool) {
	top := len(v) - 1
	if !strings.HasSuffix(metric, "latency.mean") || top < 2 {
		return Sum{}, false
	}
	var parts stat.Interval
	variance := 0.0
	for layer := 1; layer <= top; layer++ {
		below, above := v.pairs(layer-1, layer, metric, oddBlocks)
		parts.Center += stat.MeanInterval(differences(below, above), confidence).Center
	}
	below, above := v.pairs(0, top, metric, oddBlocks)
	spread := stat.MeanInterval(differences(below, above), confidence)
	parts.Lo, parts.Hi = parts.Center-(spread.Hi-spread.Lo)/2, parts.Center+(spread.Hi-spread.Lo)/2
	below, above = v.pairs(0, top, metric, evenBlocks)
	whole := stat.MeanInterval(differences(below, above), confidence)
	if !parts.Known() || !whole.Known() {
		return Sum{}, false
	}
	for _, i := range []stat.Interval{parts, whole} {
		variance += math.Pow((i.Hi-i.Lo)/2, 2)
	}
	return Sum{Cell: cell.ID, Title: cell.Title, Job: cell.Job, Params: cell.Params, Metric: metric,
		Parts: parts.Estimate(), Whole: whole.Estimate(),
		Agree: math.Abs(parts.Center-whole.Center) <= math.Sqrt(variance)}, true
}

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/layers/v1"

// Document is what each layer adds. Values are in base units.
type Document struct {
	Schema string `json:"schema"`
	// Layers from the bottom up.
	Layers []Layer `json:"layers"`
	// Confidence of each interval by itself.
	Confidence float64 `json:"confidence"`
	Steps      []Step  `json:"steps"`
	Sums       []Sum   `json:"sums"`
	// Warnings of all layers, from the bottom up.
	Warnings []LayerWarning `json:"warnings"`
	// Notes say what was left out, and what is in doubt about the stack.
	Notes []string `json:"notes"`
}

// NotStacked is the warning that a place is not stored on the one that was named as the layer below.
func NotStacked(upper, lower string) lab.Warning {
	return lab.Warning{Code: "not-stacked", Taints: []string{}, Text: fmt.Sprintf(
		"%s is not stored on %s, so what is found between them is a difference and not what a layer adds; layers are "+
			"named from the bottom up", upper, lower)}
}

// Stacked says that no layer is known to lie elsewhere than on the one below.
func (d *Document) Stacked() bool {
	return !slices.ContainsFunc(d.Warnings, func(w LayerWarning) bool { return w.Code == "not-stacked" })
}

// LayerWarning is a reason to distrust what was measured at a layer, in a cell or, where that is empty, in all of them.
type LayerWarning struct {
	// Layer by its place in Layers, from 0.
	Layer int `json:"layer"`
	lab.CellWarning
}

// Layer is one place that was measured.
type Layer struct {
	Name string        `json:"name"`
	Kind lab.PlaceKind `json:"kind"`
	// Filesystem of a directory.
	Filesystem string `json:"filesystem,omitempty"`
	// Run is the ID of the run that holds what was measured here.
	Run string `json:"run"`
}

// Step is one metric of one job at one layer, against the layer below.
type Step struct {
	Cell   string            `json:"cell"`
	Title  string            `json:"title"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Metric string            `json:"metric"`
	Unit   lab.Unit          `json:"unit"`
	Better lab.Better        `json:"better"`
	// Layer by its place in Layers, from 0; that of the bottom has no Added and no Ratio.
	Layer int `json:"layer"`
	// Value is the mean of N repetitions.
	Value float64 `json:"value"`
	N     int     `json:"n"`
	// Added is the difference to the mean of the layer below, in the metric's unit, and Ratio how many times that this
	// one is. Intervals are of the differences within a block.
	Added *stat.Estimate `json:"added,omitempty"`
	Ratio *stat.Estimate `json:"ratio,omitempty"`
	// Clear reports that more is added than nothing, with Confidence for all layers of the metric together.
	Clear bool `json:"-"`
	// Warnings are the codes of those that taint Value. What is added is tainted by those of the layer below as well.
	Warnings []string `json:"warnings,omitempty"`
}

// Sum holds what the layers add, one by one, against the whole of them. The parts come from the odd blocks and the
// whole from the even ones: out of the same blocks they would agree by arithmetic, whatever was measured.
type Sum struct {
	Cell   string            `json:"cell"`
	Title  string            `json:"title"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Metric string            `json:"metric"`
	Parts  stat.Estimate     `json:"parts"`
	Whole  stat.Estimate     `json:"whole"`
	// Agree says that the two differ by no more than their spread explains.
	Agree bool `json:"agree"`
}
