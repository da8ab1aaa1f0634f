package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/record/symbols"
)

// threads says on whose behalf threads ran, by their number as the kernel's events have it.
type threads struct {
	load, own map[int32]thread
	// nested says that this process sees other numbers than the kernel's, so that threads are known by their names
	// alone.
	nested bool
	// names by events, and look, which asks for what events do not tell.
	names map[int32]string
	look  func(int32) thread
}

// context is that of a thread, and empty for this process's own.
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

// callCounts names what was counted in bursts, and says in which module functions are. Functions of one name are one;
// where the kernel hides its names there are none.
func (c *counter) callCounts(bursts tallies, of threads, kernel *symbols.Kernel) (counts []profile.CallCount,
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

// name is that of an event or a function, whose module is noted; empty for a function where the kernel hides names.
func (c *counter) name(what counted, kernel *symbols.Kernel, modules map[string]string) string {
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

// completions are what devices completed, by their numbers. A bio of a device that has requests is part of one.
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

// deviceNumber writes a number as the kernel's events have it, with 20 bits of minor number.
func deviceNumber(number uint64) string { return fmt.Sprintf("%d:%d", number>>20, number&(1<<20-1)) }
