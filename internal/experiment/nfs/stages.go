package nfs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/app"
	"headroom/internal/event"
	"headroom/internal/experiment"
	"headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/recovery"
	"headroom/internal/report"
	"headroom/internal/results"
	"headroom/internal/runner"
	"headroom/internal/target"
)

// nfsStage is one way to the storage of an NFS server.
type nfsStage struct {
	// asked is what it is called until it is known what came of it.
	asked string
	// target that is measured, in folder.
	target target.Target
	folder string
	// mount is made for the stage; nil where there is none to make.
	mount *factor.NFSMount
	// point of the client is where the mount is seen; empty for the server's own storage.
	point string
	// inside says that the target is a virtual machine whose disk lies on the mount.
	inside bool
}

// addresses that the mount is to lead to; 0 where nobody has said.
func (s nfsStage) addresses() int {
	if s.mount == nil {
		return 0
	}
	return len(s.mount.Addresses)
}

// Open the targets, the server first: a guest has its exports when it is there.
func (x *Stages) Open(ctx context.Context) error {
	names := slices.DeleteFunc([]string{x.Options.Server, x.Options.Client, x.Options.Guest}, func(name string) bool {
		return name == ""
	})
	if !x.Options.DryRun.Asked() {
		if err := recovery.RecoverLeftovers(ctx, x.App, x.Store, names...); err != nil {
			return err
		}
	}
	for _, name := range names {
		t, err := x.OpenTarget(ctx, name)
		if err != nil {
			return err
		}
		x.Opened[name] = t
	}
	return nil
}

// Close closes the targets that were opened.
func (x *Stages) Close() {
	// a client that waits for its server is slow to end
	for _, name := range []string{x.Options.Guest, x.Options.Client, x.Options.Server} {
		if t := x.Opened[name]; t != nil {
			x.CloseTarget(t)
		}
	}
}

// Stages that can be measured, in their order. What is left out is said.
func (x *Stages) Stages(ctx context.Context) ([]nfsStage, error) {
	var all []nfsStage
	client := x.Opened[x.Options.Client]
	if server := x.Opened[x.Options.Server]; server != nil {
		all = append(all, nfsStage{asked: "the server's own storage", target: server, folder: x.Options.Export})
	} else {
		x.Print("", "without --on server=TARGET the server's own storage is not measured")
	}
	if point := x.Options.Mounted; point != "" {
		all = append(all, nfsStage{asked: "the mount on " + point, target: client, folder: point, point: point})
		if guest := x.Opened[x.Options.Guest]; guest != nil {
			inside := nfsStage{asked: "the guest " + guest.Name(), target: guest, folder: x.Options.GuestPlace,
				point: point, inside: true}
			if err := x.checkGuest(ctx, inside); err != nil {
				return nil, err
			}
			all = append(all, inside)
		}
		return all, nil
	}
	for _, transport := range []string{overTCP, overRDMA} {
		if len(x.Options.Transports) > 0 && !slices.Contains(x.Options.Transports, transport) {
			continue
		}
		if transport == overRDMA && !slices.Contains(x.Options.Transports, transport) {
			lacks, err := x.lacksRDMA(ctx)
			if err != nil {
				return nil, err
			}
			if lacks != "" {
				x.Print("", "RDMA is left out: "+lacks)
				continue
			}
		}
		for n := 1; n <= len(x.addresses); n += max(1, len(x.addresses)-1) {
			m := stageMount(x.Options.NFS, transport, x.addresses[:n])
			point := fmt.Sprintf("/run/headroom-%s-nfs%d", strings.ToLower(x.ID), len(all))
			all = append(all, nfsStage{asked: stageName(transport, n), target: client, mount: &m, folder: point,
				point: point})
		}
	}
	return all, nil
}

// stageName is what a stage is called in every table, by what it goes over.
func stageName(transport string, paths int) string {
	if paths > 1 {
		return strings.ToUpper(transport) + " multipath"
	}
	return strings.ToUpper(transport) + " single path"
}

