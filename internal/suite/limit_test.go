package suite

import "testing"

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]struct {
		quantile string
		seconds  float64
	}{
		"2ms": {"", 0.002}, "500us": {"", 0.0005}, "1.5s": {"", 1.5}, "p99=2ms": {"p99", 0.002},
		"p99.99 = 10 MS": {"p99.99", 0.01}, "p50=100us": {"p50", 1e-4},
	} {
		quantile, seconds, err := ParseLimit(text)
		if err != nil || quantile != want.quantile || seconds != want.seconds {
			t.Errorf("%q: %q within %v, %v", text, quantile, seconds, err)
		}
	}
	for text, want := range map[string]string{
		"":         `"" is no latency; write 2ms, 500us or p99.9=2ms`,
		"2":        `"2" is no latency; write 2ms, 500us or p99.9=2ms`,
		"2m":       `"2m" is no latency; write 2ms, 500us or p99.9=2ms`,
		"0ms":      `"0ms" is no latency; write 2ms, 500us or p99.9=2ms`,
		"-2ms":     `"-2ms" is no latency; write 2ms, 500us or p99.9=2ms`,
		"p99":      `"p99" is no latency; write 2ms, 500us or p99.9=2ms`,
		"p99=":     `"p99=" is no latency; write 2ms, 500us or p99.9=2ms`,
		"p98=2ms":  `"p98" is no quantile of latency; those that are measured are p50, p90, p95, p99, p99.9, p99.99`,
		"mean=2ms": `"mean" is no quantile of latency; those that are measured are p50, p90, p95, p99, p99.9, p99.99`,
		"=2ms":     `"" is no quantile of latency; those that are measured are p50, p90, p95, p99, p99.9, p99.99`,
	} {
		if quantile, seconds, err := ParseLimit(text); err == nil || err.Error() != want {
			t.Errorf("%q: %q within %v, %v", text, quantile, seconds, err)
		}
	}
}
