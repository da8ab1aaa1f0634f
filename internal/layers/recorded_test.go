package layers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// Layers that add nothing, measured one after the other on disks that were recorded or have a rhythm: what a layer adds
// has an interval, and few of many leave nothing out. There are three for each survey, each of 95% confidence. The
// answer of a survey names a layer by all three together.
func TestLayersThatAddNothingOnRecordedDisks(t *testing.T) {
	models, err := noise.Recorded()
	if err != nil {
		t.Fatal(err)
	}
	models = append(models, noise.Waves()...)
	const blocks = 10
	surveys := figure.Times(40, 1000)
	for _, model := range models {
		r, wrong, intervals, headlines := rand.New(rand.NewPCG(33, 1)), 0, 0, 0
		for range surveys {
			n := len(stack())
			levels := model.Runs(r, blocks*n)
			var all []Measured
			for b, order := range noise.Turns(r, n, blocks) {
				for at, layer := range order {
					mean := 100e-6 / math.Exp(levels[b*n+at])
					all = append(all, Measured{Layer: layer, Cell: "randread", Block: b + 1,
						Values: map[string]float64{"read.latency.mean": mean}})
				}
			}
			steps := Compare(stack(), []Cell{oneAtATime()}, all, nil, nil).Steps
			if slices.ContainsFunc(steps, func(s Step) bool { return s.Clear }) {
				headlines++
			}
			for _, s := range steps {
				if s.Added == nil {
					continue
				}
				if intervals++; *s.Added.Lo > 0 || *s.Added.Hi < 0 {
					wrong++
				}
			}
		}
		figure.Record(t, figure.Share(figure.Name("layers/wrong", model.Name), wrong, intervals, figure.Lower).Saying(
			"intervals of what a layer adds that leave nothing out where it adds nothing, on a disk as %s", model.Name))
		figure.Record(t, figure.Share(figure.Name("layers/headlines", model.Name), headlines, surveys,
			figure.Lower).Saying("surveys that call a layer costly where none adds anything, on a disk as %s", model.Name))
		figure.AtMost(t, "surveys that call a layer costly on a disk as "+model.Name, headlines, surveys, 0.05)
		if intervals != 3*surveys || wrong > intervals*10/100 {
			t.Errorf("%s: %d of %d intervals say that a layer adds something, or less than nothing", model.Name, wrong,
				intervals)
		}
	}
}
