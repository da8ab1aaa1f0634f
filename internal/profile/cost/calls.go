package cost

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/prose"
)

// counts has calls per I/O.
type counts struct {
	loads     int
	traced    bool // the function tracer ran; else there are only tracepoints
	rates     []float64
	ios       [][]float64 // of each load, in each burst; nil if unknown
	functions map[string]*called
}

// called has how often a function was called.
type called struct {
	all, own perIO                       // in all contexts that work for the load, and by its threads alone
	contexts map[profile.Context]float64 // per I/O, all loads together
}

// perIO has the calls in each load.
type perIO struct {
	calls  []float64   // per I/O
	bursts [][]float64 // in each burst
}

func newPerIO(loads int) perIO { return perIO{make([]float64, loads), make([][]float64, loads)} }

func (p *perIO) add(load int, calls float64, bursts []float64) {
	p.calls[load] += calls
	p.bursts[load] = add(p.bursts[load], bursts)
}

// count computes calls per I/O from the loads that have usable counts.
func (w *work) count() *counts {
	var good []profile.Load
	lossy, idle, traced := 0, 0, false
	for _, l := range w.loads {
		if l.Part != profile.Calls || l.Failed != "" || l.Traced == nil {
			continue
		}
		switch o := w.operations(l); {
		case l.Traced.Lost > 0:
			lossy++
		case o.done < profile.FewestIOs || l.Traced.Seconds <= 0:
			idle++
		default:
			good = append(good, l)
			traced = traced || l.Traced.Functions
		}
	}
	w.leftOut(lossy, "events were lost, and counts would be too low", "fewer jobs, or a lower rate_iops")
	w.leftOut(idle, fmt.Sprintf("fewer than %d I/Os were done while functions were traced", profile.FewestIOs),
		"a longer run, or a deeper queue")
	if traced { // a load with only tracepoint counts has no calls of functions
		good = slices.DeleteFunc(good, func(l profile.Load) bool { return !l.Traced.Functions })
	}
	c := &counts{loads: len(good), traced: traced && len(good) > 0, functions: map[string]*called{}}
	for i, l := range good {
		o := w.operations(l)
		for _, name := range o.functions {
			if !slices.Contains(w.Operations, name) {
				w.Operations = append(w.Operations, name)
			}
		}
		c.rates, c.ios = append(c.rates, o.done/l.Traced.Seconds), append(c.ios, o.bursts)
		c.add(l.Traced.Calls, i, o.done)
	}
	return c
}

func (w *work) leftOut(n int, why, hint string) {
	if n > 0 {
		w.note(profile.Missing{What: "function calls of " + prose.Count(n, "load"), Why: why, Hint: hint})
	}
}

// add adds the calls of one load. Compilers split pieces off functions, and make copies of them. Copies are called
// instead of the function, so their calls are added. A piece is called by the function itself, or instead of it if the
// rest was inlined into its callers: the larger of the two counts is used.
func (c *counts) add(calls []profile.CallCount, load int, done float64) {
	type key struct {
		name    string
		context profile.Context
	}
	type sum struct {
		n      float64
		bursts []float64
	}
	whole, pieces := map[key]sum{}, map[key]sum{}
	for _, one := range calls {
		if layer.Padding(one.Function) {
			continue
		}
		k, sums := key{layer.Name(one.Function), one.Context}, whole
		if strings.Contains(one.Function, ".part.") || strings.Contains(one.Function, ".cold") {
			sums = pieces
		}
		sums[k] = sum{sums[k].n + float64(one.Count), addCounts(sums[k].bursts, one.Bursts)}
	}
	for k, piece := range pieces {
		if piece.n > whole[k].n {
			whole[k] = piece
		}
	}
	for k, s := range whole {
		f := c.functions[k.name]
		if f == nil {
			f = &called{newPerIO(c.loads), newPerIO(c.loads), map[profile.Context]float64{}}
			c.functions[k.name] = f
		}
		f.contexts[k.context] += s.n / done
		if k.context.ForLoad() {
			f.all.add(load, s.n/done, s.bursts)
		}
		if k.context == profile.InLoad {
			f.own.add(load, s.n/done, s.bursts)
		}
	}
}

// addCounts adds counts burst by burst.
func addCounts(to []float64, counts []uint64) []float64 {
	values := make([]float64, len(counts))
	for i, n := range counts {
		values[i] = float64(n)
	}
	return add(to, values)
}

// estimate returns the estimate of calls per I/O.
func (c *counts) estimate(p perIO) *LoadMean {
	e := estimate(p.calls)
	e.Bursts = c.spread(p.bursts)
	return e
}

// estimateOwn returns the estimate of a function's calls by threads of the load; nil if these are all of its calls.
func (c *counts) estimateOwn(f *called) *LoadMean {
	if slices.Equal(f.all.calls, f.own.calls) {
		return nil
	}
	return c.estimate(f.own)
}

// spread returns how much calls per I/O of a load scatter, estimated from the differences between the bursts of each
// load. The variance of a ratio of sums follows from the residuals of the bursts: W. G. Cochran, "Sampling Techniques",
// 3rd edition (1977), section 6.4.
func (c *counts) spread(calls [][]float64) *Spread {
	squares, freedom := 0.0, 0
	for load, ios := range c.ios {
		n, done := len(ios), floats.Sum(ios)
		if n < 2 || done == 0 {
			continue
		}
		freedom += n - 1
		if len(calls[load]) != n {
			continue // it never ran
		}
		ratio, beyond := floats.Sum(calls[load])/done, 0.0
		for i := range n {
			beyond += math.Pow(calls[load][i]-ratio*ios[i], 2)
		}
		squares += float64(n) * beyond / (done * done)
	}
	if freedom == 0 {
		return nil
	}
	return &Spread{math.Sqrt(squares / float64(freedom)), freedom}
}

// none returns the estimate for a function that was never called.
func (c *counts) none() *LoadMean {
	return c.estimate(newPerIO(c.loads))
}

// operations are the I/Os that a load did while it was traced, in total and in each burst, and the functions whose
// calls were counted as I/Os. Bursts and functions are nil if the I/Os are computed from bytes.
type operations struct {
	done      float64
	bursts    []float64
	functions []string
}

func (w *work) operations(l profile.Load) operations {
	most := w.begun(l)
	// A load that maps its file calls none of them, except a few for purposes of its generator.
	if moved := w.movedIOs(l); most.done < moved/5 {
		return operations{done: moved}
	}
	return most
}

// begun returns the I/Os of a load by its calls of functions that begin one.
func (w *work) begun(l profile.Load) operations {
	calls := map[string]operations{}
	for _, one := range l.Traced.Calls {
		if one.Context == profile.InLoad {
			name := layer.Name(one.Function)
			calls[name] = operations{done: calls[name].done + float64(one.Count),
				bursts: addCounts(calls[name].bursts, one.Bursts)}
		}
	}
	var most operations
	for _, group := range w.layers.Operations() {
		var sum operations
		for _, name := range group {
			if one := calls[name]; one.done > 0 {
				sum = operations{sum.done + one.done, add(sum.bursts, one.bursts), append(sum.functions, name)}
			}
		}
		if sum.done > most.done {
			most = sum
		}
	}
	return most
}