// lacksRDMA is which end has no RDMA; empty where both have it, as far as can be seen.
func (x *Stages) lacksRDMA(ctx context.Context) (string, error) {
	ports, err := facts.RDMAPorts(ctx, x.Opened[x.Options.Client])
	if err != nil {
		return "", err
	}
	if !ports {
		return "the client has no RDMA port", nil
	}
	if x.Options.Server == "" {
		return "", nil
	}
	const portList = "/proc/fs/nfsd/portlist"
	files, err := x.Opened[x.Options.Server].ReadFiles(ctx, portList)
	if err != nil {
		return "", err
	}
	if f := files[portList]; f.Err == nil && !strings.Contains(string(f.Data), "rdma ") {
		return "the server does not listen for it (" + portList + ")", nil
	}
	return "", nil
}

// Execute measures all stages. One that can't be had does not keep the others from being measured.
func (x *Stages) Execute(ctx context.Context, stages []nfsStage) (err error) {
	if x.journal, err = factor.Create(x.Store.Changes(), x.ID, x.Opened[x.Options.Client]); err != nil {
		return err
	}
	if x.AtStep != nil {
		x.journal.AtStep(x.AtStep)
	}
	defer func() { err = errors.Join(err, x.journal.Close()) }()
	var missing []string
	var fatal error
	left := stages
	var rest func() // measures what is left; also called while the first stage still keeps its scratch file
	rest = func() {
		for len(left) > 0 && fatal == nil {
			s := left[0]
			left = left[1:]
			err := x.measure(ctx, s, rest)
			switch {
			case err == nil:
			case ctx.Err() != nil || len(x.journal.Open()) > 0:
				fatal = errors.Join(err, fatal) // the user's wish, or a mount that is still there
			default:
				x.PrintError(err)
				missing = append(missing, s.asked)
			}
		}
	}
	rest()
	if fatal != nil {
		if len(x.bundles) > 0 {
			x.Print("", "what was measured is kept; go on with: headroom nfs --resume "+x.Store.ShortID(x.bundles[0]))
		}
		return fatal
	}
	if len(missing) > 0 {
		return errors.Join(x.Report(), &lab.Error{What: "not measured: " + strings.Join(missing, ", ")})
	}
	return nil
}

// measure one stage: mount it, see what came of it, measure, unmount it. rest measures the stages after it.
func (x *Stages) measure(ctx context.Context, s nfsStage, rest func()) (err error) {
	earlier := x.EarlierRuns[s.asked]
	if earlier != nil && earlier.Run.Status != lab.Interrupted {
		return nil
	}
	m := &experiment.Measurement{App: x.App, Options: x.runOptions(), Store: x.Store, Target: s.target,
		Resumed: earlier}
	defer m.Release()
	if s.mount != nil {
		x.Print("", "mounting "+s.mount.String()+" for "+s.asked)
		setting, problem := factor.NFSSetting(ctx, s.target, *s.mount, s.folder)
		if problem != nil {
			return problem
		}
		if problem := x.journal.Change(ctx, setting, s.mount.String()); problem != nil {
			return problem
		}
		defer func() { err = errors.Join(err, x.journal.Undo(ctx)) }()
	}
	if s.inside {
		m.Backends = append(m.Backends,
			runner.Backend{Role: experiment.ClientRole, Target: x.Opened[x.Options.Client], Mount: s.point})
	}
	if server := x.Opened[x.Options.Server]; s.point != "" && server != nil {
		m.Backends = append(m.Backends, runner.Backend{Role: experiment.ServerRole, Target: server})
	}
	if err := x.prepare(ctx, m, s); err != nil {
		return err
	}
	return x.load(ctx, m, s, rest)
}

// RunOptions are those of each stage's run.
func (x *Stages) runOptions() experiment.RunOptions {
	o := x.Options.RunOptions
	o.On, o.Resume = nil, ""
	o.Set, o.Size, o.Repeat, o.Order = x.Options.NFS.Set, x.Options.NFS.Size, x.Options.NFS.Repeat, x.Options.NFS.Order
	return o
}

