package fio

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func TestLogFixtures(t *testing.T) {
	for _, file := range fixtures(t, "log") {
		samples, err := ParseLog(bytes.NewReader(read(t, file)))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if want := bytes.Count(read(t, file), []byte("\n")); len(samples) != want {
			t.Errorf("%s: %d samples of %d lines", file, len(samples), want)
		}
	}
}

func TestSeries(t *testing.T) {
	for _, c := range []struct {
		file, quantity string
		interval       time.Duration
		want           []lab.Series
	}{
		{"fio-3.42-iops.1.log", "iops", 500 * time.Millisecond, []lab.Series{
			{Metric: "write.iops", Interval: 0.5, Values: []float64{18738, 15034, 18268, 17176}},
		}},
		// Two jobs; the second has no sample for the fourth second.
		{"fio-3.33-randrw-jobs2_iops.log", "iops", time.Second, []lab.Series{
			{Metric: "read.iops", Interval: 1, Values: []float64{4003, 4002, 4002}},
			{Metric: "write.iops", Interval: 1, Values: []float64{2002, 2001, 2001}},
		}},
		{"fio-3.33-randrw-jobs2_bw.log", "bandwidth", time.Second, []lab.Series{
			{Metric: "read.bandwidth", Interval: 1, Values: []float64{16012 * 1024, 16008 * 1024, 16008 * 1024}},
			{Metric: "write.bandwidth", Interval: 1, Values: []float64{8008 * 1024, 8004 * 1024, 8004 * 1024}},
		}},
	} {
		samples, err := ParseLog(bytes.NewReader(read(t, "testdata/log/"+c.file)))
		if err != nil {
			t.Fatal(err)
		}
		if got := Series(samples, c.quantity, c.interval); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %v\nwant %v", c.file, got, c.want)
		}
	}
}

func TestSeriesShowsStalls(t *testing.T) {
	samples, err := ParseLog(strings.NewReader("1000, 500, 0, 0, 0\n4001, 400, 0, 0, 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := Series(samples, "iops", time.Second)
	if len(got) != 1 || !reflect.DeepEqual(got[0].Values, []float64{500, 0, 0, 400}) {
		t.Errorf("got %v", got)
	}
}

func TestParseLogErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1000, 5, 0, 0\nhello\n":             `line 2 of fio's log can't be read: "hello" has 1 columns, not the 4 or more of a log`,
		"x, 5, 0, 0\n":                       `line 1 of fio's log can't be read: "x" is not a time in milliseconds`,
		"1, NaN, 0, 0\n":                     `line 1 of fio's log can't be read: "NaN" is not a value`,
		"1, 5, 7, 0\n":                       `line 1 of fio's log can't be read: "7" is not a direction (0, 1 or 2)`,
		"99999999999999999999999, 5, 0, 0\n": `line 1 of fio's log can't be read: "99999999999999999999999" is not a time in milliseconds`,
		"1, -5, 0, 0\n":                      `line 1 of fio's log can't be read: "-5" is not a value`,
	} {
		if _, err := ParseLog(strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
	// fio was killed while it wrote.
	samples, err := ParseLog(strings.NewReader("1000, 5, 0, 0\n2000, 6"))
	if err != nil || len(samples) != 1 {
		t.Errorf("%d samples, %v", len(samples), err)
	}
}
