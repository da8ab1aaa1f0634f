package difference

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/stat"
)

// paceMargin is how much calls a second can differ between two machines for work at the same pace.
const paceMargin = 0.25

// leaveOut excludes background work, such as another program's writes and packets: work that interrupts and kernel
// threads do equally often per second on both sides, within its scatter, while the numbers of I/Os differ. If there are
// fewer I/Os, there is more of it per I/O, which is not a cause. Work of the load's own threads stays: a device may
// serve equally many requests a second while each I/O needs more of them.
func (w *work) leaveOut(alpha float64) {
	perIO, perSecond := w.paceTests()
	level := stat.FamilyWise(alpha, len(perSecond))
	decide(perIO, level)
	decide(perSecond, level)
	for _, r := range w.functions() {
		if !r.ownPace() {
			continue
		}
		w.cell.OwnPace = append(w.cell.OwnPace, r.name)
		r.calls, r.bursts = ownOf(r.ownCalls, r.calls), r.ownBursts
		if self := ownOf(r.ownSelf, r.self); r.self[0] != nil && r.self[1] != nil {
			w.leaveOutTime(w.layers[r.layer], r.self, self)
			r.self = self
		}
	}
}

// paceTests are the tests of how often functions are called outside the load's threads, per I/O and per second; none if
// the I/Os per second differ too little for a statement.
func (w *work) paceTests() (perIO, perSecond []test) {
	a, b := w.cell.A.Rates[profile.Calls], w.cell.B.Rates[profile.Calls]
	if a == nil || b == nil || min(w.cell.A.CallLoads, w.cell.B.CallLoads) < fewestLoads ||
		max(a.Mean, b.Mean) <= (1+callsMargin)*min(a.Mean, b.Mean) {
		return nil, nil
	}
	rates := [2]*cost.LoadMean{a, b}
	for _, r := range w.functions() {
		if r.calls[0] == nil || r.calls[1] == nil {
			continue
		}
		var io, second [2][]float64
		var bursts [2]*cost.Spread
		for side, own := range ownOf(r.ownCalls, r.calls) {
			for i, all := range r.calls[side] {
				io[side] = append(io[side], max(0, all-own[i]))
				second[side] = append(second[side], io[side][i]*rateOf(rates[side], i))
			}
			if s := r.bursts[side]; s != nil {
				bursts[side] = &cost.Spread{SD: s.SD * rates[side].Mean, Freedom: s.Freedom}
			}
		}
		if mean(io[0]) > 0 && mean(io[1]) > 0 {
			perIO = append(perIO, test{values: io, into: &r.besidePerIO, bursts: r.bursts})
			perSecond = append(perSecond, test{values: second, into: &r.besidePerSecond, bursts: bursts})
		}
	}
	return perIO, perSecond
}

// rateOf returns how many I/Os a second one load did.
func rateOf(rates *cost.LoadMean, load int) float64 {
	if load < len(rates.Values) {
		return rates.Values[load]
	}
	return rates.Mean
}

// ownPace reports whether a function is called equally often per second on both sides outside the load's threads,
// rather than equally often per I/O. Its scatter is estimated from calls a second or from calls per I/O, whichever
// scatter less: the former do if the load makes none of the calls, and the latter if it makes all of them.
func (r *row) ownPace() bool {
	second, io := r.besidePerSecond, r.besidePerIO
	if second == nil || second.apart() >= io.apart() {
		return false
	}
	return math.Abs(second.B-second.A) <= paceMargin*min(second.A, second.B)+
		min(second.scatter(), io.scatter())*(second.A+second.B)
}

// apart returns the distance of both sides relative to their sum, and scatter half the width of the interval.
func (d *Delta) apart() float64   { return math.Abs(d.B-d.A) / (d.A + d.B) }
func (d *Delta) scatter() float64 { return (d.High - d.Low) / 2 / (d.A + d.B) }

// ownOf returns the values of the load's threads; all values on a side where there are no others.
func ownOf(own, all [2][]float64) [2][]float64 {
	for side := range own {
		if own[side] == nil {
			own[side] = all[side]
		}
	}
	return own
}

// leaveOutTime subtracts from a layer the excluded time of one of its functions. No time of the layer becomes negative.
func (w *work) leaveOutTime(l *row, before, after [2][]float64) {
	if l == nil {
		return
	}
	for side := range l.self {
		l.self[side] = slices.Clone(l.self[side])
		if w.aside[side] == nil {
			w.aside[side] = make([]float64, len(l.self[side]))
		}
		for i, all := range l.self[side] {
			out := min(all, before[side][i]-after[side][i])
			l.self[side][i] -= out
			w.aside[side][i] += out
		}
	}
}

// reached is the number of calls per I/O above which requests of a load count as reaching a layer.
const reached = 0.5

// reach finds the layers that requests of the load reach: its threads enter them on one side, or any context does on
// both.
func (w *work) reach() {
	own, all := map[string][2]float64{}, map[string][2]float64{}
	for _, r := range w.functions() {
		o, a := own[r.layer], all[r.layer]
		for side, values := range ownOf(r.ownCalls, r.calls) {
			o[side] += mean(values)
			a[side] += mean(r.calls[side])
		}
		own[r.layer], all[r.layer] = o, a
	}
	w.reached = map[string]bool{}
	for id := range all {
		w.reached[id] = max(own[id][0], own[id][1]) >= reached || min(all[id][0], all[id][1]) >= reached
	}
}

// beyond reports whether a function differs only in calls by interrupts and kernel threads, in a layer that no request
// of the load reaches.
func (w *work) beyond(r *row) bool {
	own := ownOf(r.ownCalls, r.calls)
	return r.callsDelta.Changed() && !w.reached[r.layer] && math.Abs(mean(own[1])-mean(own[0])) <= leastCalls
}