// prepare makes the run of a stage, or takes up the one that was interrupted.
func (x *Stages) prepare(ctx context.Context, m *experiment.Measurement, s nfsStage) error {
	if m.Resumed != nil {
		return m.ResumeFrom(ctx, m.Resumed, m.Resumed.Run)
	}
	place, err := facts.ResolvePlace(ctx, s.target, s.folder)
	if err != nil {
		return err
	}
	if err := m.NewHeaderOn(x.Loads, place); err != nil {
		return err
	}
	if len(x.bundles) == 0 {
		m.Run.ID = x.ID
	}
	if s.point != "" {
		if err := m.SetEvents(s.eventsFor(x.Options.NFS.Events)); err != nil {
			return err
		}
	}
	m.Run.Design, m.Run.Pair = lab.DesignNFS, x.ID
	settled := x.Options.NFS
	settled.Requested = s.asked
	m.Run.NFS = &settled
	if s.point == "" && slices.Contains(memoryFilesystems(), place.Filesystem) {
		m.Run.Cells = throughMemory(m.Run.Cells)
	}
	if s.mount != nil {
		if m.SharedScratch, err = x.sharedFile(ctx, m); err != nil {
			return err
		}
	}
	if err := m.SecureAndSnapshot(ctx); err != nil {
		return err
	}
	x.bundles = append(x.bundles, m.Run.ID)
	return nil
}

// eventsFor are the events that a stage on a mount can have: no loss of an address that it does not use.
func (s nfsStage) eventsFor(all []lab.Event) []lab.Event {
	var own []lab.Event
	for _, u := range all {
		if s.mount != nil && len(u.Named) == 2 && u.Named[0] == event.LoseTrunk && !slices.Contains(s.mount.Addresses,
			addressOf(u.Named[1])) {
			continue
		}
		if s.addresses() == 1 {
			u.ExpectedShare = 0 // which is said of all addresses
		}
		own = append(own, u)
	}
	return own
}

// addressOf a text; the zero one where it is none.
func addressOf(text string) netip.Addr {
	a, _ := netip.ParseAddr(text)
	return a
}

// sharedFile is the scratch file that the server's own stage has laid out, as a client sees it; nil where there is none
// that the client may write to. It spares a layout over the network for each stage.
func (x *Stages) sharedFile(ctx context.Context, m *experiment.Measurement) (*runner.SharedScratch, error) {
	if x.sharedScratch == nil {
		return nil, nil
	}
	file := m.Place().Path + "/" + x.sharedScratch.Name
	out, err := m.Target.Run(ctx, "stat", "-c", "%s", "--", file)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(string(out.Stdout)) != strconv.FormatInt(m.Place().Size, 10) {
		return nil, &lab.Error{What: fmt.Sprintf("the file that lies in %s of the server is not seen in the mount",
			x.Options.Export), Target: target.RemoteName(m.Target), Output: string(out.Stderr),
			Hints: []string{"--export is the directory on the server, --path what its clients call it: " +
				x.Options.Path + " is another one"}}
	}
	if out, err = m.Target.Run(ctx, "test", "-w", file); err != nil || out.ExitCode != 0 {
		return nil, err // root of a client is nobody there
	}
	return x.sharedScratch, nil
}

// load measures a stage that is prepared.
func (x *Stages) load(ctx context.Context, m *experiment.Measurement, s nfsStage, rest func()) (failed error) {
	var before *nfsTraffic
	stage := serverStage(m.Place())
	if s.point != "" {
		var err error
		if before, err = x.traffic(ctx, s.point); err != nil {
			return err
		}
		stage = before.stage()
	}
	if s.inside {
		stage += app.InsideGuest
	}
	if was := m.Run.Arms[0].Levels[results.StageLevel]; m.Resumed != nil && was != stage {
		return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("run %s measured %s, and it is %s now", m.Run.ID, was,
			stage), Hints: []string{"start a new experiment"}}
	}
	m.Run.Arms[0].Levels = map[string]string{results.StageLevel: stage}
	release, err := m.OpenEvents(ctx, slices.Collect(maps.Values(x.Opened))...)
	if err != nil {
		return err
	}
	defer func() { failed = errors.Join(failed, release()) }()
	x.Print("", stage)
	m.PrintSummary(ctx)
	outcome, err := m.Measure(ctx, func(scratch runner.SharedScratch) error {
		if before == nil {
			if scratch.State.Bytes > 0 && !m.Run.AsPublished && x.Options.Mounted == "" {
				x.sharedScratch = &scratch
			}
			rest()
			x.sharedScratch = nil
			return nil
		}
		after, err := x.traffic(ctx, s.point)
		if err == nil {
			m.Run.Warnings = append(m.Run.Warnings, before.warnings(*after, s.addresses())...)
		}
		return err
	})
	return errors.Join(err, experiment.Failures(outcome))
}

