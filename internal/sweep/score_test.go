package sweep

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
)

// threads are the levels of the IOThreads report.
func threads(names ...string) []Arm {
	var out []Arm
	for _, n := range names {
		out = append(out, Arm{Name: n, ID: "iothreads=" + n})
	}
	return out
}

func cellOf(id string, params ...string) CellInput {
	c := CellInput{Title: id, Cell: lab.Cell{ID: id, Job: id, Params: map[string]string{}}}
	for i := 0; i < len(params); i += 2 {
		c.Params[params[i]] = params[i+1]
	}
	return c
}

// once is one block of a metric at each level; 0 was not measured.
func once(cell, metric string, block int, values ...float64) []Measured {
	var out []Measured
	for level, v := range values {
		if v != 0 {
			out = append(out, Measured{Level: level, Cell: cell, Block: block, Values: map[string]float64{metric: v}})
		}
	}
	return out
}

// The figures of merit are those of their definitions, written down here once more in the plainest way, for random
// tables of throughput and of latency.
func TestFiguresAgreeWithTheirDefinitions(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	names := []string{"0", "1", "2", "3", "4", "6", "8", "12", "16"}
	for range 300 {
		metric := []string{"read.iops", "read.latency.mean"}[r.IntN(2)]
		in := Input{Factor: "guest:iothreads", Levels: threads(names...), Baseline: r.IntN(2),
			Reference: &Arm{Name: "pod"}, Cells: []CellInput{cellOf("a")},
			Settings: Settings{Share: 0.7 + 0.25*r.Float64()}}
		values := make([]float64, len(names)+1)
		for i := range values {
			values[i] = math.Exp(r.NormFloat64() / 3)
		}
		in.Measured = once("a", metric, 1, values...)
		c := Analyze(in).Cells[0]

		speeds := slices.Clone(values)
		if metric != "read.iops" {
			for i, v := range values {
				speeds[i] = 1 / v
			}
		}
		best := slices.Max(speeds[:len(names)])
		top := slices.Index(speeds, best)
		enough := slices.IndexFunc(speeds[:len(names)], func(v float64) bool { return v >= in.Settings.Share*best })
		if c.Top != names[top] || c.SmallestForShare != names[enough] {
			t.Fatalf("%v: top %s, smallest %s, want %s and %s", values, c.Top, c.SmallestForShare,
				names[top], names[enough])
		}
		if want := values[top] / values[in.Baseline]; math.Abs(c.Gain.Ratio-want) > 1e-9 {
			t.Fatalf("gain %g, want %g", c.Gain.Ratio, want)
		}
		if want := values[top] / values[len(names)]; math.Abs(c.ToReference.Ratio-want) > 1e-9 {
			t.Fatalf("to reference %g, want %g", c.ToReference.Ratio, want)
		}
		stops := ""
		for i := 1; i < len(names) && stops == ""; i++ {
			if speeds[i] < speeds[i-1]*1.03 {
				stops = names[i]
			}
		}
		if got := c.NoLongerPays; (got == nil) != (stops == "") || got != nil && got.Level != stops {
			t.Fatalf("%v: no longer pays at %+v, want %q", speeds, got, stops)
		}
		// One block says nothing of noise, so nothing is distinguished, and nothing is called harmful.
		if c.Distinguishable || len(c.Harm) > 0 || c.Best != "0" || len(c.BestSet) != len(names) ||
			c.Gain.Known() != (top == in.Baseline) {
			t.Fatalf("%+v", c)
		}
	}
}

// noisy measures blocks of a table: a block moves all levels alike by far more than levels differ from each other.
func noisy(r *rand.Rand, cell, metric string, blocks int, sigma float64, means ...float64) []Measured {
	var out []Measured
	for b := 1; b <= blocks; b++ {
		machine := math.Exp(0.2 * r.NormFloat64())
		values := make([]float64, len(means))
		for i, m := range means {
			values[i] = m * machine * math.Exp(sigma*r.NormFloat64())
		}
		out = append(out, once(cell, metric, b, values...)...)
	}
	return out
}

