package ladderrun

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/app"
	"headroom/internal/ceiling"
	"headroom/internal/document"
	"headroom/internal/experiment"
	"headroom/internal/experiment/network"
	"headroom/internal/lab"
	"headroom/internal/ladder"
	"headroom/internal/load/fio"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/results"
	"headroom/internal/rule"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// The levels by which the runs of a ladder say which rung they measured, from 1 at the bottom, what it is, and which
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

// LadderRun is the measurements of all rungs, which take turns.
type LadderRun struct {
	experiment.FixedPasses
	Options Options
	Margin  float64
	// base is the machine that the ladder stands on.
	base   target.Target
	guests []*ladderGuest
	// Images is the folder in which guests' blank images are made.
	Images string
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

// Machine is the name of the target that the ladder stands on.
func (o Options) Machine(kinds app.TargetKinds) (string, error) {
	name, err := app.OnlyTarget(o.On)
	switch {
	case err != nil || kinds.Traits(name).Local:
		return name, err
	case kinds.Traits(name).HostedHere:
		return "", app.Usage("a ladder stands on a machine with storage, and "+name+" is a guest",
			"its disks are rungs with --guest "+name)
	case len(o.Guests) > 0:
		return "", app.Usage("guests are started on this machine, so they are no rungs over "+name,
			"leave out --guest, or climb there: run headroom on that machine")
	}
	return name, nil
}

// NewRuns makes a run for each rung.
func (s *LadderRun) NewRuns(ctx context.Context, args []string) error {
	su, err := experiment.LoadSuite(s.Options.Suite)
	if err != nil {
		return err
	}
	on, err := s.Options.Machine(s.AllKinds())
	if err != nil {
		return err
	}
	if s.base, err = s.Reach(ctx, on); err != nil {
		return err
	}
	rungs, err := s.rungs(ctx, args)
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
	s.Arms = map[string]*experiment.Measurement{}
	var beside *experiment.Measurement
	for i, r := range rungs {
		arm := strconv.Itoa(i + 1)
		m := &experiment.Measurement{App: s.App, Store: s.Store, Target: s.targetOf(r), Concurrent: beside,
			Options: experiment.RunOptions{Seed: s.Options.Seed, Set: s.Options.Set}}
		if s.Options.Label != "" {
			m.Options.Label = s.Options.Label + " " + arm
		}
		if err := m.NewHeaderOn(su, r.place); err != nil {
			return err
		}
		s.Names = append(s.Names, arm)
		s.Arms[arm], beside = m, m
		s.fitRun(&m.Run, r, arm, share)
	}
	if len(s.First().Run.Cells) == 0 {
		return app.Usage("no job of the suite "+su.Name+" only reads, and a ladder only reads",
			"headroom suites show ladder prints one that does")
	}
	for _, arm := range s.Names {
		if err := s.Arms[arm].SecureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	return s.checkImages(ctx)
}

// share is how many bytes each job of each rung reads: as many everywhere, and no more than the smallest rung has.
func (s *LadderRun) share(su suite.Suite, rungs []rung) (int64, error) {
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

// roundToBlocks rounds down to what the largest block of a load needs.
func roundToBlocks(n int64) int64 { return n - n%(1<<20) }

// fitRun makes the run of a rung: loads that only read, by as many jobs as drives carry the rung, each on a part of its
// own.
func (s *LadderRun) fitRun(run *lab.Run, r rung, arm string, share int64) {
	run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool { return !fio.OnlyReads(c.Params) })
	place := &run.Targets[0].Place
	if r.kind == ladder.Memory {
		share = min(share, memoryShare)
	}
	step := share
	if place.Kind == lab.Directory {
		place.Size = share * int64(r.jobs)
	} else if place.Kind == lab.Device {
		// Parts are spread over all of it, so that a volume of drives one after the other has a part on each.
		step = roundToBlocks(place.Size / int64(r.jobsPerPlace()))
	}
	for i := range run.Cells {
		c := &run.Cells[i]
		c.Repetitions = s.Passes
		c.Params = maps.Clone(c.Params)
		c.Params["size"] = strconv.FormatInt(share, 10)
		if n := r.jobsPerPlace(); n > 1 {
			c.Params["numjobs"], c.Params["offset_increment"] = strconv.Itoa(n), strconv.FormatInt(step, 10)
		}
		switch {
		case r.disk != nil && r.disk.Blank:
			// it was made for the guest; what was never written is read without storage
			c.Steps = []lab.Step{lab.Fill, lab.Load}
		case place.Kind != lab.Directory:
			c.Steps = []lab.Step{lab.Load} // nothing is prepared where something may be kept
		}
		switch {
		case r.kind == ladder.Null && place.Kind == lab.NoPlace:
			c.Params["ioengine"] = "null"
		// a file system in memory takes no direct I/O before Linux 6.6, and answers at once
		case r.kind == ladder.Memory:
			c.Params["ioengine"], c.Params["direct"], c.Params["iodepth"] = "psync", "0", "1"
		}
	}
	run.Design = lab.DesignLadder
	run.Pair, run.Seed, run.Order, run.Repetitions = s.First().Run.ID, s.First().Run.Seed, "rounds", s.Passes
	run.Arms = []lab.Arm{
		{ID: experiment.OnlyArm, Role: app.StorageRole,
			Levels: map[string]string{RungLevel: arm, kindLevel: string(r.kind)}}}
	if r.below > 0 {
		run.Arms[0].Levels[belowLevel] = strconv.Itoa(r.below)
	}
	if r.disk != nil {
		maps.Copy(run.Arms[0].Levels, diskLevels(*r.disk))
	}
	run.Terms = &lab.Terms{Margin: s.Margin, Alpha: s.Options.Alpha}
}

// PrintSummary says which rungs are measured, and how long that takes.
func (s *LadderRun) PrintSummary(ctx context.Context) {
	for _, arm := range s.Names {
		s.Print("", fmt.Sprintf("rung %s  %s", arm, rungOf(s.Arms[arm].Run).Name))
	}
	s.Print("  ", s.estimate())
	for _, name := range slices.Sorted(maps.Keys(s.Opened)) {
		if t, ok := s.Opened[name].(target.Caveats); ok {
			for _, text := range t.Caveats(ctx) {
				s.Print("  ", name+": "+text)
			}
		}
	}
}

// estimate is what the ladder costs.
func (s *LadderRun) estimate() string {
	text := fmt.Sprintf("%s in %d passes over %s", prose.Count(len(s.First().Run.Cells), "cell"), s.Passes,
		prose.Count(len(s.Names), "rung"))
	total, writes := time.Duration(0), suite.Writes{}
	for _, arm := range s.Names {
		m := s.Arms[arm]
		cells := m.SuiteCells()
		total += suite.EstimateTime(cells, m.Pause())
		if m.Place().Kind != lab.NoPlace {
			writes = writes.And(m.Writes(cells))
		}
	}
	if total > 0 {
		text += "; about " + unit.Duration(total)
	}
	return text + "; writes " + experiment.WrittenText(writes)
}

// Report judges what was saved.
func (s *LadderRun) Report() error {
	var steps []ladder.Step
	var measured []ladder.Measured
	var warnings []ladder.Warning
	terms := ladder.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha, Passes: s.First().Run.Repetitions}
	if t := s.First().Run.Terms; t != nil {
		terms.Margin, terms.Alpha = t.Margin, t.Alpha
	}
	for i, arm := range s.Names {
		b, err := s.Store.Find(s.Arms[arm].Run.ID)
		if err != nil {
			return err
		}
		step := stepOf(b.Run)
		steps = append(steps, step)
		if step.Kind != ladder.Guest {
			terms.CPUs = processors(b.Run)
		}
		for r, err := range b.Repetitions() {
			if err != nil {
				return err
			}
			if !r.Failed() {
				measured = append(measured, ladder.Measured{Rung: i, Cell: r.Cell, Block: r.Block, Values: r.Values})
			}
		}
		if step.Kind == ladder.Null && len(step.Places) == 0 && step.Jobs == 1 {
			s.Notes = append(s.Notes, "the null rung is fio's null engine, which makes no system call: what the "+
				"kernel's way to a device costs is not in it; modprobe null_blk makes "+nullDevice+", where it is")
		}
		if step.Kind == ladder.Memory || step.Kind == ladder.Null {
			continue // what a check has to say is that no disk answered, which is what they are for
		}
		found, err := app.WarningsOf(b)
		if err != nil {
			return err
		}
		for _, w := range found {
			warnings = append(warnings, ladder.Warning{Rung: i, Cell: w.Cell, Warning: w.Warning,
				Repetitions: w.Repetitions, N: w.N})
		}
	}
	d := ladder.Analyze(steps, s.loads(), measured, warnings, s.Notes, terms)
	return results.ShowResult(s.FixedPasses.Turns.App, s.Store, Result(d, s.Runs()...), s.Options.Result)
}

// Result is a ladder in the shapes that results are shown in.
func Result(d ladder.Document, runs ...lab.Run) results.ResultDocument {
	return results.ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return report.LadderDocument(d, o)
	}, Runs: runs}
}

