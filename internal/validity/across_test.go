package validity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// session lays out a run as headroom carries it out: passes over some cells, in some order, with noise.
type session struct {
	cells  []lab.Cell
	orders [][]int // by block, the indices of cells
	// speed of a cell after another (-1 for none), relative to its level.
	effect func(cell, after, block, position int) float64
	noise  float64
	seed   uint64
}

// level is the speed of a cell on a healthy drive.
func level(cell int) float64 { return []float64{3300, 2700, 350e3, 120e3, 14e3, 25e3}[cell] }

// fourCells are the loads of powerman's comment on the Talos report: four plain fio commands.
func fourCells() []lab.Cell {
	var cells []lab.Cell
	for i, rw := range []string{"read", "write", "randread", "randwrite"} {
		bs := map[bool]string{true: "4M", false: "4k"}[i < 2]
		cells = append(cells,
			lab.Cell{ID: fmt.Sprint("c", i+1), Job: rw, Params: map[string]string{"rw": rw, "bs": bs}})
	}
	return cells
}

func (s session) run() (lab.Run, []lab.Repetition) {
	r := rand.New(rand.NewPCG(s.seed, 1))
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	written := start
	var reps []lab.Repetition
	after := -1
	for b, order := range s.orders {
		for p, i := range order {
			start = start.Add(time.Minute)
			v := level(i) * math.Exp(s.noise*r.NormFloat64())
			if s.effect != nil {
				v *= s.effect(i, after, b+1, p+1)
			}
			d := lab.Read
			if strings.Contains(s.cells[i].Params["rw"], "write") {
				d = lab.Write
			}
			rep := lab.Repetition{
				Cell: s.cells[i].ID, Number: b + 1, Block: b + 1, Position: p + 1, Start: start, Seconds: 60,
				Values: map[string]float64{lab.IOPS(d): v, lab.Latency(d, "p99.99"): 0.001},
				Layout: lab.LayoutState{Kind: "file", ID: "1", Written: written, Bytes: 10 << 30},
			}
			if after >= 0 {
				rep.After = s.cells[after].ID
			}
			reps = append(reps, rep)
			after = i
		}
	}
	return lab.Run{ID: "X", Cells: s.cells, Source: lab.Measured}, reps
}

// found lists what Run says, as "cell code".
func found(run lab.Run, reps []lab.Repetition) (list []string, texts string) {
	for cell, warnings := range Run(run, slices.Values(reps)) {
		for _, w := range warnings {
			list = append(list, strings.TrimSpace(cell+" "+w.Code))
			texts += w.Text + "\n"
		}
	}
	slices.Sort(list)
	return list, texts
}

// The comment's finding: linear reads are three times as fast right after the file was written, and when they follow
// the linear write; otherwise they are not. Its four commands in both orders, three times each.
func TestPositionEffectOfTheFourCommands(t *testing.T) {
	published, swapped := []int{0, 1, 2, 3}, []int{1, 0, 2, 3}
	fast := func(cell, after, block, position int) float64 {
		if cell == 0 && after == 1 {
			return 3
		}
		return 1
	}
	both := [][]int{published, swapped, published, swapped, published, swapped}
	s := session{cells: fourCells(), orders: both, effect: fast, noise: 0.02, seed: 1}
	got, texts := found(s.run())
	if !slices.Contains(got, "c1 position-effect") || !strings.Contains(texts, "right after write bs=4M this ran ") {
		t.Errorf("found %v:\n%s", got, texts)
	}
	for _, other := range []string{"c2 position-effect", "c3 position-effect", "c4 position-effect"} {
		if slices.Contains(got, other) {
			t.Errorf("%s, which has no effect:\n%s", other, texts)
		}
	}
	run, reps := s.run()
	for cell, warnings := range Run(run, slices.Values(reps)) {
		for _, w := range warnings {
			if w.Code == "position-effect" && (w.MostError < 0.6 || w.MostError > 0.8) {
				t.Errorf("three times as fast, and the order can have moved %s by %.2f at most", cell, w.MostError)
			}
		}
	}
	s.effect = nil
	if got, texts := found(s.run()); len(got) > 0 {
		t.Errorf("without an effect found %v:\n%s", got, texts)
	}
	// In one order only, nothing is known of the order's effect: the check says nothing rather than guess.
	s.orders, s.effect = [][]int{published, published, published}, fast
	if got, texts := found(s.run()); slices.Contains(got, "c1 position-effect") {
		t.Errorf("one order only: found %v:\n%s", got, texts)
	}
}

