package validity

import (
	"fmt"

	"headroom/internal/lab"
	"headroom/internal/unit"
)

// ServerCounters are those of the server of a network's test, around the load. Its clock need not be that of this machine.
type ServerCounters struct {
	Before, After Counters
	// Same says that the server runs on the client's machine.
	Same bool
}

// fullShare is the share of its time from which on a core has hardly any left: beside the test, the counters cover what comes just before and after.
const fullShare = 0.9

// coreFull looks for a core that had no time left, on either end. A flow is served by one core's interrupts and one thread, however many cores there are.
func coreFull(e *Evidence) []lab.Warning {
	if e.Server == nil || len(e.Repetition.Values) == 0 {
		return nil
	}
	type end struct {
		name          string
		before, after Counters
	}
	ends := []end{{"client", e.Before, e.After}, {"server", e.Server.Before, e.Server.After}}
	if e.Server.Same {
		ends = []end{{"machine", e.Before, e.After}}
	}
	var all []lab.Warning
	for _, end := range ends {
		full, core, interrupts := 0, -1, 0.0
		for i := range min(len(end.before.Cores), len(end.after.Cores)) {
			a, b := end.before.Cores[i], end.after.Cores[i]
			idle := b.Idle + b.IOWait - a.Idle - a.IOWait
			handling := b.IRQ + b.SoftIRQ - a.IRQ - a.SoftIRQ
			busy := b.User + b.Nice + b.System - a.User - a.Nice - a.System + handling
			total := busy + idle + b.Steal - a.Steal
			if a == (CPUTimes{}) || idle < 0 || total <= 0 || busy/total < fullShare {
				continue
			}
			full++
			if share := handling / total; core < 0 || share > interrupts {
				core, interrupts = i, share
			}
		}
		if full == 0 {
			continue
		}
		which := fmt.Sprintf("CPU %d of the %s was full", core, end.name)
		if full > 1 {
			which = fmt.Sprintf("%d CPUs of the %s were full, CPU %d among them", full, end.name, core)
		}
		all = append(all, warn(everything(), "%s, %s of its time with interrupts: that may be the limit, and not the network; spread the flows (more streams, more queues, "+
			"other CPUs for their interrupts), or make each packet cheaper (a larger MTU, offloads)", which, unit.Percent(interrupts))...)
	}
	return all
}
