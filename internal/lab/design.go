package lab

// Design is the kind of experiment that a run was measured for, as its header records it.
type Design string

// The designs.
const (
	// DesignRun measures the cells of a suite, on one target or on several at the same time.
	DesignRun Design = "run"
	// DesignSoak measures one load for a long time.
	DesignSoak Design = "soak"
	// DesignProfile measures the cells of a suite to profile them.
	DesignProfile Design = "profile"
	// DesignLive compares two sides whose repetitions alternate. DesignLayers measures the layers of a host's storage.
	DesignLive   Design = "live"
	DesignLayers Design = "layers"
	// DesignLadder climbs from memory to the whole system. DesignNetworkLadder climbs from a loopback to all ports.
	DesignLadder        Design = "ladder"
	DesignNetworkLadder Design = "network-ladder"
	// DesignNet measures pairs of a client and a server. DesignInterference measures how loads slow each other down.
	DesignNet          Design = "net"
	DesignInterference Design = "interference"
	// DesignNFS measures the paths to an NFS server, one after the other.
	DesignNFS Design = "nfs"
	// DesignSweep, DesignAblation and DesignBisection vary settings.
	DesignSweep     Design = "sweep"
	DesignAblation  Design = "ablate"
	DesignBisection Design = "bisect"
)

// MadeBy returns the design of a run. For runs made before headers recorded a design it is derived from other fields.
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

// HasParts reports whether each arm of an experiment was measured like a separate run. The history of a suite includes
// each of these arms.
func (d Design) HasParts() bool {
	return d == DesignLive || d == DesignLayers || d == DesignLadder || d == DesignNFS
}

// Command returns the command that measures by a design: "compare --live".
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

// Resume returns the command that resumes an interrupted run. id is its ID as people type it.
func (d Design) Resume(id string) string { return "headroom " + d.Command() + " --resume " + id }
