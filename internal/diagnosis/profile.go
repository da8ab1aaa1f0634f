package diagnosis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/prose"
)

// FactsOfProfiles returns the profiles of a run as facts for rules: the cost of an I/O in each profiled load, in total
// and by function and layer. A part that was not recorded is unknown, with the reason.
func FactsOfProfiles(costs []cost.Profile, loads []profile.Load) []lab.Fact {
	var all []lab.Fact
	for _, c := range costs {
		p := profiled{about: loadName(c.Cell, c.Arm), Profile: c}
		p.machine(loads)
		for _, f := range c.Functions {
			p.row("profile.function."+f.Name, f.Calls, f.Self)
			if f.Waits != nil {
				p.add("profile.function."+f.Name+".waits", f.Waits.Mean, p.WaitLoads)
			}
		}
		for _, l := range c.Layers {
			p.row("profile.layer."+l.ID, l.Calls, l.NS)
		}
		all = append(all, p.facts...)
	}
	return all
}

// loadName returns the name of a profiled load: its cell, with the arm if there are several.
func loadName(cell, arm string) string {
	cell = strings.TrimSuffix(cell, lab.CellIn("", arm))
	if arm == "" || arm == lab.OnlyArm {
		return cell
	}
	return lab.CellIn(cell, arm)
}

// profiled is a profile, with the facts made from it.
type profiled struct {
	cost.Profile
	about string
	facts []lab.Fact
}

func (p *profiled) add(key string, value float64, loads int) {
	p.facts = append(p.facts, lab.Fact{Key: key, About: p.about, Value: strconv.FormatFloat(value, 'g', 4, 64),
		Source: "profile of " + prose.Count(loads, "load")})
}

func (p *profiled) unknown(key, why string) {
	p.facts = append(p.facts, lab.Fact{Key: key, About: p.about, Unknown: why})
}

// machine adds the facts about the load as a whole. If these are known, rules assume that a function that is not listed
// did not run.
func (p *profiled) machine(loads []profile.Load) {
	if calls, known := p.calls(); known {
		p.add("profile.calls", calls, p.CallLoads)
	} else {
		p.unknown("profile.calls", p.why("function calls"))
	}
	if p.WaitLoads > 0 {
		p.add("profile.waits", p.waits(), p.WaitLoads)
	} else {
		p.unknown("profile.waits", p.why("waiting threads"))
	}
	if busy, why := p.busy(loads); why == "" {
		p.add("profile.busy", busy, p.TimeLoads)
	} else {
		p.unknown("profile.busy", why)
	}
	if p.CPU == nil {
		p.unknown("profile.cpu_ns", p.why("samples"))
		return
	}
	p.add("profile.cpu_ns", p.CPU.Mean, p.TimeLoads)
	if p.SpinLocks != nil {
		p.add("profile.spin_locks", p.SpinLocks.Mean, p.TimeLoads)
	}
	if share, known := busiestInterrupts(loads, p.Cell, p.Arm); known {
		p.add("profile.interrupts.busiest_cpu", share, p.TimeLoads)
	}
}

// busy returns the share of its threads' time that a load spends on CPUs: CPU time per I/O, times I/Os per second,
// divided by the number of threads. The reason is empty if the share is known.
func (p *profiled) busy(loads []profile.Load) (share float64, unknown string) {
	threads := 0
	for _, l := range loads {
		if l.Cell == p.Cell && l.Arm == p.Arm && l.Waits != nil {
			threads = max(threads, l.Waits.Threads)
		}
	}
	rate := p.Rates[profile.Time]
	switch {
	case p.CPU == nil || rate == nil:
		return 0, p.why("samples")
	case p.Emulated:
		return 0, "the CPU is emulated"
	case threads == 0:
		return 0, p.why("waiting threads")
	}
	return min(1, p.CPU.Mean*rate.Mean/1e9/float64(threads)), ""
}

// calls returns the calls per I/O of all functions together; false if the function tracer did not run. Static
// tracepoints, whose names have a colon, are not functions.
func (p *profiled) calls() (float64, bool) {
	sum, known := 0.0, false
	for _, f := range p.Functions {
		if f.Calls != nil && !strings.Contains(f.Name, ":") {
			sum, known = sum+f.Calls.Mean, true
		}
	}
	return sum, known
}

// waits returns the waits per I/O in all functions together.
func (p *profiled) waits() float64 {
	sum := 0.0
	for _, f := range p.Functions {
		if f.Waits != nil {
			sum += f.Waits.Mean
		}
	}
	return sum
}

// why returns the reason why something was not recorded.
func (p *profiled) why(what string) string {
	i := slices.IndexFunc(p.Missing, func(m profile.Missing) bool { return strings.Contains(m.What, what) })
	if i < 0 {
		return "no load was profiled for it"
	}
	return cmp.Or(p.Missing[i].Why, what+" could not be recorded")
}

// row adds the facts about a function or a layer.
func (p *profiled) row(key string, calls, ns *cost.LoadMean) {
	if calls != nil {
		p.add(key+".calls", calls.Mean, p.CallLoads)
	}
	if ns == nil {
		return
	}
	p.add(key+".ns", ns.Mean, p.TimeLoads)
	if p.CPU != nil && p.CPU.Mean > 0 {
		p.add(key+".share", ns.Mean/p.CPU.Mean, p.TimeLoads)
	}
}

// busiestInterrupts returns the share of its time that the CPU with the most interrupts spends in them, over all loads
// of a cell. An idle CPU is sampled less often than requested, or not at all, so samples are compared with the
// requested rate; false if nothing was sampled.
func busiestInterrupts(loads []profile.Load, cell, arm string) (share float64, known bool) {
	samples, expected := map[int]float64{}, 0.0
	for _, l := range loads {
		if l.Cell != cell || l.Arm != arm || l.Sampled == nil {
			continue
		}
		expected += float64(l.Sampled.Hz) * l.Sampled.Seconds
		for _, s := range l.Sampled.Stacks {
			if s.Context == profile.InHardirq || s.Context == profile.InSoftirq {
				samples[s.CPU] += float64(s.Count)
			}
		}
	}
	for _, n := range samples {
		share = max(share, n/expected)
	}
	return min(share, 1), expected > 0
}
