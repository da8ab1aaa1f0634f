package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/profile"
)

// threads determines on whose behalf threads ran, by their IDs in the kernel's events.
type threads struct {
	load, own map[int32]thread
	// nested is set if this process sees other IDs than the kernel's, so that threads are only recognised by their
	// names.
	nested bool
	// names from events, and look, which reads information that is not in events.
	names map[int32]string
	look  func(int32) thread
}

// context returns the context of a thread, and empty for this process.
func (t threads) context(id int32) profile.Context {
	var is thread
	if !t.nested {
		is = t.look(id)
	}
	if name, ok := t.names[id]; ok {
		is.name = name
	}
	switch {
	case id == 0:
		return profile.InIdle
	case t.among(t.own, id, is.name):
		return ""
	case t.among(t.load, id, is.name):
		return profile.InLoad
	case strings.HasPrefix(is.name, "kworker/"):
		return profile.InWorker
	case is.kernel:
		return profile.InThread
	}
	return profile.InTask
}

func (t threads) among(these map[int32]thread, id int32, name string) bool {
	if !t.nested {
		_, ok := these[id]
		return ok
	}
	for _, one := range these {
		if name != "" && one.name == name {
			return true
		}
	}
	return false
}

// callCounts converts the counts of bursts to names, and returns the modules of functions. Functions with the same name
// are merged; if the kernel hides its names there are none.
func (c *counter) callCounts(bursts tallies, of threads, kernel *KernelSymbols) (counts []profile.CallCount,
	modules map[string]string) {
	type key struct {
		name    string
		context profile.Context
	}
	contexts, names := map[int32]profile.Context{}, map[counted]string{}
	modules = map[string]string{}
	named := func(k counted) key {
		if k.context == "" {
			context, known := contexts[k.thread]
			if !known {
				context = of.context(k.thread)
				contexts[k.thread] = context
			}
			k.context = context
		}
		what := counted{place: k.place, event: k.event}
		name, known := names[what]
		if !known {
			name = c.name(what, kernel, modules)
			names[what] = name
		}
		return key{name, k.context}
	}
	sums := map[key]*profile.CallCount{}
	for part, burst := range bursts.parts {
		for what, n := range burst.calls {
			k := named(what)
			if k.name == "" || k.context == "" {
				continue
			}
			if sums[k] == nil {
				sums[k] = &profile.CallCount{Function: k.name, Context: k.context,
					Bursts: make([]uint64, len(bursts.parts))}
			}
			sums[k].Count += n
			sums[k].Bursts[part] += n
		}
	}
	for _, sum := range sums {
		counts = append(counts, *sum)
	}
	slices.SortFunc(counts, func(a, b profile.CallCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Function, b.Function),
			cmp.Compare(a.Context, b.Context))
	})
	return counts, modules
}

// name returns the name of an event or a function, and stores the function's module; empty for a function if the kernel
// hides names.
func (c *counter) name(what counted, kernel *KernelSymbols, modules map[string]string) string {
	switch {
	case what.event:
		return c.kinds[uint16(what.place)].name
	case kernel == nil:
		return ""
	}
	name, module, ok := kernel.Name(what.place)
	if !ok {
		return "?"
	}
	if module != "" {
		modules[name] = module
	}
	return name
}

// completions returns what devices completed, by their numbers. A bio of a device with requests is part of one.
func (t *tally) completions() []profile.Completed {
	all := make([]profile.Completed, 0, len(t.devices))
	for _, number := range slices.Sorted(maps.Keys(t.devices)) {
		d := t.devices[number]
		one := profile.Completed{Device: deviceNumber(number), Requests: d.requests, Bytes: d.requestBytes}
		if d.requests == 0 {
			one.Bios, one.Bytes = d.bios, d.bioBytes
		}
		all = append(all, one)
	}
	return all
}

// deviceNumber formats a number of the kernel's events, with 20 bits of minor number.
func deviceNumber(number uint64) string { return fmt.Sprintf("%d:%d", number>>20, number&(1<<20-1)) }
