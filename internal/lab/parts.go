package lab

import (
	"slices"
	"strings"
)

// An experiment whose arms are each measured on a separate target, alternately or at the same time, is one run. Part
// returns one of its arms as a separate run. Join makes the run from such parts.

// OnlyArm is the ID of the only arm of a run that has one arm without levels. StorageRole is the role of its target.
const (
	OnlyArm     = "1"
	StorageRole = "storage"
)

// Levels that distinguish arms which are otherwise the same: the target, where several are measured at the same time,
// and the side of a comparison. They are not conditions of the measurement.
const (
	TargetLevel = "target"
	SideLevel   = "side"
)

// ArmSuite is the suite of an arm, if it is not the suite of the run's first arm.
type ArmSuite struct {
	Name string `json:"name"`
	Text string `json:"text,omitempty"`
	// Pause between two loads, in seconds.
	Pause float64 `json:"pause,omitempty"`
}

// ArmStage is the part of an arm that describes its stage of an experiment with an NFS server.
type ArmStage struct {
	// Requested is the stage's name before its outcome was known.
	Requested string `json:"asked"`
	// Events of the arm's loads.
	Events []Event `json:"events,omitempty"`
}

// CellIn returns the name of a cell in a run of several parts; arm is the cell's part.
func CellIn(cell, arm string) string { return cell + "@" + arm }

// CutArm splits the name of a part, RUN:ARM. Both results are empty if the name has no arm.
func CutArm(name string) (run, arm string) {
	if i := strings.LastIndexByte(name, ':'); i > 0 && i < len(name)-1 {
		return name[:i], name[i+1:]
	}
	return "", ""
}

// PartNames returns the arms that are parts of the run: those with a separate target each.
func (r Run) PartNames() []string {
	var names []string
	for _, a := range r.Arms {
		if (len(r.Targets) > 1 || r.Design.HasParts()) && a.ID == a.Role && r.target(a.Role) >= 0 {
			names = append(names, a.ID)
		}
	}
	return names
}

// target returns the index of the target with a role; -1 for none.
func (r Run) target(role string) int {
	return slices.IndexFunc(r.Targets, func(t RunTarget) bool { return t.Role == role })
}

// Part returns one of the run's parts as a separate run. Its ID is the ID of the whole run, a colon and the arm.
func (r Run) Part(arm string) Run {
	p := r
	p.Design = r.MadeBy()
	p.ID, p.Pair, p.Concurrent, p.AtOnce = r.ID+":"+arm, r.ID, nil, 0
	if r.Label != "" {
		p.Label = r.Label + " " + arm
	}
	p.Targets, p.Arms, p.Cells, p.Warnings = nil, nil, nil, nil
	for _, a := range r.Arms {
		if a.ID != arm {
			continue
		}
		levels := map[string]string{}
		for name, level := range a.Levels {
			if name != TargetLevel && name != SideLevel {
				levels[name] = level
			}
		}
		p.Arms = []Arm{{ID: OnlyArm, Role: StorageRole, Levels: levels}}
		if s := a.Suite; s != nil {
			p.Suite, p.SuiteText, p.Pause = s.Name, s.Text, s.Pause
		}
		if s := a.Stage; s != nil && r.NFS != nil {
			settled := *r.NFS
			settled.Requested = s.Requested
			p.NFS, p.Events = &settled, s.Events
		}
	}
	t := r.Targets[r.target(arm)]
	t.Role = StorageRole
	if first := r.target(t.FactsAs); first >= 0 {
		t.FactsAs, t.Facts = "", withFacts(r.Targets[first].Facts, t.Facts)
	}
	p.Targets = []RunTarget{t}
	for _, c := range r.Cells {
		if c.Arm == arm {
			c.ID, c.Arm = strings.TrimSuffix(c.ID, CellIn("", arm)), OnlyArm
			p.Cells = append(p.Cells, c)
		}
	}
	p.Warnings = warningsOfPart(r.Warnings, arm, r.PartNames())
	return p
}

