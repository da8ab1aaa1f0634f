package difference

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
)

// row is a function or a layer with the values of the loads of both sides, per I/O. Values are nil if nothing was
// recorded.
type row struct {
	name, module, layer string
	calls, self, waits  [2][]float64
	bursts              [2]*cost.Spread // of calls
	// The same values of a function in threads of the load alone; nil if there are no others.
	ownCalls, ownSelf [2][]float64
	ownBursts         [2]*cost.Spread
	// beside is the part of the calls outside those threads, per I/O and per second.
	besidePerIO, besidePerSecond *Delta
	// The published differences.
	callsDelta, nsDelta, waitsDelta *Delta
}

func (r *row) inA() bool { return some(r.calls[0]) || some(r.self[0]) || some(r.waits[0]) }
func (r *row) inB() bool { return some(r.calls[1]) || some(r.self[1]) || some(r.waits[1]) }

func some(values []float64) bool {
	return slices.ContainsFunc(values, func(v float64) bool { return v > 0 })
}

// collect makes rows of the functions and layers in the profiles. A function that only one of them lists is rare in the
// other, and counts as never called there.
func (w *work) collect() {
	for side, p := range []*cost.Profile{&w.cell.A, &w.cell.B} {
		for _, f := range p.Functions {
			r := w.row(f.Name)
			// A function may work for different layers on the two sides: the one in which it takes more time is used.
			if r.layer == "" || f.Self != nil && mean(f.Self.Values) > mean(r.self[0]) {
				r.module, r.layer = f.Module, f.Layer
			}
			if f.Calls != nil {
				r.calls[side], r.bursts[side] = f.Calls.Values, f.Calls.Bursts
			}
			if f.Own != nil {
				r.ownCalls[side], r.ownBursts[side] = f.Own.Values, f.Own.Bursts
			}
			if f.Self != nil {
				r.self[side] = f.Self.Values
			}
			if f.OwnSelf != nil {
				r.ownSelf[side] = f.OwnSelf.Values
			}
			if f.Waits != nil {
				r.waits[side] = f.Waits.Values
			}
		}
		for _, l := range p.Layers {
			r := w.layers[l.ID]
			if r == nil {
				r = &row{name: l.Title, layer: l.ID}
				w.layers[l.ID] = r
			}
			if l.NS != nil {
				r.self[side] = l.NS.Values
			}
		}
	}
	for _, rows := range []map[string]*row{w.rows, w.layers} {
		for _, r := range rows {
			w.complete(r)
		}
	}
	for _, r := range w.rows {
		w.completeWaits(r)
	}
}

// addToLayers adds the calls of functions to the calls of their layers.
func (w *work) addToLayers() {
	for _, r := range w.functions() {
		w.addToLayer(r)
	}
}

// addToLayer adds the calls of a function to the calls of its layer, unless their number varies from boot to boot.
func (w *work) addToLayer(r *row) {
	l := w.layers[r.layer]
	if l == nil || strings.Contains(r.name, ":") || w.known.Varies(r.name, r.module) ||
		w.known.Chance(r.name, r.module) {
		return
	}
	for side, values := range r.calls {
		for i, v := range values {
			l.calls[side][i] += v
		}
		l.bursts[side] = together(l.bursts[side], r.bursts[side])
	}
}

// together returns the scatter of a sum whose parts scatter in step: work in one go involves functions of many kinds.
func together(a, b *cost.Spread) *cost.Spread {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return &cost.Spread{SD: a.SD + b.SD, Freedom: a.Freedom}
}

func (w *work) row(name string) *row {
	r := w.rows[name]
	if r == nil {
		r = &row{name: name}
		w.rows[name] = r
	}
	return r
}

func (w *work) complete(r *row) {
	for side, p := range []*cost.Profile{&w.cell.A, &w.cell.B} {
		if r.calls[side] == nil && p.Rates[profile.Calls] != nil {
			r.calls[side] = make([]float64, p.CallLoads)
		}
		if r.self[side] == nil && p.Rates[profile.Time] != nil {
			r.self[side] = make([]float64, p.TimeLoads)
		}
	}
}

// completeWaits handles functions in which threads of one side wait: threads of the other don't.
func (w *work) completeWaits(r *row) {
	if r.waits[0] == nil && r.waits[1] == nil {
		return
	}
	for side, p := range []*cost.Profile{&w.cell.A, &w.cell.B} {
		if r.waits[side] == nil && p.WaitLoads > 0 {
			r.waits[side] = make([]float64, p.WaitLoads)
		}
	}
}
