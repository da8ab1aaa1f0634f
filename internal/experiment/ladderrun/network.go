package ladderrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// OfNetwork reports whether the targets of a ladder are the ends of a network.
func (o Options) OfNetwork() bool {
	return len(o.Addresses) > 0 || len(o.Groups) > 0 || slices.ContainsFunc(o.On, func(typed string) bool {
		role, _ := app.RoleOf(typed)
		return role == experiment.ClientRole || role == experiment.ServerRole
	})
}

// networkLadder measures the rungs of a network, which are combinations of pairs in one run.
type networkLadder struct {
	network.ConcurrentNetwork
	options Options
	// ports are the pairs of each address, by their index, and loopbacks the pairs of each machine.
	ports     []portPairs
	loopbacks []portPairs
	// onNodes is true if the pods at the ends also run in their nodes' network. leftOut has the reasons if they do not.
	onNodes bool
	leftOut []lab.Warning
}

// portPairs are the pairs over one address, or within one machine.
type portPairs struct {
	// name is the address, or the role of the machine.
	name  string
	pairs []int
}

// ofEnds converts the options to options of a network measurement.
func (o Options) ofEnds() network.Options {
	n := network.Options{Port: o.Port, Pairs: o.Pairs}
	n.On, n.Set, n.Label, n.Seed, n.Resume, n.DryRun = o.On, o.Set, o.Label, o.Seed, o.Resume, o.DryRun
	n.Within = o.Budget
	return n
}

// runNetworkLadder measures the rungs of a network, resumes a ladder, or prints its steps.
func runNetworkLadder(ctx context.Context, p *app.App, st *store.Store, o Options, args []string) error {
	r := experiment.Request{Design: lab.DesignNetworkLadder, Resume: o.Resume, Args: args, DryRun: o.DryRun,
		Complete: true}
	l := &networkLadder{options: o,
		ConcurrentNetwork: network.NewConcurrentNetwork(p, st, o.ofEnds(), results.NetworkKind)}
	if o.Resume == "" {
		if err := l.check(args); err != nil {
			return err
		}
	}
	return experiment.Carry(ctx, p, st, r, l)
}

// check refuses options for storage.
func (l *networkLadder) check(args []string) (err error) {
	o := l.options
	switch {
	case len(args) > 0:
		return app.Usage("the rungs of a network are addresses of the server, and not "+args[0],
			"name each with --address")
	case len(o.Guests) > 0 || o.Size != "":
		return app.Usage("--guest and --size are for a ladder of storage", "leave them out")
	case !slices.Contains([]string{lab.Send, lab.Receive, results.BothDirections}, o.Direction):
		return app.Usage("--direction "+o.Direction+" is none", "write send (to the server), receive or both")
	}
	l.Terms, err = o.Terms()
	return err
}

// Draft makes the header of a new run.
func (l *networkLadder) Draft(ctx context.Context, p *experiment.Plan) error {
	if err := l.Open(ctx, p); err != nil {
		return err
	}
	if err := l.SnapshotEnds(ctx); err != nil {
		return err
	}
	if err := l.addNodes(ctx); err != nil {
		return err
	}
	rungs := l.rungs
	if l.onNodes {
		rungs = l.podRungs
	}
	if err := rungs(ctx); err != nil {
		return err
	}
	if err := l.newParts(); err != nil {
		return err
	}
	l.Design.Keep = l.options.Keep
	t := l.takeParts()
	t.LeftOut = l.leftOut
	t.Join()
	t.Run.Design, t.Run.Network = lab.DesignNetworkLadder, l.Pairs
	return nil
}

// Rebuild reads the saved repetitions of an interrupted run.
func (l *networkLadder) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	if err := l.Open(ctx, p); err != nil {
		return err
	}
	for i := range l.Pairs {
		m := l.Part(i)
		m.Role = lab.PairRole(i)
		l.Parts = append(l.Parts, m)
	}
	return l.takeParts().Resume(ctx, saved)
}

// takeParts plans the run of all pairs.
func (l *networkLadder) takeParts() *experiment.MultiTargetRun {
	t := l.TakeParts()
	l.Plan.Schedule = &networkRungs{t, l}
	return t
}

// networkRungs is the schedule of the rungs of a network.
type networkRungs struct {
	*experiment.MultiTargetRun
	of *networkLadder
}

// Summarize prints the rungs, and their cost.
func (s *networkRungs) Summarize(context.Context) {
	l := s.of
	rungs := results.NetworkRungs(s.Run)
	for _, r := range rungs {
		l.App.Print("", "rung "+r.Name)
	}
	l.App.Print("  ", fmt.Sprintf("%s on %s by %s, in %s", prose.Count(len(l.Design.Combinations), "test"),
		prose.Count(len(rungs), "rung"), prose.Count(len(l.Pairs), "pair"), l.DurationText()))
}

// List lists the commands of each rung, and the order of the tests.
func (s *networkRungs) List(_ context.Context, list app.Listing) error {
	l := s.of
	for _, o := range l.Design.Combinations {
		list.Line("\n%s:", o.Title)
		for _, i := range l.loadedPairs(o) {
			m := l.Parts[i]
			for _, c := range m.Run.Cells {
				if c.ID == lab.CellIn(o.ID, m.Role) {
					server, client := m.Server.Commands(c)
					list.Each([]string{fmt.Sprintf("%s from %s to %s", suite.TitleOf(c), m.Target.Name(),
						m.Server.Target.Name())})
					list.Commands(m.Server.Target.Name()+": "+lab.ShellQuote(server),
						m.Target.Name()+": "+lab.ShellQuote(client))
				}
			}
		}
	}
	l.ListOrder(list)
	return list.End()
}

// Report prints the verdicts on the saved run.
func (l *networkLadder) Report() error {
	b, err := l.Saved()
	if err != nil {
		return err
	}
	o := l.options.Result
	o.Report.Keep, o.Report.Beside = l.options.Keep, l.options.Beside
	return results.ShowRun(l.ConcurrentNetwork.Network.App, l.Store, b, o)
}

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

// podRungs makes the pairs between the nodes and the pairs between the pods, and the rungs of both. The rung below
// each rung of the pods is the corresponding rung of the nodes.
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
