package difference

import (
	"cmp"
	"maps"
	"math"
	"slices"
)

// The weights of statements in the explanation by layers. A new function weighs more than more calls of an existing
// one; the function by which engineers know a layer weighs more than the others of the layer; and a function that the
// other kernel may have under another name, or whose layer no request of the load reaches, weighs little. Consequences
// of other layers' work never come first if another layer has something new.
const (
	changedWeight = 0.25
	tellingWeight = 2
	unsureWeight  = 0.2
	followsWeight = 0.1
	followsMost   = 0.5 // of the weight of the first of the others
	callsPart     = 0.7 // of the share, if times differ too
)

// weigh returns how much the difference of a function explains.
func (w *work) weigh(r *row) float64 {
	weight := r.callsDelta.weight() + r.waitsDelta.weight()
	if w.known.Telling(r.name) {
		weight *= tellingWeight
	}
	if w.unsure(r) || w.beyond(r) {
		weight *= unsureWeight
	}
	return weight
}

// weight returns how much a change of a number explains.
func (d *Delta) weight() float64 {
	if !d.Changed() {
		return 0
	}
	weight := math.Log2(1 + math.Abs(d.B-d.A))
	if d.Change == More || d.Change == Less {
		return weight * changedWeight
	}
	return weight + 1
}

// unsure reports whether the function exists on one side only, and the kernels differ.
func (w *work) unsure(r *row) bool { return w.cell.A.Kernel != w.cell.B.Kernel && r.inA() != r.inB() }

// list fills in the layers and functions that differ.
func (w *work) list() {
	shares := w.shares()
	for _, r := range w.functions() {
		if !changed(r) {
			if r.callsDelta != nil || r.nsDelta != nil {
				w.cell.Same++
			}
			continue
		}
		f := Function{Name: r.name, Module: r.module, Layer: r.layer, Calls: r.callsDelta, NS: r.nsDelta,
			Waits: r.waitsDelta}
		switch {
		case w.unsure(r):
			f.Note = "never ran on the other kernel: it may be inlined or renamed there"
		case w.beyond(r):
			f.Note = "no request of the load reaches its layer: other work of the machine may call it"
		}
		w.cell.Functions = append(w.cell.Functions, f)
	}
	slices.SortStableFunc(w.cell.Functions, func(a, b Function) int {
		return cmp.Or(-cmp.Compare(shares[a.Layer], shares[b.Layer]), cmp.Compare(a.Layer, b.Layer),
			w.compare(w.rows[a.Name], w.rows[b.Name]))
	})
	for _, r := range w.groups() {
		w.listLayer(r, shares[r.layer])
	}
	slices.SortStableFunc(w.cell.Layers, func(a, b Layer) int { return -cmp.Compare(a.Share, b.Share) })
}

func (w *work) listLayer(r *row, share float64) {
	l := Layer{ID: r.layer, Title: r.name, Share: share, Calls: r.callsDelta, NS: r.nsDelta, Functions: []string{}}
	for _, f := range w.cell.Functions {
		if f.Layer == r.layer {
			l.Functions = append(l.Functions, f.Name)
		}
	}
	if len(l.Functions) > 0 || changed(r) {
		w.cell.Layers = append(w.cell.Layers, l)
	}
}

func changed(r *row) bool {
	return r.callsDelta.Changed() || r.nsDelta.Changed() || r.waitsDelta.Changed()
}

// compare orders the functions of a layer: the most informative first.
func (w *work) compare(a, b *row) int {
	return cmp.Or(
		-compareBool(w.known.Telling(a.name), w.known.Telling(b.name)),
		compareBool(w.known.Passes(a.name, a.module), w.known.Passes(b.name, b.module)),
		-cmp.Compare(w.weigh(a), w.weigh(b)),
		-cmp.Compare(time(a), time(b)),
		cmp.Compare(a.name, b.name))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// time returns by how much CPU times differ.
func time(r *row) float64 {
	if r.nsDelta == nil || r.nsDelta.Change == "" {
		return 0
	}
	return math.Abs(r.nsDelta.B - r.nsDelta.A)
}

// shares returns how much of all differences each layer explains.
func (w *work) shares() map[string]float64 {
	calls, times := map[string]float64{}, map[string]float64{}
	for _, r := range w.functions() {
		calls[r.layer] += w.weigh(r)
	}
	for _, r := range w.groups() {
		if calls[r.layer] == 0 && r.callsDelta != nil && r.callsDelta.Change != "" {
			calls[r.layer] = changedWeight * math.Log2(1+math.Abs(r.callsDelta.B-r.callsDelta.A))
		}
		times[r.layer] = time(r)
	}
	w.hold(calls)
	w.hold(times)
	all := map[string]float64{}
	part := callsPart
	switch {
	case total(calls) == 0:
		part = 0
	case total(times) == 0:
		part = 1
	}
	for _, r := range w.groups() {
		all[r.layer] = part*share(calls, r.layer) + (1-part)*share(times, r.layer)
	}
	return all
}

// hold reduces the scores of layers that follow from others.
func (w *work) hold(scores map[string]float64) {
	most := 0.0
	for id, score := range scores {
		if l, _ := w.known.Get(id); !l.Follows {
			most = max(most, score)
		}
	}
	if most == 0 {
		return
	}
	for id := range scores {
		if l, _ := w.known.Get(id); l.Follows {
			scores[id] = min(scores[id]*followsWeight, most*followsMost)
		}
	}
}

func total(scores map[string]float64) float64 {
	sum := 0.0
	for _, id := range slices.Sorted(maps.Keys(scores)) {
		sum += scores[id]
	}
	return sum
}

func share(scores map[string]float64, id string) float64 {
	if all := total(scores); all > 0 {
		return scores[id] / all
	}
	return 0
}
