package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/runner"
)

// NetworkRung is a rung with the combinations that measure it.
type NetworkRung struct {
	ladder.Rung
	Combinations []lab.Combination
}

// NetworkRungs returns the rungs of a saved ladder, from the bottom up.
func NetworkRungs(run lab.Run) []NetworkRung {
	var rungs []NetworkRung
	for _, o := range run.Concurrent.Combinations {
		i := slices.IndexFunc(rungs, func(r NetworkRung) bool { return r.Name == o.Rung })
		if i < 0 {
			i = len(rungs)
			rungs = append(rungs, NetworkRung{Rung: ladder.Rung{Name: o.Rung, Kind: ladder.Kind(o.Kind), Places: o.Over,
				Run: run.ID, Network: ladder.Network(o.Network)}})
		}
		rungs[i].Combinations = append(rungs[i].Combinations, o)
	}
	for i := range rungs {
		r := &rungs[i]
		for _, c := range run.Cells {
			if c.Arm != runner.AllTargets && strings.HasPrefix(c.ID, r.Combinations[0].ID+"@") {
				r.Jobs++
			}
		}
		r.Name = rungName(run, r.Rung)
	}
	return rungs
}

// rungName returns the name of a rung for readers.
func rungName(run lab.Run, r ladder.Rung) string {
	if r.Network != "" {
		return podRungName(run, r)
	}
	switch r.Kind {
	case ladder.Loopback:
		for _, t := range run.Targets {
			if t.Role == r.Places[0] && t.Remote() != "" {
				return "loopback of " + t.Target
			}
		}
		return "loopback of this machine"
	case ladder.Flow:
		return "one flow to " + r.Places[0]
	case ladder.Port:
		return r.Places[0]
	case ladder.BothWays:
		return "both ways at once"
	}
	if name, group := strings.CutPrefix(r.Name, "group-"); group {
		return fmt.Sprintf("%s (%d ports)", name, len(r.Places))
	}
	return fmt.Sprintf("all %d ports", len(r.Places))
}

// isEnd reports whether a target is an end of the loads of a network. The ends of the nodes' network are the pods in
// it; the ends of any other network are the other targets.
func isEnd(of ladder.Network, t lab.RunTarget) bool {
	return strings.HasPrefix(t.Role, NodeOf) == (of == ladder.Nodes)
}

// clientCeiling returns what all clients together can send, over all their links: it is unknown which links their tests
// take.
func clientCeiling(run lab.Run, network ladder.Network) (all ceiling.Ceiling, known bool) {
	var names []string
	for _, t := range run.Targets {
		if !isEnd(network, t) || !slices.ContainsFunc(run.Network, func(p lab.NetworkPair) bool {
			return p.Client == t.Role && p.Server != t.Role
		}) {
			continue
		}
		c, ok := ceiling.EgressCeiling(t)
		if !ok {
			return ceiling.Ceiling{}, false
		}
		names = append(names, c.Limiter+" of "+t.Target)
		all.Value, all.Most, all.Derivation = all.Value+c.Value, c.Most,
			strings.TrimPrefix(all.Derivation+"; "+c.Derivation, "; ")
	}
	all.Limiter = strings.Join(names, " + ")
	return all, len(names) > 0
}

// serverOf returns the server whose ports are measured. For pods it is the pod in its node's network, which has the
// node's adapters.
func serverOf(run lab.Run) lab.RunTarget {
	if t := serverIn(run, ladder.Nodes); t.Role != "" {
		return t
	}
	return serverIn(run, "")
}

// serverIn returns the server in a network.
func serverIn(run lab.Run, network ladder.Network) lab.RunTarget {
	for _, t := range run.Targets {
		if isEnd(network, t) && slices.ContainsFunc(run.Network, func(p lab.NetworkPair) bool {
			return p.Server == t.Role && p.Client != t.Role
		}) {
			return t
		}
	}
	return lab.RunTarget{}
}

