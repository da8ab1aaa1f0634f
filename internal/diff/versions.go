package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/kconfig"
)

// past is the history of options over the kernels' versions, from history.yaml: what it means if a complete
// configuration does not mention an option.
//
// By default, a kernel between From and To that does not mention an option with its own entry has it off: the option's
// dependencies are off, or the kernel is older or newer than the feature. For other kernels, and for options that only
// a pattern weighs, the absence decides nothing.
type past struct {
	// Kernels are the oldest and the newest kernel that were looked through.
	Kernels struct{ From, To string }
	// Foreign are options that only kernels of some distributions, or kernels older than From, have.
	Foreign []string
	Changed []changed
}

// changed is an option that was added or removed.
type changed struct {
	Option string
	// Since is the first kernel with the option, Until the first without it. One of them is given.
	Since, Until string
	// Implied is the value that describes the behaviour of kernels without the option; Like is an option whose value
	// does so instead. Both are empty if unknown.
	Implied, Like string
	// Commit of the kernel's history, if known for sure.
	Commit string
	// Why describes what replaced the option, or what came before it.
	Why string
}

// learn adds the history of their options to the entries.
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

// state is the effective state of an option on a side.
type state struct {
	value string
	// decided is false if the side does not mention the option and the meaning of that is unknown.
	decided bool
	// by is the boot argument that overrides the build.
	by string
	// implied is true if the kernel does not know the option and behaves as if it had the value.
	implied bool
	// idle is why the option has no effect: "NAME is off".
	idle string
}

// state returns the effective state of an option, given its built value or that it is not mentioned.
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

// isOff reports whether an option is known to be off in a build. For "NAME: WORD" it reports whether the list NAME is
// known to lack the word; the boot argument of that name, lsm= for LSM, replaces the list.
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

// off reports whether an option that a side does not mention is off there: its kernel was looked through, or the option
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

// unknownTo reports whether a kernel does not know the option, as far as the entry has its versions.
func (e *entry) unknownTo(release string) bool {
	return e.Since != "" && older(release, e.Since) || e.Until != "" && !older(release, e.Until)
}

// impliedValue returns the value that describes how a side without the option behaves. If a side's release is unknown
// it is assumed not to know the option. A kernel older than until may lack it, too, because distributions backport
// changes: if newer kernels do the work without the option, a kernel that does not mention it is assumed to do so.
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

// silence explains what it means that a side does not mention the option.
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

// effective returns an option's effective value on a side: an argument that overrides it counts, else the build. by is
// the argument, empty if there is none.
func (c *comparison) effective(e *entry, built string, mentioned bool, s side) (value, by string) {
	for i, o := range e.boot {
		given := s.cmdline.values[o.name]
		argument, _, _ := strings.Cut(e.Boot[i], " ")
		// The kernel uses the last of several.
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

// taken is a boot argument that not every kernel accepts.
type taken struct {
	// Argument is NAME=VALUE, or a pattern.
	Argument string
	// Needs is the option without which the kernel does not accept it.
	Needs string
	// Until is the first kernel that does not accept it if the option Where is on; if Where is empty, in all builds.
	Until, Where string
}

// takes reports whether a side's kernel accepts an argument, as far as its build shows.
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
