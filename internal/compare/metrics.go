package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// largeBlock is the smallest block size whose results are read as bandwidth, as in reports.
const largeBlock = 64 << 10

// metricsOf returns the metrics by which a pair of cells is compared.
//
// By default they are the primary ones (lab.Primary), with bandwidth instead of IOPS if blocks are large, with p99 next
// to a mean latency, and with the latency of flushes if the load flushes. Asked are names instead of the default; a
// trailing * matches any rest.
func metricsOf(m match, asked []string) []string {
	common := m.common()
	if len(asked) > 0 {
		names := slices.Collect(maps.Keys(common))
		names = slices.DeleteFunc(names, func(name string) bool {
			return !slices.ContainsFunc(asked, func(a string) bool { return Matches(a, name) })
		})
		slices.SortFunc(names, byDirection)
		return names
	}
	var names []string
	for _, name := range lab.Deciding(m.base.Own, m.base.Params, common) {
		if direction, rate := strings.CutSuffix(name, ".iops"); rate && large(m.base) &&
			common[lab.Bandwidth(direction)] {
			name = lab.Bandwidth(direction)
		}
		names = append(names, name)
		if direction, mean := strings.CutSuffix(name, ".latency.mean"); mean && common[lab.Latency(direction, "p99")] {
			names = append(names, lab.Latency(direction, "p99"))
		}
	}
	if flush := lab.Latency(lab.Sync, "mean"); flushes(m.base) && common[flush] && !slices.Contains(names, flush) {
		names = append(names, flush)
	}
	return names
}

// MetricsOf returns the metrics that any of the runs has.
func MetricsOf(runs []Run) []string {
	seen := map[string]bool{}
	for _, r := range runs {
		for _, c := range r.Cells {
			for name := range c.Values {
				seen[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Matches reports whether a pattern matches a metric. A trailing * matches any rest.
func Matches(pattern, name string) bool {
	if stem, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, stem)
	}
	return pattern == name
}

func large(c Cell) bool {
	n, err := unit.ParseBytes(load(c)["bs"])
	return err == nil && n >= largeBlock
}

func flushes(c Cell) bool {
	p := load(c)
	return strings.ContainsAny(p["fsync"]+p["fdatasync"], "123456789")
}

// byDirection sorts metrics by direction as shown, then by name.
func byDirection(a, b string) int {
	rank := func(name string) int {
		head, _, _ := strings.Cut(name, ".")
		if i := slices.Index(lab.Directions(), head); i >= 0 {
			return i
		}
		return len(lab.Directions())
	}
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// speed reports whether a metric is fast or slow; others are better or worse.
func speed(u lab.Unit) bool { return u == lab.PerSecond || u == lab.BytesPerSecond }
