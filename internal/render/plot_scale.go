package render

import (
	"math"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// valueScale returns a scale that shows all values, references and bands. It shows intervals completely unless these
// would make the rest too small to distinguish.
func valueScale(p document.Plot, a document.Axis) scale {
	changes, none := a.Scale == document.Ratio, 1.0
	e := extent{logarithmic: changes || a.Scale == document.Logarithmic, lo: math.Inf(1), hi: math.Inf(-1)}
	if changes {
		e.add(&none)
	}
	for _, s := range p.Series {
		for _, at := range s.Points {
			e.add(&at.Value)
			if s.Bars {
				e.add(new(float64))
			}
		}
		for _, l := range s.Levels {
			e.add(&l.Value)
		}
	}
	for _, r := range p.References {
		e.add(&r.Value)
	}
	for _, b := range p.Bands {
		e.add(&b.Lo)
		e.add(&b.Hi)
	}
	e.add(a.From)
	e.add(a.To)
	inner := e
	for _, s := range p.Series {
		for _, at := range s.Points {
			e.reach(inner, at.Lo)
			e.reach(inner, at.Hi)
		}
	}
	s := e.scale(!e.logarithmic && e.lo == 0)
	if a.Clipped && a.From != nil && a.To != nil {
		s.min, s.max = *a.From, *a.To
	}
	s.title = a.Title
	switch {
	case changes:
		s.ticks = changeTicks(s.min, s.max)
	case s.logarithmic:
		s.ticks = logTicks(s.min, s.max, lab.Unit(a.Unit))
	default:
		s.ticks = linearTicks(s.min, s.max, lab.Unit(a.Unit))
	}
	return s
}

// placeScale returns a scale that shows all places.
func placeScale(p document.Plot, a document.Axis) scale {
	if a.Scale == document.Names {
		const most = 24 // characters beside a row
		room := most
		if n := len(a.Names); p.Y.Scale != document.Names && n > 2 {
			room = max(6, 50/n) // about as many as fit below a picture
		}
		return nameScale(a, room)
	}
	e := extent{logarithmic: a.Scale == document.Logarithmic, lo: math.Inf(1), hi: math.Inf(-1)}
	for _, s := range p.Series {
		for _, at := range s.Points {
			e.add(&at.At)
		}
	}
	e.add(a.From)
	e.add(a.To)
	if a.Scale == document.Time && e.lo == e.hi {
		e.lo, e.hi = e.lo-time.Hour.Seconds(), e.hi+time.Hour.Seconds()
	}
	s := e.scale(!e.logarithmic && a.From != nil && e.lo == 0)
	s.title = a.Title
	switch {
	case a.Scale == document.Time:
		var title string
		if s.ticks, title = timeTicks(s.min, s.max); a.Title == "" {
			s.title = title
		}
	case s.logarithmic:
		s.ticks = logTicks(s.min, s.max, lab.Unit(a.Unit))
	default:
		s.ticks = linearTicks(s.min, s.max, lab.Unit(a.Unit))
	}
	return s
}

// nameScale has a tick for each name, shortened to room characters.
func nameScale(a document.Axis, room int) scale {
	s := scale{min: -0.5, max: float64(len(a.Names)) - 0.5, title: a.Title}
	for i, name := range a.Names {
		s.ticks = append(s.ticks, tick{float64(i), withoutMiddle(name, room)})
	}
	return s
}

// withoutMiddle cuts a name to a width. It keeps both ends, because the end is as informative as the beginning: a
// level, a version.
func withoutMiddle(name string, width int) string {
	runes := []rune(prose.Inline(name))
	if len(runes) <= width {
		return string(runes)
	}
	head := width / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(width-1-head):])
}

// extent is the range of values: of their logarithms if the scale is logarithmic.
type extent struct {
	logarithmic bool
	lo, hi      float64
}

// of returns a value in the extent's units, false for nil and for a value that the scale can't show.
func (e *extent) of(v *float64) (float64, bool) {
	switch {
	case v == nil, math.IsNaN(*v), math.IsInf(*v, 0), e.logarithmic && *v <= 0:
		return 0, false
	case e.logarithmic:
		return math.Log(*v), true
	}
	return *v, true
}

func (e *extent) add(v *float64) {
	if at, ok := e.of(v); ok {
		e.lo, e.hi = min(e.lo, at), max(e.hi, at)
	}
}

// reach widens the extent to an end of an interval, at most by the width of others to either side.
func (e *extent) reach(others extent, v *float64) {
	if at, ok := e.of(v); ok {
		width := others.hi - others.lo
		e.lo, e.hi = min(e.lo, max(at, others.lo-width)), max(e.hi, min(at, others.hi+width))
	}
}

// scale adds a margin on either side, or above only.
func (e *extent) scale(onGround bool) scale {
	if e.lo > e.hi {
		e.lo, e.hi, e.logarithmic = 0, 1, false
	}
	air := 0.05 * (e.hi - e.lo)
	if air == 0 {
		air = 1
		if !e.logarithmic && e.hi != 0 {
			air = 0.1 * math.Abs(e.hi)
		}
	}
	lo, hi := e.lo-air, e.hi+air
	if onGround {
		lo = e.lo
	}
	if e.logarithmic {
		return scale{min: math.Exp(lo), max: math.Exp(hi), logarithmic: true}
	}
	return scale{min: lo, max: hi}
}
