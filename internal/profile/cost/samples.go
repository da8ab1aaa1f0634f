package cost

import (
	"slices"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/layer"
)

// times has nanoseconds of CPU time per I/O, of each load.
type times struct {
	loads               int
	rates               []float64
	cpu, others, spin   []float64
	self, total, layers map[string][]float64
	own                 map[string][]float64 // self in threads of the load
	// called is the time of a function alone, by the layer that it works for in some stacks.
	called map[string]map[string]float64
}

// The layers of programs: the load generator itself, and others. A library that the load generator calls has its own
// name.
const (
	generator = "load"
	programs  = "programs"
)

// sample computes nanoseconds per I/O from the loads that were sampled.
func (w *work) sample() *times {
	var good []profile.Load
	unknown := 0
	for _, l := range w.loads {
		if l.Part != profile.Time || l.Failed != "" || l.Sampled == nil {
			continue
		}
		if w.rate(l, l.Sampled.Counted) > 0 && l.Sampled.Seconds > 0 && len(l.Sampled.Stacks) > 0 {
			good = append(good, l)
			w.Event = l.Sampled.Event
		} else {
			unknown++
		}
	}
	if unknown > 0 {
		w.note(profile.Missing{What: "samples per I/O",
			Why:  "the kernel counted no I/O of the load, or no sample was taken",
			Hint: "a load that does I/O for some seconds: a longer runtime, or direct=1"})
	}
	t := &times{loads: len(good), self: map[string][]float64{}, total: map[string][]float64{},
		layers: map[string][]float64{}, own: map[string][]float64{}, called: map[string]map[string]float64{},
		cpu: make([]float64, len(good)), others: make([]float64, len(good)),
		spin: make([]float64, len(good))}
	for i, l := range good {
		rate := w.rate(l, l.Sampled.Counted)
		t.rates = append(t.rates, rate)
		weights := weightsOf(l)
		perIO := 1e9 / (rate * l.Sampled.Seconds)
		for _, s := range l.Sampled.Stacks {
			switch ns := float64(s.Count) * weights[s.CPU] * perIO; {
			case s.Context.ForLoad():
				t.add(w.layers, l, s, i, ns)
			case s.Context == profile.InTask:
				t.others[i] += ns
			}
		}
	}
	if t.loads > 0 {
		w.CPU, w.Others = estimate(t.cpu), estimate(t.others)
		for i := range t.spin {
			if t.cpu[i] > 0 {
				t.spin[i] /= t.cpu[i]
			}
		}
		w.SpinLocks = estimate(t.spin)
	}
	return t
}

// weightsOf returns how many seconds a sample represents, by CPU. A timer also takes samples while a CPU idles, so all
// samples together represent the whole time, even if some were lost or taken late. If far fewer were taken, the CPU was
// not sampled while idle, as with hardware counters, which stop then.
func weightsOf(l profile.Load) map[int]float64 {
	taken := map[int]float64{}
	for _, s := range l.Sampled.Stacks {
		taken[s.CPU] += float64(s.Count)
	}
	weights := map[int]float64{}
	for cpu, n := range taken {
		weights[cpu] = 1 / float64(max(l.Sampled.Hz, 1))
		if l.Sampled.Event == "cpu-clock" && n >= float64(l.Sampled.Hz)*l.Sampled.Seconds/2 {
			weights[cpu] = l.Sampled.Seconds / n
		}
	}
	return weights
}

func (t *times) add(layers *layer.Layers, l profile.Load, s profile.Stack, load int, ns float64) {
	t.cpu[load] += ns
	id := layers.OfStack(s.Frames, l.Modules)
	if id == programs && s.Context == profile.InLoad {
		id = generator
	}
	t.into(t.layers, id, load, ns)
	if len(s.Frames) == 0 {
		return
	}
	t.addCalled(layers, s.Frames, ns)
	seen := map[string]bool{}
	for i, frame := range s.Frames {
		name := layer.Name(frame)
		if i == len(s.Frames)-1 {
			t.into(t.self, name, load, ns)
			if s.Context == profile.InLoad {
				t.into(t.own, name, load, ns)
			}
		}
		if !seen[name] {
			t.into(t.total, name, load, ns)
			seen[name] = true
		}
		if layers.Spins(name) && !seen["spinning"] {
			t.spin[load] += ns
			seen["spinning"] = true
		}
	}
}

// addCalled records the layer that the innermost function of a stack works for, if that is not its own layer.
func (t *times) addCalled(layers *layer.Layers, frames []string, ns float64) {
	if len(frames) < 2 {
		return
	}
	innermost := frames[len(frames)-1]
	if id, ok := layers.OfCall(frames[len(frames)-2], innermost); ok {
		name := layer.Name(innermost)
		if t.called[name] == nil {
			t.called[name] = map[string]float64{}
		}
		t.called[name][id] += ns
	}
}

// worksFor returns the layer for which a function spends more than half of its time; empty if that is its own.
func (t *times) worksFor(name string) string {
	all := 0.0
	for _, ns := range t.self[name] {
		all += ns
	}
	for id, ns := range t.called[name] {
		if ns > all/2 {
			return id
		}
	}
	return ""
}

func (t *times) into(m map[string][]float64, name string, load int, ns float64) {
	if m[name] == nil {
		m[name] = make([]float64, t.loads)
	}
	m[name][load] += ns
}

// estimateOwn returns the estimate of a function alone in threads of the load; nil if there is nothing else.
func (t *times) estimateOwn(name string) *LoadMean {
	if slices.Equal(t.self[name], t.own[name]) {
		return nil
	}
	return t.estimate(t.own[name])
}

// estimate returns the estimate of values, which are nil if no load had a sample.
func (t *times) estimate(values []float64) *LoadMean {
	if values == nil {
		values = make([]float64, t.loads)
	}
	return estimate(values)
}
