package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
)

// ordered is a choice of the build whose members are ordered by their cost for I/O, the fastest first. Members with
// indistinguishable costs share a level: "A B".
//
// The weight of a member's entry is its cost compared with the fastest. An option that is off has no meaning by itself;
// it matters which member is on instead.
type ordered struct {
	Levels []string
	// Follow are options that differ only because the choice does. Their cost is part of the choice's.
	Follow []string
}

// orderedChoices compares the members of ordered choices that are in effect. It returns the changes that must be judged
// separately.
func (c *comparison) orderedChoices(changes []kconfig.Change) (left []kconfig.Change) {
	members := map[*ordered][]kconfig.Change{}
	for _, x := range changes {
		if o := c.choiceOf[x.Option]; o != nil {
			members[o] = append(members[o], x)
		} else {
			left = append(left, x)
		}
	}
	for _, o := range c.ordered {
		if len(members[o]) > 0 {
			left = append(left, c.orderedChoice(o, members[o])...)
		}
	}
	return left
}

// level returns the position of a member in the order.
func (o *ordered) level(name string) int {
	return slices.IndexFunc(o.Levels, func(l string) bool { return slices.Contains(strings.Fields(l), name) })
}

// members returns the options of all levels, the fastest first.
func (o *ordered) members() []string { return strings.Fields(strings.Join(o.Levels, " ")) }

// between reports whether an option is a member of a choice that is neither its fastest nor its slowest. If it is off
// on a side, it is unknown which side is slower.
func (k *Knowledge) between(name string) bool {
	o := k.choiceOf[name]
	if o == nil {
		return false
	}
	level := o.level(name)
	return level > 0 && level < len(o.Levels)-1
}

// inEffect returns the member of a choice that is in effect on a side, and the boot argument that selected it; empty if
// unknown.
func (c *comparison) inEffect(o *ordered, s side) (member, by string) {
	members := o.members()
	built, implied, mentioned := "", "", false
	for _, m := range members {
		value, in := s.config[m]
		mentioned = mentioned || in
		switch st := c.state(c.lookup(optionKind, m), m, s, orN(value), in); {
		case st.by != "" || st.idle != "" || !st.decided || !on(st.value):
		case in:
			built = m
		default:
			implied = m
		}
	}
	for _, m := range members {
		e := c.lookup(optionKind, m)
		if value, by := c.effective(e, "n", true, s); by != "" && on(value) && mentioned {
			return m, by
		}
	}
	return cmp.Or(built, implied), ""
}

// orderedChoice compares the members that are in effect. It takes the changes of members and returns those that it
// leaves: all of them if the member in effect on one side is unknown.
func (c *comparison) orderedChoice(o *ordered, changes []kconfig.Change) (left []kconfig.Change) {
	memberA, byA := c.inEffect(o, c.a)
	memberB, byB := c.inEffect(o, c.b)
	if memberA == "" || memberB == "" {
		return changes
	}
	levelA, levelB := o.level(memberA), o.level(memberB)
	slow, fast, slower := memberA, memberB, "a"
	if levelB > levelA {
		slow, fast, slower = memberB, memberA, "b"
	}
	place := slices.IndexFunc(changes, func(x kconfig.Change) bool { return x.Option == slow })
	if levelA == levelB {
		place = 0 // with equal levels any member can represent the choice
	} else if place < 0 {
		place = max(0, slices.IndexFunc(changes, func(x kconfig.Change) bool { return x.Option == fast }))
	}
	for i, x := range changes {
		e := c.lookup(optionKind, x.Option)
		d := &candidate{Difference: c.built(x), entry: e, onA: on(x.A), onB: on(x.B)}
		d.Weight = follower
		if i == place {
			d.Weight = max(c.lookup(optionKind, slow).Weight-c.lookup(optionKind, fast).Weight, minChoice)
			d.Slower, d.Note = slower, join(overrides("a", byA, memberA), overrides("b", byB, memberB))
			d.Why = c.lookup(optionKind, slow).Why
			if len(c.lookup(optionKind, slow).boot) > 0 { // no argument changes the preemption of a PREEMPT_RT kernel
				d.Argument = c.argumentFor(fast, slower)
			}
			d.chosen = o
		}
		if i == place && levelA == levelB {
			d.Weight, d.Slower, d.Why, d.Argument = max(e.Weight*sameInEffect, 2*follower), "", e.Why, ""
			if memberA == memberB {
				d.Note = join(d.Note, "both behave as "+memberA)
			}
		}
		c.addCandidate(d)
	}
	return nil
}

// The weights of a choice's other members, which are ranked below the one that counts, and of two members that hardly
// differ.
const (
	follower  = Unknown / 100
	minChoice = Unknown
)

func overrides(side, by, what string) string {
	if by == "" {
		return ""
	}
	return side + " overrides the build: " + by + " makes it " + what
}

// argumentFor returns the boot argument that selects another member of a choice on a side, if its kernel accepts one.
func (c *comparison) argumentFor(member, side string) string {
	s := c.a
	if side == "b" {
		s = c.b
	}
	e := c.lookup(optionKind, member)
	for i, o := range e.boot {
		argument, _, _ := strings.Cut(e.Boot[i], " ")
		if on(o.result) && c.takes(argument, s.config, s.release) {
			return argument
		}
	}
	return ""
}

// raiseCauses gives a cause the weight of the heaviest consequence, so that consequences are ranked below it. Causes
// are a choice, and an option whose absence removes another option.
func (c *comparison) raiseCauses() {
	byName := map[string]*candidate{}
	for _, f := range c.found {
		if f.Kind == optionKind {
			byName[f.Name] = f
		}
	}
	raise := func(cause *candidate, followers []string) {
		for _, name := range followers {
			f := byName[name]
			_, inA := c.a.config[name]
			_, inB := c.b.config[name]
			if f == nil || f == cause || f.follows != nil || inA == inB ||
				cause.chosen == nil && !cause.switchesLike(f) {
				continue
			}
			f.follows = cause
			if cause.Weight < f.Weight && (cause.chosen == nil || cause.Slower != "") {
				cause.Weight, cause.Slower = f.Weight, f.Slower
				cause.Note = join(cause.Note, "most of it by "+name+": "+f.Why)
			}
		}
	}
	for _, f := range c.found {
		if f.chosen != nil {
			raise(f, f.chosen.Follow)
		}
	}
	for _, names := range c.causes {
		if cause := byName[names[0]]; cause != nil && cause.follows == nil {
			raise(cause, names[1:])
		}
	}
}
