package experiment

import (
	"context"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// Plan is what one command measures: parts whose loads take turns, as a schedule says. A planner drafts it on open
// machines, or rebuilds it from a saved run. Carry lists it, carries it out, and restores the machines.
type Plan struct {
	App   *app.App
	Store *store.Store
	// Names of the parts, in the order in which they are shown. Several parts are the arms of one run, or places of one
	// run that each have arms. The only place has the empty name, and so has the one that is varied.
	Names []string
	Parts map[string]*Measurement
	// Effects are what the arms change. They are opened in this order, and left in reverse.
	Effects  []Effect
	Schedule Schedule
	// Done holds the repetitions that have ended, in their order. Earlier commands come first.
	Done []plan.Done
	// together holds the run of the parts if they are loaded at the same moment.
	together *MultiTargetRun
	// saved is the bundle of joined parts that is resumed.
	saved *store.Bundle
	// writer writes the bundle of all parts, once it is open. The bundle of a fleet is open before it is carried out.
	writer *store.Writer
	// carrying is the plan while it is carried out.
	carrying *carrying
	// show shows progress while the plan is carried out.
	show    *progress.Progress
	opened  app.Opened
	closing []func()
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

// Effect is a kind of change that arms make: settings, boots, builds. Before it changes anything, what it takes to put
// that back is on disk, in records that recovery reads without a plan.
type Effect interface {
	// Open takes locks and begins the records. What is tried beforehand is put back at once. After an error nothing is
	// left of it.
	Open(ctx context.Context) error
	// Reach brings the machine up and the place back, so that what lies there can be removed.
	Reach(ctx context.Context) error
	// Close puts back what is changed, and gives up the locks. failed is why the run has ended early.
	Close(ctx context.Context, failed error) error
}

// Schedule decides what a plan measures next, and says so.
type Schedule interface {
	plan.Plan
	// Grow asks for more when Next has nothing left, as a search does for the next question. It reports whether there
	// is more. What it adds to the run is on disk before it is measured.
	Grow(ctx context.Context) (bool, error)
	// Part returns the name of the part in which a repetition is carried out.
	Part(next plan.Repetition) string
	// Done returns a repetition of a part as the schedule sees it.
	Done(part string, r lab.Repetition) plan.Done
	// Ended is told of each repetition that has ended, or could not be carried out. Its error ends the run.
	Ended(ctx context.Context, next plan.Repetition, r lab.Repetition, failed error) error
	// Summarize says on standard error what is about to be done, and what it costs.
	Summarize(ctx context.Context)
	// List lists the loads of a dry run, and their order.
	List(ctx context.Context, l app.Listing) error
	// Source returns what knows how far the plan has come.
	Source() progress.Source
	// Doing returns what to add to a line of progress of a part.
	Doing(part string, e runner.Progress) string
	// Complete adds to what was measured how much was planned, and how far a budget let it come.
	Complete(m *Measured)
}

// Plain is the part of a schedule that most have alike: it does not grow, and what fails ends the run.
type Plain struct{}

// Grow reports that there is nothing more.
func (Plain) Grow(context.Context) (bool, error) { return false, nil }

// Part is the arm of a repetition.
func (Plain) Part(next plan.Repetition) string { return next.Arm }

// Ended returns the error of a repetition that could not be carried out.
func (Plain) Ended(_ context.Context, _ plan.Repetition, _ lab.Repetition, failed error) error {
	return failed
}

// Doing adds nothing.
func (Plain) Doing(string, runner.Progress) string { return "" }

// Complete adds nothing.
func (Plain) Complete(*Measured) {}

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

// CloseTarget closes a target that the plan has opened, if it has.
func (p *Plan) CloseTarget(key string) {
	if t := p.opened.Get(key); t != nil {
		p.App.CloseTarget(t)
		p.opened.Remove(key)
	}
}

// Targets are those that the plan has opened, in the order of opening.
func (p *Plan) Targets() []host.Target { return p.opened.All() }

// Add adds a part.
func (p *Plan) Add(name string, m *Measurement) {
	p.Names = append(p.Names, name)
	p.Parts[name] = m
}

// LoadTogether makes the measurements of a run the parts of the plan, which are loaded at the same moment.
func (p *Plan) LoadTogether(t *MultiTargetRun) {
	p.together, p.Schedule, t.carried = t, t, p
	for _, m := range t.Parts {
		p.Add(m.Role, m)
	}
}

// First is the measurement of the first part.
func (p *Plan) First() *Measurement { return p.Parts[p.Names[0]] }

// Measurements returns the measurements of the parts, in their order.
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

// Continue has the parts that begin added to the bundle of a saved run.
func (p *Plan) Continue(saved *store.Bundle) { p.saved = saved }

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
	for done := slices.Clone(p.Done); ; {
		next, more := p.Schedule.Next(done)
		if !more {
			return order
		}
		order, done = append(order, next), append(done, plan.Done{Repetition: next})
	}
}

// AtClose has something given back when the plan is closed, before the targets that it has opened.
func (p *Plan) AtClose(do func()) { p.closing = append(p.closing, do) }

// Tell shows progress while the plan is carried out.
func (p *Plan) Tell(e runner.Progress) {
	if p.show != nil {
		p.show.Print(e)
	}
}

// Painted reports whether progress is a line that is painted over.
func (p *Plan) Painted() bool { return p.show.Painted() }

// Note shows a line that stays.
func (p *Plan) Note(line string) { p.show.Note(line) }

// Writer returns the writer of the bundle of all parts while it is open.
func (p *Plan) Writer() *store.Writer { return p.writer }

// close gives up the places of all parts, then what else is held, then the targets.
func (p *Plan) close() {
	for _, m := range p.Measurements() {
		m.Release()
		for _, peer := range m.Peers {
			peer.Release()
		}
	}
	if p.writer != nil && p.carrying == nil { // nothing was measured
		if err := p.writer.Discard(); err != nil {
			p.App.PrintError(err)
		}
	}
	for _, do := range slices.Backward(p.closing) {
		do()
	}
	p.App.CloseOpened(&p.opened)
}

func orderOf(o suite.Order) plan.Order {
	switch o {
	case suite.Sequential:
		return plan.Sequential
	case suite.Shuffled:
		return plan.Shuffled
	default:
		return plan.Interleaved
	}
}

// NotSaved is the part of an order that an earlier part of the run has not carried out.
func NotSaved(order []plan.Repetition, kept []lab.Repetition) []plan.Repetition {
	return slices.DeleteFunc(slices.Clone(order), func(r plan.Repetition) bool {
		return slices.ContainsFunc(kept, func(k lab.Repetition) bool {
			return k.Cell == r.Cell && k.Number == r.Number
		})
	})
}