// withFacts returns facts with those in own added; they replace facts with the same keys.
func withFacts(facts, own []Fact) []Fact {
	same := func(f Fact) func(Fact) bool {
		return func(o Fact) bool { return o.Key == f.Key && o.About == f.About }
	}
	all := slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool { return slices.ContainsFunc(own, same(f)) })
	return append(all, own...)
}

// warningsOfPart returns the warnings that are common to all parts, and those of one part, which begin with its name.
func warningsOfPart(all []Warning, arm string, arms []string) []Warning {
	var own []Warning
	for _, w := range all {
		of, text, named := strings.Cut(w.Text, ": ")
		switch {
		case named && of == arm:
			w.Text = text
		case named && slices.Contains(arms, of):
			continue
		}
		own = append(own, w)
	}
	return own
}

// Join returns the run that consists of parts, which become arms of the given names. The first part's header becomes
// the run's. A warning that only some parts have gets their names.
func Join(parts []Run, arms []string) Run {
	whole := parts[0]
	whole.Targets, whole.Arms, whole.Cells = nil, nil, nil
	for i, p := range parts {
		t, a := p.Targets[0], p.Arms[0]
		t.Role, a.ID, a.Role = arms[i], arms[i], arms[i]
		if p.Suite != whole.Suite || p.SuiteText != whole.SuiteText || p.Pause != whole.Pause {
			a.Suite = &ArmSuite{Name: p.Suite, Text: p.SuiteText, Pause: p.Pause}
		}
		if p.NFS != nil {
			a.Stage = &ArmStage{Requested: p.NFS.Requested, Events: p.Events}
		}
		whole.Targets, whole.Arms = append(whole.Targets, t), append(whole.Arms, a)
		for _, c := range p.Cells {
			c.ID, c.Arm = CellIn(c.ID, arms[i]), arms[i]
			whole.Cells = append(whole.Cells, c)
		}
	}
	if whole.NFS != nil {
		settled := *whole.NFS
		settled.Requested = ""
		whole.NFS, whole.Events = &settled, settled.Events
	}
	whole.Warnings = JoinWarnings(nil, parts, arms)
	return whole
}

// SetParts copies those fields of a joined header that its parts may have changed.
func (r *Run) SetParts(joined Run) {
	r.Targets, r.Arms, r.Cells, r.Warnings = joined.Targets, joined.Arms, joined.Cells, joined.Warnings
	r.Terms = joined.Terms
}

// JoinWarnings adds the warnings of the parts to those of the whole. A warning that all parts share is reported once.
func JoinWarnings(of []Warning, parts []Run, arms []string) []Warning {
	all := slices.Clone(of)
	same := func(w Warning) func(Warning) bool {
		return func(o Warning) bool { return o.Code == w.Code && o.Text == w.Text }
	}
	for i, p := range parts {
		for _, w := range p.Warnings {
			if slices.ContainsFunc(parts, func(o Run) bool { return !slices.ContainsFunc(o.Warnings, same(w)) }) {
				w.Text = arms[i] + ": " + w.Text
			}
			if !slices.ContainsFunc(all, same(w)) {
				all = append(all, w)
			}
		}
	}
	return all
}

// Stage is one state of the system under test. The same loads are run in each stage: the server's memory, one path to
// it, two.
type Stage struct {
	Name string `json:"name"`
	// From is the source of an imported stage: "page.txt from line 14"; empty for a measured one.
	From string `json:"from,omitempty"`
}

// StageLevel is the name of the level that holds an arm's stage.
const StageLevel = "stage"

