package ceiling

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// endpoint is a device that moves data over PCI: a disk, a NIC, a port.
type endpoint struct {
	name, noun string
	// demand is the rate that it can reach alone, whatever PCI carries: a SATA link, a wire; unbounded for an NVMe
	// drive.
	demand rate
	// path from the root port to its function; empty if unknown.
	path []string
}

// branch is a PCI function in a tree, with the devices behind it.
type branch struct {
	rate      rate
	branches  map[string]*branch
	order     []string
	endpoints []endpoint
}

// buildTree builds the tree of the paths of some devices. Each function is examined once, however many devices are
// behind it.
func buildTree(users []endpoint, link func(address string) rate) *branch {
	root := &branch{rate: unbounded()}
	for _, u := range users {
		at := root
		for _, address := range u.path {
			next := at.branches[address]
			if next == nil {
				next = &branch{rate: link(address)}
				if at.branches == nil {
					at.branches = map[string]*branch{}
				}
				at.branches[address], at.order = next, append(at.order, address)
			}
			at = next
		}
		at.endpoints = append(at.endpoints, u)
	}
	return root
}

// flow returns the rate through a branch: the rate of its link, or of everything behind it together, whichever is less.
// The cut is the limit: one link, or several devices each at its own limit.
func (b *branch) flow() (value, most float64, cut []rate) {
	for _, u := range b.endpoints {
		value, most, cut = value+u.demand.value, most+u.demand.most, append(cut, u.demand)
	}
	for _, address := range b.order {
		v, m, c := b.branches[address].flow()
		value, most, cut = value+v, most+m, append(cut, c...)
	}
	own := b.rate
	if !own.known() {
		return value, most, cut
	}
	switch {
	case len(b.order) > 0:
	case len(b.endpoints) == 1:
		own.noun, own.name = b.endpoints[0].noun, b.endpoints[0].name
	default:
		own.noun = "adapter"
	}
	// A root port and the device in it show the same link; it is named after the device.
	const same = 1e-9
	if single := len(cut) == 1 && cut[0].known(); own.value > value*(1+same) || single && own.value > value*(1-same) {
		return value, min(most, own.most), cut
	}
	return own.value, min(most, own.most), []rate{own}
}

// together returns the sum of rates, with a name for all of them.
func together(cut []rate) rate {
	if len(cut) == 1 {
		r := cut[0]
		r.kind, r.noun, r.name = r.limiter(), "", ""
		return r
	}
	type group struct {
		r rate
		n int
	}
	var groups []group
	sum := rate{}
	for _, r := range cut {
		sum.value, sum.most = sum.value+r.value, sum.most+r.most
		i := slices.IndexFunc(groups, func(g group) bool {
			return g.r.kind == r.kind && g.r.noun == r.noun && g.r.value == r.value
		})
		if i < 0 {
			i, groups = len(groups), append(groups, group{r: r})
		}
		groups[i].n++
	}
	const mostNamed = 3
	var names, derivations []string
	for i, g := range groups {
		if i == mostNamed && len(groups) > mostNamed+1 {
			more := fmt.Sprintf("%d kinds more", len(groups)-mostNamed)
			names, derivations = append(names, more), append(derivations, more)
			break
		}
		names = append(names, prose.Count(g.n, g.r.noun)+" "+g.r.kind)
		text := g.r.derivation
		if g.n > 1 {
			text = fmt.Sprintf("%d times (%s)", g.n, text)
		}
		derivations = append(derivations, text)
	}
	sum.kind = strings.Join(names, " + ")
	sum.derivation = strings.Join(derivations, "; ") + "; together " + figure(sum.value)
	return sum
}