// A level that is shown to be worse than another is not among the best, also where the one with the best mean scatters
// so much that nothing follows from it: what the table, the headline and the JSON call best agrees with the verdict.
func TestALevelThatIsWorseIsNotAmongTheBest(t *testing.T) {
	in := Input{Factor: "guest:iothreads", Levels: threads("0", "2", "4"),
		Cells: []CellInput{cellOf("a", "rw", "randread")}}
	for block := 1; block <= 12; block++ {
		scatters := 80.0
		if block%2 == 0 {
			scatters = 190
		}
		in.Measured = append(in.Measured, once("a", "read.iops", block, 100+0.1*float64(block%3),
			120+0.1*float64(block%2), scatters)...)
	}
	c := Analyze(in).Cells[0]
	if c.Top != "4" || c.Verdict != Better || c.Best != "2" || !slices.Equal(c.BestSet, []string{"2", "4"}) ||
		!c.Distinguishable {
		t.Errorf("top %s, %s; best %s of %v", c.Top, c.Verdict, c.Best, c.BestSet)
	}
}

func TestAKnownEffectIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	in := Input{Factor: "guest:iothreads", Levels: threads("0", "1", "2", "4", "8"), Reference: &Arm{Name: "host"},
		Cells: []CellInput{cellOf("scales", "rw", "randread"), cellOf("flat", "rw", "read"),
			cellOf("breaks", "rw", "write")}}
	in.Measured = slices.Concat(
		noisy(r, "scales", "read.iops", 10, 0.005, 100, 150, 280, 300, 301, 400),
		noisy(r, "flat", "read.iops", 10, 0.002, 100, 100, 100, 100, 100, 100),
		noisy(r, "breaks", "write.latency.mean", 10, 0.005, 1, 0.8, 1.0, 1.2, 1.2, 1))
	in.Cells[1].Ceilings = map[string]Ceiling{"read.iops": {Value: 90, Limiter: "PCIe 3.0 x8"}}
	d := Analyze(in)
	scales, flat, breaks := d.Cells[0], d.Cells[1], d.Cells[2]
	if scales.Best != "4" || !slices.Equal(scales.BestSet, []string{"4", "8"}) || !scales.Distinguishable ||
		scales.SmallestForShare != "2" ||
		scales.SmallestBetween != (Between{"2", "2"}) || scales.Gain.Verdict != Better ||
		math.Abs(scales.Gain.Ratio-3) > 0.05 ||
		*scales.Gain.Lo > 3 || *scales.Gain.Hi < 3 || scales.NoLongerPays.Level != "8" ||
		scales.NoLongerPays.After != "4" || !scales.NoLongerPays.Certain ||
		math.Abs(scales.ToReference.Ratio-0.75) > 0.01 || scales.AtCeiling || len(scales.Harm) != 0 {
		t.Errorf("scales: %+v gain %+v", scales, scales.Gain)
	}
	if flat.Distinguishable || flat.Best != "0" || flat.Gain.Verdict != Same || !flat.AtCeiling ||
		flat.Ceiling.Limiter != "PCIe 3.0 x8" || len(flat.Harm) != 0 {
		t.Errorf("flat: %+v gain %+v", flat, flat.Gain)
	}
	var harm []string
	for _, h := range breaks.Harm {
		harm = append(harm, h.Level+" than "+h.Than)
	}
	if breaks.Best != "1" || breaks.Gain.Verdict != Better || math.Abs(breaks.Gain.Ratio-0.8) > 0.02 ||
		strings.Join(harm, ", ") != "2 than 1, 4 than 0, 8 than 0" {
		t.Errorf("breaks: %+v", breaks)
	}
	// 1 loses half of scales; 2 loses 20% of breaks and 7% of scales; 4 and 8 lose a third of breaks.
	if rec := d.Recommended; rec.Level != "2" || math.Abs(rec.Loss.Loss-0.2) > 0.02 || rec.Loss.Cell != "breaks" ||
		*rec.Lo > 0.2 || *rec.Hi < 0.2 || !rec.Distinguishable || rec.Cells != 3 {
		t.Errorf("recommended %+v", rec)
	}
	groups := map[string]string{}
	for _, g := range d.Groups {
		groups[g.Params["rw"]] = g.Recommended.Level
	}
	if groups["randread"] != "4" || groups["read"] != "0" || groups["write"] != "1" {
		t.Errorf("groups %v", groups)
	}
}

