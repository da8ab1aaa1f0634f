package render

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// scale is an axis: its ends, its title, and its ticks.
type scale struct {
	min, max    float64
	logarithmic bool
	title       string
	ticks       []tick
}

// tick is a place on a scale; one without a name is drawn smaller.
type tick struct {
	value float64
	name  string
}

// share returns the position of a value on a scale, from 0 to 1; a value beyond an end is at the end.
func (s scale) share(v float64) float64 {
	v = min(max(v, s.min), s.max)
	if s.logarithmic {
		return math.Log(v/s.min) / math.Log(s.max/s.min)
	}
	return (v - s.min) / (s.max - s.min)
}

// ticksAt returns ticks at some values, each with its name.
func ticksAt(values []float64, name func(float64) string) []tick {
	var ticks []tick
	for _, v := range values {
		ticks = append(ticks, tick{v, name(v)})
	}
	return ticks
}

// roundSteps returns about n round values between two, in steps of 1, 2 or 5 times a power of ten times base. The base
// makes them round in the printed unit: 1024*1024 for bandwidths of some MiB/s.
func roundSteps(from, to float64, n int, base float64) []float64 {
	rough := (to - from) / base / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough {
			step = m * power
			break
		}
	}
	const hair = 1e-9 // tolerance for a step that rounding puts slightly beyond an end
	var out []float64
	first, last := math.Ceil(from/base/step-hair), math.Floor(to/base/step+hair)
	for i := first; i <= last; i++ {
		out = append(out, i*step*base+0) // no -0
	}
	return out
}

// linearTicks returns as many round values between two as have distinct names: figures have three digits.
func linearTicks(from, to float64, u lab.Unit) []tick {
	most := max(math.Abs(from), math.Abs(to))
	var ticks []tick
	for n := 4; n > 0; n-- {
		ticks = ticksAt(roundSteps(from, to, n, baseOf(u, most)), func(v float64) string {
			if v == 0 {
				return "0" // in every unit
			}
			return unit.Round(u, v)
		})
		same := func(a, b tick) bool { return a.name == b.name }
		if len(slices.CompactFunc(slices.Clone(ticks), same)) == len(ticks) {
			return ticks
		}
	}
	return ticks[:min(len(ticks), 1)]
}

// logTicks names the powers of ten; if fewer than two of them are visible also 2 and 5 times them, and if fewer than
// two of those are visible, round values between the ends.
func logTicks(from, to float64, u lab.Unit) []tick {
	if u == lab.BytesPerSecond {
		return binaryTicks(from, to, u)
	}
	ticks, named := powerTicks(from, to, func(v float64) string { return unit.Round(u, v) })
	if named < 2 {
		return linearTicks(from, to, u)
	}
	return ticks
}

// powerTicks returns ticks at 1, 2, 3 and so on times the powers of ten, and how many of them have a name.
func powerTicks(from, to float64, name func(float64) string) (ticks []tick, named int) {
	inSight := math.Floor(math.Log10(to)) - math.Ceil(math.Log10(from)) + 1
	for e := math.Floor(math.Log10(from)); e <= math.Ceil(math.Log10(to)); e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < from*(1-1e-9) || v > to*(1+1e-9) {
				continue
			}
			t := tick{value: v}
			if m == 1 || inSight < 2 && (m == 2 || m == 5) {
				t.name = name(v)
				named++
			}
			ticks = append(ticks, t)
		}
	}
	return ticks, named
}

// changeTicks returns ratios as changes in percent, or as factors if they are large.
func changeTicks(from, to float64) []tick {
	const large = 4 // times the smallest
	if to > large*from {
		ticks, _ := powerTicks(from, to, func(v float64) string {
			return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 9, 64), "0"), ".") + "x"
		})
		return ticks
	}
	var ticks []tick
	for _, change := range roundSteps(from-1, to-1, 5, 0.01) {
		name := "0"
		if change != 0 {
			name = strings.Replace("+"+unit.RoundPercent(change), "+-", "-", 1)
		}
		ticks = append(ticks, tick{1 + change, name})
	}
	return ticks
}

// binaryTicks returns powers of two, at most six of them: powers of ten are not round in MiB/s.
func binaryTicks(from, to float64, u lab.Unit) []tick {
	step := math.Ceil(math.Log2(to/from) / 6)
	var ticks []tick
	for e := step * math.Ceil(math.Log2(from)/step); e <= math.Log2(to); e += step {
		ticks = append(ticks, tick{math.Exp2(e), unit.Round(u, math.Exp2(e))})
	}
	if len(ticks) < 2 {
		return linearTicks(from, to, u)
	}
	return ticks
}

// timeTicks returns at most about five round times between two, in seconds since 1970, and a title with the axis's
// unit.
func timeTicks(from, to float64) (ticks []tick, title string) {
	const most = 5
	first, last := time.Unix(int64(from), 0).UTC(), time.Unix(int64(math.Ceil(to)), 0).UTC()
	span := last.Sub(first)
	layout, title := time.DateOnly, "date, UTC"
	if first.Year() == last.Year() {
		layout, title = "01-02", "date in "+first.Format("2006")+", UTC"
	}
	const days = 24 * time.Hour
	for _, step := range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute,
		15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, days, 2 * days, 7 * days,
		14 * days} {
		if span > most*step {
			continue
		}
		switch {
		case step < days && first.Day() == last.Day():
			layout, title = "15:04", "time on "+first.Format(time.DateOnly)+", UTC"
		case step < days:
			layout = "01-02 15:04"
		}
		if step < time.Minute {
			layout += ":05"
		}
		// Truncate counts from a Monday.
		for t := first.Truncate(step); !t.After(last); t = t.Add(step) {
			if !t.Before(first) {
				ticks = append(ticks, tick{float64(t.Unix()), t.Format(layout)})
			}
		}
		return ticks, title
	}
	for _, months := range []int{1, 2, 3, 6, 12, 24, 60, 120, 240, 600} {
		if span > time.Duration(most*months)*31*days && months < 600 {
			continue
		}
		if layout, title = "2006-01", "month, UTC"; months >= 12 {
			layout, title = "2006", "year, UTC"
		}
		t := time.Date(first.Year()-first.Year()%max(1, months/12), 1, 1, 0, 0, 0, 0, time.UTC)
		for ; !t.After(last); t = t.AddDate(0, months, 0) {
			if !t.Before(first) {
				ticks = append(ticks, tick{float64(t.Unix()), t.Format(layout)})
			}
		}
		break
	}
	return ticks, title
}

// legible removes names so that none overlap: every second keeps its name, or every third, and so on.
func legible(ticks []tick, span func(tick) (from, to float64)) []tick {
	ticks = slices.SortedFunc(slices.Values(ticks), func(a, b tick) int {
		fromA, _ := span(a)
		fromB, _ := span(b)
		return cmp.Compare(fromA, fromB)
	})
	for every := 1; ; every++ {
		out := slices.Clone(ticks)
		named, end, apart := 0, math.Inf(-1), true
		for i := range out {
			if out[i].name == "" {
				continue
			}
			if named++; (named-1)%every != 0 {
				out[i].name = ""
				continue
			}
			from, to := span(out[i])
			apart = apart && from > end
			end = to
		}
		if apart {
			return out
		}
	}
}

// baseOf returns the size of the unit in which a value is printed.
func baseOf(u lab.Unit, v float64) float64 {
	if u != lab.BytesPerSecond || !(v >= 1) {
		return 1
	}
	return math.Pow(1024, math.Floor(math.Log(v)/math.Log(1024)))
}
