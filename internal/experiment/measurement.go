package experiment

import (
	"context"
	"os"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/validity"
)

// Measurement is a run from its planning to its report.
type Measurement struct {
	App     *app.App
	Options RunOptions
	Store   *store.Store
	Target  host.Target

	Run   lab.Run
	Saved []lab.Repetition
	// profiled is how many loads of each cell were profiled before it was resumed.
	profiled map[runner.ProfiledPart]int
	// ProfileOnly says of a cell whether it is worth profiling now; nil for always.
	ProfileOnly func(lab.Cell) bool
	Resumed     *store.Bundle
	Before      facts.Document // the machine before the first load
	// Machine is what checks look at of it; nil where the facts of the run have all of that.
	Machine *validity.Machine
	held    held   // of the place
	fio     string // the load generator's program on the target; empty for the one on its PATH
	// MaxWrites in bytes; 0 is no limit.
	maxWrites int64
	// Role of the target in a run that measures several, but for the one under test; empty for a run by itself.
	Role string
	// Arm is the arm of a run with several in one bundle; empty for a measurement with a separate bundle.
	Arm string
	// Reboots says that the machine is started again on the way, or the place mounted, so that it is not the one that
	// was found when the run ends.
	Reboots bool
	// Server of a network's tests, nil where storage is measured, and client, the role of the target in them.
	Server *ServerEnd
	Client string
	// Backends are other machines that the data of the place comes from or through.
	Backends []runner.Backend
	// Mounted is what this run mounts on the folder of the place, as a level of the factor mount:nfs; empty where it
	// mounts nothing.
	Mounted string
	// SharedScratch is a scratch file that another run has laid out and removes; nil where the run has its own.
	SharedScratch *runner.SharedScratch
	// SnapshotElsewhere says that another part of the run keeps the snapshots of the target.
	SnapshotElsewhere bool
	// Events are the events of the run, open. observer says that another part of the run carries them out.
	Events   []runner.ScheduledEvent
	Observer bool
	// Peers carry out each load at the same moment, on other targets, and enter makes an arm effective on a peer.
	Peers []*Measurement
	Enter func(ctx context.Context, arm string) (runner.ArmEntry, error)
	// Tree is the folder that {tree} in commands stands for; empty for the one that headroom was started in.
	Tree string
	// Location is where the place is, in a run on several targets.
	Location Location
	// Concurrent is a measurement that runs at the same time and was planned before this one; nil for a run by
	// itself.
	Concurrent *Measurement
}

// Place is the directory or device that is measured, or none.
func (m *Measurement) Place() lab.Place { return m.Run.Targets[0].Place }

// TargetRole is the role of the target in the run.
func (m *Measurement) TargetRole() string { return m.Run.Targets[0].Role }

// RunnerMeasurement is the measurement as the runner carries it out.
func (m *Measurement) RunnerMeasurement() runner.Measurement {
	e := runner.Measurement{
		RunID: m.Run.ID, Role: m.Role, Target: m.Target, Place: m.Place(),
		Program: m.fio, Scratch: m.Place().Size, Saved: m.Saved, MaxWrites: m.maxWrites, Pause: m.Workload().Pause(),
		Events: m.Events, Observer: m.Observer, Profile: m.profiling(),
		Backends: m.Backends, Mounted: m.Mounted, SharedScratch: m.SharedScratch, Enter: m.Enter,
		CountKernel: m.Run.Experiment != nil && m.Run.Experiment.Kind == app.BisectKind,
	}
	if m.Machine != nil {
		e.Machine = *m.Machine
	} else {
		e.Machine = facts.Machine(m.Run.Targets[0].Facts)
	}
	if m.Server != nil {
		e.Server = &m.Server.Server
	}
	if e.Tree = m.Tree; e.Tree == "" && host.IsLocal(m.Target) {
		e.Tree, _ = os.Getwd() // where there is none, {tree} can't be filled in, and the load says so
	}
	if m.App.Traits(m.Target.Name()).HostedHere {
		e.Host = m.App.Local()
	}
	if d := m.held.device; d != nil {
		e.Claim, e.Blank = d, d.verdict.SeemsBlank()
	}
	if m.held.blank != nil {
		e.Claim, e.Blank = m.held.blank, len(m.Saved) == 0
	}
	for _, c := range m.Run.Cells {
		e.Cells = append(e.Cells, m.CellToRun(c))
	}
	for _, peer := range m.Peers {
		e.Peers = append(e.Peers, peer.RunnerMeasurement())
	}
	return e
}

// CellToRun is a cell with what carrying it out takes.
func (m *Measurement) CellToRun(c lab.Cell) runner.Cell {
	title := suite.TitleOf(c)
	if m.Role != "" && len(m.Peers) == 0 && m.Arm == "" { // what several do at the same moment is shown as one
		title += " on " + m.Role
	}
	return runner.Cell{Cell: c, Title: title, Expected: expectedTime(c)}
}

// Owner is in the names of all that is made on the target.
func (m *Measurement) Owner() string { return workspace.Owner(m.Run.ID, m.Role) }

// SavedID names what was saved of the measurement: a run, or an arm of one.
func (m *Measurement) SavedID() string {
	if m.Arm != "" {
		return m.Run.ID + ":" + m.Arm
	}
	return m.Run.ID
}

// Release gives up the device and what else is held for the measurement.
func (m *Measurement) Release() { m.held.release() }

// The roles of the two ends of a network's tests.
const (
	ClientRole = "client"
	ServerRole = "server"
)

// ServerEnd is the server that a measurement on a client has.
type ServerEnd struct {
	runner.Server
	Before facts.Document
	// SnapshotElsewhere says that another part of the run keeps its snapshots.
	SnapshotElsewhere bool
}

// Commands returns the commands of the two ends of a network's test.
func (s *ServerEnd) Commands(c lab.Cell) (server, client []string) {
	g, _ := served.Of(c.Engine)
	at := served.End{Address: s.Address, Port: s.Port}
	return g.Server(c.Params, at, served.Longest(expectedTime(c))), g.Client(c.Params, at)
}
