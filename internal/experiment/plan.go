package experiment

import (
	"context"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Plan is what one command measures: parts whose loads take turns, as a schedule says. A planner drafts it on open
// machines, or rebuilds it from a saved run. Carry lists it, carries it out, and leaves the machines as they were.
type Plan struct {
	App   *app.App
	Store *store.Store
	// Names of the parts, in the order in which they are shown; plan.Repetition.Arm is one of them. Several parts are
	// the arms of one run. One part has the empty name, and is a run by itself.
	Names    []string
	Parts    map[string]*Measurement
	Schedule Schedule
	// Done are the repetitions that have ended, those of earlier commands first.
	Done []plan.Done
	// saved is the bundle of all arms that is resumed; nil for a new one.
	saved  *store.Bundle
	opened app.Opened
}

// Planner makes the plans of a design. Its methods are called in the order in which they stand here.
type Planner interface {
	// Targets returns the names of the targets that take part, as the command line or the saved run has them. A saved
	// run without any is complete, and only shown.
	Targets(saved *store.Bundle) ([]string, error)
	// Draft makes the plan of a new run: targets are opened, places are proved to be free, and the machines are
	// snapshotted. After an error, what the plan has by then is given back.
	Draft(ctx context.Context, p *Plan) error
	// Rebuild makes the plan of a saved run, with what it has measured.
	Rebuild(ctx context.Context, p *Plan, saved *store.Bundle) error
	// Report shows what was measured.
	Report() error
}

// Schedule decides what a plan measures next, and says so.
type Schedule interface {
	plan.Plan
	// Done returns a repetition of a part as the schedule sees it.
	Done(part string, r lab.Repetition) plan.Done
	// Summarize says on standard error what is about to be done, and what it costs.
	Summarize(ctx context.Context)
	// List lists the loads of a dry run, and their order.
	List(l app.Listing)
	// Source returns what knows how far the plan has come.
	Source() progress.Source
	// Doing adds to a line of progress in which part something goes on.
	Doing(part string, e runner.Progress, show *progress.Progress) string
	// Ended is told of each repetition that has ended.
	Ended(r plan.Repetition, show *progress.Progress)
	// Complete adds to what was measured how much was planned, and how far a budget let it come.
	Complete(m *Measured)
}

// NewPlan returns a plan without parts.
func NewPlan(p *app.App, s *store.Store) *Plan {
	return &Plan{App: p, Store: s, Parts: map[string]*Measurement{}}
}

// Open opens a target, or returns it if the plan has opened it before.
func (p *Plan) Open(ctx context.Context, name string) (host.Target, error) {
	return p.OpenWith(ctx, name, name, p.App.OpenTarget)
}

// OpenWith opens a target by a function, once for each key. A target that is made when it is opened, as a pod is, has
// more than one key where the plan needs several of them.
func (p *Plan) OpenWith(ctx context.Context, key, name string,
	open func(ctx context.Context, name string) (host.Target, error)) (host.Target, error) {
	if t := p.opened.Get(key); t != nil {
		return t, nil
	}
	t, err := open(ctx, name)
	if err == nil {
		p.opened.Add(key, t)
	}
	return t, err
}

// Opened returns a target that the plan has opened; nil if it was not.
func (p *Plan) Opened(key string) host.Target { return p.opened.Get(key) }

// Targets are those that the plan has opened, in the order of opening.
func (p *Plan) Targets() []host.Target { return p.opened.All() }

// Add adds a part.
func (p *Plan) Add(name string, m *Measurement) {
	p.Names = append(p.Names, name)
	p.Parts[name] = m
}

// First is the measurement of the first part.
func (p *Plan) First() *Measurement { return p.Parts[p.Names[0]] }

// Measurements are those of the parts, in their order.
func (p *Plan) Measurements() []*Measurement {
	var all []*Measurement
	for _, name := range p.Names {
		all = append(all, p.Parts[name])
	}
	return all
}

// Join makes the measurement of a part an arm of the run of the first.
func (p *Plan) Join(name string) {
	m := p.Parts[name]
	m.Run.ID, m.Role, m.Arm = p.First().Run.ID, name, name
}

// ResumePart reads what the measurement of a part has saved. Older versions made a bundle of each part.
func (p *Plan) ResumePart(ctx context.Context, name string, b *store.Bundle) error {
	m, part := p.Parts[name], b.Run
	if b.Arm() != "" {
		p.saved, part.ID = b.Whole(), b.Whole().Run.ID
		m.Role, m.Arm = b.Arm(), b.Arm()
	}
	return m.ResumeFrom(ctx, b, part)
}

// SavedIDs name what was saved of the parts, in their order.
func (p *Plan) SavedIDs() []string {
	var all []string
	for _, m := range p.Measurements() {
		all = append(all, m.SavedID())
	}
	return all
}

// AddSaved gives the schedule what earlier commands have measured.
func (p *Plan) AddSaved() {
	for _, name := range p.Names {
		for _, r := range p.Parts[name].Saved {
			p.Done = append(p.Done, p.Schedule.Done(name, r))
		}
	}
}

// Remaining is the order of what is still to be measured, if no failure and no budget changes it. It is endless where
// what is measured decides when to end.
func (p *Plan) Remaining() []plan.Repetition {
	var order []plan.Repetition
	for done := append([]plan.Done(nil), p.Done...); ; {
		next, more := p.Schedule.Next(done)
		if !more {
			return order
		}
		order, done = append(order, next), append(done, plan.Done{Repetition: next})
	}
}

// close gives up the places of all parts, then the targets.
func (p *Plan) close() {
	for _, m := range p.Measurements() {
		m.Release()
	}
	p.App.CloseOpened(&p.opened)
}
