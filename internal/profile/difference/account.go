package difference

import (
	"cmp"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/stat"
)

// Account divides the time by which an I/O takes longer or shorter in B than in A into parts that add up. It is
// computed from samples of what CPUs executed, and from the rates meanwhile.
type Account struct {
	// A and B are how long an I/O takes on each side, in nanoseconds of CPUs that work for it or wait for it. The
	// number of CPUs is how many the load kept busy, on the side where it kept more of them busy; at least one.
	A    float64 `json:"a_ns"`
	B    float64 `json:"b_ns"`
	CPUs float64 `json:"cpus"`
	// Emulated is set if the CPU of either side is emulated.
	Emulated bool `json:"emulated,omitempty"`
	// Loss is B - A. The confidence of its interval holds for all cells together.
	Loss Range `json:"loss_ns"`
	// Parts, the largest first.
	Parts []Part `json:"parts"`
}

// Range is a value with its 95% interval over loads.
type Range struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Part is the contribution of one reason: nanoseconds per I/O, and their share of the loss, which is 0 if there is no
// clear loss. A reason that compensates some of the loss is negative.
type Part struct {
	Reason Reason `json:"reason"`
	// Layer and Title are the id and the title of the layer; empty for other reasons.
	Layer string `json:"layer,omitempty"`
	Title string `json:"title,omitempty"`
	// Factor is by how much everything is slower in B, and Causes are the facts that differ and could be the reason.
	Factor float64      `json:"factor,omitempty"`
	Causes []FactChange `json:"causes,omitempty"`
	NS     Range        `json:"ns"`
	Share  Range        `json:"share"`
}

// Reason is the cause of a part of the time.
type Reason string

// The reasons.
const (
	// Uniform: everything takes longer, by the same factor.
	Uniform Reason = "uniform"
	// InLayer: a layer takes longer than that, because functions appeared or changed.
	InLayer Reason = "layer"
	// Waiting: no CPU works for the I/O, which waits for a device, a lock, or its turn.
	Waiting Reason = "waiting"
	// OtherWork: interrupts and kernel threads are busy with work other than the load.
	OtherWork Reason = "other-work"
	// Unexplained: layers that differ too little, or scatter too much, to be named.
	Unexplained Reason = "unexplained"
)

// Boots of one machine differ from each other, which the loads of one boot do not show. Boots of an emulated machine
// differ more, depending on other work of its host.
const (
	leastLoss         = 0.1 // of the shorter time: a smaller loss is not accounted for
	leastLossEmulated = 0.5
	rounding          = 1e-9 // of the time: a smaller part is omitted
	mostLittle        = 0.1  // of the loss: a layer with a smaller share accounts for little
)

// Clear reports whether an I/O takes longer or shorter, by more than chance and by more than boots of one machine
// differ. Otherwise there is nothing to account for.
func (a *Account) Clear() bool {
	if a == nil {
		return false
	}
	least := leastLoss
	if a.Emulated {
		least = leastLossEmulated
	}
	return (a.Loss.Low > 0 || a.Loss.High < 0) && math.Abs(a.Loss.Value) >= least*min(a.A, a.B)
}

// Most returns the part that accounts for most of a clear loss, and whether it clearly does: the interval of its share
// excludes 0.
func (a *Account) Most() (most Part, clearly bool) {
	if !a.Clear() {
		return Part{}, false
	}
	most = slices.MaxFunc(a.Parts, func(x, y Part) int { return cmp.Compare(x.Share.Value, y.Share.Value) })
	return most, most.Share.Low > 0
}

// Little reports whether a function that differs accounts for little of a clear loss: the interval of its layer's share
// ends below mostLittle. It is false if waiting accounts for most, since a short function can make others wait, and if
// no part clearly accounts for the loss.
func (a *Account) Little(f Function) bool {
	most, clearly := a.Most()
	return clearly && most.Reason != Waiting && !f.Waits.Changed() && !slices.ContainsFunc(a.Parts, func(p Part) bool {
		return p.Layer == f.Layer && p.Share.High >= mostLittle
	})
}

// pair has the values of each load of A and of B.
type pair [2][]float64

// means returns the mean of A and of B. The load of the given side at index without is left out, unless without is
// negative.
func (p pair) means(side, without int) (of [2]float64) {
	for s := range p {
		values := p[s]
		if s == side && without >= 0 && len(values) > 0 {
			values = slices.Delete(slices.Clone(values), without, without+1)
		}
		of[s] = mean(values)
	}
	return of
}

// accounts has the values of each load that an account is computed from, in nanoseconds per I/O: the time between two
// I/Os, the CPU time of everything, of each layer, and of background work (aside); and the logarithm of how long
// everything takes (pace).
type accounts struct {
	between, cpu, aside, pace pair
	causes                    []FactChange
	layers                    []Layer
	times                     []pair // of the layers
	emulated                  bool
}

