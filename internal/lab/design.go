package lab

// Design is the kind of experiment that a run was measured for, as its header records it.
type Design string

// The designs.
const (
	// DesignRun measures the cells of a suite, on one target or on several at the same time.
	DesignRun Design = "run"
	// DesignSoak measures one load for a long time.
	DesignSoak Design = "soak"
	// DesignProfile measures the cells of a suite to have them profiled.
	DesignProfile Design = "profile"
	// DesignLive compares two sides that are measured in turn, DesignLayers the layers of a host's storage.
	DesignLive   Design = "live"
	DesignLayers Design = "layers"
	// DesignLadder climbs from memory to the whole system, DesignNetworkLadder from a loopback to all ports.
	DesignLadder        Design = "ladder"
	DesignNetworkLadder Design = "network-ladder"
	// DesignNet measures pairs of a client and a server, DesignInterference what loads take from each other.
	DesignNet          Design = "net"
	DesignInterference Design = "interference"
	// DesignNFS measures the ways to an NFS server, one after the other.
	DesignNFS Design = "nfs"
	// DesignSweep, DesignAblation and DesignBisection vary settings.
	DesignSweep     Design = "sweep"
	DesignAblation  Design = "ablate"
	DesignBisection Design = "bisect"
)

// MadeBy is the design of a run. Runs that were made before headers recorded one show it by what else they have.
func (r Run) MadeBy() Design {
	level := func(name string) bool { return len(r.Arms) > 0 && r.Arms[0].Levels[name] != "" }
	switch {
	case r.Design != "":
		return r.Design
	case r.Experiment != nil:
		return Design(r.Experiment.Kind)
	case r.Concurrent != nil && r.Concurrent.Kind == "interference":
		return DesignInterference
	case r.Concurrent != nil && r.Concurrent.Kind == "ladder":
		return DesignNetworkLadder
	case len(r.Network) > 0:
		return DesignNet
	case r.Pair == "":
		return DesignRun
	case r.NFS != nil:
		return DesignNFS
	case level("layer"):
		return DesignLayers
	case level("rung"):
		return DesignLadder
	default:
		return DesignLive
	}
}

// HasParts says that the arms of an experiment were each measured as a run by itself would be: what follows a suite
// over its runs follows each of them.
func (d Design) HasParts() bool {
	return d == DesignLive || d == DesignLayers || d == DesignLadder || d == DesignNFS
}

// Command is the command that measures by a design: "compare --live".
func (d Design) Command() string {
	switch d {
	case DesignLive, DesignLayers:
		return "compare --" + string(d)
	case DesignNetworkLadder:
		return string(DesignLadder)
	case DesignInterference:
		return "net interference"
	}
	return string(d)
}

// Resume is the command that goes on with an interrupted run, of an ID as people type it.
func (d Design) Resume(id string) string { return "headroom " + d.Command() + " --resume " + id }