func TestFreshLayout(t *testing.T) {
	order := []int{0, 1, 2, 3}
	fresh := func(cell, after, block, position int) float64 {
		if after < 0 {
			return 3
		}
		return 1
	}
	s := session{cells: fourCells(), orders: [][]int{order, order, order}, effect: fresh, noise: 0.005, seed: 2}
	got, texts := found(s.run())
	if !slices.Contains(got, "c1 fresh-layout") {
		t.Errorf("found %v:\n%s", got, texts)
	}
	s.effect = nil
	if got, texts := found(s.run()); len(got) > 0 {
		t.Errorf("without an effect found %v:\n%s", got, texts)
	}
	// The only repetition: it can't be compared, and that is reported.
	s.orders = [][]int{order}
	if got, _ := found(s.run()); !slices.Contains(got, "c1 fresh-layout") || slices.Contains(got, "c3 fresh-layout") {
		t.Errorf("one repetition: found %v", got)
	}
	run, reps := s.run()
	for i := range reps {
		reps[i].Layout.Written = reps[i].Start.Add(-time.Hour)
	}
	if got, _ := found(run, reps); slices.Contains(got, "c1 fresh-layout") {
		t.Errorf("an hour old: found %v", got)
	}
}

// What no single cell can show with three repetitions, all together do.
func TestPooledEffects(t *testing.T) {
	cells := append(fourCells(), lab.Cell{ID: "c5", Job: "randread-1", Params: map[string]string{"rw": "randread"}},
		lab.Cell{ID: "c6", Job: "randwrite-1", Params: map[string]string{"rw": "randwrite"}})
	// A balanced order: each cell follows each other one, and each comes first once.
	orders := [][]int{
		{0, 1, 5, 2, 4, 3}, {1, 2, 0, 3, 5, 4}, {2, 3, 1, 4, 0, 5},
		{3, 4, 2, 5, 1, 0}, {4, 5, 3, 0, 2, 1}, {5, 0, 4, 1, 3, 2},
	}
	when := func(condition bool, factor float64) float64 {
		if condition {
			return factor
		}
		return 1
	}
	for name, c := range map[string]struct {
		effect func(cell, after, block, position int) float64
		says   string
	}{
		"first in a pass": {func(_, _, _, position int) float64 { return when(position == 1, 1.3) },
			"whatever came first in a pass ran 1."},
		"the first pass": {func(_, _, block, _ int) float64 { return when(block == 1, 0.7) }, "the first pass ran at"},
		"after writes": {func(_, after, _, _ int) float64 {
			return when(after%2 == 1, 0.8)
		}, "right after loads that write"},
		"none": {nil, ""},
	} {
		got, texts := found(session{cells: cells, orders: orders, effect: c.effect, noise: 0.02, seed: 3}.run())
		if c.says == "" && len(got) > 0 || !strings.Contains(texts, c.says) {
			t.Errorf("%s: found %v:\n%s", name, got, texts)
		}
	}
}

// Of runs in which the order does not matter, at most 3 in 100 are reported to have an effect of any kind, also when
// noise is large and skewed.
func TestPositionEffectFalseAlarms(t *testing.T) {
	const trials = 300
	orders := [][]int{{0, 1, 2, 3}, {1, 3, 0, 2}, {2, 0, 3, 1}, {3, 2, 1, 0}}
	for name, effect := range map[string]func(*rand.Rand) float64{
		"even":             func(*rand.Rand) float64 { return 1 },
		"a stall in eight": func(r *rand.Rand) float64 { return 1 - 0.4*math.Floor(r.Float64()+0.125) },
	} {
		r := rand.New(rand.NewPCG(8, 8))
		alarms := 0
		for i := range trials {
			s := session{cells: fourCells(), orders: orders, noise: 0.04, seed: uint64(100 + i)}
			s.effect = func(_, _, _, _ int) float64 { return effect(r) }
			got, _ := found(s.run())
			if slices.ContainsFunc(got, func(g string) bool {
				return strings.Contains(g, "position-effect") || strings.Contains(g, "fresh-layout")
			}) {
				alarms++
			}
		}
		t.Logf("%s: %d of %d runs", name, alarms, trials)
		if alarms > trials*3/100 {
			t.Errorf("%s: %d of %d runs are said to depend on their order", name, alarms, trials)
		}
	}
}

// repeated is a cell that was repeated with these rates, n operations each time.
func repeated(n float64, rates ...float64) (lab.Run, []lab.Repetition) {
	run := lab.Run{Cells: []lab.Cell{{ID: "c1", Job: "read", Params: map[string]string{"rw": "randread"}}}}
	var reps []lab.Repetition
	for i, v := range rates {
		reps = append(reps, lab.Repetition{Cell: "c1", Number: i + 1, Seconds: n / v,
			Values: map[string]float64{"read.iops": v, "read.latency.p99.9": 1, "read.latency.p99.99": 1}})
	}
	return run, reps
}

