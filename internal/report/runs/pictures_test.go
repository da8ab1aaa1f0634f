package runs

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

func TestBucketsHoldAllOperations(t *testing.T) {
	s := summarized(t, "measured")
	checked := 0
	for _, c := range s.Cells {
		for d, h := range c.Latency {
			checked++
			sum := 0.0
			for _, b := range bucketsOf(h) {
				sum += b.share
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("%s %s: the shares add up to %v", c.Job, d, sum)
			}
		}
	}
	if checked == 0 {
		t.Fatal("the fixture has no bins")
	}
	if got := bucketsOf(lab.Histogram{}); got != nil {
		t.Errorf("buckets of nothing: %v", got)
	}
}

func TestHeatMaps(t *testing.T) {
	var cells []*summary.Cell
	for _, bs := range []string{"1M", "4k"} {
		for _, jobs := range []string{"1", "16", "4"} {
			for _, depth := range []string{"16", "4", "1"} {
				cells = append(cells, &summary.Cell{
					Job: "j", Params: map[string]string{"bs": bs, "numjobs": jobs, "iodepth": depth, "rw": "randread"},
					Metrics: map[string]summary.Metric{
						"read.iops":      {Center: float64(len(cells) + 1), Unit: lab.PerSecond},
						"read.bandwidth": {Center: float64(len(cells)+1) * 1024, Unit: lab.BytesPerSecond},
					},
				})
			}
		}
	}
	maps := heatMaps(cells, nil)
	if len(maps) != 2 {
		t.Fatalf("%d maps, want one a block size", len(maps))
	}
	m := maps[0].(document.Table)
	var titles []string
	for _, c := range m.Columns {
		titles = append(titles, prose.Join(c.Over, c.Title))
	}
	if got := strings.Join(titles, ", "); !m.Map || got != "bs=4k numjobs, iodepth 1, iodepth 4, iodepth 16" {
		t.Errorf("the first map is of %s", got)
	}
	// 4k, 16 jobs, depth 1 was the fifteenth to be made.
	if row := m.Rows[2].Cells; row[0].Text != "16" || row[1].Text != "15" || row[1].Tint != 15.0/18 {
		t.Errorf("the last row is %+v", row)
	}
	if got := heatMaps(cells[:1], nil); got != nil {
		t.Errorf("a job that varies nothing has the maps %+v", got)
	}
	if got := heatMaps(append(cells, cells[0]), nil); got != nil {
		t.Errorf("two arms in one place made the maps %+v", got)
	}
}

// A page with a cell for each combination of a large matrix must be small enough to mail.
func TestPageStaysSmall(t *testing.T) {
	s := summarized(t, "measured")
	c := s.Cells[3]
	s.Cells = nil
	for i := range 150 {
		c.Job = fmt.Sprint("job", i)
		s.Cells = append(s.Cells, c)
	}
	if n := len(written(t, "html", []summary.Run{s}, report.Options{})); n > 3<<20 {
		t.Errorf("the page has %d bytes", n)
	}
}
