package ladderrun

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"headroom/internal/app"
	"headroom/internal/document"
	"headroom/internal/experiment"
	"headroom/internal/experiment/network"
	"headroom/internal/lab"
	"headroom/internal/ladder"
	"headroom/internal/report"
	"headroom/internal/report/staged"
	"headroom/internal/results"
	"headroom/internal/rule"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
)

// The levels by which the arms of a ladder say which rung they measured, from 1 at the bottom, what it is, and which
// rung it lies on.
const (
	RungLevel  = "rung"
	kindLevel  = "kind"
	belowLevel = "below"
	// of a guest's disk: what it is to the guest, and what QEMU keeps its data in
	interfaceLevel = "interface"
	queuesLevel    = "queues"
	backingLevel   = "backing"
)

// Options are the flags of ladder.
type Options struct {
	Suite  string
	Set    []string
	Size   string
	Label  string
	Seed   uint64
	Passes int
	Budget time.Duration
	Margin string
	Alpha  float64
	Resume string
	DryRun app.DryRun
	Result results.DocumentOutput
	Guests []string
	On     []string
	// of a network
	Addresses, Groups []string
	Pairs, Port       int
	Keep, Beside      []string
	Direction         string
}

// Run measures the rungs of a storage or of a network, resumes that, or says what would be done.
func Run(ctx context.Context, p *app.App, o Options, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measuring
	}
	st, err := p.OpenStoreFor(o.Resume)
	if err != nil {
		return err
	}
	ofNetwork := o.OfNetwork()
	if o.Resume != "" {
		b, err := st.FindWhole(o.Resume)
		ofNetwork = err == nil && b.Run.MadeBy() == lab.DesignNetworkLadder
	}
	if ofNetwork {
		return runNetworkLadder(ctx, p, st, o, args)
	}
	s := &storageLadder{Options: o, args: args, images: os.TempDir(), passes: passes{design: lab.DesignLadder,
		Interleaved: experiment.Interleaved{App: p, Store: st}, level: RungLevel, count: o.Passes, budget: o.Budget,
		dryRun: o.DryRun}}
	s.openGuest, s.title = s.startGuest, func(m *experiment.Measurement) string {
		return fmt.Sprintf("%s: %s", m.Run.Arms[0].Levels[kindLevel], rungOf(m.Run).Name)
	}
	return experiment.Conduct(ctx, p, st, experiment.Request{Design: lab.DesignLadder, Resume: o.Resume, Args: args,
		DryRun: o.DryRun, Complete: true}, s)
}

// storageLadder is the rungs of a machine's storage, which take turns.
type storageLadder struct {
	passes
	Options Options
	args    []string
	terms   lab.Terms
	// base is the machine that the ladder stands on.
	base   target.Target
	guests []*ladderGuest
	// images is the folder in which guests' blank images are made.
	images string
}

// Targets are the machine that the ladder stands on, and the guests.
func (s *storageLadder) Targets(saved *store.Bundle) ([]string, error) {
	var err error
	if s.terms, err = s.Options.Terms(); err != nil {
		return nil, err
	}
	if len(s.Options.Keep)+len(s.Options.Beside) > 0 {
		return nil, app.Usage("--keep and --beside are for the ladder of a network", "leave them out")
	}
	if saved != nil {
		return s.savedTargets(saved)
	}
	if err := checkGuests(s.App, s.Options.Guests); err != nil {
		return nil, err
	}
	name, err := s.Options.machine(s.AllKinds())
	return append([]string{name}, s.Options.Guests...), err
}

// Terms checks what verdicts are to hold by.
func (o Options) Terms() (lab.Terms, error) {
	for _, k := range o.Keep {
		if err := rule.CheckKeep(k); err != nil {
			return lab.Terms{}, err
		}
	}
	return network.TermsOf(o.Margin, o.Alpha, o.Passes)
}

// machine is the name of the target that the ladder stands on.
func (o Options) machine(kinds app.TargetKinds) (string, error) {
	name, err := app.OnlyTarget(o.On)
	switch {
	case err != nil || kinds.Traits(name).Local:
		return name, err
	case kinds.Traits(name).HostedHere:
		return "", app.Usage("a ladder measures a machine with storage, and "+name+" is a guest",
			"its disks are rungs with --guest "+name)
	case len(o.Guests) > 0:
		return "", app.Usage("guests are started on this machine, so they are no rungs over "+name,
			"leave out --guest, or climb there: run headroom on that machine")
	}
	return name, nil
}

