package layer

import (
	"slices"
	"strings"
)

// Other is the id of the layer of functions that belong to no other layer.
const Other = "other"

// Layers are the layers with their members. They are immutable, and safe for concurrent use.
type Layers struct {
	layers     []*Layer
	byID       map[string]*Layer
	exact      map[string]member
	patterns   []member // the longest first
	modules    map[string]*Layer
	modulesOf  []member
	prefixes   map[string]member // possible names before a colon; * for all others
	operations [][]string
	called     []call

	spinning, varying, chance, telling, preempting []member
}

// Layer is a group of functions.
type Layer struct {
	ID    string
	Title string
	Why   string
	// Source is where it is described; empty for common knowledge.
	Source string
	// Follows marks a layer whose changes mostly follow from changes of others: locks, timers, idling.
	Follows bool
}

// call is a function that belongs to a layer when another function calls it.
type call struct{ caller, function member }

// member is a pattern with its layer.
type member struct {
	before, after string // of the *
	star          bool
	layer         *Layer
	passes        bool
}

// Of returns the id of the layer that a function belongs to, or Other. Module is the kernel module that contains it, or
// empty. The name can be that of a static tracepoint ("block:block_rq_issue") or of a function of a program
// ("fio:get_io_u").
func (l *Layers) Of(function, module string) string {
	m, _ := l.find(function, module)
	if m.layer == nil {
		return Other
	}
	return m.layer.ID
}

// OfStack returns the id of the layer to which the time of a stack belongs: the layer of the innermost frame whose
// function does not count for its caller. Modules has the module of each function that is in one.
func (l *Layers) OfStack(frames []string, modules map[string]string) string {
	for i := len(frames) - 1; i >= 0; i-- {
		if i > 0 {
			if id, ok := l.OfCall(frames[i-1], frames[i]); ok {
				return id
			}
		}
		if m, ok := l.find(frames[i], modules[frames[i]]); ok && !m.passes {
			return m.layer.ID
		}
	}
	if len(frames) == 0 {
		return Other
	}
	return l.Of(frames[len(frames)-1], modules[frames[len(frames)-1]])
}

// WaitsIn returns the function in which a thread waits that left the CPU with a stack: the innermost one that belongs
// neither to the scheduler nor to layers used everywhere. It is empty if the thread was preempted.
func (l *Layers) WaitsIn(frames []string, modules map[string]string) string {
	for _, frame := range slices.Backward(frames) {
		if slices.ContainsFunc(l.preempting, func(m member) bool { return m.fits(short(frame)) }) {
			return ""
		}
		if m, ok := l.find(frame, modules[frame]); ok && !m.passes && !m.layer.Follows {
			return Name(frame)
		}
	}
	return ""
}

// Title returns the title of a layer, or the id itself if there is no such layer.
func (l *Layers) Title(id string) string {
	if one, ok := l.byID[id]; ok {
		return one.Title
	}
	return id
}

// Get returns a layer by its id.
func (l *Layers) Get(id string) (Layer, bool) {
	one, ok := l.byID[id]
	if !ok {
		return Layer{ID: id, Title: id}, false
	}
	return *one, true
}

// All returns the layers, in the order of the path of an I/O.
func (l *Layers) All() []Layer {
	var all []Layer
	for _, one := range l.layers {
		all = append(all, *one)
	}
	return all
}

// Operations returns the functions that loads call once for each I/O, by interface: a load uses one interface, and may
// call single functions of others.
func (l *Layers) Operations() [][]string { return l.operations }

// Spins reports whether a CPU waits in this function for a lock that another CPU holds.
func (l *Layers) Spins(function string) bool {
	name := short(function)
	return slices.ContainsFunc(l.spinning, func(m member) bool { return m.fits(name) })
}

// Telling reports whether engineers recognise by this function what its layer does.
func (l *Layers) Telling(function string) bool { return l.marked(l.telling, function, "") }

// Varies reports whether two boots of one machine can differ in how often they call this function for an I/O.
func (l *Layers) Varies(function, module string) bool { return l.marked(l.varying, function, module) }

// Chance reports whether two boots can differ in that even by an order of magnitude.
func (l *Layers) Chance(function, module string) bool { return l.marked(l.chance, function, module) }

// Passes reports whether the time of a function in a stack counts for its caller.
func (l *Layers) Passes(function, module string) bool {
	m, _ := l.find(function, module)
	return m.passes
}

// VariesAll reports whether all functions of a layer vary.
func (l *Layers) VariesAll(id string) bool {
	return slices.ContainsFunc(l.varying, func(m member) bool { return m.layer.ID == id && m.all() })
}

// marked reports whether a function is in a list of some layer, in which a lone * means all functions of that layer.
func (l *Layers) marked(list []member, function, module string) bool {
	bare, id := short(function), l.Of(function, module)
	return slices.ContainsFunc(list, func(m member) bool {
		return m.layer.ID == id && (m.all() || m.fits(bare) || m.fits(Name(function)))
	})
}

func (m member) all() bool { return m.star && m.before == "" && m.after == "" }

func (l *Layers) find(function, module string) (member, bool) {
	if before, _, ok := strings.Cut(function, ":"); ok {
		return l.prefixed(before)
	}
	name := Name(function)
	bare := strings.TrimLeft(name, "_")
	for _, n := range []string{name, bare} {
		if m, ok := l.exact[n]; ok {
			return m, true
		}
	}
	if m, ok := l.inModule(module); ok {
		return m, true
	}
	for _, m := range l.patterns {
		if m.fits(bare) {
			return m, true
		}
	}
	return member{}, false
}

// prefixed finds the layer of a name with a colon.
func (l *Layers) prefixed(before string) (member, bool) {
	m, ok := l.prefixes[before]
	if !ok {
		m, ok = l.prefixes["*"]
	}
	return m, ok
}

// OfCall returns the id of the layer that a function works for when this caller calls it, whatever its own layer is;
// false if it works for its own.
func (l *Layers) OfCall(caller, function string) (string, bool) {
	function = short(function)
	for _, c := range l.called {
		if c.function.fits(function) && c.caller.fits(short(caller)) {
			return c.function.layer.ID, true
		}
	}
	return "", false
}

func (l *Layers) inModule(module string) (member, bool) {
	if module == "" {
		return member{}, false
	}
	module = strings.ReplaceAll(module, "-", "_")
	if one, ok := l.modules[module]; ok {
		return member{layer: one}, true
	}
	for _, m := range l.modulesOf {
		if m.fits(module) {
			return m, true
		}
	}
	return member{}, false
}

func (m member) fits(name string) bool {
	if !m.star {
		return name == m.before
	}
	return len(name) >= len(m.before)+len(m.after) && strings.HasPrefix(name, m.before) &&
		strings.HasSuffix(name, m.after)
}

// Name returns the name of a function in the source: without the suffixes that compilers append to the names of copies
// and pieces.
func Name(function string) string {
	name, rest, ok := strings.Cut(function, ".")
	if !ok || name == "" || strings.Contains(function, ":") {
		return function
	}
	for part := range strings.SplitSeq(rest, ".") {
		switch part {
		case "isra", "part", "constprop", "cold", "llvm", "lto_priv", "localalias":
		default:
			if strings.Trim(part, "0123456789") != "" {
				return function
			}
		}
	}
	return name
}

func short(function string) string { return strings.TrimLeft(Name(function), "_") }

// Padding reports whether a symbol is not a function, but the space before one.
func Padding(symbol string) bool { return strings.HasPrefix(symbol, "__pfx_") }
