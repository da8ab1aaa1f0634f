package bisection_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// plantedCause is a setting that makes a machine slow, with its name in testdata/planted.tsv.
type plantedCause struct {
	name   string
	factor [3]string // name, fast level, slow level
}

// plantedCauses are those of scripts/bench planted. Encryption can't be switched: page_owner takes its place.
func plantedCauses() []plantedCause {
	return []plantedCause{
		{"iommu.strict", [3]string{"cmdline:iommu.strict", "0", "1"}},
		{"slub_debug", [3]string{"cmdline:slub_debug", "absent", "FZPU"}},
		{"init_on_free", [3]string{"cmdline:init_on_free", "0", "1"}},
		{"audit", [3]string{"cmdline:audit", "0", "1"}},
		{"scheduler", [3]string{"queue:scheduler", "none", "bfq"}},
		{"io_queue_depth", [3]string{"module:nvme.io_queue_depth", "1024", "2"}},
		{"swiotlb", [3]string{"cmdline:swiotlb", "absent", "force"}},
		{"threadirqs", [3]string{"cmdline:threadirqs", "absent", "on"}},
		{"page_poison", [3]string{"cmdline:page_poison", "absent", "1"}},
		{"page_owner", [3]string{"cmdline:page_owner", "absent", "on"}},
	}
}

// harmless settings differ, too: some that are known to be dear elsewhere, many of which nothing is known.
func harmless() [][3]string {
	list := [][3]string{
		{"cmdline:mitigations", "off", "absent"}, {"cmdline:nosmt", "absent", ""}, {"cmdline:pti", "off", "on"},
		{"cmdline:init_on_alloc", "0", "1"}, {"cpu:governor", "performance", "powersave"},
		{"cmdline:selinux", "0", "1"}, {"cmdline:debug_pagealloc", "off", "on"}, {"queue:nr_requests", "1023", "63"},
		{"queue:wbt_lat_usec", "0", "75000"}, {"queue:rq_affinity", "2", "1"}, {"queue:add_random", "0", "1"},
		{"sysctl:vm.dirty_ratio", "20", "2"}, {"sysctl:kernel.numa_balancing", "0", "1"},
		{"cmdline:kmemleak", "off", "on"}, {"cmdline:iommu.passthrough", "1", "0"},
		{"cmdline:intel_idle.max_cstate", "1", "9"}, {"cmdline:spec_store_bypass_disable", "prctl", "on"},
		{"sysctl:vm.swappiness", "1", "60"}, {"cmdline:pcie_aspm", "off", "force"}, {"cmdline:quiet", "absent", ""},
	}
	for i := range 30 {
		list = append(list, [3]string{fmt.Sprintf("sysctl:net.unknown.a%d", i), "0", "1"})
	}
	return list
}

// slowGuest has one of the planted causes among harmless settings.
func (c plantedCause) slowGuest() *lab.Experiment {
	return apart(append([][3]string{c.factor}, harmless()...)...)
}

// profiles of the fast guest and the slow one, as they were recorded.
func (c plantedCause) profiles(t *testing.T) difference.Document {
	t.Helper()
	const columns, loads, cpu = 6, 3, 100_000 // nanoseconds per I/O
	text, err := os.ReadFile("testdata/planted.tsv")
	if err != nil {
		t.Fatal(err)
	}
	estimate := func(n float64) *cost.LoadMean {
		return &cost.LoadMean{Mean: n, Values: slices.Repeat([]float64{n}, loads)}
	}
	cell := difference.Cell{Cell: "rand-read"}
	for _, p := range []*cost.Profile{&cell.A, &cell.B} {
		p.CallLoads, p.TimeLoads, p.WaitLoads, p.CPU = loads, loads, loads, estimate(cpu)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if f[0] != c.name {
			continue
		}
		if len(f) != columns {
			t.Fatalf("%q has %d columns", line, len(f))
		}
		var n [2]float64
		for side := range n {
			if n[side], err = strconv.ParseFloat(f[3+side], 64); err != nil {
				t.Fatal(err)
			}
		}
		delta := &difference.Delta{A: n[0], B: n[1], Change: difference.Change(f[5])}
		changed := difference.Function{Name: f[2]}
		for side, p := range []*cost.Profile{&cell.A, &cell.B} {
			i := slices.IndexFunc(p.Functions, func(o cost.Function) bool { return o.Name == f[2] })
			if i < 0 {
				i, p.Functions = len(p.Functions), append(p.Functions, cost.Function{Name: f[2]})
			}
			switch of := &p.Functions[i]; f[1] {
			case "calls":
				of.Calls, changed.Calls = estimate(n[side]), delta
			case "waits":
				of.Waits, changed.Waits = estimate(n[side]), delta
			case "time":
				of.Self, changed.NS = estimate(n[side]*cpu), delta
			}
		}
		if delta.Changed() {
			cell.Functions = append(cell.Functions, changed)
		}
	}
	return difference.Document{Cells: []difference.Cell{cell}}
}

