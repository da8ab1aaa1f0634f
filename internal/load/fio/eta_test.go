package fio

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func TestParseETA(t *testing.T) {
	for line, want := range map[string]ETA{
		"Jobs: 1 (f=1): [r(1)][40.0%][r=1024MiB/s][r=262k IOPS][eta 00m:03s]": {Known: true,
			Left: 3 * time.Second, IOPS: map[string]float64{lab.Read: 262e3},
			Bandwidth: map[string]float64{lab.Read: 1 << 30}},
		"Jobs: 2 (f=2), 0-6000 IOPS: [m(2)][-.-%][r=15.6MiB/s,w=8000KiB/s][r=4002,w=2000 IOPS][eta 00m:00s]": {
			IOPS:      map[string]float64{lab.Read: 4002, lab.Write: 2000},
			Bandwidth: map[string]float64{lab.Read: 15.6 * (1 << 20), lab.Write: 8000 << 10}},
		"Jobs: 1 (f=1): [X(1),w(1)][75.0%][w=11.9GiB/s][w=3121k IOPS][eta 01d:02h:03m:04s]": {Known: true,
			Left: 26*time.Hour + 3*time.Minute + 4*time.Second,
			IOPS: map[string]float64{lab.Write: 3121e3}, Bandwidth: map[string]float64{lab.Write: 11.9 * (1 << 30)}},
		"Jobs: 4 (f=4): [r(4)] [66.7% done] [258.1MB/0KB/0KB /s] [66.1K/0/0 iops] [eta 00m:01s]": {Known: true,
			Left: time.Second, IOPS: map[string]float64{lab.Read: 66.1e3},
			Bandwidth: map[string]float64{lab.Read: 258.1 * (1 << 20)}},
		"Jobs: 2 (f=0)":                      {},
		"Jobs: 1 (f=1): [F(1)][eta 00m:00s]": {},
	} {
		if want.IOPS == nil {
			want.IOPS, want.Bandwidth = map[string]float64{}, map[string]float64{}
		}
		got, ok := ParseETA(line)
		if !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v", line, got, want)
		}
	}
	for _, line := range []string{"", "Jobs:", "Starting 1 process", "fio: Jobs: 1 (f=1)", "{"} {
		if _, ok := ParseETA(line); ok {
			t.Errorf("%q is taken for a status line", line)
		}
	}
}

func TestLastETA(t *testing.T) {
	for _, file := range fixtures(t, "eta") {
		data := read(t, file)
		e, ok := LastETA(data)
		if !ok || !e.Known || e.IOPS[lab.Read] != 3996 || e.IOPS[lab.Write] != 1998 {
			t.Errorf("%s: %+v %v", file, e, ok)
		}
		// While the last line is being written, the one before it counts.
		cut := data[:bytes.LastIndex(data, []byte("[eta"))]
		if e, ok := LastETA(cut); !ok || e.IOPS[lab.Read] != 4002 {
			t.Errorf("%s, cut: %+v %v", file, e, ok)
		}
	}
	if _, ok := LastETA([]byte("Jobs: 1 (f=1)")); ok {
		t.Error("a line that is not closed counts")
	}
}
