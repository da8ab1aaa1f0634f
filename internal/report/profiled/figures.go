package profiled

import (
	"math"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/unit"
)

// nanoseconds formats a time: 5.70 µs. Below one there are two decimals.
func nanoseconds(v float64) string { return unit.Latency(v / 1e9) }

// calls formats calls per I/O: 0, 0.02, 1.00, 17.0, 245.
func calls(v float64) string {
	switch a := math.Abs(v); {
	case a == 0:
		return "0"
	case a < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return unit.IOPS(v)
}

// between formats an interval, without the first unit if both ends have the same: "[5.51, 5.89]" for 5.70 µs. It is
// empty for an interval of zeros.
func between(text string, low, high *float64, figure func(float64) string) string {
	if low == nil || high == nil || *low == 0 && *high == 0 {
		return ""
	}
	a, b := figure(*low), figure(*high)
	_, unitOf := cut(text)
	first, unitA := cut(a)
	last, unitB := cut(b)
	if unitA == unitOf && unitB == unitOf {
		a, b = first, last
	}
	return "[" + a + ", " + b + "]"
}

// cut splits a figure from its unit.
func cut(text string) (number, of string) {
	end := strings.LastIndexAny(text, "0123456789") + 1
	return text[:end], text[end:]
}

// Units of the cells' values in files for programs.
const (
	secondsUnit = "s/op"
	callsUnit   = "count"
)

// timeCell shows a time per I/O, in seconds for programs; an empty one if it was not recorded.
func timeCell(e *cost.LoadMean) document.Cell {
	if e == nil {
		return document.Cell{}
	}
	c := estimateCell(e, nanoseconds)
	c.Unit = secondsUnit
	for _, v := range []*(*float64){&c.Value, &c.Lo, &c.Hi} {
		if *v != nil {
			seconds := **v / 1e9
			*v = &seconds
		}
	}
	return c
}

func callsCell(e *cost.LoadMean) document.Cell {
	if e == nil {
		return document.Cell{}
	}
	c := estimateCell(e, calls)
	c.Unit = callsUnit
	return c
}

func estimateCell(e *cost.LoadMean, figure func(float64) string) document.Cell {
	text := figure(e.Mean)
	return document.Cell{Text: text, Interval: between(text, e.Low, e.High, figure), Value: &e.Mean, Lo: e.Low,
		Hi: e.High}
}

// withInterval formats a figure with its interval, for sentences.
func withInterval(e *cost.LoadMean, figure func(float64) string) string {
	c := estimateCell(e, figure)
	if c.Interval == "" {
		return c.Text
	}
	return c.Text + " " + c.Interval
}

// signed formats a difference with its sign: "+0.98".
func signed(v float64, figure func(float64) string) string {
	if v < 0 {
		return "-" + figure(-v)
	}
	return "+" + figure(v)
}

// deltaInterval formats the interval of a difference.
func deltaInterval(d *difference.Delta, figure func(float64) string) string {
	of := func(v float64) string { return signed(v, figure) }
	return between(of(d.B-d.A), &d.Low, &d.High, of)
}