// checkGuest refuses a virtual machine whose disk can't lie on the mount. What the mount carries while it is measured
// says the rest.
func (x *Stages) checkGuest(ctx context.Context, s nfsStage) error {
	client := x.Opened[x.Options.Client]
	found, err := facts.GuestsOn(ctx, client, s.point)
	if err != nil {
		return err
	}
	refuse := func(what string) error {
		return &lab.Error{Kind: lab.Refused, What: what, Target: target.RemoteName(client),
			Hints: []string{"name the mount on which the guest's disk lies: --mounted DIR",
				"it takes root to see what others have open"}}
	}
	if len(found) == 0 {
		return refuse("no virtual machine has a file of " + s.point + " open")
	}
	uuid, err := facts.GuestUUID(ctx, s.target)
	if err != nil {
		return err
	}
	var names []string
	for _, g := range found {
		if uuid == "" || g.UUID == "" || g.UUID == uuid {
			return nil
		}
		names = append(names, fmt.Sprintf("%s (process %s)", g.Name, g.PID))
	}
	return refuse(fmt.Sprintf("%s is not among the virtual machines that have files of %s open: %s", s.target.Name(),
		s.point, strings.Join(names, ", ")))
}

func memoryFilesystems() []string { return []string{"tmpfs", "ramfs"} }

// serverStage is what the server's own storage is called.
func serverStage(place lab.Place) string {
	if slices.Contains(memoryFilesystems(), place.Filesystem) {
		return "server memory"
	}
	return "server " + place.Filesystem
}

// throughMemory are loads on a file system in memory, which takes no direct I/O before Linux 6.6: it is the cache
// itself.
func throughMemory(cells []lab.Cell) []lab.Cell {
	changed := slices.Clone(cells)
	for i := range changed {
		changed[i].Params = maps.Clone(changed[i].Params)
		changed[i].Params["direct"] = "0"
	}
	return changed
}

// Report shows what was measured.
func (x *Stages) Report() error {
	// A stage that was refused after its run was drafted has left none.
	begun := slices.DeleteFunc(slices.Clone(x.bundles), func(id string) bool { return !x.Store.Has(id) })
	if len(begun) == 0 {
		return nil
	}
	bundles, err := results.FindAll(x.App, begun)
	if err != nil {
		return err
	}
	format := "table"
	if x.JSON {
		format = "json"
	}
	if err := results.WriteForPeople(x.App, format, bundles, x.Stdout, report.Options{Names: format == "table"}); err !=
		nil ||
		x.JSON || len(bundles) == 1 {
		return err
	}
	d, runs, err := results.StagesDocument(x.App, bundles[0], results.StagesOptions{})
	if err != nil {
		return err
	}
	s, err := x.OpenStore()
	if err != nil {
		return err
	}
	fmt.Fprintln(x.Stdout)
	if err := results.ShowResult(x.App, s, results.StagesResult(d, runs), results.DocumentOutput{}); err != nil {
		return err
	}
	return writeConfigHelp(x.Stdout, &d, bundles)
}

// PrintStages is what --dry-run prints.
func (x *Stages) PrintStages(stages []nfsStage) error {
	for _, s := range stages {
		if s.mount == nil {
			fmt.Fprintf(x.Stdout, "%s: %s in %s of %s\n", s.asked, x.Suite, s.folder, s.target.Name())
			continue
		}
		fmt.Fprintf(x.Stdout, "%s: mount %s on %s of %s, %s there, unmount\n", s.asked, s.mount, s.folder,
			s.target.Name(), x.Suite)
	}
	return nil
}