// NFS describes how the storage of an NFS server is measured stage by stage, each as a separate run. It holds
// everything that is needed to measure the missing stages; fields that are empty default to the suite's values.
type NFS struct {
	// Requested is the stage's name before its outcome was known.
	Requested string `json:"asked,omitempty"`
	// Client and Server are names of targets; Server is empty if the server's own storage is not measured.
	Client string `json:"client"`
	Server string `json:"server,omitempty"`
	// Export is the directory on the server, and Path its name for clients.
	Export string `json:"export,omitempty"`
	Path   string `json:"path,omitempty"`
	// Addresses of the server, Version of the protocol, further mount Options, Transports (all if none is named), and
	// the port for RDMA.
	Addresses  []string `json:"addresses,omitempty"`
	Version    string   `json:"version,omitempty"`
	Options    []string `json:"options,omitempty"`
	Transports []string `json:"transports,omitempty"`
	RDMAPort   int      `json:"rdma_port,omitempty"`
	// Mounted is an existing mount of the client, measured in place of headroom's own.
	Mounted string `json:"mounted,omitempty"`
	// Guest is the target of a virtual machine whose disk is stored on the server, and GuestPlace the directory or
	// device that is measured there.
	Guest      string `json:"guest,omitempty"`
	GuestPlace string `json:"guest_place,omitempty"`
	// Set are parameters of every load, Size is the size of the scratch file, Repeat the number of repetitions and
	// Order their order, as typed.
	Set    []string `json:"set,omitempty"`
	Size   string   `json:"size,omitempty"`
	Repeat int      `json:"repeat,omitempty"`
	Order  string   `json:"order,omitempty"`
	// Events of each load on a mount. The share of the rate that should remain applies to the stage with all addresses.
	Events []Event `json:"events,omitempty"`
}

// Event is a disturbance that is caused on purpose during a load: a link is cut, a server restarts. Either a command is
// run, or a factor is set.
type Event struct {
	// At is when the event happens, in seconds after the measured part of the load begins. For is how many seconds
	// later it is undone, at the end of the load at the latest; 0 if the event ends by itself.
	At  float64 `json:"at"`
	For float64 `json:"for,omitempty"`
	// Target is the name of the target on which the event happens.
	Target string `json:"target"`
	// Named are the words of a built-in event, which is known by its name. Command and Undo are the commands that it
	// was resolved to on the target.
	Named   []string `json:"named,omitempty"`
	Command []string `json:"command,omitempty"`
	Undo    []string `json:"undo,omitempty"`
	Factor  string   `json:"factor,omitempty"`
	Level   string   `json:"level,omitempty"`
	// ExpectedShare is the share of the rate that should remain during the event; 0 if not stated.
	ExpectedShare float64 `json:"left,omitempty"`
}

// Text returns the event as one would type it.
func (e Event) Text() string {
	switch {
	case e.Factor != "":
		return e.Factor + "=" + e.Level
	case len(e.Named) > 0:
		return ShellQuote(e.Named)
	}
	return ShellQuote(e.Command)
}

// HasUndo reports whether the event is undone; other events end by themselves.
func (e Event) HasUndo() bool { return e.Factor != "" || len(e.Undo) > 0 || e.For > 0 }

// EventResult is the outcome of the events of a load, with the load's rate in fine steps.
type EventResult struct {
	// Rate of all directions together, in the metric's unit.
	Rate Series `json:"rate"`
	// Each has an entry for each event of the run, in their order.
	Each []Occurrence `json:"each"`
}

// Occurrence is when an event was carried out and undone, in seconds from the start of the rate. Took and UndoTook are
// how long its commands ran.
type Occurrence struct {
	At       float64 `json:"at"`
	Took     float64 `json:"took"`
	Undone   float64 `json:"undone,omitempty"`
	UndoTook float64 `json:"undo_took,omitempty"`
	// Uncertainty is by how much these times may be wrong.
	Uncertainty float64 `json:"unsure"`
	// Failed is the reason, in one line, why the event was not carried out; the event then did not happen, or not as
	// intended.
	Failed string `json:"failed,omitempty"`
}
