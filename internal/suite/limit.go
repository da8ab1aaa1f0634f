package suite

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// ParseLimit reads a limit of latency as people write it: "p99.9=2ms", or "2ms" of a quantile that the reader names. A
// unit must be there, and "2m", which is minutes elsewhere, is none: taken for what it is not, it would be a limit that
// every load keeps.
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
