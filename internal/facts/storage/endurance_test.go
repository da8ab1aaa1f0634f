package storage

import (
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestEndurance(t *testing.T) {
	for _, c := range []struct {
		machine, disk string
		used          float64
		written       int64
		rated         int64
		source        string
	}{
		{"epyc", "nvme1n1", 0.15, 1474968593 * 512000, 1474968593 * 512000 * 100 / 16, "nvme smart-log"},
		{"stacked", "sdc", 0.03, 98283747421 * 512, 98283747421 * 512 * 100 / 4, "smartctl"},
	} {
		w := Endurance(t.Context(), factstest.Saved(t, c.machine), c.disk)
		if w.Unknown != "" || w.Used != c.used || w.Written != c.written || math.Abs(float64(w.Rated-c.rated)) > 1 ||
			!strings.HasPrefix(w.Source, c.source) {
			t.Errorf("%s: %+v, rated %d wanted", c.disk, w, c.rated)
		}
	}
	w := Endurance(t.Context(), factstest.Saved(t, "laptop"), "nvme0n1")
	if !strings.Contains(w.Unknown, "can't run nvme") || !strings.Contains(w.Unknown, "can't run smartctl") ||
		w.Rated != 0 {
		t.Errorf("%+v", w)
	}
}

func TestParseWearForms(t *testing.T) {
	for _, c := range []struct {
		text string
		want Wear
	}{
		{`{"percent_used":2,"data_units_written":1.5e9}`, Wear{Used: 0.02, Written: 768e12, Rated: 25600e12}},
		{`{"percent_used":1,"data_units_written":1000}`, Wear{Used: 0.01, Written: 512e6}},
		{`{"percent_used":0}`, Wear{}},
		{`{"percent_used":120,"data_units_written":"1,000"}`, Wear{Used: 1.2, Written: 512e6, Rated: 423140495}},
		{`{"percent_used":255,"data_units_written":1000}`, Wear{Used: 2.55, Written: 512e6}},
		{`{"percent_used":10,"data_units_written":340282366920938463463374607431768211455}`, Wear{Used: 0.1}},
	} {
		if got, err := parseSmartLog([]byte(c.text)); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "{}", "NVMe status: INVALID_FIELD", `{"percent_used":-1}`,
		`{"percent_used":null}`} {
		if w, err := parseSmartLog([]byte(text)); err == nil {
			t.Errorf("%q: %+v", text, w)
		}
	}
	w, err := parseSmartctl([]byte(`{"endurance_used":{"current_percent":7}}`))
	if err != nil || w.Used != 0.07 || w.Written != 0 {
		t.Errorf("%+v, %v", w, err)
	}
}
