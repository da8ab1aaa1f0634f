package difference

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/testing/figure"
)

// machine is a machine whose CPU time per I/O is known by layer, in ns; each layer has one function of the same name.
type machine struct {
	times   map[string]float64
	waiting float64
	// calls of a function of the IOMMU.
	flushes float64
	waits   float64
}

// loads returns three profiled loads of a machine, which differ from each other by some percent.
func (m machine) loads() cost.Profile {
	scale := []float64{0.98, 1, 1.02}
	scaled := func(v float64) *cost.LoadMean {
		e := &cost.LoadMean{Mean: v}
		for _, s := range scale {
			e.Values = append(e.Values, v*s)
		}
		return e
	}
	p := cost.Profile{Cell: "randread", Kernel: "6.1", TimeLoads: 3, CallLoads: 3, WaitLoads: 3}
	all := 0.0
	ids := []string{"syscall", "vfs", "aio", "block", "driver", "interrupt", "dma"}
	for _, id := range ids {
		all += m.times[id]
		p.Layers = append(p.Layers, cost.Layer{ID: id, Title: id, NS: scaled(m.times[id])})
		f := cost.Function{Name: "of_" + id, Layer: id, Self: scaled(m.times[id]), Calls: scaled(1)}
		if id == "dma" {
			f.Name, f.Calls = "qi_submit_sync", scaled(m.flushes)
		}
		if id == "block" && m.waits > 0 {
			f.Waits = scaled(m.waits)
		}
		p.Functions = append(p.Functions, f)
	}
	p.CPU = scaled(all)
	rate := &cost.LoadMean{Mean: 1e9 / (all + m.waiting)}
	for _, s := range scale {
		rate.Values = append(rate.Values, 1e9/(s*(all+m.waiting)))
	}
	p.Rates = map[profile.Part]*cost.LoadMean{profile.Time: rate, profile.Calls: {Mean: rate.Mean}}
	return p
}

// fast is a machine that takes 20 µs for an I/O; others are derived from it by a change.
func fast(change func(*machine)) machine {
	m := machine{times: map[string]float64{"syscall": 2000, "vfs": 1500, "aio": 2500, "block": 5000, "driver": 4000,
		"interrupt": 2000, "dma": 1000}, waiting: 2000}
	if change != nil {
		change(&m)
	}
	return m
}

func (m *machine) slow(factor float64) {
	for id := range m.times {
		m.times[id] *= factor
	}
}

// TestAccounts checks that accounts add up, and that the planted cause, which accounts for most of the loss, comes
// first. A function that also appeared but takes almost no time is reported as such.
func TestAccounts(t *testing.T) {
	for name, c := range map[string]struct {
		slow   machine
		reason Reason
		layer  string
		share  float64
		little []string
	}{
		"page-table isolation beside a strict IOMMU": {fast(func(m *machine) { m.slow(2.36); m.flushes = 1 }), Uniform,
			"", 1, []string{"dma"}},
		"a strict IOMMU alone": {fast(func(m *machine) { m.times["dma"] += 9000; m.flushes = 1 }), InLayer, "dma", 1,
			nil},
		"both, and the IOMMU is most": {fast(func(m *machine) { m.slow(1.5); m.times["dma"] += 15_000; m.flushes = 1 }),
			InLayer, "dma", 0.625, nil},
		"a slower device": {fast(func(m *machine) { m.waiting += 50_000 }), Waiting, "", 1, nil},
		"a queue that is too short": {fast(func(m *machine) { m.waiting += 50_000; m.waits = 0.5 }), Waiting, "", 1,
			nil},
		"a gain": {fast(func(m *machine) { m.slow(0.4) }), Uniform, "", 0.6 * 18 / 10.8, nil},
	} {
		cell := compared(t, fast(nil).loads(), c.slow.loads())
		a := cell.Account
		if !a.Clear() {
			t.Errorf("%s: %+v", name, a)
			continue
		}
		sum, shares := 0.0, 0.0
		for _, p := range a.Parts {
			sum += p.NS.Value
			shares += p.Share.Value
		}
		most, clearly := a.Most()
		if !clearly || math.Abs(sum-a.Loss.Value) > 1e-3 || math.Abs(shares-1) > 1e-6 || most.Reason != c.reason ||
			most.Layer != c.layer || math.Abs(most.Share.Value-min(1, c.share)) > 0.02 ||
			most.Share.Low > most.Share.Value || most.Share.High < most.Share.Value {
			t.Errorf("%s: parts sum up to %.1f of %.1f: %+v\n%s", name, sum, a.Loss.Value, a.Parts, told(cell))
		}
		if a.Little(Function{Layer: "dma"}) != (len(c.little) > 0 || c.reason == Uniform) {
			t.Errorf("%s: of the IOMMU: %+v", name, a.Parts)
		}
		for _, id := range c.little {
			differs := slices.ContainsFunc(cell.Layers, func(l Layer) bool { return l.ID == id })
			if !differs || !a.Little(Function{Layer: id}) {
				t.Errorf("%s: %s: %+v\n%s", name, id, a.Parts, told(cell))
			}
		}
	}
	if a := compared(t, fast(nil).loads(), fast(nil).loads()).Account; a.Clear() || a == nil {
		t.Errorf("equal machines: %+v", a)
	}
	if _, err := json.Marshal(compared(t, fast(nil).loads(), fast(nil).loads()).Account); err != nil {
		t.Error(err)
	}
	once := fast(nil).loads()
	once.TimeLoads = 1
	if a := compared(t, once, fast(nil).loads()).Account; a != nil || a.Clear() {
		t.Errorf("sampled once: %+v", a)
	}
}

