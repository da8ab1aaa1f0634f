package diff

import (
	"cmp"
	"slices"
	"strings"
)

// fold sorts what was found and puts what follows from something heavier under it.
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
		// What was folded under this one goes along.
		parent.Follows = append(append(parent.Follows, f.Fact), f.Follows...)
		f.Follows = nil
	}
}

// relations finds what a difference may be folded under.
type relations struct {
	*comparison
	// position is the place of a key among what was found, sorted.
	position map[string]int
	// groups are the choices and families that a key belongs to, each as the keys of what was found.
	groups map[string][]group
	// same are the facts that tell the same as a sysctl or a parameter of a module, by the latter's key.
	same map[string]*candidate
}

type group struct {
	members []*candidate
	// choice members exclude each other, so what is on where says nothing.
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

// parent is the difference, among those before i, that f follows from; nil for none.
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
			// Of a family, only its head and what differs as it does hold a difference.
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
	// NVME_TARGET_LOOP can't be on where NVME_TARGET is off. Names tell so only where nothing better is known of the
	// option.
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

// consequence is the key of what all options of some areas follow from.
func consequence(area string) (string, bool) {
	switch area {
	case "consequences":
		return "kernel.release", true
	case "compiler":
		return configPrefix + "CC_VERSION_TEXT", true
	}
	return "", false
}

// switchesLike says whether both are on, off, or off and on, at the same sides.
func (c *candidate) switchesLike(f *candidate) bool { return c.onA == f.onA && c.onB == f.onB }

// argumentParent is the option whose value the argument changes, when the builds differ in it; that difference already
// has the argument's effect in it. An argument that changes many options stands for itself.
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
