package kbuild

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"
)

// groupResult is the result of probing a group.
type groupResult struct {
	// changedWith are the groups that change when it alone is switched: on in the good configuration, or off in the bad
	// one.
	changedWith []int
	// refused is set if it can't be switched without others.
	refused bool
	// follows is set if it is unchanged in both ends, whatever is requested.
	follows bool
}

// member is a part of a group: one of the groups that were joined.
type member struct {
	options []string
	// known counts down from the options that were known to lead or follow, so that they lead, the first before the
	// second.
	known int
	groupResult
	moves int
}

// close joins groups until the tree accepts each when it alone is switched, in either end, and changes no other with
// it.
//
// All groups are probed once, and those that the results tie together are joined. Only joined groups are probed again:
// the results of the others remain valid, whichever groups were joined.
//
// Each single option is probed first. An option that can't be chosen at all follows from the others, and ties none
// together.
func (b *Between) close(ctx context.Context, leaders []int, say func(done, of int)) error {
	if say == nil {
		say = func(int, int) {}
	}
	p := &progress{report: say}
	members := make([]member, len(b.Groups))
	open := make([]int, len(b.Groups))
	for i, g := range b.Groups {
		open[i] = i
		members[i] = member{options: g}
		if leaders[i] >= 0 {
			members[i].known = len(leaders) - i
		}
	}
	for first := true; len(open) > 0; first = false {
		if err := b.probeGroups(ctx, members, open, p); err != nil {
			return err
		}
		ties := make([][]int, len(members))
		if first {
			for i, leader := range leaders {
				if leader >= 0 && leader != i && !members[leader].follows {
					ties[i] = []int{leader}
				}
			}
		}
		tied := false
		for i, m := range members {
			if m.follows {
				ties[i] = nil
				continue
			}
			for _, j := range m.changedWith {
				if !members[j].follows {
					ties[i] = append(ties[i], j)
				}
			}
			members[i].changedWith = nil // joining renumbers the groups
			tied = tied || len(ties[i]) > 0
		}
		for i := 0; !tied && i < len(members); i++ {
			// It changes no other group, but can't be switched alone either: it needs others, which the tree does not
			// name.
			if members[i].refused && !members[i].follows {
				needed, err := b.needed(ctx, i)
				if err != nil {
					return err
				}
				for _, j := range needed {
					if !members[j].follows {
						ties[i] = append(ties[i], j)
					}
				}
			}
		}
		members, open = join(members, ties)
		b.Groups = nil
		for _, m := range members {
			b.Groups = append(b.Groups, m.options)
		}
	}
	b.Groups = nil
	for _, m := range members {
		if m.follows {
			b.Follows = append(b.Follows, m.options...)
		} else {
			b.Groups = append(b.Groups, m.options)
		}
	}
	slices.Sort(b.Follows)
	return nil
}

// progress counts the queries.
type progress struct {
	mu       sync.Mutex
	done, of int
	report   func(done, of int)
}

func (p *progress) add(done, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.of = p.done+done, p.of+of
	p.report(p.done, p.of)
}

// probeGroups probes some of the groups, several at the same time.
func (b *Between) probeGroups(ctx context.Context, members []member, about []int, p *progress) error {
	asked, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.add(0, 2*len(about))
	var all sync.WaitGroup
	for _, i := range about {
		all.Go(func() {
			a, err := b.probeGroup(asked, i, p)
			if err != nil {
				cancel(err)
				return
			}
			members[i].groupResult, members[i].moves = a, len(a.changedWith)
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	return context.Cause(asked)
}

// probeGroup determines the effects of switching one group.
func (b *Between) probeGroup(ctx context.Context, group int, p *progress) (groupResult, error) {
	a := groupResult{follows: len(b.Groups[group]) == 1}
	for _, bad := range []bool{false, true} {
		m, err := b.mix(ctx, b.mixOf(bad, group), group)
		if err != nil {
			return a, err
		}
		for j := range b.Groups {
			if j != group && len(b.differ(m.Config, j, bad)) > 0 && !slices.Contains(a.changedWith, j) {
				a.changedWith = append(a.changedWith, j)
			}
		}
		a.refused = a.refused || len(b.differ(m.Config, group, !bad)) > 0
		a.follows = a.follows && len(b.differ(m.Config, group, bad)) == 0
		p.add(1, 0)
	}
	return a, nil
}

// mixOf returns switches with all groups as in one end, except some.
func (b *Between) mixOf(bad bool, but ...int) []bool {
	switched := slices.Repeat([]bool{bad}, len(b.Groups))
	for _, i := range but {
		switched[i] = !bad
	}
	return switched
}

// needed returns groups that must be switched together with a group that the tree refuses alone. Together with all of
// them it is accepted, because that is the other end; the needed ones are found by halving.
func (b *Between) needed(ctx context.Context, group int) ([]int, error) {
	var all []int
	for _, bad := range []bool{false, true} {
		var others []int
		for j := range b.Groups {
			if j != group {
				others = append(others, j)
			}
		}
		needed := []int{group}
		for {
			var failed error
			n := sort.Search(len(others), func(n int) bool {
				if failed != nil {
					return true
				}
				m, err := b.mix(ctx, b.mixOf(bad, slices.Concat(needed, others[:n])...), group)
				failed = err
				return err == nil && len(b.differ(m.Config, group, !bad)) == 0
			})
			if failed != nil {
				return nil, failed
			}
			if n == 0 {
				break
			}
			needed, others = append(needed, others[n-1]), others[:n-1]
		}
		all = append(all, needed[1:]...)
	}
	return all, nil
}

// join joins the groups that ties connect. It returns all groups, and the indices of the joined ones.
func join(members []member, ties [][]int) ([]member, []int) {
	of := make([]int, len(members)) // the smallest group that each is tied to
	for i := range of {
		of[i] = i
	}
	for i, others := range ties {
		for _, j := range others {
			from, to := max(of[i], of[j]), min(of[i], of[j])
			for k := range of {
				if of[k] == from {
					of[k] = to
				}
			}
		}
	}
	var joined []member
	var open []int
	for i := range members {
		var parts []member
		for j, m := range members {
			if of[j] == i {
				parts = append(parts, m)
			}
		}
		switch len(parts) {
		case 0:
			continue
		case 1:
			joined = append(joined, parts[0])
			continue
		}
		slices.SortStableFunc(parts, lead)
		whole := member{known: parts[0].known}
		for _, p := range parts {
			whole.options = append(whole.options, p.options...)
		}
		open = append(open, len(joined))
		joined = append(joined, whole)
	}
	return joined, open
}

// lead orders the parts of a group. Known leaders come first, then the part that takes most others along, then parts
// that can be switched alone: both are signs that the others follow from it.
func lead(x, y member) int {
	alone := map[bool]int{false: 0, true: 1}
	return cmp.Or(cmp.Compare(y.known, x.known), cmp.Compare(alone[x.refused], alone[y.refused]),
		cmp.Compare(y.moves, x.moves), cmp.Compare(x.options[0], y.options[0]))
}