// A level that keeps twice as much of the worst load is the better choice, however much both lose.
func TestTheMarginIsOfWhatIsKept(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for _, c := range []struct {
		kept [2]float64 // of the best of a load, by the first two of three levels
		want string
	}{
		{[2]float64{0.017, 0.039}, "2"},
		{[2]float64{0.0385, 0.039}, "1"}, // within the margin the smaller one
		{[2]float64{0.85, 0.9}, "2"},
		{[2]float64{0.89, 0.9}, "1"},
	} {
		in := Input{Factor: "job:numjobs", Levels: threads("1", "2", "4"), Cells: []CellInput{cellOf("a"), cellOf("b")}}
		in.Measured = append(noisy(r, "a", "read.iops", 8, 0.0001, c.kept[0], c.kept[1], 1),
			noisy(r, "b", "read.iops", 8, 0.0001, 1, 1, 0.001)...)
		if got := Analyze(in).Recommended.Level; got != c.want {
			t.Errorf("%v kept: %s is recommended, want %s", c.kept, got, c.want)
		}
	}
}

// When no level differs from another, at most one sweep in twenty calls any level of any cell better or harmful, leaves
// any out of the best set, or bounds the smallest level from below.
func TestNothingIsFoundWhereNothingIs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	trials, cells := figure.Times(100, 4000), 6 // 100 tell the promised share of 5% to 2.2%
	for _, noise := range []struct {
		name string
		draw func() float64
	}{
		{"Gaussian, 3%", func() float64 { return 0.03 * r.NormFloat64() }},
		{"Student t3, 3%", func() float64 { return 0.03 * heavy(r) }},
		{"two levels, 15% apart, 20% slow, 1% within", func() float64 {
			v := 0.01 * r.NormFloat64()
			if r.Float64() < 0.2 {
				v -= 0.15
			}
			return v
		}},
	} {
		for _, blocks := range []int{6, 10} {
			wrong, recommended := 0, 0
			for range trials {
				in := Input{Factor: "sysctl:x", Levels: threads("0", "1", "2", "4", "8")}
				for c := range cells {
					id := fmt.Sprint("cell", c)
					in.Cells = append(in.Cells, cellOf(id))
					for b := 1; b <= blocks; b++ {
						machine := math.Exp(0.2 * r.NormFloat64())
						values := make([]float64, len(in.Levels))
						for i := range values {
							values[i] = machine * math.Exp(noise.draw())
						}
						in.Measured = append(in.Measured, once(id, "read.iops", b, values...)...)
					}
				}
				d := Analyze(in)
				if slices.ContainsFunc(d.Cells, claims) {
					wrong++
				}
				if d.Recommended.Distinguishable {
					recommended++
				}
			}
			figure.Record(t, figure.Share(figure.Name("sweep/wrong", fmt.Sprint(blocks, " blocks"), noise.name), wrong,
				trials, figure.Lower).
				Saying("sweeps of 6 cells x 5 levels without any difference that claim something, %d blocks, %s",
					blocks, noise.name))
			if allowed := trials * 5 / 100; wrong > allowed+allowed/2 || recommended > allowed {
				t.Errorf("%s, %d blocks: %d of %d sweeps claim something, %d tell the recommended level from others",
					noise.name, blocks, wrong, trials, recommended)
			}
		}
	}
}