// New makes an arm for each rung.
func (s *storageLadder) New(ctx context.Context) error {
	su, err := experiment.LoadSuite(s.Options.Suite)
	if err != nil {
		return err
	}
	on, err := s.Options.machine(s.AllKinds())
	if err != nil {
		return err
	}
	if s.base, err = s.open(ctx, on); err != nil {
		return err
	}
	rungs, err := s.rungs(ctx, s.args)
	if err != nil {
		return err
	}
	ofGuests, err := s.guestRungs(ctx, rungs)
	if err != nil {
		return err
	}
	if rungs = append(rungs, ofGuests...); len(rungs) < 2 {
		return app.Usage("one rung is no ladder",
			"name a directory or device that lies on disks, or several places from "+
				"the bottom up")
	}
	if s.Options.Seed == 0 {
		s.Options.Seed = rand.Uint64()
	}
	share, err := s.share(su, rungs)
	if err != nil {
		return err
	}
	for i, r := range rungs {
		arm := strconv.Itoa(i + 1)
		m := &experiment.Measurement{App: s.App, Store: s.Store, Target: s.targetOf(r),
			Options: experiment.RunOptions{Seed: s.Options.Seed, Set: s.Options.Set, Label: s.Options.Label}}
		if err := m.NewHeaderOn(su, r.place); err != nil {
			return err
		}
		s.add(m)
		s.fitRun(r, arm, share)
	}
	if len(s.First().Run.Cells) == 0 {
		return app.Usage("no job of the suite "+su.Name+" only reads, and a ladder only reads",
			"headroom suites show ladder prints one that does")
	}
	if err := s.secure(ctx); err != nil {
		return err
	}
	return s.checkImages(ctx)
}

// Report judges what was saved.
func (s *storageLadder) Report() error {
	var steps []ladder.Step
	var measured []ladder.Measured
	var warnings []ladder.Warning
	terms := termsOf(s.First().Run)
	err := s.eachSaved(func(i int, run lab.Run, repetitions []lab.Repetition, found []app.ShownWarning) {
		step := stepOf(run)
		steps = append(steps, step)
		if step.Kind != ladder.Guest {
			terms.CPUs = processors(run)
		}
		for _, r := range repetitions {
			measured = append(measured, ladder.Measured{Rung: i, Cell: r.Cell, Block: r.Block, Values: r.Values})
		}
		if step.Kind == ladder.Null && len(step.Places) == 0 && step.Jobs == 1 {
			s.notes = append(s.notes, "the null rung is fio's null engine, which makes no system call: what the "+
				"kernel's way to a device costs is not in it; modprobe null_blk makes "+nullDevice+", where it is")
		}
		if step.Kind == ladder.Memory || step.Kind == ladder.Null {
			return // what a check has to say is that no disk answered, which is what they are for
		}
		for _, w := range found {
			warnings = append(warnings, ladder.Warning{Rung: i, Cell: w.Cell, Warning: w.Warning,
				Repetitions: w.Repetitions, N: w.N})
		}
	})
	if err != nil {
		return err
	}
	d := ladder.Analyze(steps, s.loads(), measured, warnings, s.notes, terms)
	return results.ShowResult(s.App, s.Store, Result(d, s.runs()...), s.Options.Result)
}

// termsOf are the terms that the verdicts of a saved ladder hold by.
func termsOf(run lab.Run) ladder.Terms {
	terms := ladder.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha, Passes: run.Repetitions}
	if t := run.Terms; t != nil {
		terms.Margin, terms.Alpha = t.Margin, t.Alpha
	}
	return terms
}

// Result is a ladder in the shapes that results are shown in.
func Result(d ladder.Document, runs ...lab.Run) results.ResultDocument {
	return results.ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return staged.Ladder(d, o)
	}, Runs: runs}
}

// loads are the cells, titled as one job's: how many jobs there are is a matter of the rung.
func (s *storageLadder) loads() []ladder.Load {
	var list []ladder.Load
	run := s.First().Run
	for _, arm := range s.Names {
		if other := s.Arms[arm].Run; other.Arms[0].Levels[kindLevel] != string(ladder.Memory) {
			run = other
			break
		}
	}
	for _, c := range run.Cells {
		params := maps.Clone(c.Params)
		delete(params, "numjobs")
		list = append(list, ladder.Load{Cell: c, Title: suite.Cell{Job: c.Job, Params: params}.Title()})
	}
	return list
}
