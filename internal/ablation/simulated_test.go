package ablation

import (
	"math"
	"math/rand/v2"
	"slices"
)

// machine is a simulated one: it measures an arm in a block.
type machine func(arm string, block int) map[string]float64

// designFor is one with so many settings: the baseline twice a block, each setting alone and removed, and the tuned
// set.
func designFor(settings int, cells ...Cell) Design {
	d := Design{Arms: []string{Baseline, VisitArm(Baseline, 2), Tuned}, Cells: cells}
	for n := 1; n <= settings; n++ {
		d.Settings = append(d.Settings, Setting{Factor: "cmdline:s" + string(rune('0'+n)), Level: "1"})
		d.Arms = append(d.Arms, AloneArm(n), RemovedArm(n))
	}
	return d
}

func randread() Cell {
	return Cell{ID: "randread", Job: "randread", Title: "randread 4k q32", Engine: "fio",
		Metrics: []string{"read.iops"}}
}

func build() Cell {
	return Cell{ID: "build", Job: "build", Title: "build", Engine: "exec", Metrics: []string{"elapsed"}}
}

// in says which settings an arm has, of so many.
func in(arm string, settings int) []int {
	switch arm = visited(arm); arm {
	case Baseline:
		return nil
	}
	var list []int
	for n := 1; n <= settings; n++ {
		if arm != RemovedArm(n) && (arm == Tuned || arm[0] == '-') || slices.Contains(settingsOf(arm), n) {
			list = append(list, n)
		}
	}
	return list
}

// carryOut measures block after block the arms that are not settled, as a plan does, until all are or the blocks are
// used up.
func carryOut(r *rand.Rand, d Design, t Terms, measure machine) []Measured {
	var all []Measured
	settled := make([]bool, len(d.Arms))
	for block := 1; block <= t.Blocks && slices.Contains(settled, false); block++ {
		for _, i := range r.Perm(len(d.Arms)) {
			if settled[i] {
				continue
			}
			for of, value := range measure(d.Arms[i], block) {
				cell, metric := "randread", of
				if of == "elapsed" {
					cell = "build"
				}
				all = append(all, Measured{Arm: d.Arms[i], Cell: cell, Metric: metric, Block: block, Value: value})
			}
		}
		settled = Settled(d, all, t)
	}
	return all
}

// plainMachine multiplies the effects of an arm's settings, given as logarithms, and has some noise.
func plainMachine(r *rand.Rand, effects []float64, noise float64) machine {
	return func(arm string, _ int) map[string]float64 {
		log := noise * r.NormFloat64()
		for _, n := range in(arm, len(effects)) {
			log += effects[n-1]
		}
		return map[string]float64{"read.iops": 7000 * math.Exp(log)}
	}
}
