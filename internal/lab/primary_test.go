package lab

import (
	"slices"
	"strings"
	"testing"
)

func TestPrimary(t *testing.T) {
	for _, c := range []struct {
		load     string
		params   string
		measured string
		want     string
	}{
		{"reads", "rw=randread", "read.iops read.bandwidth read.latency.mean cpu.user elapsed", "read.iops"},
		{"a mix", "rw=randrw", "read.iops write.iops read.latency.mean", "read.iops write.iops"},
		{"writes with flushes", "fsync=1", "write.iops write.latency.mean sync.latency.mean", "write.iops"},
		{"flushes alone", "", "sync.latency.mean sync.latency.p99", "sync.latency.mean"},
		{"a rate", "rate_iops=500", "read.iops read.latency.mean write.iops write.latency.mean",
			"read.latency.mean write.latency.mean"},
		{"a rate of writes", "rate=,1m", "read.iops read.latency.mean write.iops write.latency.mean",
			"read.iops write.latency.mean"},
		{"a rate of reads", "rate=1m,", "read.iops read.latency.mean write.iops write.latency.mean",
			"read.latency.mean write.iops"},
		{"a rate of none", "rate=0 thinktime=0us", "read.iops read.latency.mean", "read.iops"},
		{"pauses", "thinktime=10ms", "read.iops read.latency.mean", "read.latency.mean"},
		{"a rate of reads and writes as one", "rate_iops=500,", "mixed.iops mixed.latency.mean", "mixed.latency.mean"},
		{"a rate without latencies", "rate_iops=500", "read.iops", "read.iops"},
		{"bandwidth alone", "", "write.bandwidth", "write.bandwidth"},
		{"time alone", "", "elapsed cpu.user", "elapsed"},
		{"nothing", "rw=read", "", ""},
	} {
		params, measured := map[string]string{}, map[string]float64{}
		for p := range strings.FieldsSeq(c.params) {
			name, value, _ := strings.Cut(p, "=")
			params[name] = value
		}
		for m := range strings.FieldsSeq(c.measured) {
			measured[m] = 1
		}
		if got := Primary(params, measured); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s: %v, want %s", c.load, got, c.want)
		}
	}
}
