package ladderrun

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/results"
)

// betweenPods reports whether a ladder measures from pods to one pod by the address that the cluster assigned, so that
// it includes the pod network.
func (l *networkLadder) betweenPods() bool {
	if len(l.options.Addresses)+len(l.options.Groups) > 0 || len(l.Of(experiment.ServerRole)) != 1 {
		return false
	}
	return !slices.ContainsFunc(l.Ends, func(e *network.End) bool {
		pod, ok := e.Target.(host.HasNodeNetwork)
		if ok {
			_, _, ok = pod.NodeNetwork()
		}
		return !ok
	})
}

// addNodes makes the same pods again, on their nodes and in the nodes' network: their results are the rung below the
// pod network. If the cluster refuses them, that rung is left out.
func (l *networkLadder) addNodes(ctx context.Context) error {
	if !l.betweenPods() {
		return nil
	}
	var added []*network.End
	for _, e := range l.Ends {
		same, inNode, _ := e.Target.(host.HasNodeNetwork).NodeNetwork()
		e.Recorded.Target = same // a resumed ladder continues between the same nodes
		own := &network.End{Role: results.NodeOf + e.Role, Name: inNode}
		err := error(nil)
		if own.Target, err = l.Plan.OpenWith(ctx, own.Role, own.Name, l.App.OpenTarget); err == nil {
			err = l.SnapshotEnd(ctx, own)
		}
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			for _, a := range append(added, own) {
				l.Plan.CloseTarget(a.Role)
			}
			text := "the rung below the pod network is left out, so what the pod network costs is unknown: the same " +
				"pods can't run in their nodes' own network: " + shortError(err)
			l.leftOut = append(l.leftOut, lab.Warning{Code: "target-left-out", Text: text})
			l.App.Print("! ", text)
			return nil
		}
		added = append(added, own)
	}
	l.Ends, l.onNodes = append(l.Ends, added...), true
	return nil
}

// podRungs makes the pairs between the nodes and the pairs between the pods, and the rungs of both. Each rung between
// the pods lies on the corresponding one between the nodes.
func (l *networkLadder) podRungs(ctx context.Context) error {
	server, clients := l.Of(experiment.ServerRole)[0], l.Of(experiment.ClientRole)
	addresses := map[ladder.Network]string{}
	for _, layer := range []ladder.Network{ladder.Nodes, ladder.Pods} {
		prefix := ""
		if layer == ladder.Nodes {
			prefix = results.NodeOf
		}
		address, err := l.Address(ctx, 0, clients[0], l.End(prefix+server.Role))
		if err != nil {
			return err
		}
		addresses[layer] = address
		port := portPairs{name: address}
		for i := range max(l.options.Pairs, len(clients)) {
			port.pairs = append(port.pairs, len(l.Pairs))
			l.Pairs = append(l.Pairs, lab.NetworkPair{Client: prefix + clients[i%len(clients)].Role, Server: prefix +
				server.Role, Address: address,
				Port: l.options.Port + len(l.Pairs), Assigned: true})
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

// shortError returns an error in a line, with its reason and the first way out.
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