// account sets the account of the cell. It has none if a side was not sampled at least twice.
func (w *work) account(level float64) {
	a, b := w.cell.A, w.cell.B
	if min(a.TimeLoads, b.TimeLoads) < fewestLoads || a.CPU == nil || b.CPU == nil {
		return
	}
	in := accounts{aside: w.aside, pace: w.pace, emulated: w.cell.Emulated()}
	for side, p := range []*cost.Profile{&a, &b} {
		rates := p.Rates[profile.Time]
		if rates == nil || rates.Mean <= 0 || len(p.CPU.Values) != p.TimeLoads {
			return
		}
		in.cpu[side] = p.CPU.Values
		for i := range p.TimeLoads {
			in.between[side] = append(in.between[side], 1e9/rateOf(rates, i))
		}
	}
	for _, l := range w.cell.Layers {
		if times, ok := w.raw[l.ID]; ok && len(times[0]) == a.TimeLoads && len(times[1]) == b.TimeLoads {
			in.layers, in.times = append(in.layers, l), append(in.times, times)
		}
	}
	in.causes = w.causes
	w.cell.Account = in.account(level)
}

// account divides the difference. The intervals are from a jackknife: the division is repeated without each load in
// turn.
func (in accounts) account(level float64) *Account {
	const confidence = 0.95
	whole := in.divide(0, -1)
	var without [2][]division
	for side := range in.cpu {
		for i := range in.cpu[side] {
			without[side] = append(without[side], in.divide(side, i))
		}
	}
	freedom := float64(len(in.cpu[0]) + len(in.cpu[1]) - 2)
	over := func(confidence float64, of func(division) float64) Range {
		variance := 0.0
		for _, side := range without {
			var values []float64
			for _, d := range side {
				values = append(values, of(d))
			}
			n, middle := float64(len(values)), mean(values)
			for _, v := range values {
				variance += (n - 1) / n * (v - middle) * (v - middle)
			}
		}
		half := math.Sqrt(variance) * stat.StudentQuantile(0.5+confidence/2, freedom)
		value := of(whole)
		return Range{value, value - half, value + half}
	}
	out := &Account{A: whole.a, B: whole.b, CPUs: whole.cpus, Emulated: in.emulated, Loss: over(level, division.loss)}
	for i := range whole.parts {
		p := whole.named[i]
		p.NS = over(confidence, func(d division) float64 { return d.parts[i] })
		if out.Clear() {
			p.Share = over(confidence, func(d division) float64 { return d.parts[i] / d.loss() })
		}
		if math.IsNaN(p.Share.High) || math.IsInf(p.Share.High, 0) {
			return nil // without one load there is no loss
		}
		if math.Abs(p.NS.Value) > rounding*(whole.a+whole.b) {
			out.Parts = append(out.Parts, p)
		}
	}
	slices.SortStableFunc(out.Parts, func(x, y Part) int {
		return -cmp.Compare(math.Abs(x.NS.Value), math.Abs(y.NS.Value))
	})
	return out
}

// uniform returns by how much everything is slower: the change of the median function and layer, or the change of the
// total time of all parts except those that differ, whichever is less. Neither one function that takes most of the time
// represents everything, nor do many that take little.
func uniform(median float64, others [2]float64) float64 {
	if others[0] <= 0 || others[1] <= 0 {
		return 1
	}
	together := others[1] / others[0]
	if median > 1 {
		return max(1, min(median, together))
	}
	return min(1, max(median, together))
}

// division is a difference and its parts.
type division struct {
	a, b, cpus float64
	parts      []float64
	named      []Part
}

func (d division) loss() float64 { return d.b - d.a }

// divide divides the difference of the means. The load of the given side at index without is left out.
func (in accounts) divide(side, without int) division {
	between, cpu := in.between.means(side, without), in.cpu.means(side, without)
	aside, pace := in.aside.means(side, without), in.pace.means(side, without)
	var layers [][2]float64
	others := [2]float64{cpu[0] - aside[0], cpu[1] - aside[1]}
	for i := range in.layers {
		of := in.times[i].means(side, without)
		layers = append(layers, of)
		others[0], others[1] = others[0]-of[0], others[1]-of[1]
	}
	slower := uniform(math.Exp(pace[1]-pace[0]), others)
	d := division{cpus: max(1, cpu[0]/between[0], cpu[1]/between[1])}
	d.a, d.b = d.cpus*between[0], d.cpus*between[1]
	add := func(p Part, ns float64) float64 {
		d.named, d.parts = append(d.named, p), append(d.parts, ns)
		return ns
	}
	rest := d.loss()
	rest -= add(Part{Reason: Uniform, Factor: slower, Causes: in.causes}, (slower-1)*(cpu[0]-aside[0]))
	for i, l := range in.layers {
		rest -= add(Part{Reason: InLayer, Layer: l.ID, Title: l.Title}, layers[i][1]-slower*layers[i][0])
	}
	rest -= add(Part{Reason: OtherWork}, aside[1]-aside[0])
	rest -= add(Part{Reason: Waiting}, d.loss()-(cpu[1]-cpu[0]))
	add(Part{Reason: Unexplained}, rest)
	return d
}