// The cause whose function ran is far likelier than before.
func TestPriorsBesideProfiles(t *testing.T) {
	k := knowledge(t)
	for _, c := range plantedCauses() {
		e := c.slowGuest()
		before, after := bisection.Priors(k, e), bisection.PriorsBeside(k, e, c.profiles(t))
		if sum := floats.Sum(after); math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: %v", c.factor[0], after)
		}
		if after[0] < min(0.4, 6*before[0]) || after[0] < before[0] {
			t.Errorf("%s: %.3f before, %.3f after", c.factor[0], before[0], after[0])
		}
		if least := slices.Min(after); least < 0.2/float64(len(after))*0.999 {
			t.Errorf("%s: one has %.4f only, where a fifth is for all alike", c.factor[0], least)
		}
		if without := bisection.PriorsBeside(k, e, difference.Document{}); !slices.Equal(without, before) {
			t.Errorf("%s: without profiles %v, want %v", c.factor[0], without, before)
		}
	}
}

// Boots that a search needs for each of ten planted causes among fifty harmless settings, beside those without what
// profiles of the two ends say, and those without anything known.
func TestBootsWithTheMechanism(t *testing.T) {
	k := knowledge(t)
	for _, n := range []struct {
		name  string
		model noise.Model
	}{{"5% noise", noise.Gaussian(0.05)}, {"20% noise", noise.Gaussian(0.2)}} {
		if !figure.Whole && n.name != "5% noise" {
			continue
		}
		var all [3]trials
		for i, c := range plantedCauses() {
			e := c.slowGuest()
			at := func(*rand.Rand) int { return 0 }
			for kind, priors := range [][]float64{bisection.PriorsBeside(k, e, c.profiles(t)), bisection.Priors(k, e),
				nil} {
				here := between{priors: priors, of: len(e.Factors), culprit: at, effect: math.Log(0.7), model: n.model}
				r := here.run(searches(4))
				all[kind].add(r)
				if figure.Whole {
					r.recordBoots(t, figure.Name("bisection/mechanism", n.name, kinds()[kind], fmt.Sprint(i+1)),
						fmt.Sprintf("%s among 50 harmless settings, %s, %s", c.factor[0], n.name, kinds()[kind]))
				}
			}
		}
		for kind := range all {
			all[kind].recordBoots(t, figure.Name("bisection/mechanism", n.name, kinds()[kind], "all"),
				fmt.Sprintf("ten causes that cost 30%%, each among 50 harmless settings, %s, %s",
					n.name, kinds()[kind]))
		}
		if with, known := stat.Mean(all[0].boots, nil), stat.Mean(all[1].boots, nil); with > known {
			t.Errorf("%s: %.1f boots with profiles, and %.1f without", n.name, with, known)
		}
		for kind, r := range all {
			if float64(r.right) < 0.95*float64(len(r.boots)) {
				t.Errorf("%s, %s: right in %d of %d", n.name, kinds()[kind], r.right, len(r.boots))
			}
		}
	}
}

// kinds of searches: what is known before they begin.
func kinds() []string { return []string{"with profiles", "with knowledge", "without priors"} }

// recordBoots of searches in which nothing is built.
func (r *trials) recordBoots(t *testing.T, name, what string) {
	t.Helper()
	figure.Record(t, figure.Mean(name+"/boots", "", r.boots, figure.Lower).Saying("%s: boots", what))
	figure.Record(t, figure.Mean(name+"/searching", "", r.searching, figure.Lower).
		Saying("%s: boots without those of the proof", what))
	figure.Record(t, figure.Share(name+"/right", r.right, len(r.boots), figure.Higher).Saying("%s: right", what))
}
