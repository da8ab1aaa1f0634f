package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
)

// past is what the knowledge tells of options over the kernels' versions, in history.yaml: what it means that a whole
// configuration does not mention one.
//
// Where nothing else is told, a kernel between From and To that does not mention an option with an entry of its own has
// it off: the option's dependencies are off, or the kernel is older or newer than all that the option stands for. Of
// other kernels, and of options that only a pattern weighs, the absence decides nothing.
type past struct {
	// Kernels are the oldest and the newest that were looked through.
	Kernels struct{ From, To string }
	// Foreign are options that the kernels of some distributions alone have, or kernels older than From.
	Foreign []string
	Changed []changed
}

// changed is an option that came or went.
type changed struct {
	Option string
	// Since is the first kernel that knows the option, Until the first that knows it no longer. One is given.
	Since, Until string
	// Implied is the value that kernels without it behave as; Like is an option whose value they behave as instead.
	// Both are empty when that can't be told.
	Implied, Like string
	// Commit of the kernel's history, where it is known for sure.
	Commit string
	// Why is what became of it, or what was before.
	Why string
}

// learn adds to the entries what became of their options.
func (k *Knowledge) learn(p past) error {
	k.kernels = p.Kernels
	for _, name := range p.Foreign {
		e, ok := k.exact[optionKind+":"+name]
		if !ok {
			return fmt.Errorf("history: no entry weighs the option %s", name)
		}
		e.foreign = true
	}
	for _, c := range p.Changed {
		e, ok := k.exact[optionKind+":"+c.Option]
		switch {
		case !ok:
			return fmt.Errorf("history: no entry weighs the option %s", c.Option)
		case e.Since+e.Until != "" || (c.Since == "") == (c.Until == ""):
			return fmt.Errorf("history: %s needs one of since and until, and once", c.Option)
		}
		e.Since, e.Until, e.Implied, e.like, e.past = c.Since, c.Until, c.Implied, c.Like, c.Why
		if e.Implied+e.like != "" {
			k.implied = append(k.implied, e)
		}
	}
	return nil
}

// state is what an option amounts to on a side.
type state struct {
	value string
	// decided is false where the side does not mention the option and nothing tells what that means.
	decided bool
	// by is the boot argument that overrides the build.
	by string
	// implied says that the kernel does not know the option and behaves as the value.
	implied bool
	// idle is why the option has no effect: "NAME is off".
	idle string
}

// state tells what an option that was built so, or is not mentioned, amounts to.
func (c *comparison) state(e *entry, name string, s side, built string, mentioned bool) state {
	st := state{value: built, decided: mentioned}
	if !mentioned {
		if value, ok := e.impliedValue(s); ok {
			st.value, st.decided, st.implied = value, true, true
		} else {
			st.decided = c.off(name, s)
		}
	}
	if value, by := c.effective(e, built, mentioned, s); by != "" {
		st.value, st.by, st.decided, st.implied = value, by, true, false
	}
	switch {
	case st.by != "":
	case e.Needs != "" && c.isOff(e.Needs, s):
		st.idle = e.Needs + " is off"
		if name, word, isList := strings.Cut(e.Needs, ": "); isList {
			st.idle = name + " does not name " + word
		}
	case e.Unless != "" && on(s.config[e.Unless]):
		st.idle = e.Unless + " is on"
	}
	return st
}

// isOff says whether an option is known to be off in a build. Of "NAME: WORD" it says whether the list NAME is known to
// lack the word; a boot argument of that name, lsm= for LSM, takes its place.
func (c *comparison) isOff(needed string, s side) bool {
	name, word, isList := strings.Cut(needed, ": ")
	value, in := s.config[name]
	if given := s.cmdline.values[strings.ToLower(name)]; isList && len(given) > 0 {
		value, in = given[len(given)-1], true
	}
	switch {
	case isList:
		return in && !slices.Contains(strings.Split(value, ","), word)
	case in:
		return value == "n"
	}
	return c.off(name, s)
}

