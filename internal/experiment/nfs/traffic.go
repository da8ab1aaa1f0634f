package nfs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/validity"
)

// nfsTraffic is what the ways of an NFS mount have carried so far.
type nfsTraffic struct {
	paths      network.NFSPaths
	interfaces network.InterfaceCounters
}

func (x *Stages) traffic(ctx context.Context, point string) (*nfsTraffic, error) {
	paths, err := network.NFSPathsOf(ctx, x.plan.Opened(x.Options.Client), point)
	if err != nil {
		return nil, err
	}
	wires, err := network.ReadInterfaceCounters(ctx, x.plan.Opened(x.Options.Client))
	return &nfsTraffic{paths, wires}, err
}

// stage is what a mount is called, by what came of it: its transports, and where they lead to.
func (t nfsTraffic) stage() string {
	addresses, connections := len(t.paths.Addresses), len(t.paths.Transports)
	if addresses == 0 { // the kernel does not tell, and the number of transports was as it should be
		addresses = connections
	}
	name := mount.StageName(t.paths.Transports[0].Kind, addresses)
	if connections > addresses {
		name += fmt.Sprintf(", %d connections", connections)
	}
	return name
}

// carriedShare of all that was carried makes a card or port one of those that the load went over.
const carriedShare = 0.05

// warnings are what the counters say against a mount that was to go to a number of addresses, when it has been
// measured.
func (t nfsTraffic) warnings(after nfsTraffic, addresses int) []lab.Warning {
	var idle []string
	for i, transport := range after.paths.Transports {
		if i < len(t.paths.Transports) && transport.Sent <= t.paths.Transports[i].Sent {
			idle = append(idle, fmt.Sprintf("%d (%s)", i+1, transport.Kind))
		}
	}
	var doubts []string
	if len(idle) > 0 {
		doubts = append(doubts, fmt.Sprintf("of %s, number %s carried no call",
			prose.Count(len(after.paths.Transports), "transport"), strings.Join(idle, " and ")))
	}
	before, now, noun := t.interfaces.Cards, after.interfaces.Cards, "network card"
	if after.paths.Transports[0].Kind == mount.OverRDMA {
		before, now, noun = t.interfaces.Ports, after.interfaces.Ports, "RDMA port"
	}
	switch used := carriers(before, now); {
	case len(now) > 0 && len(used) == 0:
		doubts = append(doubts, "no "+noun+" has counted anything")
	case len(used) > 0 && len(used) < addresses:
		doubts = append(doubts, fmt.Sprintf("%d addresses lead to the server, and all that was counted went over %s %s",
			addresses, noun, strings.Join(used, ", ")))
	}
	var all []lab.Warning
	for _, text := range doubts {
		all = append(all, validity.PathUnused(text))
	}
	return all
}

// carriers are the cards or ports that have carried a share of what all of them have.
func carriers(before, now map[string]int64) []string {
	total := int64(0)
	for name, n := range now {
		total += max(0, n-before[name])
	}
	var used []string
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if moved := now[name] - before[name]; moved > 0 && float64(moved) >= carriedShare*float64(total) {
			used = append(used, name)
		}
	}
	return used
}
