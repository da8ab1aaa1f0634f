package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// ParseLimit reads a latency limit as people write it: "p99.9=2ms", or "2ms" if the reader chooses the quantile. The
// unit is required. "2m" means minutes elsewhere and is refused: read as minutes it would be a limit that every load
// meets.
func ParseLimit(text string) (quantile string, seconds float64, err error) {
	quantile, latency, named := strings.Cut(text, "=")
	if !named {
		quantile, latency = "", text
	}
	latency = strings.ToLower(strings.TrimSpace(latency))
	d, failed := unit.ParseDuration(latency)
	if failed != nil || d <= 0 || !strings.HasSuffix(latency, "s") {
		return "", 0, fmt.Errorf("%q is no latency; write 2ms, 500us or p99.9=2ms", text)
	}
	quantile = strings.TrimSpace(quantile)
	known := quantileNames()
	if named && !slices.Contains(known, quantile) {
		return "", 0, fmt.Errorf("%q is no quantile of latency; those that are measured are %s", quantile,
			strings.Join(known, ", "))
	}
	return quantile, d.Seconds(), nil
}

func quantileNames() []string {
	var names []string
	for _, q := range lab.Quantiles() {
		names = append(names, q.Name)
	}
	return names
}