// off says whether an option that a side does not mention is off there: its kernel was looked through, or the option
// that it follows from is off.
func (c *comparison) off(name string, s side) bool {
	e, ok := c.exact[optionKind+":"+name]
	if ok && s.release != "" && !older(s.release, c.kernels.From) && !older(c.kernels.To, s.release) {
		return !e.foreign && !e.unknownTo(s.release)
	}
	for _, family := range c.families {
		if s.config[family[0]] != "n" || family[0] == name {
			continue
		}
		for _, pattern := range family[1:] {
			if matches(pattern, name) {
				return true
			}
		}
	}
	return false
}

// unknownTo says whether a kernel does not know the option, as far as that is told.
func (e *entry) unknownTo(release string) bool {
	return e.Since != "" && older(release, e.Since) || e.Until != "" && !older(release, e.Until)
}

// impliedValue is what a side without the option behaves as. A side whose release is not known is taken for one that
// does not know the option. An older kernel than until may lack it, too, because distributions bring changes into older
// kernels: if newer kernels do the work without the option, the silent one is taken for one of them.
func (e *entry) impliedValue(s side) (string, bool) {
	if s.release != "" && !e.unknownTo(s.release) && (e.Until == "" || e.Implied == "n") {
		return "", false
	}
	if e.like != "" {
		value, in := s.config[e.like]
		return value, in
	}
	return e.Implied, e.Implied != ""
}

// silence says what it means that a side does not mention the option.
func (e *entry) silence(name string, s side, st state) string {
	switch {
	case st.implied && e.Since != "":
		return join(fmt.Sprintf("kernels before %s don't know it and behave as %s", e.Since, st.value), e.past)
	case st.implied && s.release != "" && !e.unknownTo(s.release):
		return join(fmt.Sprintf("%s does not mention it, and behaves as %s like kernels from %s on", name, st.value,
			e.Until), e.past)
	case st.implied:
		return join(fmt.Sprintf("kernels from %s on don't know it and behave as %s", e.Until, st.value), e.past)
	case st.decided:
		return name + " does not mention it: what it depends on is off there, or its kernel has nothing of the kind"
	case s.release != "" && e.unknownTo(s.release) && e.Since != "":
		return join(fmt.Sprintf("not known to the kernel of %s (%s); it came with %s", name, s.release, e.Since),
			e.past, undecided)
	case s.release != "" && e.unknownTo(s.release):
		return join(fmt.Sprintf("not known to the kernel of %s (%s)", name, s.release), e.past, undecided)
	}
	return name + " does not mention it, perhaps because its kernel does not know it; " + undecided
}

// effective is what an option amounts to on a side: an argument that overrides it counts, else the build. by is the
// argument, empty when none does.
func (c *comparison) effective(e *entry, built string, mentioned bool, s side) (value, by string) {
	for i, o := range e.boot {
		given := s.cmdline.values[o.name]
		argument, _, _ := strings.Cut(e.Boot[i], " ")
		// The kernel lets the last of several count.
		absent := !mentioned || e.Code && built == "n"
		if len(given) == 0 || given[len(given)-1] != o.value || absent && on(o.result) ||
			!c.takes(argument, s.config, s.release) {
			continue
		}
		return o.result, argument
	}
	return built, ""
}

const undecided = "that decides nothing"

// taken is a boot argument that not every kernel takes.
type taken struct {
	// Argument is NAME=VALUE, or a pattern.
	Argument string
	// Needs is the option without which the kernel does not take it.
	Needs string
	// Until is the first kernel that does not take it where the option Where is on; everywhere when that is empty.
	Until, Where string
}

// takes says whether a side's kernel can take an argument, as far as its build tells.
func (k *Knowledge) takes(argument string, config kconfig.Config, release string) bool {
	for _, t := range k.taken {
		if !matches(t.Argument, argument) || len(config) == 0 {
			continue
		}
		if t.Needs != "" && !on(orN(config[t.Needs])) {
			return false
		}
		if t.Until != "" && (t.Where == "" || on(config[t.Where])) && release != "" && !older(release, t.Until) {
			return false
		}
	}
	return true
}