func TestRunChecks(t *testing.T) {
	many := append(slices.Repeat([]float64{100, 101, 99, 100}, 5), 40)
	for name, c := range map[string]struct {
		n     float64
		rates []float64
		want  []string
	}{
		"three that agree":       {1e6, []float64{100, 101, 99}, nil},
		"one":                    {1e6, []float64{100}, []string{"few-repetitions"}},
		"two":                    {1e6, []float64{100, 101}, []string{"few-repetitions"}},
		"three that differ":      {1e6, []float64{100, 150, 70}, []string{"c1 wide-interval"}},
		"21 of which one strays": {1e6, many, nil},
		"3000 operations in all": {1000, []float64{100, 101, 99}, []string{"c1 few-operations"}},
		"600 operations in all":  {200, []float64{100, 101, 99}, []string{"c1 few-operations"}},
		"none":                   {},
	} {
		got, texts := found(repeated(c.n, c.rates...))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v\n%s", name, got, c.want, texts)
		}
	}
	for n, want := range map[float64][]string{
		200:  {"read.latency.p99.9", "read.latency.p99.99"},
		2000: {"read.latency.p99.99"},
	} {
		run, reps := repeated(n, 100, 101, 99)
		if w := Run(run, slices.Values(reps))["c1"][0]; !slices.Equal(w.Taints, want) {
			t.Errorf("%.0f operations taint %v, want %v", 3*n, w.Taints, want)
		}
	}
	// Of several cells only one lacks repetitions; a repetition of no known cell is passed over.
	run, reps := repeated(1e6, 100, 101, 99)
	run.Cells = append(run.Cells, lab.Cell{ID: "c2", Job: "write"})
	reps = append(reps, lab.Repetition{Cell: "c2", Values: map[string]float64{"write.iops": 5}})
	reps = append(reps, lab.Repetition{Cell: "gone"})
	if got, _ := found(run, reps); !slices.Equal(got, []string{"c2 few-repetitions"}) {
		t.Errorf("one cell with one repetition: %v", got)
	}
	// CrystalDiskMark prints one number, and the import says so.
	run, reps = repeated(1e6, 100)
	run.Warnings = []lab.Warning{{Code: "import-best-of"}}
	if got, _ := found(run, reps); len(got) > 0 {
		t.Errorf("one number of several passes: %v", got)
	}
}

// A run that stops by what it measured has intervals that hold at all looks, or none: a warning must not name another
// one.
func TestRunsByPrecisionAreJudgedByTheirOwnIntervals(t *testing.T) {
	cells := fourCells()[:1]
	for _, c := range []struct {
		n       int
		anytime bool
		want    string
	}{{6, false, "wide-interval"}, {6, true, ""}, {8, true, "wide-interval"}, {2, true, "few-repetitions"}} {
		run, reps := lab.Run{ID: "X", Cells: cells, Anytime: c.anytime}, []lab.Repetition(nil)
		for i := range c.n {
			reps = append(reps, lab.Repetition{Cell: cells[0].ID, Number: i + 1,
				Values: map[string]float64{"read.iops": 1000 + 200*float64(i)}})
		}
		printed := ""
		for _, list := range Run(run, slices.Values(reps)) {
			for _, w := range list {
				if w.Code == "wide-interval" || w.Code == "few-repetitions" {
					printed += w.Code
				}
				if w.Code == "few-repetitions" && c.anytime && !strings.Contains(w.Text, "--budget") {
					t.Errorf("%d values: %s", c.n, w.Text)
				}
			}
		}
		if printed != c.want {
			t.Errorf("%d values, anytime %v: %q, want %q", c.n, c.anytime, printed, c.want)
		}
	}
}

// All settings that nothing shows are in one warning, which taints no number by itself.
func TestSettingsThatAreNotVerified(t *testing.T) {
	audit := lab.Unverified{Factor: "cmdline:audit", Level: "0", Reason: "no log"}
	run := lab.Run{NotVerified: []lab.Unverified{{Factor: "cmdline:threadirqs", Reason: "no place"}, audit},
		Targets: []lab.RunTarget{{NotVerified: []lab.Unverified{audit}}}}
	found := Run(run, func(func(lab.Repetition) bool) {})
	if w := found[""]; len(w) != 1 || w[0].Code != "effect-not-verified" ||
		!strings.Contains(w[0].Text, ": cmdline:audit=0 (no log); cmdline:threadirqs (no place).") ||
		w[0].Tainted("read.iops") {
		t.Errorf("%+v", w)
	}
	if found := Run(lab.Run{Targets: []lab.RunTarget{{}}}, func(func(lab.Repetition) bool) {}); len(found) != 0 {
		t.Errorf("where all is verified: %+v", found)
	}
}

func TestEmulatedGuest(t *testing.T) {
	guest := func(emulated string) lab.RunTarget {
		return lab.RunTarget{Target: "qemu:guest.yaml", Facts: []lab.Fact{{Key: "vm.hypervisor", Value: "qemu"},
			{Key: "vm.emulated", Value: emulated}}}
	}
	found := Run(lab.Run{Targets: []lab.RunTarget{guest("off"), guest("on")}}, func(func(lab.Repetition) bool) {})
	if w := found[""]; len(w) != 1 || w[0].Code != "emulated-guest" ||
		!strings.HasPrefix(w[0].Text, "qemu:guest.yaml is emulated: ") || w[0].Tainted("read.iops") {
		t.Errorf("of an emulated guest is said %+v", w)
	}
	if found := Run(lab.Run{Targets: []lab.RunTarget{guest("off")}}, func(func(lab.Repetition) bool) {}); len(found) !=
		0 {
		t.Errorf("of one under KVM is said %+v", found)
	}
}
