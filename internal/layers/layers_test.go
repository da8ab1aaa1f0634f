package layers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func stack() []Layer {
	return []Layer{{Name: "disk"}, {Name: "volume"}, {Name: "crypt"}, {Name: "files"}}
}

func oneAtATime() Cell {
	return Cell{Title: "randread 4k q1", Cell: lab.Cell{ID: "randread", Job: "randread",
		Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "1"}}}
}

// measure simulates blocks over the layers: each adds something to the one below, and blocks differ by far more than
// layers do.
func measure(r *rand.Rand, added []float64, blocks int) []Measured {
	var all []Measured
	for b := 1; b <= blocks; b++ {
		level := 100e-6 * math.Exp(0.3*r.NormFloat64())
		for layer, a := range added {
			level += a
			mean := level + 0.5e-6*r.NormFloat64()
			all = append(all, Measured{Layer: layer, Cell: "randread", Block: b,
				Values: map[string]float64{"read.latency.mean": mean, "read.latency.p99": 3 * mean,
					"cpu.per_io": 2e-6}})
		}
	}
	return all
}

func TestWhatALayerAddsIsFoundAtIt(t *testing.T) {
	added := []float64{0, 2e-6, 30e-6, 5e-6}
	d := Compare(stack(), []Cell{oneAtATime()}, measure(rand.New(rand.NewPCG(1, 1)), added, 10), nil, nil)
	found := 0
	for _, s := range d.Steps {
		if s.Metric != "read.latency.mean" {
			continue
		}
		found++
		if s.Layer == 0 {
			if s.Added != nil || s.Ratio != nil {
				t.Errorf("the bottom is compared with something: %+v", s)
			}
			continue
		}
		if math.Abs(s.Added.Value-added[s.Layer]) > 1e-6 || *s.Added.Lo > added[s.Layer] ||
			*s.Added.Hi < added[s.Layer] || s.N != 10 {
			t.Errorf("layer %d adds %+v, want %g", s.Layer, s.Added, added[s.Layer])
		}
	}
	if found != 4 || len(d.Steps) != 4*3 {
		t.Errorf("%d steps, %d of mean latency", len(d.Steps), found)
	}
	if len(d.Sums) != 1 || !d.Sums[0].Agree || math.Abs(d.Sums[0].Parts.Value-37e-6) > 1e-6 ||
		math.Abs(d.Sums[0].Whole.Value-37e-6) > 1e-6 {
		t.Errorf("sums %+v", d.Sums)
	}
}

// Parts and whole come from different blocks, so a machine that changes between them is seen.
func TestASumThatDoesNotAgreeIsSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	wrong, disagree := 0, 0
	const trials = 200
	for range trials {
		all := measure(r, []float64{0, 2e-6, 30e-6, 5e-6}, 10)
		if !Compare(stack(), []Cell{oneAtATime()}, all, nil, nil).Sums[0].Agree {
			wrong++
		}
		for _, m := range all {
			if m.Layer == 3 && m.Block%2 == 0 {
				m.Values["read.latency.mean"] += 5e-6
			}
		}
		if !Compare(stack(), []Cell{oneAtATime()}, all, nil, nil).Sums[0].Agree {
			disagree++
		}
	}
	if wrong > trials/10 || disagree < trials*9/10 {
		t.Errorf("%d of %d honest sums are said not to agree; of those with 5 us more in half of the blocks %d are seen", wrong, trials, disagree)
	}
}

func TestALayerWhoseLoadsFailedIsNotCompared(t *testing.T) {
	var all []Measured
	for _, m := range measure(rand.New(rand.NewPCG(3, 3)), []float64{0, 1e-6, 1e-6, 1e-6}, 4) {
		if m.Layer != 2 {
			all = append(all, m)
		}
	}
	for _, s := range Compare(stack(), []Cell{oneAtATime()}, all, nil, nil).Steps {
		if want := s.Layer == 1; (s.Added != nil) != want {
			t.Errorf("layer %d: %+v", s.Layer, s)
		}
	}
}

// What is printed beside two means is their difference and their ratio, though a layer lacks a pass and means of ratios
// are others than ratios of means.
func TestRatiosAgreeWithTheMeansBesideThem(t *testing.T) {
	var all []Measured
	for _, m := range measure(rand.New(rand.NewPCG(5, 5)), []float64{0, 2e-6, 30e-6, 5e-6}, 6) {
		if m.Layer != 2 || m.Block != 3 {
			all = append(all, m)
		}
	}
	steps := Compare(stack(), []Cell{oneAtATime()}, all, nil, nil).Steps
	for i, s := range steps {
		if s.Layer == 0 {
			continue
		}
		below := steps[i-1]
		if math.Abs(s.Ratio.Value*below.Value/s.Value-1) > 1e-9 ||
			math.Abs((below.Value+s.Added.Value)/s.Value-1) > 1e-9 {
			t.Errorf("%s at layer %d: %g to %g, %g times, %g more", s.Metric, s.Layer, below.Value, s.Value,
				s.Ratio.Value, s.Added.Value)
		}
		if *s.Ratio.Lo > s.Ratio.Value || *s.Ratio.Hi < s.Ratio.Value || *s.Added.Lo > s.Added.Value ||
			*s.Added.Hi < s.Added.Value {
			t.Errorf("%s at layer %d: %+v, %+v", s.Metric, s.Layer, s.Ratio, s.Added)
		}
	}
}

func TestAWarningTaintsItsOwnLayerAndMetrics(t *testing.T) {
	warnings := []LayerWarning{
		{Layer: 1, CellWarning: lab.Warning{Code: "page-cache", Taints: []string{"read.*"}}.In("randread", 2, 4)},
		{Layer: 2, CellWarning: lab.Warning{Code: "memory-backed", Taints: []string{"*"}}.In("", 0, 0)},
		{Layer: 2, CellWarning: lab.Warning{Code: "errors", Taints: []string{"*"}}.In("another", 0, 0)},
		{Layer: 3, CellWarning: NotStacked("files", "crypt").In("", 0, 0)},
	}
	d := Compare(stack(), []Cell{oneAtATime()}, measure(rand.New(rand.NewPCG(4, 4)), []float64{0, 1e-6, 1e-6, 1e-6}, 4),
		warnings, nil)
	for _, s := range d.Steps {
		var want []string
		switch {
		case s.Layer == 1 && s.Metric != "cpu.per_io":
			want = []string{"page-cache"}
		case s.Layer == 2:
			want = []string{"memory-backed"}
		}
		if !slices.Equal(s.Warnings, want) {
			t.Errorf("%s at layer %d: %v, want %v", s.Metric, s.Layer, s.Warnings, want)
		}
	}
	if len(d.Warnings) != len(warnings) || d.Stacked() {
		t.Errorf("warnings %+v, stacked %v", d.Warnings, d.Stacked())
	}
}