// loads are the cells, titled as one job's: how many jobs there are is a matter of the rung.
func (s *LadderRun) loads() []ladder.Load {
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

// stepOf is the rung that a run measured.
func stepOf(run lab.Run) ladder.Step {
	step := ladder.Step{Rung: rungOf(run), Below: -1, Ceilings: map[string][]ceiling.Ceiling{}}
	if n, err := strconv.Atoi(run.Arms[0].Levels[belowLevel]); err == nil {
		step.Below = n - 1
	}
	if step.Kind == ladder.Guest {
		levels := run.Arms[0].Levels
		step.Like = levels[interfaceLevel] + ", " + levels[queuesLevel]
		return step // the links of its disks are emulated too, so that they bound nothing
	}
	machine := ceiling.NewMachine(run.Targets[0])
	for _, c := range run.Cells {
		step.Ceilings[c.ID] = machine.Of(c.Params)
	}
	place := run.Targets[0].Place
	if step.Kind == ladder.Drive && len(place.Disks) == 1 {
		// A drive of the same driver, model and size should be as fast.
		model := factOf(run, "disk.under-test.model", "")
		step.Like = fmt.Sprintf("%s %s %d", driverOf(place.Disks[0]), model, place.Size)
	}
	return step
}

// driverOf is what the name of a disk says of its driver: "nvme" of nvme0n1, "sd" of sda and of sdab. Disks of some
// drivers are told apart by letters.
func driverOf(disk string) string {
	for _, lettered := range []string{"sd", "vd", "xvd", "hd"} {
		if rest, ok := strings.CutPrefix(disk, lettered); ok && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz") == "" {
			return lettered
		}
	}
	if i := strings.IndexAny(disk, "0123456789"); i > 0 {
		return disk[:i]
	}
	return disk
}

