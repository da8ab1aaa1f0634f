package app

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/host"
)

// Opened holds the targets that a command has opened, by the names that it gives them, in the order of opening. The
// zero value is empty.
type Opened struct {
	names  []string
	byName map[string]host.Target
}

// Get returns the target of a name; nil if none was opened.
func (o *Opened) Get(name string) host.Target { return o.byName[name] }

// Add adds a target that was opened just now, or one more name of a target.
func (o *Opened) Add(name string, t host.Target) {
	if o.byName == nil {
		o.byName = map[string]host.Target{}
	}
	o.names = append(o.names, name)
	o.byName[name] = t
}

// Remove forgets a target. The caller closes it.
func (o *Opened) Remove(name string) {
	o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
	delete(o.byName, name)
}

// Names returns the names, sorted.
func (o *Opened) Names() []string { return slices.Sorted(maps.Keys(o.byName)) }

// All returns the targets in the order of opening, each once.
func (o *Opened) All() []host.Target {
	var all []host.Target
	for _, name := range o.names {
		if t := o.byName[name]; !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	return all
}

// CloseOpened closes targets, the last that was opened first: a guest may run on a host that was opened before it, and
// a client waits for its server.
func (p *App) CloseOpened(o *Opened) {
	for _, t := range slices.Backward(o.All()) {
		p.CloseTarget(t)
	}
}
