package lab

import (
	"strings"
	"testing"
)

func TestFindMetrics(t *testing.T) {
	for name, want := range map[string]string{
		"read.iops":              "DIRECTION.iops",
		"READ.IOPS":              "DIRECTION.iops",
		"direction.latency.part": "DIRECTION.latency.PART",
		"sync.latency.p99.9":     "DIRECTION.latency.PART",
		"p99":                    "DIRECTION.latency.PART",
		"mean":                   "DIRECTION.latency.PART DIRECTION.submit_latency.mean",
		"bandwidth":              "DIRECTION.bandwidth",
		"per_io":                 "cpu.per_io host_cpu.per_io energy.per_io",
		"request.rate":           "request.rate",
		"rate":                   "DIRECTION.rate request.rate",
		"sync.bandwidth":         "",
		"read":                   "",
		"event":                  "",
		"":                       "",
	} {
		var found []string
		for _, kind := range FindMetrics(name) {
			found = append(found, kind.Name)
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// All metrics of a kind share what is said of the kind, and no metric is of two.
func TestMetricTextsAreKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range MetricTexts() {
		if kind.What == "" || strings.HasSuffix(kind.What, ".") {
			t.Errorf("%s is described as %q", kind.Name, kind.What)
		}
		for _, name := range kind.Names() {
			if Metric(name) != kind.Info() || seen[name] {
				t.Errorf("%s is %v and its kind %v; described before: %v", name, Metric(name), kind.Info(), seen[name])
			}
			seen[name] = true
		}
	}
}
