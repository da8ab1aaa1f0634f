package cost

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/profile"
	"headroom/internal/profile/layer"
	"headroom/internal/prose"
)

// fewestIOs that a load must have done while it was traced, to say anything: of fewer, single calls make too much.
const fewestIOs = 30

// counts are calls per I/O.
type counts struct {
	loads     int
	traced    bool // the function tracer ran; else there are tracepoints only
	rates     []float64
	functions map[string]*called
}

// called is how often a function was called, in each load.
type called struct {
	calls    []float64
	contexts map[profile.Context]float64 // all loads together
}

// count works calls per I/O out of the loads that say something of them.
func (w *work) count() *counts {
	var good []profile.Load
	lossy, idle, traced := 0, 0, false
	for _, l := range w.loads {
		if l.Part != profile.Calls || l.Failed != "" || l.Traced == nil {
			continue
		}
		switch done, _ := w.operations(l); {
		case l.Traced.Lost > 0:
			lossy++
		case done < fewestIOs || l.Traced.Seconds <= 0:
			idle++
		default:
			good = append(good, l)
			traced = traced || l.Traced.Functions
		}
	}
	w.leftOut(lossy, "events were lost, and counts would be too low", "fewer jobs, or a lower rate_iops")
	w.leftOut(idle, fmt.Sprintf("fewer than %d I/Os were done while functions were traced", fewestIOs),
		"a longer run, or a deeper queue")
	if traced { // one that counted only tracepoints says nothing of functions
		good = slices.DeleteFunc(good, func(l profile.Load) bool { return !l.Traced.Functions })
	}
	c := &counts{loads: len(good), traced: traced && len(good) > 0, functions: map[string]*called{}}
	for i, l := range good {
		done, operations := w.operations(l)
		for _, name := range operations {
			if !slices.Contains(w.Operations, name) {
				w.Operations = append(w.Operations, name)
			}
		}
		c.rates = append(c.rates, done/l.Traced.Seconds)
		c.add(l.Traced.Calls, i, done)
	}
	return c
}

func (w *work) leftOut(n int, why, hint string) {
	if n > 0 {
		w.note(profile.Missing{What: "function calls of " + prose.Count(n, "load"), Why: why, Hint: hint})
	}
}

// add adds the calls of one load. Compilers cut pieces off functions, and make copies of them. Copies are called
// instead of the function, so their calls are added. A piece is called by the function itself, or instead of it where
// the rest went into its callers: the larger of the two counts.
func (c *counts) add(calls []profile.CallCount, load int, done float64) {
	type key struct {
		name    string
		context profile.Context
	}
	whole, pieces := map[key]float64{}, map[key]float64{}
	for _, one := range calls {
		if layer.Padding(one.Function) {
			continue
		}
		k := key{layer.Name(one.Function), one.Context}
		if strings.Contains(one.Function, ".part.") || strings.Contains(one.Function, ".cold") {
			pieces[k] += float64(one.Count)
		} else {
			whole[k] += float64(one.Count)
		}
	}
	for k, n := range pieces {
		whole[k] = max(whole[k], n)
	}
	for k, n := range whole {
		f := c.functions[k.name]
		if f == nil {
			f = &called{calls: make([]float64, c.loads), contexts: map[profile.Context]float64{}}
			c.functions[k.name] = f
		}
		f.contexts[k.context] += n / done
		if k.context.ForLoad() {
			f.calls[load] += n / done
		}
	}
}

// none is the estimate for a function that was never called.
func (c *counts) none() *Estimate { return estimate(make([]float64, c.loads)) }

// operations are the I/Os that a load did while it was traced, and the functions that were counted as such.
func (w *work) operations(l profile.Load) (float64, []string) {
	calls := map[string]float64{}
	for _, one := range l.Traced.Calls {
		if one.Context == profile.InLoad {
			calls[layer.Name(one.Function)] += float64(one.Count)
		}
	}
	most, functions := 0.0, []string(nil)
	for _, group := range w.layers.Operations() {
		sum, names := 0.0, []string(nil)
		for _, name := range group {
			if calls[name] > 0 {
				sum += calls[name]
				names = append(names, name)
			}
		}
		if sum > most {
			most, functions = sum, names
		}
	}
	// A load that maps its file calls none of them, but for a few in its own affairs.
	if moved := movedIOs(l); most < moved/5 {
		return moved, nil
	}
	return most, functions
}

// movedIOs are the I/Os of a load by the bytes that its topmost device completed.
func movedIOs(l profile.Load) float64 {
	if len(l.Traced.Completed) == 0 {
		return 0
	}
	top := l.Traced.Completed[0]
	iops, bandwidth := 0.0, 0.0
	for _, d := range lab.Directions() {
		if b := l.Values[lab.Bandwidth(d)]; b > 0 {
			iops, bandwidth = iops+l.Values[lab.IOPS(d)], bandwidth+b
		}
	}
	if iops > 0 && bandwidth > 0 {
		return float64(top.Bytes) * iops / bandwidth
	}
	return float64(max(top.Requests, top.Bios))
}
