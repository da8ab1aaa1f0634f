package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/ladder"
	"headroom/internal/target"
)

// nodeOf begins the role of a pod in its node's network that is held beside the end of that name.
const nodeOf = "node-of-"

// betweenPods says whether a ladder climbs from pods to one pod by the address that the cluster has given it, so that
// the pod network is on the way.
func (l *networkLadder) betweenPods() bool {
	if len(l.options.addresses)+len(l.options.groups) > 0 || len(l.of(serverRole)) != 1 {
		return false
	}
	return !slices.ContainsFunc(l.ends, func(e *networkEnd) bool {
		pod, ok := e.target.(target.HasNodeNetwork)
		if ok {
			_, _, ok = pod.NodeNetwork()
		}
		return !ok
	})
}

// addNodes makes the same pods once more, on their nodes and in those nodes' own network: what they reach is the rung
// below the pod network. A cluster that refuses them leaves that rung out.
func (l *networkLadder) addNodes(ctx context.Context) error {
	if !l.betweenPods() {
		return nil
	}
	var added []*networkEnd
	for _, e := range l.ends {
		same, inNode, _ := e.target.(target.HasNodeNetwork).NodeNetwork()
		e.recorded.Target = same // what is resumed goes on between the same nodes
		own := &networkEnd{role: nodeOf + e.role, name: inNode}
		err := error(nil)
		if own.target, err = l.openTarget(ctx, own.name); err == nil {
			l.opened[own.role] = own.target
			err = l.snapshotEnd(ctx, own)
		}
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			for _, a := range append(added, own) {
				if t := l.opened[a.role]; t != nil {
					l.closeTarget(t)
					delete(l.opened, a.role)
				}
			}
			text := "the rung below the pod network is left out, so that what that costs is not known: the same pods " +
				"in their nodes' own network can't be had: " + shortError(err)
			l.leftOut = append(l.leftOut, lab.Warning{Code: "target-left-out", Text: text})
			l.print("! ", text)
			return nil
		}
		added = append(added, own)
	}
	l.ends, l.onNodes = append(l.ends, added...), true
	return nil
}

// shortError is an error in a line, with its reason and the first way out.
func shortError(err error) string {
	e, ok := errors.AsType[*lab.Error](err)
	if !ok {
		return err.Error()
	}
	text := e.What
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if strings.Contains(text, "violates PodSecurity") {
		text += "; a namespace that allows hostNetwork has them: namespace=NAME"
	}
	return strings.Join(strings.Fields(text), " ")
}

// podRungs makes the pairs between the nodes and those between the pods, and the rungs of both: each between the pods
// lies on the same between the nodes.
func (l *networkLadder) podRungs(ctx context.Context) error {
	server, clients := l.of(serverRole)[0], l.of(clientRole)
	addresses := map[ladder.Network]string{}
	for _, layer := range []ladder.Network{ladder.Nodes, ladder.Pods} {
		prefix := ""
		if layer == ladder.Nodes {
			prefix = nodeOf
		}
		address, err := l.address(ctx, 0, clients[0], l.end(prefix+server.role))
		if err != nil {
			return err
		}
		addresses[layer] = address
		port := portPairs{name: address}
		for i := range max(l.options.pairs, len(clients)) {
			port.pairs = append(port.pairs, len(l.pairs))
			l.pairs = append(l.pairs, lab.NetworkPair{Client: prefix + clients[i%len(clients)].role, Server: prefix +
				server.role, Address: address,
				Port: l.options.port + len(l.pairs), Assigned: true})
		}
		l.ports = append(l.ports, port)
	}
	if err := l.addLoopbacks(ctx, len(l.ports[0].pairs)); err != nil {
		return err
	}
	for _, b := range l.loopbacks {
		l.addRung(ladder.Pods, "loopback-"+b.name, ladder.Loopback, b.name)
	}
	for _, network := range []ladder.Network{ladder.Nodes, ladder.Pods} {
		l.addRung(network, "flow-"+string(network), ladder.Flow, addresses[network])
		l.addRung(network, "port-"+string(network), ladder.Port, addresses[network])
	}
	for _, network := range []ladder.Network{ladder.Nodes, ladder.Pods} {
		l.addBothDirections(network, "both-ways-"+string(network), addresses[network])
	}
	return nil
}

// podRungName is a rung between pods, or between their nodes, as people read it.
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

// nodesOf are the nodes of the pods that a ladder has made in their own network.
func nodesOf(run lab.Run) []string {
	var names []string
	for _, t := range run.Targets {
		node := savedTraits(t.Target).Node
		if node != "" && strings.HasPrefix(t.Role, nodeOf) && !slices.Contains(names, node) {
			names = append(names, node)
		}
	}
	return names
}

// podNotes say where the pods ran.
func podNotes(run lab.Run) []string {
	switch nodes := nodesOf(run); len(nodes) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("all pods ran on one node (%s): what goes between them passes no link and no "+
			"tunnel, so that the rungs are the node's own stack, and what the pod network adds to it there", nodes[0])}
	default:
		return []string{"the pods ran on nodes " + strings.Join(nodes, ", ")}
	}
}

// cniOf is the plugin of the pod network, as the cluster of a run's server says; empty where it is not known.
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
