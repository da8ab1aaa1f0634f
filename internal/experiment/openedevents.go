package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// OpenEvents opens the targets of the run's events, but for those that are open, and their journals. What it returns
// gives them back, with what could not be undone.
func (m *Measurement) OpenEvents(ctx context.Context, open ...host.Target) (func() error, error) {
	o := openedEvents{app: m.App, store: m.Store, run: m.Run.ID, underTest: m.Target, place: m.Place(),
		known:    map[string]host.Target{m.Target.Name(): m.Target},
		journals: map[string]*journal.Journal{}}
	if m.Server != nil {
		o.known[m.Server.Target.Name()] = m.Server.Target
	}
	for _, t := range open {
		o.known[t.Name()] = t
	}
	for i, u := range m.Run.Events {
		ev, err := o.open(ctx, u, i+1)
		if err != nil {
			return nil, errors.Join(err, o.release(ctx))
		}
		m.Run.Events[i] = ev.Event
		m.Events = append(m.Events, ev)
	}
	return func() error { return o.release(ctx) }, nil
}

// openedEvents are the targets and journals of a run's events.
type openedEvents struct {
	app   *app.App
	store *store.Store
	run   string
	// underTest is the target that is measured, and place what is measured there.
	underTest host.Target
	place     lab.Place
	// known are the open targets, by name; opened are the targets that were opened only for events.
	known    map[string]host.Target
	opened   []host.Target
	journals map[string]*journal.Journal // by target
}

// release undoes what is not undone yet, and gives back the targets.
func (o *openedEvents) release(ctx context.Context) error {
	var all []*journal.Journal
	for _, name := range slices.Sorted(maps.Keys(o.journals)) {
		all = append(all, o.journals[name])
	}
	err := app.PutBack(ctx, all...)
	for _, t := range o.opened {
		o.app.CloseTarget(t)
	}
	return err
}

// open opens the event of a number.
func (o *openedEvents) open(ctx context.Context, u lab.Event, number int) (runner.ScheduledEvent, error) {
	ev := runner.ScheduledEvent{Event: u, Target: o.known[u.Target]}
	var err error
	if ev.Target == nil {
		if err := recovery.RecoverLeftovers(ctx, o.app, o.store, nil, u.Target); err != nil {
			return ev, err
		}
		if ev.Target, err = o.app.OpenTarget(ctx, u.Target); err != nil {
			return ev, err
		}
		o.known[u.Target], o.opened = ev.Target, append(o.opened, ev.Target)
	}
	if len(u.Named) > 0 {
		if ev.Event, err = o.planNamed(ctx, u, ev.Target); err != nil {
			return ev, err
		}
	}
	if !u.HasUndo() {
		return ev, nil
	}
	if o.journals[u.Target] == nil {
		j, err := o.app.Journal(o.store, fmt.Sprintf("%s%s%d", o.run, recovery.EventJournal, number), ev.Target)
		if err != nil {
			return ev, err
		}
		o.journals[u.Target] = j
	}
	ev.Journal = o.journals[u.Target]
	if u.Factor != "" {
		ev.Setting, err = factor.Bind(ctx, scheme.Scope{Target: ev.Target, Place: o.place}, u.Factor)
		if err == nil {
			err = ev.Journal.Lock(ctx, ev.Setting)
		}
	}
	return ev, err
}

// planNamed returns the commands of an event that is known by its name, for the present state of its target.
func (o *openedEvents) planNamed(ctx context.Context, u lab.Event, t host.Target) (lab.Event, error) {
	w := EventScope{Target: t}
	if t.Name() == o.underTest.Name() {
		w.Place = o.place
	}
	if vm, ok := o.underTest.(host.Migratable); ok {
		w.Machine, w.Namespace = vm.MachineName()
	}
	k, known := FindEvent(u.Named[0])
	if !known {
		return u, app.Usage("no event has the name " + u.Named[0])
	}
	p, err := k.Plan(ctx, w, u.Named)
	u.Command, u.Undo = p.Command, p.Undo
	if u.ExpectedShare == 0 {
		u.ExpectedShare = p.ExpectedShare
	}
	return u, err
}
