package cost

import "github.com/headroom/headroom/internal/profile"

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
