package report

import (
	"html/template"
	"math"
)

// picture is a drawing and the table of the numbers in it.
type picture struct {
	Title   string
	Caption string
	SVG     template.HTML
	Head    []string
	Rows    []pictureRow
}

// pictureRow is a line of the table. At is where its point lies in the drawing, as a share of the width from the left.
type pictureRow struct {
	At    float64
	Cells []string
}

// ticksAt are ticks at some values, each with its name.
func ticksAt(values []float64, name func(float64) string) []tick {
	var ticks []tick
	for _, v := range values {
		ticks = append(ticks, tick{v, name(v)})
	}
	return ticks
}

// evenSteps are about n round values from 0 up to most, in steps of 1, 2 or 5 times a power of ten times base. The
// base makes them round in the unit that is printed: 1024*1024 for bandwidths of some MiB/s.
func evenSteps(most float64, n int, base float64) []float64 {
	if !(most > 0) || math.IsInf(most, 0) {
		return []float64{0}
	}
	rough := most / base / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(rough)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= rough {
			step = m * power
			break
		}
	}
	var out []float64
	for i := 0; float64(i)*step*base <= most*(1+1e-9); i++ {
		out = append(out, float64(i)*step*base)
	}
	return out
}
