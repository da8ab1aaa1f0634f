package compare

import (
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

// fioChange is a version of fio from which on it measures or does something else, so that numbers from before and after
// it are not of one kind.
type fioChange struct {
	major, minor int
	// Param and value that the load must have for it to matter; empty for any.
	param, value string
	// Metrics concerned; a trailing * stands for all that begin so.
	metrics []string
	// below is the value under which it matters; 0 for any.
	below float64
	what  string
	// Source where fio's authors say so.
	source string
}

// coarse is the latency below which whole microseconds are coarser than a percent.
const coarse = 100e-6

// fioChanges are those that are known.
func fioChanges() []fioChange {
	latencies := []string{"read.latency.*", "write.latency.*", "trim.latency.*", "mixed.latency.*"}
	return []fioChange{
		{major: 3, minor: 0, metrics: latencies, below: coarse,
			what:   "before fio 3.0 latency is counted in whole microseconds",
			source: "https://github.com/axboe/fio/pull/387"},
		{major: 3, minor: 18, param: "lat_percentiles", value: "1", metrics: latencies,
			what: "before fio 3.18 lat_percentiles=1 replaces the percentiles of completion latency by those of " +
				"total latency",
			source: "https://github.com/axboe/fio/pull/920"},
		{major: 3, minor: 26, param: "openfiles", metrics: []string{"*"},
			what:   "before fio 3.26 openfiles could keep a load on one file of many",
			source: "https://github.com/axboe/fio/issues/1553"},
	}
}

// versionReason says that a break of fio lies between the versions of the two sides.
func versionReason(m match, base, next string, metric string, values [2]float64) (Reason, bool) {
	for _, b := range fioChanges() {
		beforeA, okA := b.before(base)
		beforeB, okB := b.before(next)
		if !okA || !okB || beforeA == beforeB || !b.concerns(m, metric, values) {
			continue
		}
		versions := Pair{Name: "fio", Base: bare(base), New: bare(next)}
		return Reason{Code: "fio-version", Text: b.what + " (" + b.source + ")", Items: []Pair{versions}}, true
	}
	return Reason{}, false
}

func (b fioChange) before(version string) (before, known bool) {
	major, minor, ok := fio.Version(version)
	return major < b.major || major == b.major && minor < b.minor, ok
}

func (b fioChange) concerns(m match, metric string, values [2]float64) bool {
	if !(lab.Warning{Taints: b.metrics}).Tainted(metric) {
		return false
	}
	if b.below > 0 && min(values[0], values[1]) >= b.below {
		return false
	}
	if b.param == "" {
		return true
	}
	value, set := load(m.base)[b.param]
	return set && (b.value == "" || normal(value) == b.value)
}

func bare(version string) string { return strings.TrimPrefix(version, "fio-") }

// sizeText of an amount that is known.
func sizeText(bytes int64) string { return unit.Bytes(float64(bytes)) }