// Loads that are settled after six blocks get no more, and the others twelve: what is measured decides, so both looks
// share the risk. Every other load is so quiet that six blocks show that nothing makes a difference.
func TestNothingIsFoundAtTwoLooks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 2))
	trials, cells, wrong, settled := figure.Times(100, 4000), 6, 0, 0
	fewest := FewestBlocks(DefaultAlpha)
	for range trials {
		in := Input{Factor: "sysctl:x", Levels: threads("0", "1", "2", "4", "8"),
			Settings: Settings{Looks: 2, LookedAt: fewest}}
		for c := range cells {
			in.Cells = append(in.Cells, cellOf(fmt.Sprint("cell", c)))
		}
		more := func(from, to int, open func(id string) bool) {
			for b := from; b <= to; b++ {
				for i, c := range in.Cells {
					if !open(c.ID) {
						continue
					}
					values := make([]float64, len(in.Levels))
					for level := range values {
						values[level] = math.Exp([]float64{0.03, 0.0005}[i%2] * r.NormFloat64())
					}
					in.Measured = append(in.Measured, once(c.ID, "read.iops", b, values...)...)
				}
			}
		}
		more(1, fewest, func(string) bool { return true })
		first := Analyze(in)
		more(fewest+1, 12, func(id string) bool {
			return !first.Cells[slices.IndexFunc(first.Cells, func(c Cell) bool { return c.Cell == id })].Settled()
		})
		d := Analyze(in)
		settled += d.Settled
		if slices.ContainsFunc(d.Cells, claims) {
			wrong++
		}
	}
	figure.Record(t, figure.Share("sweep/wrong/two-looks", wrong, trials, figure.Lower).
		Saying("sweeps of 6 cells x 5 levels without any difference that claim something, where loads that are "+
			"settled after 6 blocks get no more of 12"))
	if wrong > trials*5/100 || settled == 0 || settled == trials*cells {
		t.Errorf("%d of %d sweeps claim something; %d loads of %d were settled early", wrong, trials,
			settled, trials*cells)
	}
}

// A run that was interrupted in its seventh block has loads of six blocks that nothing was decided about.
func TestInterruptedLoadsAreNotSettled(t *testing.T) {
	in := Input{Factor: "sysctl:x", Levels: threads("0", "1"), Cells: []CellInput{cellOf("quiet"), cellOf("open"),
		cellOf("unvisited")}, Settings: Settings{Looks: 2, LookedAt: 6}}
	for b := 1; b <= 7; b++ {
		noise := 1 + 0.2*float64(b%3)
		if b <= 6 {
			in.Measured = append(in.Measured, once("quiet", "read.iops", b, 100, 100+0.01*float64(b))...)
			in.Measured = append(in.Measured, once("unvisited", "read.iops", b, 100, 100*noise)...)
		}
		in.Measured = append(in.Measured, once("open", "read.iops", b, 100, 100*noise)...)
	}
	if d := Analyze(in); d.Blocks != 7 || d.Settled != 1 {
		t.Errorf("%d loads are settled in %d blocks, want the quiet one", d.Settled, d.Blocks)
	}
}

// How often an effect is found, by its size and the number of blocks.
func TestHowLargeAnEffectIsFound(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	trials, cells := figure.Times(20, 400), 12
	for _, blocks := range []int{6, 10, 20} {
		for _, gain := range []float64{0.05, 0.1, 0.3} {
			found := 0
			for range trials {
				in := Input{Factor: "sysctl:x", Levels: threads("0", "1", "2", "4", "8")}
				for c := range cells {
					id := fmt.Sprint("cell", c)
					in.Cells = append(in.Cells, cellOf(id))
					means := []float64{1, 1, 1, 1, 1}
					if c == 0 {
						means[3], means[4] = 1+gain, 1+gain
					}
					in.Measured = append(in.Measured, noisy(r, id, "read.iops", blocks, 0.02, means...)...)
				}
				c := Analyze(in).Cells[0]
				if c.Gain.Verdict == Better {
					found++
				}
			}
			figure.Record(t, figure.Share(figure.Name("sweep/found", fmt.Sprint(blocks, " blocks"),
				fmt.Sprintf("gain %.0f%%", 100*gain)), found, trials, figure.Higher).
				Saying("sweeps of 12 cells x 5 levels that show a gain of %.0f%% in one cell, noise 2%%, %d blocks",
					100*gain, blocks))
			if gain >= 0.3 && found < trials*9/10 {
				t.Errorf("%d blocks: a gain of %g is shown in %d of %d sweeps", blocks, gain, found, trials)
			}
		}
	}
}

