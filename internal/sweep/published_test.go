package sweep

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/stat"
)

// published are the tables of the IOThreads report: threads and gains in percent by size, operation, jobs and depth;
// "total" is over the operations.
func published(t *testing.T) (smallest, gain map[string]float64) {
	t.Helper()
	m, err := reference.BuiltInScores("iothreads-report")
	if err != nil {
		t.Fatal(err)
	}
	smallest, gain = map[string]float64{}, map[string]float64{}
	for _, row := range m.Rows {
		key := fmt.Sprint([]string{row.Params["bs"], row.Params["rw"], row.Params["numjobs"], row.Params["iodepth"]})
		gain[key] = math.Round(100 * row.Gain)
		if smallest[key], err = strconv.ParseFloat(row.Smallest, 64); err != nil {
			t.Fatal(err)
		}
	}
	if len(gain) != 4*5*9 || m.Factor != "guest:iothreads" || m.Share != 0.9 {
		t.Fatalf("%d loads, %s, %g", len(gain), m.Factor, m.Share)
	}
	return smallest, gain
}

// From the report's cells come its totals: all 36 of threads exactly, all 36 of gains but for one point, since the
// cells that they are made of here are rounded and the report's were not.
func TestTotalsOfTheIOThreadsReport(t *testing.T) {
	smallest, gain := published(t)
	var levels []Level
	for _, n := range []string{"0", "1", "2", "3", "4", "6", "8", "12", "16"} {
		levels = append(levels, Level{Name: n, Number: numberOf(n)})
	}
	var cells []Cell
	for _, size := range []string{"2048", "4096", "32768", "1048576"} {
		for _, op := range []string{"randread", "randwrite", "read", "write"} {
			for _, jobs := range []string{"1", "4", "16"} {
				for _, depth := range []string{"1", "4", "16"} {
					key := fmt.Sprint([]string{size, op, jobs, depth})
					cells = append(cells, Cell{Job: op, Params: map[string]string{"rw": op, "bs": size, "numjobs": jobs,
						"iodepth": depth},
						SmallestForShare: strconv.Itoa(int(smallest[key])),
						Gain:             &Ratio{RatioEstimate: stat.RatioEstimate{Ratio: 1 + gain[key]/100}}})
				}
			}
		}
	}
	all := totals(levels, cells, operation)
	if len(all) != 36 {
		t.Fatalf("%d totals", len(all))
	}
	var differ []string
	for _, g := range all {
		if g.Cells != 4 || g.Recommended != nil {
			t.Errorf("%v: %d cells", g.Params, g.Cells)
		}
		key := fmt.Sprint([]string{g.Params["bs"], "total", g.Params["numjobs"], g.Params["iodepth"]})
		if *g.SmallestForShare != smallest[key] {
			t.Errorf("%v: %g threads (mean %g), printed %g", g.Params, *g.SmallestForShare, *g.SmallestMean,
				smallest[key])
		}
		percent := halfUp(100 * *g.Gain)
		switch off := math.Abs(percent - gain[key]); {
		case off > 1:
			t.Errorf("%v: gain %g%%, printed %g%%", g.Params, percent, gain[key])
		case off == 1:
			differ = append(differ, fmt.Sprintf("%s x%s q%s: %.2f, printed %g", g.Params["bs"], g.Params["numjobs"],
				g.Params["iodepth"], 100**g.Gain, gain[key]))
		}
	}
	want := differing()
	if !slices.Equal(differ, want) {
		t.Errorf("gains that differ:\n%q\nwant\n%q", differ, want)
	}
}

// differing are the nine totals of the report's gains that are one point away from what comes of its printed cells: a
// mean of four rounded cells is up to half a point off.
func differing() []string {
	return []string{
		"2048 x4 q1: 97.50, printed 97",
		"2048 x4 q16: 141.50, printed 141",
		"4096 x1 q1: 60.50, printed 60",
		"4096 x4 q1: 87.50, printed 87",
		"4096 x16 q4: 346.50, printed 346",
		"32768 x1 q4: 53.75, printed 53",
		"32768 x16 q1: 143.50, printed 143",
		"1048576 x1 q1: 11.50, printed 11",
		"1048576 x16 q16: 0.50, printed 0",
	}
}
