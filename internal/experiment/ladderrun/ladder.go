package ladderrun

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
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
	// options for a network
	Addresses, Groups []string
	Pairs, Port       int
	Keep, Beside      []string
	Direction         string
}

// Run measures the rungs of a storage or of a network, resumes a ladder, or prints its steps.
func Run(ctx context.Context, p *app.App, o Options, args []string) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err // rather now than after the measurement
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
	s := &storageLadder{Options: o, args: args, images: os.TempDir(), passes: passes{app: p, store: st,
		design: lab.DesignLadder, level: results.RungLevel, count: o.Passes,
		budget: o.Budget,
		result: o.Result}}
	s.openGuest, s.title = s.startGuest, func(m *experiment.Measurement) string {
		return fmt.Sprintf("%s: %s", m.Run.Arms[0].Levels[results.KindLevel], results.RungOf(m.Run).Name)
	}
	return experiment.Carry(ctx, p, st, experiment.Request{Design: lab.DesignLadder, Resume: o.Resume, Args: args,
		DryRun: o.DryRun, Complete: true}, s)
}

// storageLadder measures the rungs of a machine's storage in turn.
type storageLadder struct {
	passes
	Options Options
	args    []string
	terms   lab.Terms
	// base is the machine with the storage.
	base   host.Target
	guests []*ladderGuest
	// images is the folder for the blank images of guests.
	images string
}

// Targets returns the machine with the storage, and the guests.
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
	if err := checkGuests(s.app, s.Options.Guests); err != nil {
		return nil, err
	}
	name, err := s.Options.machine(s.app.AllKinds())
	return append([]string{name}, s.Options.Guests...), err
}

// Terms checks and returns the terms of the verdicts.
func (o Options) Terms() (lab.Terms, error) {
	for _, k := range o.Keep {
		if err := rule.CheckKeep(k); err != nil {
			return lab.Terms{}, err
		}
	}
	return network.TermsOf(o.Margin, o.Alpha, o.Passes)
}

// machine returns the name of the target with the storage.
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

// Draft makes an arm for each rung.
func (s *storageLadder) Draft(ctx context.Context, p *experiment.Plan) error {
	s.plan = p
	su, err := experiment.LoadSuite(s.Options.Suite)
	if err != nil {
		return err
	}
	on, err := s.Options.machine(s.app.AllKinds())
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
		return app.Usage("a ladder needs at least two rungs",
			"name a directory or device on disks, or several places from "+
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
		m := &experiment.Measurement{App: s.app, Store: s.store, Target: s.targetOf(r),
			Options: experiment.RunOptions{Seed: s.Options.Seed, Set: s.Options.Set, Label: s.Options.Label}}
		if err := m.NewHeaderOn(su, r.place); err != nil {
			return err
		}
		s.add(m)
		s.fitRun(r, arm, share)
	}
	if len(p.First().Run.Cells) == 0 {
		return app.Usage("no job of the suite "+su.Name+" only reads, and a ladder only reads",
			"headroom suites show ladder prints one that does")
	}
	if err := s.secure(ctx); err != nil {
		return err
	}
	if err := s.checkImages(ctx); err != nil {
		return err
	}
	s.setPlan()
	return nil
}

// share returns how many bytes each job of each rung reads: the same everywhere, and no more than the smallest rung
// has.
func (s *storageLadder) share(su suite.Suite, rungs []rung) (int64, error) {
	share := int64(experiment.DefaultScratch)
	if n := su.ScratchSize(nil); n > 0 {
		share = n
	}
	if s.Options.Size != "" {
		n, err := experiment.Size(s.Options.Size)
		if err != nil || n < 1<<20 {
			return 0, app.Usage("--size "+s.Options.Size+" is no amount to read",
				"write something like 4g; 1m is the least")
		}
		share = n
	}
	for _, r := range rungs {
		if r.place.Kind == lab.Device {
			share = min(share, roundToBlocks(r.place.Size/int64(r.jobsPerPlace())))
		}
		if share < 1<<20 {
			return 0, app.Usage(r.name + " is too small to be read by " + prose.Count(r.jobs, "job"))
		}
	}
	return share, nil
}

// roundToBlocks rounds down to a multiple of the largest block of a load.
func roundToBlocks(n int64) int64 { return n - n%(1<<20) }

// fitRun makes the run of a rung: loads that only read, by as many jobs as drives carry the rung, each on a separate
// part.
func (s *storageLadder) fitRun(r rung, arm string, share int64) {
	run := &s.plan.Parts[arm].Run
	onlyReads(run)
	place := &run.Targets[0].Place
	if r.kind == ladder.Memory {
		share = min(share, memoryShare)
	}
	step := share
	if place.Kind == lab.Directory {
		place.Size = share * int64(r.jobs)
	} else if place.Kind == lab.Device {
		// Parts are spread over the whole device, so a volume of concatenated drives has a part on each.
		step = roundToBlocks(place.Size / int64(r.jobsPerPlace()))
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Params = maps.Clone(c.Params)
		c.Params["size"] = strconv.FormatInt(share, 10)
		if n := r.jobsPerPlace(); n > 1 {
			c.Params["numjobs"], c.Params["offset_increment"] = strconv.Itoa(n), strconv.FormatInt(step, 10)
		}
		switch {
		case r.disk != nil && r.disk.Blank:
			// the disk was made for the guest; blocks never written are read without storage
			c.Steps = []lab.Step{lab.Fill, lab.Load}
		case place.Kind != lab.Directory:
			c.Steps = []lab.Step{lab.Load} // nothing is prepared on a device that may hold data
		}
		switch {
		case r.kind == ladder.Null && place.Kind == lab.NoPlace:
			c.Params["ioengine"] = "null"
		// a file system in memory takes no direct I/O before Linux 6.6, and answers immediately
		case r.kind == ladder.Memory:
			c.Params["ioengine"], c.Params["direct"], c.Params["iodepth"] = "psync", "0", "1"
		}
	}
	levels := map[string]string{results.KindLevel: string(r.kind)}
	if r.below > 0 {
		levels[results.BelowLevel] = strconv.Itoa(r.below)
	}
	if r.disk != nil {
		maps.Copy(levels, diskLevels(*r.disk))
	}
	s.setHeader(arm, levels)
	run.Terms = &s.terms
}
