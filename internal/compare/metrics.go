package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// largeBlock is the block size from which on people read bandwidth; the same as reports take.
const largeBlock = 64 << 10

// metricsOf are the metrics that a pair of cells is compared by.
//
// By default they are the primary ones (lab.Primary), with bandwidth for IOPS where blocks are large, with p99 beside a
// mean latency, and with the latency of flushes where the load flushes. Asked are names, with a trailing * for all that
// begin so; then these are all.
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

// MetricsOf are the metrics that any of the runs has.
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

// Matches says whether a metric is meant by a name, which may end in * for all that begin so.
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

// speed says whether a metric is one that people call fast and slow; others are better and worse.
func speed(u lab.Unit) bool { return u == lab.PerSecond || u == lab.BytesPerSecond }
