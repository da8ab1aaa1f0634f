package cli

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"headroom/internal/ceiling"
	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/ladder"
	"headroom/internal/load/fio"
	"headroom/internal/load/iperf3"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/rule"
	"headroom/internal/suite"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// The levels by which the runs of a ladder say which rung they measured, from 1 at the bottom, what it is, and which
// rung it lies on.
const (
	rungLevel  = "rung"
	kindLevel  = "kind"
	belowLevel = "below"
	// of a guest's disk: what it is to the guest, and what QEMU keeps its data in
	interfaceLevel = "interface"
	queuesLevel    = "queues"
	backingLevel   = "backing"
)

// ladderOptions are the flags of ladder.
type ladderOptions struct {
	suite  string
	set    []string
	size   string
	label  string
	seed   uint64
	passes int
	budget time.Duration
	margin string
	alpha  float64
	resume string
	dryRun dryRun
	result documentOutput
	guests []string
	on     []string
	// of a network
	addresses, groups []string
	pairs, port       int
	keep, beside      []string
	direction         string
}

// defaultPasses over the rungs: few, because there are many rungs, and enough that a tenth that is missing shows where
// loads vary by 2%.
const defaultPasses = 6

func (p *program) ladderCommand() *cobra.Command {
	o := ladderOptions{alpha: ladder.DefaultAlpha}
	c := &cobra.Command{
		Use: "ladder [PLACE...]",
		Short: "Climb from one drive to the whole storage, or from one flow to all ports, and say which rung falls " +
			"short first",
		Long: `Measures the storage under a directory or device rung by rung: memory, a null
device, each drive alone, pairs of them, all at once, then what is made of
them (md, LVM, dm-crypt), then the file system. Each rung stands beside its
ceiling and beside what the rungs below promise. The first that falls short
of that is the answer.

It finds the rungs under one PLACE itself.
Several places are the rungs, in that order; "null" is the null device, and
devices with commas between them are loaded at the same time.

With --guest the disks of a guest in QEMU are rungs above: those without storage
behind them, then the others. Where one falls short of what it lies on, the
answer says whether virtio itself does. Blank images of the guest are made in
the directory that the ladder climbs to, without a name, and filled.

Devices are only read, whatever is on them. In directories a scratch file is
made, read, and removed.

With --on server=TARGET (and --on client=TARGET, once or more) it climbs a network,
in both directions: what each machine moves within itself, one flow, each port of
the server alone (--address), groups of them (--group), all, and all both ways.

Between pods the rung below the pod network is measured, too: the same pods once
more, on the same nodes and in the nodes' own network. What the pods do less is
what the pod network (CNI) costs.`,
		Example: `  headroom ladder /srv
  headroom ladder /dev/nvme0n1,/dev/nvme1n1,/dev/nvme2n1
  headroom ladder null /dev/sdb /dev/drbd0 /srv
  headroom ladder /srv --dry-run
  headroom ladder /srv --passes 12 --margin 3%
  headroom ladder /srv --guest qemu:guest.yaml
  headroom ladder /srv --on ssh://db1
  headroom ladder --on server=ssh://db1 --address 10.0.1.1 --address 10.0.2.1 --pairs 3
  headroom ladder --on client=ssh://a --on client=ssh://b --on server=ssh://db1 --group data=10.0.3.1,10.0.4.1 --address 10.0.5.1
  headroom ladder --on 'client=kube:pod?node=worker-1' --on 'server=kube:pod?node=worker-2'
  headroom ladder --resume last --keep cmdline:numa=off
  headroom ladder --resume 'as found' --beside 'numa on' --beside 'one socket' --keep cmdline:numa=off`,
		Args: argumentCount(0, unlimited, "places, from the bottom up"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.resume != "" {
				for _, name := range []string{"suite", "set", "size", "label", "seed", "passes", "margin", "alpha",
					"guest", "on", "address", "group", "pairs", "port", "direction", "dry-run"} {
					if c.Flags().Changed(name) {
						return usage("--"+name+" can't be changed when a ladder is resumed",
							"leave it out: the runs say what was settled")
					}
				}
			}
			if len(args)+len(o.on) == 0 && o.resume == "" && !o.ofNetwork() && !o.dryRun.asked() {
				return usage("climb to what? name a directory or a device, or the server of a network",
					"the storage under the working directory: headroom ladder .",
					"a network: headroom ladder --on server=ssh://db1",
					"headroom ladder --dry-run prints every command for the working directory")
			}
			return p.ladder(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.suite, "suite", "ladder", "suite to measure with; of it, the loads that only read")
	f.StringArrayVar(&o.set, "set", nil, "a fio parameter for every job, like runtime=5s; may be repeated")
	f.StringVar(&o.size, "size", "", "that each job reads, like 4g (default: as the suite says)")
	f.StringVar(&o.label, "label", "", "text to find the runs by; the number of the rung is added")
	f.Uint64Var(&o.seed, "seed", 0, "of the order (default: drawn)")
	f.IntVar(&o.passes, "passes", defaultPasses, "times that each rung is measured")
	f.DurationVar(&o.budget, "budget", 0,
		"begin no pass that would end later than this, like 10m; with --resume from now on")
	f.StringVar(&o.margin, "margin", fmt.Sprintf("%g%%", 100*ladder.DefaultMargin),
		"how much a rung may stay below what is expected of it")
	f.Float64Var(&o.alpha, "alpha", o.alpha, "probability that any verdict is wrong")
	f.StringArrayVar(&o.on, "on", nil, "the machine whose storage it is: ssh://[user@]host[:port] (default local); "+
		"or client=TARGET and server=TARGET of a network")
	f.StringArrayVar(&o.addresses, "address", nil,
		"of a port of the server; once for each (default: the one by which it was reached over ssh)")
	f.StringArrayVar(&o.groups, "group", nil, "NAME=ADDRESS,ADDRESS...: ports that are a rung together")
	f.IntVar(&o.pairs, "pairs", 1, "pairs of processes for each address")
	f.IntVar(&o.port, "port", iperf3.Port, "that the first server process listens on; each further pair takes the next")
	completeFlag(c, "on", p.targetNames)
	f.StringArrayVar(&o.guests, "guest", nil, "a guest whose disks are rungs too: qemu:FILE; may be repeated")
	f.StringVar(&o.direction, "direction", bothDirections, "of a network, seen from the clients: send, receive or both")
	f.StringArrayVar(&o.keep, "keep", nil, "of a network: a setting that must stay as it is, like cmdline:numa=off; "+
		"may be repeated")
	f.StringArrayVar(&o.beside, "beside", nil,
		"of a network: another ladder of the same ports, climbed with something changed; may be repeated")
	p.resumeFlag(c, &o.resume, "go on with an interrupted ladder, named by one of its runs, or show a complete one "+
		"again")
	documentFlags(&o.result, c)
	dryRunFlag(c, &o.dryRun, "print the rungs, their loads and the time they take, and do nothing"+everyCommand)
	p.jsonFlag(c)
	completeFlag(c, "suite", suite.Builtin)
	return c
}

// ladderRun is the measurements of all rungs, which take turns.
type ladderRun struct {
	fixedPasses
	options ladderOptions
	margin  float64
	// base is the machine that the ladder stands on.
	base   target.Target
	guests []*ladderGuest
	// images is the folder in which guests' blank images are made.
	images string
}

func (p *program) ladder(ctx context.Context, o ladderOptions, args []string) error {
	if _, _, err := o.result.formats(p.json); err != nil {
		return err // rather now than after the measuring
	}
	if o.ofNetwork() {
		return runNetworkLadder(ctx, p, o, args)
	}
	st, err := p.openStoreFor(o.resume)
	if err != nil {
		return err
	}
	s := &ladderRun{fixedPasses: fixedPasses{turns: turns{program: p, store: st}, passes: o.passes, level: rungLevel},
		options: o}
	terms, err := o.terms()
	if err != nil {
		return err
	}
	s.margin = terms.Margin
	if o.resume != "" && len(args) > 0 {
		return usage("--resume takes the rungs from the runs", "headroom ladder --resume "+o.resume)
	}
	if o.resume != "" {
		if b, err := st.Find(o.resume); err == nil && b.Run.Study != nil && b.Run.Study.Kind == networkLadderKind {
			return resumeNetworkLadder(ctx, p, st, b, o)
		}
	}
	if len(o.keep)+len(o.beside) > 0 {
		return usage("--keep and --beside are for the ladder of a network", "leave them out")
	}
	if err := checkGuests(p, o.guests); err != nil {
		return err
	}
	if _, err := o.machine(p.allKinds()); err != nil {
		return err
	}
	if !o.dryRun.asked() {
		if err := s.recoverAll(ctx); err != nil {
			return err
		}
	}
	s.images, s.openGuest = os.TempDir(), s.startGuest
	defer s.release()
	if o.resume != "" {
		err = s.resumeLadder(ctx, o.resume)
	} else {
		err = s.newRuns(ctx, args)
	}
	if err != nil {
		return err
	}
	s.setPlan(o.budget)
	if _, more := s.plan.Next(s.done); more {
		if o.dryRun.asked() {
			return s.printPlan()
		}
		s.printSummary(ctx)
		if err := s.execute(ctx, &passesProgress{fixedPasses: &s.fixedPasses, width: columns(s.Stderr)}); err != nil {
			return err
		}
	}
	return s.report()
}

// terms checks what verdicts are to hold by.
func (o ladderOptions) terms() (lab.Terms, error) {
	for _, k := range o.keep {
		if err := rule.CheckKeep(k); err != nil {
			return lab.Terms{}, err
		}
	}
	return termsOf(o.margin, o.alpha, o.passes)
}

// machine is the name of the target that the ladder stands on.
func (o ladderOptions) machine(kinds targetKinds) (string, error) {
	name, err := onlyTarget(o.on)
	switch {
	case err != nil || kinds.traits(name).Local:
		return name, err
	case kinds.traits(name).HostedHere:
		return "", usage("a ladder stands on a machine with storage, and "+name+" is a guest",
			"its disks are rungs with --guest "+name)
	case len(o.guests) > 0:
		return "", usage("guests are started on this machine, so they are no rungs over "+name,
			"leave out --guest, or climb there: run headroom on that machine")
	}
	return name, nil
}

// newRuns makes a run for each rung.
func (s *ladderRun) newRuns(ctx context.Context, args []string) error {
	su, err := loadSuite(s.options.suite)
	if err != nil {
		return err
	}
	on, err := s.options.machine(s.allKinds())
	if err != nil {
		return err
	}
	if s.base, err = s.reach(ctx, on); err != nil {
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
		return usage("one rung is no ladder", "name a directory or device that lies on disks, or several places from "+
			"the bottom up")
	}
	if s.options.seed == 0 {
		s.options.seed = rand.Uint64()
	}
	share, err := s.share(su, rungs)
	if err != nil {
		return err
	}
	s.arms = map[string]*measurement{}
	var beside *measurement
	for i, r := range rungs {
		arm := strconv.Itoa(i + 1)
		m := &measurement{program: s.program, store: s.store, target: s.targetOf(r), concurrent: beside,
			options: runOptions{seed: s.options.seed, set: s.options.set}}
		if s.options.label != "" {
			m.options.label = s.options.label + " " + arm
		}
		if err := m.newHeaderOn(su, r.place); err != nil {
			return err
		}
		s.names = append(s.names, arm)
		s.arms[arm], beside = m, m
		s.fitRun(&m.run, r, arm, share)
	}
	if len(s.first().run.Cells) == 0 {
		return usage("no job of the suite "+su.Name+" only reads, and a ladder only reads",
			"headroom suites show ladder prints one that does")
	}
	for _, arm := range s.names {
		if err := s.arms[arm].secureAndSnapshot(ctx); err != nil {
			return err
		}
	}
	return s.checkImages(ctx)
}

// share is how many bytes each job of each rung reads: as many everywhere, and no more than the smallest rung has.
func (s *ladderRun) share(su suite.Suite, rungs []rung) (int64, error) {
	share := int64(defaultScratch)
	if n := su.ScratchSize(nil); n > 0 {
		share = n
	}
	if s.options.size != "" {
		n, err := size(s.options.size)
		if err != nil || n < 1<<20 {
			return 0, usage("--size "+s.options.size+" is no amount to read",
				"write something like 4g; 1m is the least")
		}
		share = n
	}
	for _, r := range rungs {
		if r.place.Kind == lab.Device {
			share = min(share, roundToBlocks(r.place.Size/int64(r.jobsPerPlace())))
		}
		if share < 1<<20 {
			return 0, usage(r.name + " is too small to be read by " + prose.Count(r.jobs, "job"))
		}
	}
	return share, nil
}

// roundToBlocks rounds down to what the largest block of a load needs.
func roundToBlocks(n int64) int64 { return n - n%(1<<20) }

// fitRun makes the run of a rung: loads that only read, by as many jobs as drives carry the rung, each on a part of its
// own.
func (s *ladderRun) fitRun(run *lab.Run, r rung, arm string, share int64) {
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
		c.Repetitions = s.passes
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
	run.Pair, run.Seed, run.Order, run.Repetitions = s.first().run.ID, s.first().run.Seed, "rounds", s.passes
	run.Arms = []lab.Arm{
		{ID: onlyArm, Role: storageRole, Levels: map[string]string{rungLevel: arm, kindLevel: string(r.kind)}}}
	if r.below > 0 {
		run.Arms[0].Levels[belowLevel] = strconv.Itoa(r.below)
	}
	if r.disk != nil {
		maps.Copy(run.Arms[0].Levels, diskLevels(*r.disk))
	}
	run.Terms = &lab.Terms{Margin: s.margin, Alpha: s.options.alpha}
}

func (s *ladderRun) printSummary(ctx context.Context) {
	for _, arm := range s.names {
		s.print("", fmt.Sprintf("rung %s  %s", arm, rungOf(s.arms[arm].run).Name))
	}
	s.print("  ", s.estimate())
	for _, name := range slices.Sorted(maps.Keys(s.opened)) {
		if t, ok := s.opened[name].(target.Caveats); ok {
			for _, text := range t.Caveats(ctx) {
				s.print("  ", name+": "+text)
			}
		}
	}
}

// estimate is what the ladder costs.
func (s *ladderRun) estimate() string {
	text := fmt.Sprintf("%s in %d passes over %s", prose.Count(len(s.first().run.Cells), "cell"), s.passes,
		prose.Count(len(s.names), "rung"))
	total, writes := time.Duration(0), suite.Writes{}
	for _, arm := range s.names {
		m := s.arms[arm]
		cells := m.suiteCells()
		total += suite.EstimateTime(cells, m.pause())
		if m.place().Kind != lab.NoPlace {
			writes = writes.And(m.writes(cells))
		}
	}
	if total > 0 {
		text += "; about " + unit.Duration(total)
	}
	return text + "; writes " + writtenText(writes)
}

// report judges what was saved.
func (s *ladderRun) report() error {
	var steps []ladder.Step
	var measured []ladder.Measured
	var warnings []ladder.Warning
	terms := ladder.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha, Passes: s.first().run.Repetitions}
	if t := s.first().run.Terms; t != nil {
		terms.Margin, terms.Alpha = t.Margin, t.Alpha
	}
	for i, arm := range s.names {
		b, err := s.store.Find(s.arms[arm].run.ID)
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
			s.notes = append(s.notes, "the null rung is fio's null engine, which makes no system call: what the "+
				"kernel's way to a device costs is not in it; modprobe null_blk makes "+nullDevice+", where it is")
		}
		if step.Kind == ladder.Memory || step.Kind == ladder.Null {
			continue // what a check has to say is that no disk answered, which is what they are for
		}
		found, err := warningsOf(b)
		if err != nil {
			return err
		}
		for _, w := range found {
			warnings = append(warnings, ladder.Warning{Rung: i, Cell: w.cell, Warning: w.Warning,
				Repetitions: w.repetitions, N: w.n})
		}
	}
	d := ladder.Analyze(steps, s.loads(), measured, warnings, s.notes, terms)
	return showResult(s.fixedPasses.turns.program, s.store, ladderResult(d, s.runs()...), s.options.result)
}

func ladderResult(d ladder.Document, runs ...lab.Run) resultDocument {
	return resultDocument{d, func(o report.Options) document.Document { return report.LadderDocument(d, o) }, runs}
}

// loads are the cells, titled as one job's: how many jobs there are is a matter of the rung.
func (s *ladderRun) loads() []ladder.Load {
	var list []ladder.Load
	run := s.first().run
	for _, arm := range s.names {
		if other := s.arms[arm].run; other.Arms[0].Levels[kindLevel] != string(ladder.Memory) {
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
