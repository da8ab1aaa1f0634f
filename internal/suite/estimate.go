package suite

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// startUp is the time that a load takes in addition to its run time: fio starts, opens its files, ends, and its output
// is read. Measured with fio 3.33 on ioengine=null: 0.27 s; the rest is for reading the machine's counters before and
// after.
const startUp = 400 * time.Millisecond

// EstimateTime returns how long the loads of all repetitions take, with their ramps and the pauses between them, but
// without fill and layout. It is 0 if that is unknown because a cell ends by size and not by time.
func EstimateTime(cells []Cell, pause time.Duration) time.Duration {
	var total time.Duration
	loads := 0
	for _, c := range cells {
		if c.Runtime == 0 {
			return 0
		}
		total += time.Duration(c.Repetitions) * (c.Runtime + startUp)
		loads += c.Repetitions
	}
	return total + time.Duration(max(loads-1, 0))*pause
}

// Writes is the maximum number of bytes that some cells write.
type Writes struct {
	// Prepare is one fill or layout. Load is all repetitions of all loads that have a bound.
	Prepare, Load float64
	// InTime is the part of Load that only the run time bounds: the most that the place could take in that time.
	InTime float64
	// Unbounded are the IDs of cells without a known bound: they end by time, and their bandwidth is limited neither by
	// the place nor by a rate of the load.
	Unbounded []string
}

// Total returns the sum, in bytes.
func (w Writes) Total() float64 { return w.Prepare + w.Load }

// And returns the sum of two amounts.
func (w Writes) And(o Writes) Writes {
	return Writes{w.Prepare + o.Prepare, w.Load + o.Load, w.InTime + o.InTime,
		slices.Concat(w.Unbounded, o.Unbounded)}
}

// Times returns the amount for n times the loads, after one preparation.
func (w Writes) Times(n int) Writes {
	w.Load, w.InTime = w.Load*float64(n), w.InTime*float64(n)
	return w
}

// Bandwidth is the maximum number of bytes a second that a place takes; 0 if unknown.
type Bandwidth struct {
	Most float64
	// Assumed is true if nothing is known about the path to the place. Most is then the bandwidth of the fastest places
	// of this kind. It bounds only loads that have a fixed amount to write.
	Assumed bool
}

// EstimateWrites bounds what the cells write to a device or scratch file of size bytes, 0 if unknown. bandwidth returns
// the bandwidth of the place for a cell's ID. A load is bounded by the bytes that it has to move (size, io_size) unless
// it is time_based, and by its run time at its own rate or the place's bandwidth; the lowest bound applies.
func EstimateWrites(cells []Cell, size int64, bandwidth func(cell string) Bandwidth) Writes {
	var w Writes
	if prepares(cells) {
		w.Prepare = float64(size)
	}
	for _, c := range cells {
		if c.Engine == lab.EngineExec {
			w.Unbounded = append(w.Unbounded, c.ID)
			continue
		}
		if !c.Writes() || !writesData(c.Params) {
			continue
		}
		most, inTime := BySize(c.Params, size), math.Inf(1)
		if c.Runtime > 0 {
			most = min(most, c.Runtime.Seconds()*byRate(c.Params))
			if b := bandwidth(c.ID); !b.Assumed || !math.IsInf(most, 1) {
				inTime = c.Runtime.Seconds() * limit(b.Most)
			}
		}
		switch {
		case inTime < most:
			w.Load, w.InTime = w.Load+float64(c.Repetitions)*inTime, w.InTime+float64(c.Repetitions)*inTime
		case math.IsInf(most, 1):
			w.Unbounded = append(w.Unbounded, c.ID)
		default:
			w.Load += float64(c.Repetitions) * most
		}
	}
	return w
}

// prepares reports whether any cell needs a fill or a layout.
func prepares(cells []Cell) bool {
	return slices.ContainsFunc(cells, func(c Cell) bool {
		return slices.Contains(c.Steps, lab.Fill) || slices.Contains(c.Steps, lab.Layout)
	})
}

// writesData reports whether a load that changes its place writes data; a load that only trims does not.
func writesData(params map[string]string) bool {
	base, _, _ := strings.Cut(params["rw"], ":")
	return base != "trim" && base != "randtrim"
}

// BySize returns how many bytes a load moves in one pass over its part of the place, all processes together. A part
// given as a share, or not at all, counts as the whole.
func BySize(params map[string]string, whole int64) float64 {
	if params["time_based"] == "1" {
		return math.Inf(1)
	}
	part := limit(float64(whole))
	for _, name := range []string{"size", "io_size"} { // io_size replaces size
		if n, err := unit.ParseBytes(params[name]); err == nil && n > 0 {
			part = float64(n)
		}
	}
	loops, err := strconv.Atoi(params["loops"])
	if err != nil {
		loops = 1
	}
	return part * float64(loops) * float64(processes(params))
}

// byRate returns the bandwidth to which the load's writes are limited, all processes together.
func byRate(params map[string]string) float64 {
	most := math.Inf(1)
	if v, ok := forWrites(params["rate"]); ok {
		most = v
	}
	rate, limited := forWrites(params["rate_iops"])
	if bs, ok := writeBlock(params); ok && limited {
		most = min(most, rate*bs)
	}
	return most * float64(processes(params))
}

// writeBlock returns the block size of the load's writes; ok is false if it has several.
func writeBlock(params map[string]string) (size float64, ok bool) {
	switch {
	case params["bsrange"] != "", params["bssplit"] != "":
		return 0, false
	case params["bs"] == "":
		return 4096, true // fio's default
	}
	return forWrites(params["bs"])
}

// forWrites returns the part for writes of a value with one part for each direction; a value of one part is for all.
// Source: fio's HOWTO, bs: a value not terminated in a comma applies to the types that follow.
func forWrites(value string) (float64, bool) {
	parts := strings.Split(value, ",")
	n, err := unit.ParseBytes(parts[min(1, len(parts)-1)])
	return float64(n), err == nil && n > 0
}

// limit turns an unknown bound (0) into infinity.
func limit(v float64) float64 {
	if v == 0 {
		return math.Inf(1)
	}
	return v
}
