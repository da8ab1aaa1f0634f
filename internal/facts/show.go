package facts

import (
	"strconv"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// Show is a fact's value for people: amounts with a prefix, times and shares in words, everything else as it is. Of a
// fact that is unknown it is the reason, after "unknown: ".
func Show(f lab.Fact) string {
	if f.Unknown != "" {
		return "unknown: " + f.Unknown
	}
	v, err := strconv.ParseFloat(f.Value, 64)
	if err != nil {
		return f.Value
	}
	part := f.Key[strings.LastIndexByte(f.Key, '.')+1:]
	switch {
	case strings.HasPrefix(f.Key, underTest) && part == "size":
		return unit.Capacity(v) // as the drive was sold
	case part == "size", part == "free", f.Key == "limit.locked_memory",
		f.Key == "memory.total", f.Key == "memory.available", f.Key == "memory.swap":
		return unit.Bytes(v)
	case f.Key == "boot.uptime":
		return unit.Duration(time.Duration(v * float64(time.Second)))
	case strings.HasPrefix(f.Key, "load.pressure."):
		return unit.Percent(v)
	case strings.HasPrefix(f.Key, "cpu.frequency."):
		return strconv.FormatFloat(v/1e9, 'f', 2, 64) + " GHz"
	}
	return f.Value
}
