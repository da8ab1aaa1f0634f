package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// A server that takes 100 µs for an operation, one at a time (M/M/1): mean latency is 1/(10000-rate), the 99th
// percentile 4.6 times that, and rate over mean latency is the highest at half of what it can do.
func queue(r *rand.Rand, blocks int, offered ...float64) []Measured {
	var out []Measured
	for b := 1; b <= blocks; b++ {
		for level, rate := range offered {
			reached := min(rate, 9900)
			mean := 1 / (10000 - reached) * math.Exp(0.02*r.NormFloat64())
			out = append(out, Measured{Level: level, Cell: "open", Block: b, Values: map[string]float64{
				"read.iops": reached, "read.latency.mean": mean, "read.latency.p99": math.Log(100) * mean}})
		}
	}
	return out
}

func TestLoadCurve(t *testing.T) {
	offered := []float64{1000, 2000, 4000, 5000, 6000, 8000, 9000, 20000}
	in := Input{Factor: "job:rate_iops", Cells: []CellInput{cellOf("open", "numjobs", "2")},
		Settings: Settings{Limit: 1.5e-3}}
	for _, v := range offered {
		in.Levels = append(in.Levels, Arm{Name: fmt.Sprint(v / 2)})
	}
	in.Measured = queue(rand.New(rand.NewPCG(1, 1)), 8, offered...)
	d := Analyze(in)
	if len(d.Cells) != 0 || d.Recommended != nil || len(d.Curves) != 1 {
		t.Fatalf("how much is asked for is no merit: %+v", d)
	}
	c := d.Curves[0]
	if c.Direction != lab.Read || len(c.Points) != len(offered) || *c.Points[2].Offered != 4000 ||
		!*c.Points[6].KeptUp || *c.Points[7].KeptUp {
		t.Errorf("points %+v", c.Points)
	}
	// 6000 takes 1.15 ms at the 99th percentile, 8000 2.3 ms.
	if l := c.Limit; l.Level != "3000" || l.Between != (Between{"3000", "3000"}) ||
		math.Abs(l.Reached.Value-6000) > 1e-6 || len(l.Exceeding) != 0 {
		t.Errorf("limit %+v", c.Limit)
	}
	if k := c.Knee; !slices.Contains(k.Set, "2500") || !k.Distinguishable || slices.Contains(k.Set, "500") ||
		slices.Contains(k.Set, "10000") {
		t.Errorf("knee %+v", c.Knee)
	}
	in.Settings.Limit = 1e-6
	if l := Analyze(in).Curves[0].Limit; l.Level != "" || l.Reached != nil || l.Between != (Between{}) {
		t.Errorf("a limit that nothing keeps: %+v", l)
	}
	if l := Analyze(Input{Factor: "sysctl:x", Levels: in.Levels, Cells: in.Cells, Measured: in.Measured}); l.Curves !=
		nil {
		t.Error("a curve over a setting that is no load")
	}
}

// Depth is load and a choice: it has figures of merit and a curve.
func TestDepthHasBoth(t *testing.T) {
	in := Input{Factor: "job:iodepth", Levels: threads("1", "4", "16"), Cells: []CellInput{cellOf("a")}}
	for b := 1; b <= 3; b++ {
		for level, rate := range []float64{100, 350, 400} {
			depth := []float64{1, 4, 16}[level]
			in.Measured = append(in.Measured, Measured{Level: level, Cell: "a", Block: b, Values: map[string]float64{
				"write.iops": rate + float64(b), "write.latency.mean": depth / rate,
				"write.latency.p99": 3 * depth / rate}})
		}
	}
	d := Analyze(in)
	if len(d.Cells) != 1 || d.Cells[0].SmallestForShare != "16" || len(d.Curves) != 1 ||
		d.Curves[0].Knee.Level != "4" || d.Curves[0].Points[0].Offered != nil {
		t.Errorf("%+v", d)
	}
}
