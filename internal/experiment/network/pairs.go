package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/suite"
)

// Pair pairs the clients with the servers and their addresses, each in turn. Each pair has a different port.
func (n *Network) Pair(ctx context.Context) error {
	clients, servers := n.Of(experiment.ClientRole), n.Of(experiment.ServerRole)
	count := max(len(clients), len(servers), len(n.Options.Addresses))
	switch {
	case n.Options.Pairs < 0 || n.Options.Pairs > suite.MaxPairs:
		return app.Usage(fmt.Sprintf("the number of pairs, %d, is not from 1 to %d", n.Options.Pairs, suite.MaxPairs))
	case n.Options.Pairs > 0 && n.Options.Pairs < count:
		return app.Usage(fmt.Sprintf("too few pairs, %d, for %s, %s and their addresses: some would have no partner",
			n.Options.Pairs, prose.Count(len(clients), "client"), prose.Count(len(servers), "server")),
			fmt.Sprintf("take at least %d, or name fewer", count))
	case n.Options.Pairs > 0:
		count = n.Options.Pairs
	}
	if n.Options.Port < 1 || n.Options.Port+count-1 > 65535 {
		return app.Usage(fmt.Sprintf("there are no ports from %d on for %s", n.Options.Port,
			prose.Count(count, "pair")))
	}
	for i := range count {
		pair := lab.NetworkPair{Client: clients[i%len(clients)].Role, Server: servers[i%len(servers)].Role,
			Port: n.Options.Port + i}
		pair.Assigned = n.Assigned(n.End(pair.Server))
		var err error
		if pair.Address, err = n.Address(ctx, i, n.End(pair.Client), n.End(pair.Server)); err != nil {
			return err
		}
		n.Pairs = append(n.Pairs, pair)
	}
	return nil
}

// Address that the server of a pair is to listen on: what the command line says, the one that it was given, or the one
// by which it was reached. There are as many on the command line as servers, or all are of the only one.
func (n *Network) Address(ctx context.Context, pair int, from, to *End) (string, error) {
	if all := n.Options.Addresses; len(all) > 0 {
		typed := all[pair%len(all)]
		if _, err := netip.ParseAddr(typed); err != nil {
			return "", app.Usage("--address "+typed+" is no address",
				"write one of the server's own, which ip address shows: 10.0.0.7")
		}
		return typed, nil
	}
	if pod, ok := to.Target.(host.Addressed); ok {
		return pod.Address(ctx)
	}
	if from.Name == to.Name {
		return "127.0.0.1", nil
	}
	// sshd tells of a connection: the client's address and port, then the server's (ssh(1), SSH_CONNECTION).
	at, end := 2, to
	if n.App.Traits(to.Name).Local {
		at, end = 0, from
	}
	out, err := end.Target.Run(ctx, "printenv", "SSH_CONNECTION")
	if err != nil {
		return "", err
	}
	if fields := strings.Fields(string(out.Stdout)); len(fields) == 4 {
		if a, err := netip.ParseAddr(fields[at]); err == nil && !a.IsLoopback() {
			return fields[at], nil
		}
	}
	return "", app.Usage("the address of "+to.Name+" for the load is unknown", "name it: --address 10.0.0.7")
}

// Assigned reports whether a server uses the address that it was given when it was made.
func (n *Network) Assigned(e *End) bool {
	_, was := e.Target.(host.Addressed)
	return was && len(n.Options.Addresses) == 0
}

// Join makes another pair: the clients take turns, and each pair has a different port.
func (n *Network) Join(server, address string) {
	clients := n.Of(experiment.ClientRole)
	n.Pairs = append(n.Pairs, lab.NetworkPair{Client: clients[len(n.Pairs)%len(clients)].Role, Server: server,
		Address: address, Port: n.Options.Port + len(n.Pairs)})
}

// ListenerOf is the role of the server that has an address.
func (n *Network) ListenerOf(address string) (string, error) {
	servers := n.Of(experiment.ServerRole)
	if len(servers) == 1 {
		return servers[0].Role, nil
	}
	for _, e := range servers {
		for _, f := range e.facts.Facts {
			if f.Key == "nic.addresses" && slices.ContainsFunc(catalogue.ParseList(f.Value), func(own string) bool {
				return strings.HasPrefix(own+"/", address+"/")
			}) {
				return e.Role, nil
			}
		}
	}
	return "", app.Usage("no server is known to have the address "+address, "ip address on the server shows its own")
}

// Part is the measurement of a pair. The first one of an end looks after its snapshots.
func (n *Network) Part(i int) *experiment.Measurement {
	pair := n.Pairs[i]
	client, server := n.End(pair.Client), n.End(pair.Server)
	first := func(role string) bool {
		return !slices.ContainsFunc(n.Pairs[:i], func(o lab.NetworkPair) bool {
			return o.Client == role || o.Server == role
		})
	}
	m := &experiment.Measurement{App: n.App, Options: n.Options.RunOptions, Store: n.Store, Target: client.Target,
		Before: client.facts, Client: client.Role,
		Server: &experiment.ServerEnd{Server: runner.Server{Target: server.Target, Address: pair.Address,
			Port:     pair.Port,
			Assigned: pair.Assigned, Role: server.Role, ClientRole: client.Role},
			Before: server.facts}}
	m.SnapshotElsewhere, m.Observer = !first(pair.Client), i > 0
	m.Server.SnapshotElsewhere = !first(pair.Server) || pair.Server == pair.Client // a loopback has one end
	if len(n.Pairs) > 1 {
		m.Role = lab.PairRole(i)
	}
	return m
}

// PrintPairs names the pairs that measure with a suite, the first of many.
func (n *Network) PrintPairs(suiteName string) {
	where := func(e *End) string {
		if n.App.Traits(e.Name).Local {
			return "this machine"
		}
		return e.Name
	}
	for i, pair := range n.Pairs {
		if i == app.MaxNamed {
			n.App.Print("", fmt.Sprintf("and %d pairs more", len(n.Pairs)-i))
			break
		}
		n.App.Print("", fmt.Sprintf("%s from %s to %s at %s, port %d", suiteName, where(n.End(pair.Client)),
			where(n.End(pair.Server)), pair.Address, pair.Port))
	}
}
