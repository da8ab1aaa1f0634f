package compared

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
)

// updated is a history with a run a week, in which a kernel update made random reads slower.
func updated(t *testing.T) history.Document {
	t.Helper()
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	var runs []history.Run
	const update = 11
	for i := range 20 {
		level := func(v, drop float64) []float64 {
			if i >= update {
				v *= drop
			}
			v *= 1 + 0.004*math.Sin(float64(7*i))
			return []float64{v, v * 1.003, v * 0.996}
		}
		runs = append(runs, history.Run{ID: fmt.Sprintf("RUN%02dXXXXX", i), Host: "db1", Target: "local",
			Complete: true, Created: time.Date(2026, 7, 4, 3, 0, 0, 0, time.UTC).AddDate(0, 0, 7*i),
			Place: lab.Place{Kind: lab.Device, Path: "/dev/nvme1n1"},
			Cells: []history.Cell{
				{Job: "randread", Params: map[string]string{"bs": "4k", "iodepth": "128"},
					Values: map[string][]float64{"read.iops": level(1.7e6, 0.93)}},
				{Job: "mixed", Params: map[string]string{"bs": "16k", "iodepth": "8", "rw": "randrw"},
					Values: map[string][]float64{"read.iops": level(70e3, 0.9), "write.iops": level(30e3, 1)}},
			}})
		if i == 5 {
			runs[i].Cells[1].Warnings.AddRepetition([]lab.Warning{{Code: "busy", Taints: []string{"*"}}})
		}
	}
	facts := func(run string) ([]lab.Fact, error) {
		kernel := "6.12.9"
		if run < runs[update].ID {
			kernel = "6.1.0-38"
		}
		return []lab.Fact{{Key: "host.name", Value: "db1"}, {Key: "kernel.release", Value: kernel}}, nil
	}
	d, err := history.Analyze("nvme", runs, facts, knowledge, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// oddHistory has data that is difficult to draw: two machines, of which one has one run, and one three within a day,
// with a lone point, a rise by 5,000%, zeros, an interval far beyond its points, and long names.
func oddHistory() history.Document {
	at := func(hour, minute int) time.Time { return time.Date(2026, 10, 3, hour, minute, 0, 0, time.UTC) }
	runs := []history.RunInfo{{ID: "AAAA", Created: at(10, 5), Complete: true}, {ID: "BBBB", Created: at(11, 30),
		Complete: true}, {ID: "CCCC", Created: at(13, 55), Complete: true}}
	points := func(values ...float64) []history.Point {
		var out []history.Point
		for i, v := range values {
			out = append(out, history.Point{Run: runs[len(runs)-len(values)+i].ID, Center: v,
				Bounds: stat.BoundsOf(0.97*v, 1.04*v), N: 3})
		}
		return out
	}
	track := func(name, metric string, u lab.Unit, p []history.Point) history.Track {
		return history.Track{Name: name, Job: name, Metric: metric, Unit: u, Better: lab.Higher, Points: p,
			Newest: history.Newest{Run: "CCCC", Verdict: history.None, Why: "as before"}}
	}
	rise := track("rise 4k q1", "write.iops", lab.PerSecond, points(1000, 1010, 51000))
	lo, hi := 48.0, 53.0
	rise.Changes = []history.Change{{Run: "CCCC", Before: "BBBB", Index: 2, From: 1005, To: 51000, Verdict: "better",
		P: 0.0001, Likely: true,
		RatioEstimate: stat.RatioEstimate{Ratio: 51, Bounds: stat.BoundsOf(lo, hi), Confidence: 0.95}}}
	wide := track("wide 4k q1", "read.latency.mean", lab.Seconds, points(95e-6, 99e-6, 97e-6))
	far, low := 0.9, 1e-6
	wide.Points[1].Hi, wide.Points[1].Lo, wide.Points[1].Warnings = &far, &low, []string{"busy"}
	alone := track("alone 1m q8", "read.bandwidth", lab.BytesPerSecond, points(3<<30))
	long := track(strings.Repeat("randread-of-a-long-name-", 8)+" 4k q32", "read.iops", lab.PerSecond,
		points(1.58e6, 1.57e6, 1.6e6))
	wide.Rhythm = &history.Rhythm{Period: 7, Ratio: 0.949}
	lower, upper := 0.84, 0.86
	wide.Modes = &history.Modes{Upper: 1, Switches: 2,
		RatioEstimate: stat.RatioEstimate{Ratio: 0.85, Bounds: stat.BoundsOf(lower, upper), Confidence: 0.95}}
	zero := track("zero 4k q1", "write.iops", lab.PerSecond, points(0, 0, 0))
	one := track("randread 4k q32", "read.iops", lab.PerSecond, points(64.2e3))
	one.Newest.Verdict, one.Newest.Why = history.Undecided, "no run before it at this level; it takes 3"
	return history.Document{Suite: "odd", Alpha: 0.05, Margin: 0.03, Verdict: history.Undecided,
		Series: []history.Series{
			{Host: "db1", Target: "local", Place: lab.Place{Kind: lab.Directory, Path: "/srv"}, Runs: runs,
				Cells: []history.Track{rise, wide, alone, long, zero}, Verdict: history.None, FewestAfter: 5,
				FarAfter: 4.33,
				Events: []history.Event{{Run: "CCCC", Before: "BBBB", Created: at(13, 55), Cells: []int{0},
					Unknown: "nothing is known of the machine of these runs"}}},
			{Host: "db2", Target: "ssh://db2", Runs: runs[2:], Cells: []history.Track{one},
				Verdict: history.Undecided},
		}}
}

// ofCells is a history with a number of cells.
func ofCells(t *testing.T, cells int) history.Document {
	d := updated(t)
	s := &d.Series[0]
	for i := len(s.Cells); i < cells; i++ {
		c := s.Cells[i%3]
		c.Name += " " + strconv.Itoa(i)
		s.Cells = append(s.Cells, c)
	}
	return d
}

// A page opens with the first pictures and folds the others; a lone point is a line of text.
func TestPagesFoldPlots(t *testing.T) {
	var b strings.Builder
	if err := render.Page(&b, History(ofCells(t, 200), report.Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	open, folded, found := strings.Cut(b.String(), "<summary>188 more</summary>")
	if n := strings.Count(open, "<figure>"); n != 12 || !found || strings.Count(folded, "<figure>") != 188 {
		t.Errorf("%d pictures are open, others folded: %v", n, found)
	}
	if b.Len() > 3<<20 {
		t.Errorf("the page has %d bytes", b.Len())
	}
	b.Reset()
	if err := render.Page(&b, History(oddHistory(), report.Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<p class="alone"><b>randread 4k q32</b> 64.2k IOPS`,
		`<p class="alone"><b>alone 1m q8</b> 3.00 GiB/s`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s", want)
		}
	}
}

// A file for programs has each point once, by time and in base units, and codes of warnings.
func TestPointsInCSV(t *testing.T) {
	var b strings.Builder
	if err := render.CSV(&b, History(updated(t), report.Options{}), render.Options{}); err != nil {
		t.Fatal(err)
	}
	want := "mixed 16k q8 write,6,RUN05XXXXX 2026-08-08T03:00:00Z,write IOPS,1/s,"
	if n := strings.Count(b.String(), want); n != 1 {
		t.Errorf("%d lines %s in\n%s", n, want, b.String())
	}
	line := b.String()[strings.Index(b.String(), want):]
	if line, _, _ = strings.Cut(line, "\n"); !strings.HasSuffix(strings.TrimSpace(line), ",busy") {
		t.Error(line)
	}
}

// A margin from a saved file can be too small to separate two ends of a scale, and values can all be equal.
func TestSparklineOfAnyMargin(t *testing.T) {
	for _, centers := range [][]float64{{1000, 1000, 1000}, {1000, 1001, 1500}, {0, 0}, {1000}, {0, 5},
		{1e-300, 1e300}} {
		var track history.Track
		for _, c := range centers {
			track.Points = append(track.Points, history.Point{Center: c})
		}
		for _, margin := range []float64{0, 1e-300, 1e-17, 1e-6, 0.03, 0.999999} {
			if line := sparkline(track, nil, 40, margin); len([]rune(line)) != len(centers) {
				t.Errorf("%v at a margin of %g: %q", centers, margin, line)
			}
		}
	}
}
