package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/prose"
)

const (
	// maxPoints of a line; more would not be seen on a page and only make it heavy.
	maxPoints = 240
	// maxRows of the table below it.
	maxRows = 60
	// minPoints that make a line worth a picture.
	minPoints = 3
)

// overTime draws one metric of a cell over the time of its repetitions, a line each. ok is false where there is no
// series of it, or only of a few values.
func overTime(c *Cell, metric string) (p picture, ok bool) {
	var lines []Series
	length, most := 0.0, 0.0
	for _, s := range c.Series {
		if s.Metric != metric || len(s.Values) < minPoints || !(s.Interval > 0) {
			continue
		}
		lines = append(lines, s)
		length = math.Max(length, float64(len(s.Values))*s.Interval)
		for _, v := range s.Values {
			most = math.Max(most, v)
		}
	}
	if len(lines) == 0 || !(most > 0) {
		return picture{}, false
	}
	unit := lab.Metric(metric).Unit
	d := newDrawing(
		scale{max: length, ticks: ticksAt(evenSteps(length, 6, 1), func(v float64) string { return number(v) + " s" })},
		// From zero, so that a dip looks as deep as it is.
		scale{max: most * 1.05, ticks: ticksAt(evenSteps(most, 4, baseOf(unit, most)), func(v float64) string {
			return roundFigure(unit, v)
		})},
		pictureHeight, pictureText)
	for _, s := range lines {
		d.line(points(s), accent, 1.2)
	}
	p = picture{Title: timeTitle(metric)}
	p.Caption = fmt.Sprintf("%s, a line each", prose.Count(len(lines), "repetition"))
	if len(lines) == 1 {
		p.Caption = "1 repetition"
	}
	if c.N > len(lines) {
		p.Caption += fmt.Sprintf("; the first %d of %d", len(lines), c.N)
	}
	p.SVG = d.svg(c.Job + ": " + p.Title)
	p.Head, p.Rows = timeTable(lines, unit, length, d.at)
	return p, true
}

func timeTitle(metric string) string {
	direction, quantity, part := cutMetric(metric)
	if quantity == "iops" {
		quantity = "IOPS"
	}
	return prose.Capital(strings.TrimSpace(direction+" "+quantity+" "+part)) + " over time"
}

// points of a line. Where there are more than a page can show, each stretch keeps its lowest and its highest value in
// the order in which they came, as an oscilloscope does, so that no stall is averaged away.
func points(s Series) []point {
	at := func(i int) point { return point{(float64(i) + 0.5) * s.Interval, s.Values[i]} }
	var out []point
	if len(s.Values) <= maxPoints {
		for i := range s.Values {
			out = append(out, at(i))
		}
		return out
	}
	stretches := maxPoints / 2
	for k := range stretches {
		from, to := k*len(s.Values)/stretches, (k+1)*len(s.Values)/stretches
		low, high := from, from
		for i := from; i < to; i++ {
			if s.Values[i] < s.Values[low] {
				low = i
			}
			if s.Values[i] > s.Values[high] {
				high = i
			}
		}
		out = append(out, at(min(low, high)))
		if low != high {
			out = append(out, at(max(low, high)))
		}
	}
	return out
}

// timeTable has a row a step and a column a repetition. A step is a whole number of seconds, so that the table of a
// long run stays short; a value is then the mean of the rate over the step.
func timeTable(lines []Series, unit lab.Unit, length float64, at func(float64) float64) (head []string,
	rows []pictureRow) {
	step := lines[0].Interval
	if n := length / step; n > maxRows {
		step *= math.Ceil(n / maxRows)
	}
	head = []string{"seconds"}
	for _, s := range lines {
		head = append(head, "repetition "+strconv.Itoa(s.Repetition))
	}
	for from := 0.0; from < length-1e-9; from += step {
		row := pictureRow{At: at(from + step/2),
			Cells: []string{number(from) + "–" + number(math.Min(from+step, length))}}
		for _, s := range lines {
			row.Cells = append(row.Cells, meanText(s, unit, from, from+step))
		}
		rows = append(rows, row)
	}
	return head, rows
}

func meanText(s Series, unit lab.Unit, from, to float64) string {
	sum, n := 0.0, 0
	for i, v := range s.Values {
		if middle := (float64(i) + 0.5) * s.Interval; middle >= from && middle < to {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return ""
	}
	return figure(unit, sum/float64(n))
}

// baseOf is the size of the unit in which a value is printed.
func baseOf(u lab.Unit, v float64) float64 {
	if u != lab.BytesPerSecond || !(v >= 1) {
		return 1
	}
	return math.Pow(1024, math.Floor(math.Log(v)/math.Log(1024)))
}
