package reference

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// figure reads a published figure and returns it in the metric's base unit: "97831" operations a second, "546501
// KiB/s", "7.3 GB/s", "118 us". Prefixes are taken literally: 1 kB is 1000 bytes, 1 KiB 1024.
func figure(metric, text string) (float64, error) {
	known := units(lab.Metric(metric).Unit)
	if known == nil {
		return 0, errors.New("no such metric is known")
	}
	number, name, _ := strings.Cut(strings.TrimSpace(text), " ")
	factor, ok := known[name]
	if !ok {
		return 0, fmt.Errorf("its unit must be one of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) {
		return 0, errors.New("it is no number above zero")
	}
	return v * factor, nil
}

// units returns the units in which a metric's figures are published, with the factor to base units.
func units(base lab.Unit) map[string]float64 {
	switch base {
	case lab.PerSecond:
		return map[string]float64{"": 1, "k": 1e3, "M": 1e6}
	case lab.BytesPerSecond:
		return unit.Bandwidths()
	case lab.Seconds:
		return unit.Times()
	}
	return nil
}