// TestCauses checks that the causes are exactly the facts that differ and could slow down everything.
func TestCauses(t *testing.T) {
	fact := func(key, value string) lab.Fact { return lab.Fact{Key: key, Value: value} }
	unknown := lab.Fact{Key: "cpu.governor", Unknown: "not readable"}
	a := []lab.Fact{fact("cpu.pti", "off"), fact("cpu.model", "QEMU"), fact("cpu.vulnerability.mds", "Vulnerable"),
		unknown, fact("disk.iommu.group_type", "DMA-FQ"), fact("kernel.cmdline", "audit=0")}
	b := []lab.Fact{fact("cpu.pti", "on"), fact("cpu.model", "QEMU"),
		fact("cpu.vulnerability.mds", "Mitigation: clear"), fact("cpu.governor", "powersave"),
		fact("disk.iommu.group_type", "DMA"), fact("kernel.cmdline", "pti=on")}
	d, err := Of([]cost.Profile{fast(nil).loads()}, []cost.Profile{fast(func(m *machine) { m.slow(2) }).loads()},
		Options{FactsA: a, FactsB: b})
	if err != nil {
		t.Fatal(err)
	}
	want := []FactChange{{"cpu.pti", "page-table isolation", "off", "on"},
		{"cpu.vulnerability.mds", "the mitigation of mds", "Vulnerable", "Mitigation: clear"}}
	if most, clearly := d.Cells[0].Account.Most(); !clearly || most.Reason != Uniform ||
		!slices.Equal(most.Causes, want) || math.Abs(most.Factor-2) > 0.05 {
		t.Errorf("%+v", most)
	}
}

// TestUnclearAccounts checks that no part is named, and no function is said to account for little, if the interval of
// the largest share contains 0.
func TestUnclearAccounts(t *testing.T) {
	uniform := Part{Reason: Uniform, Factor: 2, Share: Range{0.95, 0.9, 1}}
	dma := Part{Reason: InLayer, Layer: "dma", Share: Range{0.05, 0.02, 0.08}}
	for name, c := range map[string]struct {
		parts           []Part
		clearly, little bool
	}{
		"clear": {[]Part{uniform, dma}, true, true},
		"the largest may be none": {[]Part{{Reason: Uniform, Factor: 2, Share: Range{0.95, -0.38, 2.28}}, dma}, false,
			false},
		"the little one may be much": {[]Part{uniform, {Reason: InLayer, Layer: "dma", Share: Range{0.05, -0.2, 0.3}}},
			true, false},
	} {
		a := &Account{A: 1000, B: 2000, Loss: Range{1000, 900, 1100}, Parts: c.parts}
		most, clearly := a.Most()
		if most.Reason != Uniform || clearly != c.clearly || a.Little(Function{Layer: "dma"}) != c.little {
			t.Errorf("%s: %t, %t", name, clearly, a.Little(Function{Layer: "dma"}))
		}
	}
}

