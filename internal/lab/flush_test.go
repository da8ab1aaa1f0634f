package lab

import (
	"math"
	"testing"
)

func TestFlushShare(t *testing.T) {
	consumer := map[string]float64{"sync.latency.mean": 1608.24e-6, "write.latency.mean": 20.44e-6,
		"write.submit_latency.mean": 4.03e-6}
	for name, c := range map[string]struct {
		params map[string]string
		values map[string]float64
		share  float64
		known  bool
	}{
		"each write":        {map[string]string{"fsync": "1"}, consumer, 0.985, true},
		"each hundredth":    {map[string]string{"fdatasync": "100"}, consumer, 0.397, true},
		"never":             {map[string]string{"fsync": "0"}, consumer, 0, false},
		"not said":          {nil, consumer, 0, false},
		"flushes not timed": {map[string]string{"fsync": "1"}, map[string]float64{"write.latency.mean": 1}, 0, false},
	} {
		share, known := FlushShare(c.params, func(metric string) (float64, bool) {
			v, ok := c.values[metric]
			return v, ok
		})
		if known != c.known || math.Abs(share-c.share) > 0.0005 {
			t.Errorf("%s: %g, %v", name, share, known)
		}
	}
}
