package fio

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// The log of fio 3.33 for a load of 2000 I/Os a second that was stopped for 0.73 s and then caught up.
const stoppedLog = `1795411731184, 1980, 0, 0, 0
1795411731284, 2030, 0, 0, 0
1795411731384, 2000, 0, 0, 0
1795411732160, 125, 0, 0, 0
1795411732260, 15990, 0, 0, 0
1795411732360, 2570, 0, 0, 0
1795411732461, 1970, 0, 0, 0
`

func fineOf(t *testing.T, log, quantity string) (lab.Series, time.Time) {
	t.Helper()
	samples, err := ParseLog(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	s, start, ok := Fine(samples, quantity, 100*time.Millisecond)
	if !ok {
		t.Fatal("no series")
	}
	return s, start
}

func TestFineShowsAStall(t *testing.T) {
	s, start := fineOf(t, stoppedLog, "iops")
	if start.UnixMilli() != 1795411731084 || s.Interval != 0.1 || len(s.Values) != 13 {
		t.Fatalf("%v, %+v", start.UnixMilli(), s)
	}
	idle := 0
	for i, v := range s.Values {
		if v < 20 {
			idle++
		}
		if i < 3 && math.Abs(v/2000-1) > 0.02 {
			t.Errorf("step %d: %g", i, v)
		}
	}
	if idle != 6 || s.Values[11] < 10000 && s.Values[10] < 10000 {
		t.Errorf("%d idle steps of %v", idle, s.Values)
	}
}

// Directions and jobs are added, and a late thread costs no step.
func TestFineAddsUp(t *testing.T) {
	s, _ := fineOf(t, "1000100, 10, 0, 0\n1000100, 20, 1, 0\n1000260, 10, 0, 0\n1000200, 20, 1, 0\n1000300, 10, 0, "+
		"0\n1000300, 20, 1, 0\n1000100, 5, 0, 0\n1000200, 5, 0, 0\n1000300, 5, 0, 0\n", "iops")
	if len(s.Values) != 3 {
		t.Fatalf("%+v", s)
	}
	for i, v := range s.Values {
		if math.Abs(v-35) > 1e-9 {
			t.Errorf("step %d: %g, not 35", i, v)
		}
	}
	if s, _ := fineOf(t, "1000100, 10, 0, 0\n", "bandwidth"); s.Values[0] != 10240 {
		t.Errorf("%+v", s)
	}
}

func FuzzFine(f *testing.F) {
	f.Add(stoppedLog)
	f.Add("1000100, 10, 0, 0\n4398046511103, 1, 2, 0\n")
	f.Fuzz(func(t *testing.T, log string) {
		samples, err := ParseLog(strings.NewReader(log))
		if err != nil {
			return
		}
		s, _, ok := Fine(samples, "iops", 100*time.Millisecond)
		for _, v := range s.Values {
			if ok && (v < 0 || math.IsNaN(v)) {
				t.Errorf("%g of %q", v, log)
			}
		}
	})
}
