package report

import (
	"math"

	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/stat"
	"headroom/internal/unit"
)

// bucketsPerDecade of the picture. A bucket is 12% wide, so that several of fio's bins, at most 1.6% wide, fall into
// each and none is empty between two full ones.
const bucketsPerDecade = 20

// distribution draws the latencies of all operations in one direction on a logarithmic axis, with the percentiles that
// the table prints. ok is false where there are no bins.
func distribution(c *Cell, direction string) (p picture, ok bool) {
	h := c.Latency[direction]
	buckets := bucketsOf(h)
	if len(buckets) == 0 {
		return picture{}, false
	}
	first, last := buckets[0], buckets[len(buckets)-1]
	most := 0.0
	// The curve comes down to the axis at both ends, for the area to be closed there.
	curve := []point{{first.from, 0}}
	for _, b := range buckets {
		most = math.Max(most, b.share)
		curve = append(curve, point{b.middle(), b.share})
	}
	curve = append(curve, point{last.to, 0})
	d := newDrawing(
		scale{min: first.from, max: last.to, logarithmic: true, ticks: logTicks(first.from, last.to, lab.Seconds)},
		scale{max: most * 1.15, ticks: ticksAt(evenSteps(most, 3, 1), unit.Percent)}, pictureHeight, pictureText)
	d.area(curve, wash)
	d.line(curve, accent, 1.2)
	d.percentiles(h)
	p = picture{Title: prose.Capital(direction) + " latency", Caption: operationsText(h)}
	p.SVG = d.svg(c.Job + ": " + p.Title)
	p.Head = []string{"latency", "of all", "up to here"}
	sum := 0.0
	for _, b := range buckets {
		sum += b.share
		p.Rows = append(p.Rows, pictureRow{At: d.at(b.middle()), Cells: []string{
			unit.Latency(b.from) + " – " + unit.Latency(b.to), unit.Percent(b.share), shareText(sum),
		}})
	}
	return p, true
}

// shareText prints a share close to one with the digits that tell it from one.
func shareText(share float64) string {
	if share > 0.995 && share < 1-1e-9 {
		digits := min(int(math.Ceil(-math.Log10(1-share)))-1, 6)
		return number(math.Floor(share*math.Pow(10, float64(digits+2)))/math.Pow(10, float64(digits))) + "%"
	}
	return unit.Percent(share)
}

func operationsText(h lab.Histogram) string {
	total := uint64(0)
	for _, n := range h.Counts {
		total += n
	}
	return unit.IOPS(float64(total)) + " operations of all repetitions"
}

// percentiles draws a line at each percentile, each lower than the one before, so that their names do not meet where
// the percentiles lie close together.
func (d *drawing) percentiles(h lab.Histogram) {
	height := d.y.max
	for _, q := range lab.Quantiles() {
		if q.Name != "p50" && q.Name != "p99" && q.Name != "p99.9" {
			continue
		}
		x := stat.BinQuantile(h.Nanoseconds, h.Counts, q.Q) / 1e9
		d.dashed([]point{{x, 0}, {x, height}}, ink)
		d.label(point{x, height}, ink, q.Name+" "+unit.Latency(x))
		height -= 0.22 * d.y.max
	}
}

// bucket is a stretch of latencies in seconds, with the share of operations in it.
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
		// A hair is added: the logarithm of a power of ten can fall just below the whole number.
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
