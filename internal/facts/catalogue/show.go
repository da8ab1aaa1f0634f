package catalogue

import (
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Show is a fact's value for people: amounts with a prefix, times and shares in words, everything else as it is. Of a
// fact that is unknown it is the reason, after "unknown: ".
func (x Index) Show(f lab.Fact) string {
	if f.Unknown != "" {
		return "unknown: " + f.Unknown
	}
	v, err := strconv.ParseFloat(f.Value, 64)
	if err != nil {
		return f.Value
	}
	d, _ := x.Lookup(f.Key)
	switch d.Unit {
	case Bytes:
		return bytesOf(d.Key, f.Value, v)
	case BitsPerSecond:
		return bitRate(v)
	case BytesPerSecond:
		if ClassOf(f.Key) == "nic" {
			return bitRate(8 * v) // it stands beside the adapter's speed
		}
		return unit.Bandwidth(v)
	case Hertz:
		return strconv.FormatFloat(v/1e9, 'f', 2, 64) + " GHz"
	case Seconds:
		if v > 0 && v < 1 {
			return unit.Latency(v)
		}
		return unit.Duration(time.Duration(v * float64(time.Second)))
	case Share:
		return unit.Percent(v)
	case Percent:
		return f.Value + "%"
	case Celsius:
		return f.Value + " °C"
	case Microseconds:
		return f.Value + " µs"
	case Nanoseconds:
		return f.Value + " ns"
	case KiB, Transfers, Minutes:
		return f.Value + " " + string(d.Unit)
	}
	return f.Value
}

// Show is Index.Show for one fact alone.
func Show(f lab.Fact) string { return NewIndex().Show(f) }

// exact is below what an amount of bytes is shown to the last: blocks, packets and sectors are of a size that has a
// meaning.
const exact = 1 << 16

// bytesOf formats a disk's size in the maker's units and other amounts in the units of memory.
func bytesOf(key, value string, v float64) string {
	switch {
	case key == "disk.size":
		return unit.Capacity(v)
	case v < exact:
		return value + " B"
	}
	return unit.Bytes(v)
}

// bitRate prints a link's speed with decimal prefixes, as links are sold: 2.5 Gbit/s, 100 Mbit/s.
func bitRate(v float64) string {
	scale, prefix := 1.0, ""
	for _, p := range []struct {
		scale  float64
		prefix string
	}{{1e3, "k"}, {1e6, "M"}, {1e9, "G"}} {
		if v >= p.scale {
			scale, prefix = p.scale, p.prefix
		}
	}
	return strconv.FormatFloat(v/scale, 'g', 4, 64) + " " + prefix + "bit/s"
}