// stepOfNetwork returns a rung with its expected rate, and with its ceilings by the facts of the ends.
func stepOfNetwork(run lab.Run, rungs []NetworkRung, at int) ladder.Step {
	r := rungs[at]
	step := ladder.Step{Rung: r.Rung, Below: -1, Ceilings: map[string][]ceiling.Ceiling{}}
	server := serverIn(run, r.Network)
	ports := r.Places
	if r.Kind == ladder.Loopback {
		ports = nil
		for _, o := range rungs {
			if o.Kind == ladder.Port && o.Network == r.Network {
				ports = append(ports, o.Places...)
			}
		}
	}
	carries, known := ceiling.Ports(server, ports)
	clients, clientsKnown := clientCeiling(run, r.Network)
	for _, direction := range []string{lab.Send, lab.Receive} {
		if r.Kind != ladder.Loopback && clientsKnown {
			c := clients
			c.Metric = lab.Bitrate(direction)
			step.Ceilings[direction] = append(step.Ceilings[direction], c)
		}
		c := carries
		c.Metric = lab.Bitrate(direction)
		switch {
		case !known:
		case r.Kind != ladder.Loopback:
			step.Ceilings[direction] = append(step.Ceilings[direction], c)
		case r.Places[0] == server.Role:
			if step.Carries == nil {
				step.Carries = map[string]ceiling.Ceiling{}
			}
			step.Carries[direction] = c
		}
	}
	if r.Network == ladder.Pods {
		step.CNI = cniOf(run)
		if r.Kind != ladder.Loopback {
			step.Below = slices.IndexFunc(rungs, func(o NetworkRung) bool {
				return o.Network == ladder.Nodes && o.Kind == r.Kind
			})
		}
		return step
	}
	switch r.Kind {
	case ladder.Port:
		if r.Network == ladder.Nodes {
			break // there is only one port
		}
		step.Like = ladder.UnknownSpeed
		if known {
			step.Like = fmt.Sprintf("%.0f", carries.Value)
		}
	case ladder.BothWays:
		step.Below = at - 1
		if r.Network == ladder.Nodes {
			step.Below = slices.IndexFunc(rungs, func(o NetworkRung) bool {
				return o.Network == ladder.Nodes && o.Kind == ladder.Port
			})
		}
	}
	return step
}

// podRungName returns the name of a rung between pods, or between their nodes, for readers.
func podRungName(run lab.Run, r ladder.Rung) string {
	name := "pod to pod"
	if r.Network == ladder.Nodes {
		if name = "node to node"; len(nodesOf(run)) == 1 {
			name = "the node to itself"
		}
	}
	switch r.Kind {
	case ladder.Loopback:
		return "loopback of the " + r.Places[0] + "'s pod"
	case ladder.Flow:
		return "one flow, " + name
	case ladder.BothWays:
		return name + ", both ways"
	}
	return name
}

// nodesOf returns the nodes on which a ladder made pods in the nodes' network.
func nodesOf(run lab.Run) []string {
	var names []string
	for _, t := range run.Targets {
		node := app.SavedTraits(t.Target).Node
		if node != "" && strings.HasPrefix(t.Role, NodeOf) && !slices.Contains(names, node) {
			names = append(names, node)
		}
	}
	return names
}

// podNotes describes where the pods ran.
func podNotes(run lab.Run) []string {
	switch nodes := nodesOf(run); len(nodes) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("all pods ran on one node (%s): traffic between them passes no link and no tunnel, so "+
			"the rungs are the node's own stack, and what the pod network adds to it there", nodes[0])}
	default:
		return []string{"the pods ran on nodes " + strings.Join(nodes, ", ")}
	}
}

// cniOf returns the plugin of the pod network, as the cluster of a run's server reports it; empty if unknown.
func cniOf(run lab.Run) string {
	for _, t := range run.Targets {
		for _, f := range t.Facts {
			if f.Key == "cluster.cni" && f.Value != "" {
				return f.Value
			}
		}
	}
	return ""
}
