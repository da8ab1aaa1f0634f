package ladder

import (
	"fmt"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/ladder/v1"

// Document is a climbed ladder. Values are in base units.
type Document struct {
	Schema string `json:"schema"`
	// Rungs in the order in which they were climbed.
	Rungs  []Rung `json:"rungs"`
	Answer Answer `json:"answer"`
	// Guests say of each disk of a guest whether the same storage does less through it, and what takes the rest; none
	// without guests.
	Guests []GuestLoss `json:"guests,omitempty"`
	// PodNetwork says of each load between pods what the pod network costs of what the same pods reach in their nodes'
	// own; none without pods.
	PodNetwork []PodLoss `json:"pod_network,omitempty"`
	// Suspects are what doctor finds at the ends of a network that falls short; TuningRuns are other ladders of the
	// same ports. Absent for storage.
	Suspects   []Suspect   `json:"suspects,omitempty"`
	TuningRuns []TuningRun `json:"trials,omitempty"`
	// Margin is how much a rung may stay below what is expected of it, as a share of that.
	Margin float64 `json:"margin"`
	// Alpha bounds the probability that any of the Claims (cells with an expectation) is wrong.
	Alpha  float64 `json:"alpha"`
	Claims int     `json:"claims"`
	// Passes over all rungs.
	Passes   int           `json:"passes"`
	Warnings []RungWarning `json:"warnings"`
	// Notes say what was left out, and what is in doubt.
	Notes []string `json:"notes"`
}

// Kind is the kind of a rung.
type Kind string

// The kinds, from the bottom up. Memory and Null are the machine's rates without any storage; a Drive is a whole disk;
// a DriveGroup is several devices at the same time; a Volume is a device made of others (md, LVM, dm-crypt, DRBD);
// Files is a file system; a Guest is a disk of a virtual machine, measured inside it.
const (
	Memory     Kind = "memory"
	Null       Kind = "null"
	Drive      Kind = "drive"
	DriveGroup Kind = "together"
	Volume     Kind = "volume"
	Files      Kind = "filesystem"
	Guest      Kind = "guest"
)

// The kinds of rungs of a network, from the bottom up. Loopback is traffic of a machine to itself; a Flow is one stream
// through a port; a Port is a single address of the server; Ports are several at the same time; BothWays are all of
// them with as much traffic in the other direction.
const (
	Loopback Kind = "loopback"
	Flow     Kind = "flow"
	Port     Kind = "port"
	Ports    Kind = "ports"
	BothWays Kind = "both-ways"
)

// bare reports whether a rung has no storage, so that it only shows the machine's own limit and has no expectation.
func (k Kind) bare() bool { return k == Memory || k == Null }

// Rung is one thing that was measured.
type Rung struct {
	Name string `json:"name"`
	// Places are the devices or the directory, or the addresses of a network's ports; several for DriveGroup and Ports,
	// none for a null engine.
	Places []string `json:"places"`
	Kind   Kind     `json:"kind"`
	// Network of a rung between pods; empty for all others. CNI is the plugin of the pod network, where it is known.
	Network Network `json:"network,omitempty"`
	CNI     string  `json:"cni,omitempty"`
	// Target that it was measured on; empty for this machine.
	Target string `json:"target,omitempty"`
	// Interface of a guest's disk (nvme, virtio-blk, virtio-scsi), and what QEMU keeps its data in (null, memory,
	// image, file).
	Interface string `json:"interface,omitempty"`
	Backing   string `json:"backing,omitempty"`
	// CPUs of a guest; 0 for the machine that the ladder stands on.
	CPUs int `json:"cpus,omitempty"`
	// Filesystem of a directory.
	Filesystem string `json:"filesystem,omitempty"`
	// Disks under it, by the kernel's names, where they are known.
	Disks []string `json:"disks,omitempty"`
	// Jobs that load it at the same time: one for each of the drives that carry it.
	Jobs int `json:"jobs"`
	// Run is the ID of the run that holds what was measured here.
	Run   string `json:"run"`
	Cells []Cell `json:"cells"`
	// withoutStorageRung is the rung of a guest's disk without storage that this one is held beside, by its place from
	// 0; -1 for none.
	withoutStorageRung int
}

// Cell is the rate of one load at one rung.
type Cell struct {
	Cell   string            `json:"cell"`
	Title  string            `json:"title"`
	Params map[string]string `json:"params"`
	Metric string            `json:"metric"`
	Unit   lab.Unit          `json:"unit"`
	// Center is the geometric mean of N repetitions. Lo and Hi are its own 95% interval, and absent if there are too
	// few. All are absent if every load failed.
	Center *float64 `json:"center,omitempty"`
	stat.Bounds
	N int `json:"n"`
	// Ceiling is the lowest known ceiling, and Share how much of it was reached.
	Ceiling *Ceiling `json:"ceiling,omitempty"`
	Share   *float64 `json:"share,omitempty"`
	// Expected is what the rungs below promise; absent where they promise nothing.
	Expected *Expected `json:"expected,omitempty"`
	// Reached is the rate as a share of what was expected in the same pass, with an interval that decides.
	Reached *stat.Estimate `json:"reached,omitempty"`
	Verdict Verdict        `json:"verdict"`
	// Cause is why a guest's disk falls short; empty for all others.
	Cause Cause `json:"cause,omitempty"`
	// CPU is how many processors the load's own processes took; the work of kernel threads is not in it.
	CPU *float64 `json:"cpu,omitempty"`
	// Warnings are the codes of the warnings that taint the rate.
	Warnings []string `json:"warnings,omitempty"`
}

// Ceiling is a bound on a rate, with how it comes about.
type Ceiling struct {
	Value      float64 `json:"value"`
	Limiter    string  `json:"limiter"`
	Derivation string  `json:"derivation"`
}

// Expected is what the rungs below promise, in the geometric mean over the passes.
type Expected struct {
	Value float64 `json:"value"`
	// From says it in words: "the sum of each alone", "drives like it", "/dev/md0".
	From string `json:"from"`
	// Rungs that it comes from, by their place from 0.
	Rungs []int `json:"rungs"`
}

// Verdict on a rate against what was expected of it.
type Verdict string

// The verdicts. Unexpected is the one where nothing is expected. AtCeiling is short of what the rungs below promise,
// and at a ceiling that explains it.
const (
	Unexpected Verdict = "none"
	Reaches    Verdict = "reaches"
	Short      Verdict = "short"
	AtCeiling  Verdict = "at-ceiling"
	Undecided  Verdict = "undecided"
)

// falls says that a rate is below what was expected, for whatever reason.
func (v Verdict) falls() bool { return v == Short || v == AtCeiling }

// Answer is the first rung that falls short.
type Answer struct {
	// Rung by its place from 0; absent where none falls short.
	Rung *int `json:"rung,omitempty"`
	// Cell where it falls shortest.
	Cell    string  `json:"cell,omitempty"`
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"`
}

// RungWarning is a reason to distrust what was measured at a rung, in a cell or, where that is empty, in all of them.
type RungWarning struct {
	// Rung by its place, from 0; WholeRun for all of them.
	Rung int `json:"rung"`
	lab.CellWarning
}

// WholeRun is the rung of a warning that is about the run as a whole.
const WholeRun = -1

// Suspect is a finding of doctor's about an end of a network that may be why a rung falls short.
type Suspect struct {
	// Target that it is about, and the rule that found it.
	Target   string `json:"target"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	// Effect is what is published of it, in a sentence.
	Effect string `json:"effect,omitempty"`
	// Remedies that are offered, the best first, and Kept what keeping settings costs.
	Remedies []string `json:"remedies"`
	Kept     []string `json:"kept,omitempty"`
}

// TuningRun is another ladder of the same ports, climbed with something changed.
type TuningRun struct {
	Run   string `json:"run"`
	Label string `json:"label,omitempty"`
	// Changed is what differs on the server, the likeliest to matter first: "numa: off, then absent".
	Changed []string `json:"changed"`
	// Forbidden is a setting that must be kept and is not; empty for none.
	Forbidden string `json:"forbidden,omitempty"`
	// Name of the highest rung that both have, with what it does in the first load; Change is that as a ratio, which is
	// no more than the two ladders' difference: something else may have changed, too.
	Name   string        `json:"name"`
	Unit   string        `json:"unit"`
	Before float64       `json:"before"`
	After  float64       `json:"after"`
	Change stat.Estimate `json:"change"`
}

// Best returns the best trials: of those that keep the required settings, and of all; -1 if none surely gains.
func Best(trials []TuningRun) (kept, any int) {
	kept, any = -1, -1
	for i, t := range trials {
		if t.Change.Lo == nil || *t.Change.Lo <= 1 {
			continue
		}
		if any < 0 || t.After > trials[any].After {
			any = i
		}
		if t.Forbidden == "" && (kept < 0 || t.After > trials[kept].After) {
			kept = i
		}
	}
	return kept, any
}

// Network is the network that carries the loads of a rung between pods.
type Network string

// The networks. Pods is the one that the cluster's plugin (CNI) makes; Nodes is the network of the nodes themselves, in
// which the same pods are measured without it.
const (
	Nodes Network = "nodes"
	Pods  Network = "pods"
)

// PodLoss is how much less one load reaches between pods than between their nodes, with as many streams.
type PodLoss struct {
	// Rung between the pods by its place from 0, and the cell.
	Rung    int     `json:"rung"`
	Cell    string  `json:"cell"`
	Verdict Verdict `json:"verdict"`
	// Cost is the share that is lost; below 0 where pods do more. Its bounds hold together with all others of the
	// ladder.
	Cost stat.Estimate `json:"cost"`
	Text string        `json:"text"`
}

// throughPodNetwork reports whether a cell is compared with the same between the nodes.
func (r *Rung) throughPodNetwork(c *Cell) bool {
	return r.Network == Pods && r.Kind != Loopback && c.Reached != nil
}

// cost returns the missing share of the expectation.
func (c *Cell) cost() stat.Estimate {
	e := stat.Estimate{Value: 1 - c.Reached.Value}
	if c.Reached.Known() {
		e.Bounds = stat.BoundsOf(1-*c.Reached.Hi, 1-*c.Reached.Lo)
	}
	return e
}

// costText returns text about the cost of the pod network.
func (c *Cell) costText(r *Rung) string {
	name := "the pod network"
	if r.CNI != "" {
		name += " (" + r.CNI + ")"
	}
	cost := c.cost()
	text := name + " costs " + unit.Percent(cost.Value)
	if c.Reached.Informative() {
		text += fmt.Sprintf(" [%s, %s]", unit.Percent(*cost.Lo), unit.Percent(*cost.Hi))
	}
	return text
}

// podLosses has an entry for each load between pods that takes all streams one way. One flow, and both ways at once,
// are in the rungs.
func podLosses(d *Document) []PodLoss {
	var list []PodLoss
	for i := range d.Rungs {
		r := &d.Rungs[i]
		for j := range r.Cells {
			c := &r.Cells[j]
			if r.Kind != Port || !r.throughPodNetwork(c) {
				continue
			}
			l := PodLoss{Rung: i, Cell: c.Cell, Verdict: c.Verdict, Cost: c.cost(),
				Text: fmt.Sprintf("%s: %s: %s does %s, %s %s", c.Title, c.costText(r), r.Name,
					amount(c.Unit, *c.Center), c.Expected.From, amount(c.Unit, c.Expected.Value))}
			switch c.Verdict {
			case Reaches:
				l.Text += fmt.Sprintf("; that is at most %g%% for sure", 100*d.Margin)
			case Undecided:
				l.Text = fmt.Sprintf("whether the pod network costs more than %g%% is undecided: %s", 100*d.Margin,
					openText(d, r, c))
			}
			list = append(list, l)
		}
	}
	return list
}
