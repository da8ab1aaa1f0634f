package cost

import (
	"cmp"
	"slices"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/layer"
)

// Options of the estimates.
type Options struct {
	// Measured are the repetitions next to which loads were profiled, for the overhead of profiling.
	Measured []Measured
	// Deciding returns the metric on which a comparison of a cell decides; nil for the IOPS of the load.
	Deciding func(cell string) string
	// Emulated is set if the CPU is emulated.
	Emulated bool
}

// Measured is a repetition that was not profiled.
type Measured struct {
	Cell, Arm string
	Number    int
	Values    map[string]float64
}

// Of computes the cost of an I/O, for each cell and arm of the loads in their original order.
func Of(loads []profile.Load, o Options) ([]Profile, error) {
	layers, err := layer.Load()
	if err != nil {
		return nil, err
	}
	type key struct{ cell, arm, role string }
	var keys []key
	groups := map[key][]profile.Load{}
	for _, l := range loads {
		k := key{l.Cell, l.Arm, l.Role}
		if groups[k] == nil {
			keys = append(keys, k)
		}
		groups[k] = append(groups[k], l)
	}
	var all []Profile
	for _, k := range keys {
		w := &work{layers: layers, loads: groups[k], modules: map[string]string{}}
		w.Cell, w.Arm, w.Role, w.Emulated = k.cell, k.arm, k.role, o.Emulated
		w.all(o)
		all = append(all, w.Profile)
	}
	return all, nil
}

// work is a profile while it is computed.
type work struct {
	Profile
	layers  *layer.Layers
	loads   []profile.Load
	modules map[string]string // of functions, by their original names
	calls   *counts
	time    *times
	waits   *waited
}

func (w *work) all(o Options) {
	for _, l := range w.loads {
		w.Kernel = cmp.Or(w.Kernel, l.Kernel)
		for function, module := range l.Modules {
			w.modules[layer.Name(function)] = module
		}
		w.missing(l)
	}
	w.calls, w.time, w.waits = w.count(), w.sample(), w.wait()
	w.CallLoads, w.TimeLoads, w.WaitLoads = w.calls.loads, w.time.loads, w.waits.loads
	w.rates()
	w.functions()
	w.byLayer()
	w.overhead(o)
}

func (w *work) missing(l profile.Load) {
	if l.Failed != "" {
		what := "samples"
		if l.Part == profile.Calls {
			what = "function calls"
		}
		w.note(profile.Missing{What: what, Why: l.Failed})
	}
	for _, m := range l.Missing {
		w.note(m)
	}
	for _, lost := range []uint64{
		value(l.Traced, func(t *profile.Traced) uint64 { return t.Lost }),
		value(l.Sampled, func(s *profile.Sampled) uint64 { return s.Lost }),
		value(l.Stages, func(s *profile.Stages) uint64 { return s.Lost }),
		value(l.Waits, func(s *profile.Waits) uint64 { return s.Lost }),
	} {
		w.Lost += lost
	}
}

func value[V any](from *V, of func(*V) uint64) uint64 {
	if from == nil {
		return 0
	}
	return of(from)
}

func (w *work) note(m profile.Missing) {
	if !slices.Contains(w.Missing, m) {
		w.Missing = append(w.Missing, m)
	}
}

func (w *work) rates() {
	w.Rates = map[profile.Part]*LoadMean{}
	for part, rates := range map[profile.Part][]float64{profile.Calls: w.calls.rates, profile.Time: w.time.rates} {
		if len(rates) > 0 {
			w.Rates[part] = estimate(rates)
		}
	}
}

// functions lists all functions, the most expensive first.
func (w *work) functions() {
	names := map[string]bool{}
	for name := range w.calls.functions {
		names[name] = true
	}
	for name := range w.time.self {
		names[name] = true
	}
	for name := range w.time.total {
		names[name] = true
	}
	for name := range w.waits.functions {
		names[name] = true
	}
	for name := range names {
		if f, ok := w.function(name); ok {
			w.Functions = append(w.Functions, f)
		}
	}
	slices.SortFunc(w.Functions, func(a, b Function) int {
		return cmp.Or(-cmp.Compare(mean(a.Self), mean(b.Self)), -cmp.Compare(mean(a.Calls), mean(b.Calls)),
			cmp.Compare(a.Name, b.Name))
	})
}