// TestUniform takes the lesser of two changes that agree.
func TestUniform(t *testing.T) {
	for _, c := range []struct {
		name   string
		median float64
		others [2]float64
		want   float64
	}{
		{"everything", 2.36, [2]float64{18_000, 42_480}, 2.36},
		{"most by more", 7.2, [2]float64{580, 1740}, 3},
		{"one function alone", 1, [2]float64{10, 60}, 1},
		{"many that take little", 2, [2]float64{10, 9}, 1},
		{"faster", 0.4, [2]float64{10, 6}, 0.6},
		{"faster, but for one", 0.4, [2]float64{10, 20}, 1},
		{"nothing else", 2, [2]float64{}, 1},
	} {
		if got := uniform(c.median, c.others); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}

// scatteredLoads returns profiled loads of a machine: the pace of each boot scatters by 2%, the pace of each load by
// 5%, and each layer in each load by another 5%.
func (m machine) scatteredLoads(r *rand.Rand, n int) cost.Profile {
	p := m.loads()
	p.TimeLoads = n
	about := func(by float64) float64 { return math.Exp(by * r.NormFloat64()) }
	boot := about(0.02)
	cpu, rates := make([]float64, n), make([]float64, n)
	for i := range n {
		rates[i] = m.waiting * boot * about(0.05)
	}
	scale := make([]float64, n)
	for i := range scale {
		scale[i] = boot * about(0.05)
	}
	for l := range p.Layers {
		values := make([]float64, n)
		for i := range values {
			values[i] = m.times[p.Layers[l].ID] * scale[i] * about(0.05)
			cpu[i] += values[i]
		}
		p.Layers[l].NS = &cost.LoadMean{Mean: mean(values), Values: values}
		p.Functions[l].Self = &cost.LoadMean{Mean: mean(values), Values: slices.Clone(values)}
	}
	for i := range rates {
		rates[i] = 1e9 / (rates[i] + cpu[i])
	}
	p.CPU = &cost.LoadMean{Mean: mean(cpu), Values: cpu}
	p.Rates = map[profile.Part]*cost.LoadMean{profile.Time: {Mean: mean(rates), Values: rates},
		profile.Calls: {Mean: mean(rates)}}
	return p
}

// TestSimulatedAccounts checks that accounts name the planted cause, and nothing on equal machines.
func TestSimulatedAccounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		slow   machine
		reason Reason // the expected reason; empty for none
		layer  string
		share  float64 // of the loss
	}{
		{"alike", fast(nil), "", "", 0},
		{"uniform", fast(func(m *machine) { m.slow(2.36); m.flushes = 1 }), Uniform, "", 1},
		{"layer", fast(func(m *machine) { m.times["dma"] += 9000; m.flushes = 1 }), InLayer, "dma", 1},
		{"both", fast(func(m *machine) { m.slow(1.5); m.times["dma"] += 22_500; m.flushes = 1 }), InLayer, "dma",
			22.5 / 31.5},
		{"waiting", fast(func(m *machine) { m.waiting += 20_000 }), Waiting, "", 1},
	} {
		for _, loads := range []int{2, 3, 5} {
			r := rand.New(rand.NewPCG(11, uint64(loads)))
			runs, wrong, silent, covered := figure.Times(60, 400), 0, 0, 0
			for range runs {
				a := compared(t, fast(nil).scatteredLoads(r, loads), c.slow.scatteredLoads(r, loads)).Account
				most, clearly := a.Most()
				switch {
				case !clearly:
					silent++
				case most.Reason != c.reason || most.Layer != c.layer:
					wrong++
				case most.Share.Low <= c.share && c.share <= most.Share.High:
					covered++
				}
			}
			named := runs - wrong - silent
			figure.Record(t, figure.Share(figure.Name("profile/account", c.name, loads, "wrong"), wrong, runs,
				figure.Lower).Saying("pairs of %d loads a side that an account is wrong about: %s", loads, c.name))
			if c.reason != "" {
				figure.Record(t, figure.Share(figure.Name("profile/account", c.name, loads, "named"), named, runs,
					figure.Higher).Saying("the same, in which it names the right one"))
				figure.Record(t, figure.Share(figure.Name("profile/account", c.name, loads, "covered"), covered,
					max(named, 1), figure.Higher).Saying("of these, whose interval of 95%% covers its share"))
			}
			if float64(wrong) > 0.05*float64(runs) || c.reason != "" && loads > 2 && named < runs/2 {
				t.Errorf("%s, %d loads: of %d, %d wrong, %d silent", c.name, loads, runs, wrong, silent)
			}
		}
	}
}
