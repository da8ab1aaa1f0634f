package runs

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

const (
	// maxPictured is how many cells have pictures on a page. A cell takes some 30 KB, and a page must stay within a few
	// megabytes to be mailed.
	maxPictured = 40
	// PagePoints is the maximum number of points of a line; more would not be visible on a page and only make it
	// larger.
	PagePoints = 240
	// minPoints is how many points make a line worth a picture.
	minPoints = 3
	// bucketsPerDecade is how many buckets of latencies a decade has. A bucket is 12% wide, so that several of fio's
	// bins, at most 1.6% wide, fall into each and none is empty between two full ones.
	bucketsPerDecade = 20
)

// pictures shows each load over time, and the distribution of its latencies.
func (r runText) pictures() document.Plots {
	p := document.Plots{Title: "Over time, and how latencies spread"}
	names := summary.CellNames(r.Run)
	for i := range r.Cells[:min(len(r.Cells), maxPictured)] {
		c := &r.Cells[i]
		p.List = append(p.List, eventPlots(r.Run, c, names[c.ID])...)
		for _, d := range c.Directions() {
			p.List = append(p.List, r.cellPlots(c, d, names[c.ID])...)
		}
	}
	if more := len(r.Cells) - maxPictured; more > 0 {
		p.Reading = fmt.Sprintf("%d more loads have no pictures here, to keep the page small.", more)
	}
	return p
}

func (r runText) cellPlots(c *summary.Cell, direction, name string) []document.Plot {
	var plots []document.Plot
	metric, other := lab.IOPS(direction), lab.Bandwidth(direction)
	if large(c) {
		metric, other = other, metric
	}
	p, ok := overTime(c, name, metric)
	if !ok { // the load generator recorded only one of the two
		p, ok = overTime(c, name, other)
	}
	if ok {
		if r.o.CellAddress != nil {
			p.Address = r.o.CellAddress(c.ID)
		}
		plots = append(plots, p.Thinned(PagePoints))
	}
	if p, ok := distribution(c, direction, name); ok {
		plots = append(plots, p)
	}
	return plots
}

// OverTime returns a cell over the time of its repetitions: a picture for each metric with a recorded series, and the
// cell's name. It returns nothing if the run has no such cell.
func OverTime(s *summary.Run, id string) (name string, plots []document.Plot) {
	i := slices.IndexFunc(s.Cells, func(c summary.Cell) bool { return c.ID == id })
	if i < 0 {
		return "", nil
	}
	c := &s.Cells[i]
	name = summary.CellNames(s)[id]
	var metrics []string
	for _, of := range c.Series {
		if slices.Contains(metrics, of.Metric) {
			continue
		}
		metrics = append(metrics, of.Metric)
		if p, ok := overTime(c, metricText(of.Metric), of.Metric); ok {
			plots = append(plots, p)
		}
	}
	return name, plots
}

// overTime shows one metric of a cell over the time of its repetitions, a line each. ok is false if it has no series,
// or only a few values.
func overTime(c *summary.Cell, name, metric string) (p document.Plot, ok bool) {
	direction, _, _ := lab.CutMetric(metric)
	// From zero, so that a dip has its true relative depth.
	p = document.Plot{Title: name, X: document.Axis{Title: "seconds into the load", From: new(float64),
		Unit: string(lab.Seconds)}, Y: document.Axis{Title: metricText(metric), From: new(float64),
		Unit: string(lab.Metric(metric).Unit)}}
	most := 0.0
	for _, s := range c.Series {
		if s.Metric != metric || len(s.Values) < minPoints || !(s.Interval > 0) {
			continue
		}
		line := document.Series{Direction: direction, Name: "repetition " + strconv.Itoa(s.Repetition), Line: true}
		for i, v := range s.Values {
			line.Points = append(line.Points, document.Point{At: (float64(i) + 0.5) * s.Interval, Value: v})
			most = math.Max(most, v)
		}
		p.Series = append(p.Series, line)
	}
	lines := len(p.Series)
	p.Note = metricText(metric) + " over time, " + prose.Count(lines, "repetition")
	if lines > 1 {
		p.Note += ", a line each"
	}
	if c.N > lines {
		p.Note += fmt.Sprintf("; the first %d of %d", lines, c.N)
	}
	return p, most > 0
}

// distribution shows the latencies of all operations in one direction on a logarithmic axis, with the percentiles of
// the table. ok is false if there are no bins.
func distribution(c *summary.Cell, direction, name string) (p document.Plot, ok bool) {
	h := c.Latency[direction]
	buckets := bucketsOf(h)
	if len(buckets) == 0 {
		return p, false
	}
	first, last := buckets[0], buckets[len(buckets)-1]
	// The curve ends on the axis at both sides.
	s := document.Series{Direction: direction, Name: direction + " latency", Line: true, Filled: true,
		Points: []document.Point{{At: first.from}}}
	for _, b := range buckets {
		s.Points = append(s.Points, document.Point{At: b.middle(), Value: b.share})
	}
	s.Points = append(s.Points, document.Point{At: last.to})
	p = document.Plot{Title: name, Note: direction + " latency of " + operationsText(h), Series: []document.Series{s},
		X: document.Axis{Title: direction + " latency", Unit: string(lab.Seconds), Scale: document.Logarithmic},
		Y: document.Axis{Title: "share of the operations", Unit: string(lab.Share), From: new(float64)}}
	for _, q := range lab.Quantiles() {
		if q.Name == "p50" || q.Name == "p99" || q.Name == "p99.9" {
			x := stat.BinQuantile(h.Nanoseconds, h.Counts, q.Q) / 1e9
			p.Marks = append(p.Marks, document.Mark{At: x, Text: q.Name + " " + unit.Latency(x)})
		}
	}
	return p, true
}

func operationsText(h lab.Histogram) string {
	total := uint64(0)
	for _, n := range h.Counts {
		total += n
	}
	return unit.IOPS(float64(total)) + " operations of all repetitions"
}

// bucket is a range of latencies in seconds, with the share of operations in it.
type bucket struct{ from, to, share float64 }

func (b bucket) middle() float64 { return math.Sqrt(b.from * b.to) }

// bucketsOf puts the bins into buckets of equal width on a logarithmic scale, from the first used to the last.
func bucketsOf(h lab.Histogram) []bucket {
	shares := map[int]float64{}
	total := 0.0
	low, high := math.MaxInt, math.MinInt
	for i, ns := range h.Nanoseconds {
		if ns <= 0 || h.Counts[i] == 0 {
			continue
		}
		// A small tolerance is added: the logarithm of a power of ten can be just below the integer.
		k := int(math.Floor(math.Log10(float64(ns)/1e9)*bucketsPerDecade + 1e-9))
		low, high = min(low, k), max(high, k)
		shares[k] += float64(h.Counts[i])
		total += float64(h.Counts[i])
	}
	var out []bucket
	for k := low; k <= high && total > 0; k++ {
		edge := func(k int) float64 { return math.Pow(10, float64(k)/bucketsPerDecade) }
		out = append(out, bucket{edge(k), edge(k + 1), shares[k] / total})
	}
	return out
}