// The minimum for listing a function: calls or waits per I/O, and its share of the samples.
const (
	leastCalls = 0.01
	leastShare = 0.01
)

func (w *work) function(name string) (Function, bool) {
	f := Function{Name: name, Module: w.modules[name]}
	if f.Layer = w.layers.Of(name, f.Module); f.Layer == programs {
		f.Layer = generator // only programs of the load are included here: it calls libraries
	}
	if id := w.time.worksFor(name); id != "" {
		f.Layer = id
	}
	listed := false
	c := w.calls.functions[name]
	if c != nil && w.calls.loads > 0 {
		f.Calls, f.Own = w.calls.estimate(c.all), w.calls.estimateOwn(c)
		f.Contexts = map[profile.Context]float64{}
		for context, n := range c.contexts {
			f.Contexts[context] = n / float64(w.calls.loads)
			listed = listed || f.Contexts[context] >= leastCalls
		}
	}
	event := c != nil && hasColon(name)
	if w.time.loads > 0 && !event {
		f.Self, f.Total = w.time.estimate(w.time.self[name]), w.time.estimate(w.time.total[name])
		f.OwnSelf = w.time.estimateOwn(name)
		listed = listed || f.Total.Mean >= leastShare*w.CPU.Mean
	}
	if c == nil && w.calls.traced && !hasColon(name) {
		f.Calls = w.calls.none()
	}
	if waits, ok := w.waits.functions[name]; ok {
		f.Waits = estimate(waits)
		listed = listed || f.Waits.Mean >= leastCalls
	}
	return f, listed
}

func (w *work) byLayer() {
	calls := map[string][]float64{}
	for name, c := range w.calls.functions {
		if hasColon(name) || !w.calls.traced {
			continue // occurrences of tracepoints are not calls
		}
		id := w.layers.Of(name, w.modules[name])
		calls[id] = add(calls[id], c.all.calls)
	}
	for id, values := range w.time.layers {
		one := Layer{ID: id, NS: w.time.estimate(values)}
		if w.calls.traced {
			one.Calls = w.calls.none()
		}
		w.Layers = append(w.Layers, one)
	}
	for id, values := range calls {
		i := slices.IndexFunc(w.Layers, func(l Layer) bool { return l.ID == id })
		if i < 0 {
			w.Layers = append(w.Layers, Layer{ID: id})
			i = len(w.Layers) - 1
			if w.time.loads > 0 {
				w.Layers[i].NS = w.time.estimate(nil)
			}
		}
		w.Layers[i].Calls = estimate(values)
	}
	for i := range w.Layers {
		w.Layers[i].Title = w.layers.Title(w.Layers[i].ID)
	}
	slices.SortFunc(w.Layers, func(a, b Layer) int {
		return cmp.Or(-cmp.Compare(mean(a.NS), mean(b.NS)), -cmp.Compare(mean(a.Calls), mean(b.Calls)),
			cmp.Compare(a.ID, b.ID))
	})
}

// waited has how often per I/O threads of the load wait in a function, in each load.
type waited struct {
	loads     int
	functions map[string][]float64
}

// wait computes waits per I/O from the loads whose threads were recorded.
func (w *work) wait() *waited {
	var good []profile.Load
	for _, l := range w.loads {
		if l.Failed == "" && l.Waits != nil && l.Waits.Seconds > 0 && w.rate(l, l.Waits.Counted) > 0 {
			good = append(good, l)
		}
	}
	out := &waited{loads: len(good), functions: map[string][]float64{}}
	for i, l := range good {
		ios := w.rate(l, l.Waits.Counted) * l.Waits.Seconds
		for _, s := range l.Waits.Stacks {
			name := w.layers.WaitsIn(s.Frames, l.Modules)
			if name == "" || hasColon(name) {
				continue
			}
			if out.functions[name] == nil {
				out.functions[name] = make([]float64, out.loads)
			}
			out.functions[name][i] += float64(s.Count) / ios
		}
	}
	return out
}