// heavy is Student's t with three degrees of freedom.
func heavy(r *rand.Rand) float64 {
	squares := 0.0
	for range 3 {
		g := r.NormFloat64()
		squares += g * g
	}
	return r.NormFloat64() / math.Sqrt(squares/3)
}

// A level that failed in some blocks, or in all, is compared in those that it has.
func TestMissingLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	in := Input{Factor: "guest:iothreads", Levels: threads("0", "1", "2"),
		Cells: []CellInput{cellOf("a"), cellOf("b"), cellOf("none")}}
	in.Measured = noisy(r, "a", "read.iops", 8, 0.001, 100, 0, 200)
	in.Measured = append(in.Measured, noisy(r, "b", "read.iops", 8, 0.001, 100, 150, 200)...)
	in.Measured = slices.DeleteFunc(in.Measured, func(m Measured) bool {
		return m.Cell == "b" && m.Level == 1 && m.Block > 6
	})
	d := Analyze(in)
	if len(d.Cells) != 2 {
		t.Fatalf("%d cells", len(d.Cells))
	}
	a, b := d.Cells[0], d.Cells[1]
	if a.Levels[1].Value != nil || a.Levels[1].ToBaseline != nil || a.Best != "2" || len(a.BestSet) != 1 {
		t.Errorf("%+v", a)
	}
	if b.Levels[1].N != 6 || b.Levels[1].ToTop.N != 6 || b.Levels[2].N != 8 || b.Best != "2" {
		t.Errorf("%+v", b)
	}
	for _, p := range b.Levels { // the ratio is that of what is printed
		if math.Abs(p.ToBaseline.Ratio**b.Levels[0].Value / *p.Value - 1) > 1e-9 {
			t.Errorf("%g to %g is called %g", *b.Levels[0].Value, *p.Value, p.ToBaseline.Ratio)
		}
	}
	if d.Recommended.Level != "2" || len(d.Recommended.Losses) != 2 {
		t.Errorf("level 1 lacks a cell and can't be weighed: %+v", d.Recommended)
	}
	if empty := Analyze(Input{Factor: "sysctl:x", Levels: threads("0", "1")}); empty.Recommended != nil ||
		len(empty.Cells) != 0 {
		t.Errorf("%+v", empty)
	}
}

func TestCostsAreHeldAgainstTheBaseline(t *testing.T) {
	in := Input{Factor: "guest:iothreads", Levels: threads("0", "4"), Cells: []CellInput{cellOf("a")}}
	for b := 1; b <= 4; b++ {
		for level, joules := range []float64{1e-4, 2e-4} {
			in.Measured = append(in.Measured, Measured{Level: level, Cell: "a", Block: b, Values: map[string]float64{
				"read.iops": float64(100 + b + 50*level), lab.CPUPerIO: 1e-5 * float64(level+1),
				lab.EnergyPerIO: joules * (1 + 0.01*float64(b*(level+1)))}})
		}
	}
	costs := Analyze(in).Cells[0].Levels[1].Costs
	energy := costs[lab.EnergyPerIO]
	if len(costs) != 2 || math.Abs(energy.ToBaseline.Ratio-2.05) > 0.02 || energy.ToBaseline.Verdict != Worse ||
		math.Abs(costs[lab.CPUPerIO].ToBaseline.Ratio-2) > 1e-9 {
		t.Errorf("%+v", costs)
	}
}

// The largest sweep there is, the IOThreads report's, is analysed in a moment.
func BenchmarkAnalyze(b *testing.B) {
	r := rand.New(rand.NewPCG(6, 1))
	in := Input{Factor: "guest:iothreads", Levels: threads("0", "1", "2", "3", "4", "6", "8", "12", "16"),
		Reference: &Arm{Name: "pod"}}
	for i := range 144 {
		id := fmt.Sprint("cell", i)
		in.Cells = append(in.Cells, cellOf(id))
		in.Measured = append(in.Measured, noisy(r, id, "read.iops", 10, 0.02, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)...)
	}
	for b.Loop() {
		Analyze(in)
	}
}
