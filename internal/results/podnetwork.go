package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
)

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
