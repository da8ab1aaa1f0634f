package counters

import (
	"testing"

	"github.com/headroom/headroom/internal/validity"
)

func TestParseQuota(t *testing.T) {
	for text, want := range map[string]validity.Quota{
		"usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 1234\nnr_throttled 56\nthrottled_usec 7500000\n" +
			"nr_bursts 0\n": {Periods: 1234, Throttled: 56, Seconds: 7.5},
		"nr_periods 10\nnr_throttled 2\nthrottled_time 1500000000\n": {Periods: 10, Throttled: 2, Seconds: 1.5},
		"nr_periods 0\nnr_throttled 0\nthrottled_time 0\n":           {},
	} {
		if got, ok := parseQuota([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "usage_usec 5\nuser_usec 3\n", "nr_periods\n", "nr_periods -1\n"} {
		if got, ok := parseQuota([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func FuzzParseQuota(f *testing.F) {
	f.Add([]byte("nr_periods 1234\nnr_throttled 56\nthrottled_usec 7890123\n"))
	f.Add([]byte("nr_periods 10\nnr_throttled 2\nthrottled_time 1500000000\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if q, _ := parseQuota(data); q.Periods < 0 || q.Throttled < 0 || q.Seconds < 0 {
			t.Errorf("%+v", q)
		}
	})
}
