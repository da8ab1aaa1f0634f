package diff

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
)

// ordered is a choice of the build whose members stand in the order of their cost for I/O, the fastest first. Members
// that nothing tells apart share a level: "A B".
//
// What a member costs against the fastest is its entry's weight. That one is off says nothing: which one is on instead
// counts.
type ordered struct {
	Levels []string
	// Follow are options that differ only because the choice does. What they cost is the choice's.
	Follow []string
}

// orderedChoices compares what is in effect of ordered choices. It returns the changes that are left to be judged one
// by one.
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

// level is the place of a member in the order.
func (o *ordered) level(name string) int {
	return slices.IndexFunc(o.Levels, func(l string) bool { return slices.Contains(strings.Fields(l), name) })
}

// members returns the options of all levels, the fastest first.
func (o *ordered) members() []string { return strings.Fields(strings.Join(o.Levels, " ")) }

// between says whether an option is a member of a choice that is neither its fastest nor its slowest. That it is off
// does not tell which side is slower.
func (k *Knowledge) between(name string) bool {
	o := k.choiceOf[name]
	if o == nil {
		return false
	}
	level := o.level(name)
	return level > 0 && level < len(o.Levels)-1
}

// inEffect is the member of a choice that is in effect on a side, with the boot argument that makes it so; empty when
// that is not known.
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
// leaves: all, where it is not known what is in effect on one side.
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
		place = 0 // whichever side is which
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
			if len(c.lookup(optionKind, slow).boot) > 0 { // no argument makes a kernel of PREEMPT_RT another
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

// The weights of a choice's other members, which stand below the one that counts, and of two members that hardly
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

// argumentFor is the boot argument that gives a side another member of a choice, if its kernel takes one.
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

// raiseCauses gives a cause the weight of what follows from it, which so stands below it: of a choice, and of an option
// without which the other side has no such option.
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
