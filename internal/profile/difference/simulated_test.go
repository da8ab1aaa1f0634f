package difference

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/testing/figure"
)

// world is a machine of which profiles are drawn: the functions that a real kernel called, with their frequencies.
type world struct {
	*rand.Rand
	layers *layer.Layers
	counts map[string]float64
}

func newWorld(t testing.TB) world {
	t.Helper()
	layers, err := layer.Load()
	if err != nil {
		t.Fatal(err)
	}
	return world{rand.New(rand.NewPCG(1, 1)), layers, counted(t)["lazy1"]}
}

// draw draws a profile of n loads in one boot. Boots, and loads of a boot, differ in overall speed. Functions scatter
// within the boot in different ways: those that run for each I/O less than independent events, others up to ten times
// as much. Between boots, functions that vary keep their calls a second within some 30%, and all others their calls per
// I/O within 2%.
func (w world) draw(n int) cost.Profile {
	speed := math.Exp(0.5 * w.NormFloat64())
	reads := 1000 * speed
	p := cost.Profile{Cell: "randread", Kernel: "6.1.0", CallLoads: n, TimeLoads: n,
		Rates: map[profile.Part]*cost.LoadMean{profile.Calls: {Mean: reads / 0.6}, profile.Time: {Mean: reads}}}
	layers := map[string]*cost.Layer{}
	cpu, pace := make([]float64, n), make([]float64, n)
	for i := range pace { // other work on the machine slows down some loads
		pace[i] = math.Exp(0.3*w.NormFloat64()) / speed
	}
	for _, name := range slices.Sorted(maps.Keys(w.counts)) {
		count := w.counts[name]
		perIO := count / w.counts["aio_read"]
		f := cost.Function{Name: name, Layer: w.layers.Of(name, ""), Calls: &cost.LoadMean{}, Self: &cost.LoadMean{}}
		boot, over := math.Exp(0.02*w.NormFloat64()), 1+6*w.ExpFloat64()
		if perIO > 0.95 && math.Abs(perIO-math.Round(perIO)) < 0.03 {
			over = 0.05 + 0.2*w.ExpFloat64()
		} else if w.layers.Varies(name, "") {
			boot = math.Exp(0.3*w.NormFloat64()) / speed
		}
		slow := math.Exp(0.07 * w.NormFloat64())
		for i := range n {
			calls := perIO * boot * reads
			f.Calls.Values = append(f.Calls.Values, max(0, calls+math.Sqrt(over*calls)*w.NormFloat64())/reads)
			// Some 100,000 samples in all, of 10 ns each.
			f.Self.Values = append(f.Self.Values, 10*scattered(w.Rand, perIO*slow*pace[i]*400, 1.01+over/3))
			cpu[i] += f.Self.Values[i]
		}
		p.Functions = append(p.Functions, f)
		l := layers[f.Layer]
		if l == nil {
			l = &cost.Layer{ID: f.Layer, NS: &cost.LoadMean{Values: make([]float64, n)}}
			layers[f.Layer] = l
		}
		for i := range n {
			l.NS.Values[i] += f.Self.Values[i]
		}
	}
	for _, l := range layers {
		p.Layers = append(p.Layers, *l)
	}
	p.CPU = &cost.LoadMean{Mean: mean(cpu), Values: cpu}
	return p
}

// runs of a simulation: RUNS=500 for a figure, few to check that nothing broke.
func runs() int { return figure.Times(4, 150) }

// TestNothingDiffers compares boots of one machine with each other. Of 450 comparisons one was wrong, of two loads a
// side.
func TestNothingDiffers(t *testing.T) {
	w := newWorld(t)
	for _, n := range []int{2, 3, 5} {
		wrong, last := 0, Cell{}
		for range runs() {
			if c := compared(t, w.draw(n), w.draw(n)); len(c.Functions)+len(c.Layers) > 0 {
				wrong++
				last = c
			}
		}
		figure.Record(t, figure.Share(figure.Name("profile/nothing", n), wrong, runs(), figure.Lower).
			Saying("simulated boots of one machine that two profiles of %d loads call different", n))
		if float64(wrong) > max(1, 0.05*float64(runs())) {
			t.Errorf("%d loads a side: %d of %d wrong, the last\n%s", n, wrong, runs(), told(last))
		}
	}
}

// TestTimeAlone finds a difference that no call shows: pages that are cleared for init_on_free, in assembly that is not
// traced. Both were found in all of 150 comparisons.
func TestTimeAlone(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		loads int
		share float64
		least float64 // share of the runs in which it is found
	}{{3, 0.1, 0.9}, {5, 0.05, 0.9}} {
		found := 0
		for range runs() {
			a, b := w.draw(c.loads), w.draw(c.loads)
			extra := &cost.LoadMean{}
			for i := range c.loads {
				extra.Values = append(extra.Values, 10*scattered(w.Rand, c.share*b.CPU.Values[i]/10, 4))
			}
			b.Functions = append(b.Functions, cost.Function{Name: "clear_page_erms", Layer: "memory", Self: extra})
			b.Layers = append(b.Layers, cost.Layer{ID: "debugging", NS: extra})
			if d := compared(t, a, b); len(d.Layers) > 0 && d.Layers[0].ID == "debugging" &&
				d.Layers[0].NS.Change == More {
				found++
			}
		}
		figure.Record(t, figure.Share(figure.Name("profile/time-alone", c.loads), found, runs(), figure.Higher).
			Saying("causes of %.0f%% of the CPU time that %d loads find, of calls that can't be traced", 100*c.share,
				c.loads))
		if float64(found) < c.least*float64(runs()) {
			t.Errorf("%.0f%% of the time, by %d loads: found in %d of %d", 100*c.share, c.loads, found, runs())
		}
	}
}
