package diff

import (
	"cmp"
	"slices"
	"strings"
)

// fold sorts the differences, and folds those that follow from a heavier one under it.
func (c *comparison) fold() {
	c.raiseCauses()
	slices.SortFunc(c.found, func(x, y *candidate) int {
		return cmp.Or(cmp.Compare(y.Weight, x.Weight), cmp.Compare(x.order, y.order))
	})
	r := c.relations()
	for i, f := range c.found {
		parent := f.follows
		if parent == nil {
			parent = r.parent(f, i)
		}
		for parent != nil && parent.under != nil {
			parent = parent.under
		}
		if parent == nil || parent == f {
			continue
		}
		f.under = parent
		// What was folded under this one moves with it.
		parent.Follows = append(append(parent.Follows, f.Fact), f.Follows...)
		f.Follows = nil
	}
}

// relations finds the difference under which another one is folded.
type relations struct {
	*comparison
	// position is the index of a key among the sorted differences.
	position map[string]int
	// groups are the choices and families that a key belongs to, each as the keys of its differences.
	groups map[string][]group
	// same are facts with the same meaning as a sysctl or a parameter of a module, by the latter's key.
	same map[string]*candidate
}

type group struct {
	members []*candidate
	// Members of a choice exclude each other, so it does not matter which is on where.
	choice bool
	// head is the option that the others of a family follow from.
	head string
}

func (c *comparison) relations() relations {
	r := relations{comparison: c, position: map[string]int{}, groups: map[string][]group{},
		same: map[string]*candidate{}}
	var options []*candidate
	for i, f := range c.found {
		if len(f.About) == 0 {
			r.position[f.Fact] = i
		}
		if f.entry.Same != "" && f.Kind == factKind {
			r.same[f.entry.Same] = f
		}
		if f.Kind == optionKind {
			options = append(options, f)
		}
	}
	addGroup := func(patterns []string, choice bool) {
		g := group{choice: choice, head: patterns[0]}
		in := map[*candidate]bool{}
		for _, p := range patterns {
			if !strings.Contains(p, "*") {
				if i, ok := r.position[configPrefix+p]; ok {
					in[c.found[i]] = true
				}
				continue
			}
			for _, f := range options {
				if matches(p, f.Name) {
					in[f] = true
				}
			}
		}
		for f := range in {
			g.members = append(g.members, f)
		}
		slices.SortFunc(g.members, func(x, y *candidate) int {
			return cmp.Compare(r.position[x.Fact], r.position[y.Fact])
		})
		for _, f := range g.members {
			r.groups[f.Fact] = append(r.groups[f.Fact], g)
		}
	}
	for _, names := range c.choices {
		addGroup(names, true)
	}
	for _, patterns := range c.families {
		addGroup(patterns, false)
	}
	return r
}

// parent returns the difference before i that f follows from; nil for none.
func (r relations) parent(f *candidate, i int) *candidate {
	switch f.Kind {
	case optionKind:
		return r.optionParent(f, i)
	case argumentKind:
		return r.argumentParent(f)
	case sysctlKind, moduleKind:
		return r.same[f.Fact]
	}
	return nil
}

func (r relations) optionParent(f *candidate, i int) *candidate {
	for _, g := range r.groups[f.Fact] {
		for _, p := range g.members {
			// In a family one of f and p must be the head, and both must switch in the same direction.
			if p == f || r.position[p.Fact] >= i || !g.choice && (p.Name != g.head && f.Name != g.head ||
				!p.switchesLike(f)) {
				continue
			}
			return p
		}
	}
	if follows, ok := consequence(f.entry.Area); ok {
		if p, ok := r.position[follows]; ok && p < i {
			return r.found[p]
		}
	}
	// NVME_TARGET_LOOP can't be on if NVME_TARGET is off. Names are used only if the option has no entry.
	if r.named(optionKind, f.Name) {
		return nil
	}
	for name := f.Name; ; {
		end := strings.LastIndexByte(name, '_')
		if end <= 0 {
			return nil
		}
		name = name[:end]
		if p, ok := r.position[configPrefix+name]; ok && p < i && r.found[p].switchesLike(f) {
			return r.found[p]
		}
	}
}

// consequence returns the key from which all options of some areas follow.
func consequence(area string) (string, bool) {
	switch area {
	case "consequences":
		return "kernel.release", true
	case "compiler":
		return configPrefix + "CC_VERSION_TEXT", true
	}
	return "", false
}

// switchesLike reports whether both options are on on the same sides.
func (c *candidate) switchesLike(f *candidate) bool { return c.onA == f.onA && c.onB == f.onB }

// argumentParent returns the option whose value the argument changes, if the builds differ in it; that difference
// already includes the argument's effect. An argument that changes many options is listed separately.
func (r relations) argumentParent(f *candidate) *candidate {
	linked := r.linked[f.Name]
	if len(linked) >= wide {
		return nil
	}
	for _, e := range linked {
		if p, ok := r.position[configPrefix+e.Option]; ok && e.Option != "" {
			return r.found[p]
		}
	}
	return nil
}