func rungOf(run lab.Run) ladder.Rung {
	place := run.Targets[0].Place
	r := ladder.Rung{Name: place.Path, Kind: ladder.Kind(run.Arms[0].Levels[kindLevel]), Filesystem: place.Filesystem,
		Disks: place.Disks, Run: run.ID, Jobs: 1}
	if len(run.Cells) > 0 {
		if n, err := strconv.Atoi(run.Cells[0].Params["numjobs"]); err == nil {
			r.Jobs = n
		}
	}
	r.Target = run.Targets[0].Remote()
	switch {
	case r.Kind == ladder.Guest:
		r.Places, r.CPUs = []string{place.Resolved}, processors(run)
		r.Interface, r.Backing = run.Arms[0].Levels[interfaceLevel], run.Arms[0].Levels[backingLevel]
		_, file, _ := strings.Cut(r.Target, ":")
		r.Name = filepath.Base(place.Path) + " in " + filepath.Base(file)
	case place.Members != nil:
		r.Places, r.Jobs = slices.Clone(place.Members), len(place.Members)
		first, last := strings.TrimPrefix(r.Places[0], "/dev/"), strings.TrimPrefix(r.Places[r.Jobs-1], "/dev/")
		between := " … "
		if r.Jobs == 2 {
			between = ", "
		}
		r.Name = first + between + last
	case place.Kind == lab.NoPlace:
		r.Places, r.Name = []string{}, "fio's null engine"
	default:
		r.Places = []string{place.Path}
		if place.Kind == lab.Device {
			r.Places = []string{place.Resolved}
		}
	}
	if r.Kind == ladder.Null && r.Jobs > 1 {
		r.Name += fmt.Sprintf(" x%d", r.Jobs)
	}
	return r
}

// factOf is a fact of the machine of a run; empty when it is unknown.
func factOf(run lab.Run, key, about string) string {
	i := slices.IndexFunc(run.Targets[0].Facts, func(f lab.Fact) bool { return f.Key == key && f.About == about })
	if i < 0 {
		return ""
	}
	return run.Targets[0].Facts[i].Value
}

// processors of the machine of a run; 0 when that is not known.
func processors(run lab.Run) int {
	n, err := strconv.Atoi(factOf(run, "cpu.threads", ""))
	if err != nil {
		return 0
	}
	return n
}
