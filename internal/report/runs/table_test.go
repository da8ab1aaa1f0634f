package runs

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
)

func TestSpread(t *testing.T) {
	merged := 8.0
	for _, test := range []struct {
		m    summary.Metric
		want string
	}{
		{summary.Metric{Center: 100}, ""},
		{summary.Metric{Center: 100, Interval: &stat.Interval{Lo: 99, Hi: 100.5}}, "±1.0%"},
		{summary.Metric{Center: 100, Interval: &stat.Interval{Lo: 100, Hi: 100}}, "±0%"},
		{summary.Metric{Center: 0, Interval: &stat.Interval{Lo: 0, Hi: 1}}, ""},
		{summary.Metric{Center: 5, Interval: &stat.Interval{Lo: 4, Hi: 6}, Merged: &merged}, "±50%"},
		{summary.Metric{Center: 1, Interval: &stat.Interval{Lo: 1, Hi: 14}}, "±13x"},
	} {
		if got := report.SpreadText(&test.m); got != test.want {
			t.Errorf("spread of %+v is %q, want %q", test.m, got, test.want)
		}
	}
}

// A sign is next to the number that it taints, or applies to the whole row.
func TestSignsStandBesideWhatTheyTaint(t *testing.T) {
	s := summarized(t, "measured")
	all := marks(&s)
	for _, r := range rows(&s) {
		whole, of := rowSigns(all, r)
		switch {
		case r.cell.Job == "randwrite-deep":
			if whole != "" || of("write.iops") != "!2" || of("write.latency.p99") != "" {
				t.Errorf("randwrite-deep: row %q, IOPS %q, p99 %q", whole, of("write.iops"), of("write.latency.p99"))
			}
		case r.cell.Job == "read":
			if whole != "!3 !4" || of("read.iops") != "" {
				t.Errorf("read: row %q, IOPS %q", whole, of("read.iops"))
			}
		}
	}
}

func TestRowsTellTheirParameters(t *testing.T) {
	s := summary.Run{Cells: []summary.Cell{
		{Job: "randread", Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "32", "numjobs": "1",
			"size": "1g"}},
		{Job: "mix", Params: map[string]string{"rw": "randrw", "rwmixread": "70", "bs": "8k", "ioengine": "libaio"}},
		{Job: "mix", Params: map[string]string{"rw": "randrw", "rwmixread": "70", "bs": "8k", "ioengine": "io_uring"}},
		{Job: "log", Params: map[string]string{"rw": "write", "bs": "4k", "fsync": "1"},
			Levels: map[string]string{"cache": "off"}},
	}}
	want := []string{"randread", "mix randrw 70%r 8k ioengine=libaio", "mix randrw 70%r 8k ioengine=io_uring",
		"log"}
	for i, r := range rows(&s) {
		if r.name != want[i] || !strings.HasSuffix(r.name, r.params) && r.name != r.cell.Job {
			t.Errorf("%q, want %q", r.name, want[i])
		}
	}
}
