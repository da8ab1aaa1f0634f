// Package scheme declares what every scheme of factors consists of: checks of names and levels, and the setting of a
// target that a name stands for.
package scheme

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Found is the level as it was found: it is left alone.
const Found = "found"

// Class says when a level takes effect.
type Class int

// The classes.
const (
	OfLoad Class = iota // changes the command line or environment of the load
	Live                // is set while the machine runs
	OfBoot              // takes effect when the machine is started again
)

// String is the class in a word: "load", "live", "boot".
func (c Class) String() string {
	switch c {
	case OfLoad:
		return "load"
	case Live:
		return "live"
	}
	return "boot"
}

// Scheme is one kind of factors: the part of a name before the colon.
type Scheme struct {
	Name  string // "sysctl"
	Title string // in a sentence, for people
	Class Class
	// Needs is what it takes to change a level: "nothing", "remount", "reload", "reboot", "new pod".
	Needs string
	// Syntax of the whole factor, and Examples with levels as typed after --factor.
	Syntax   string
	Examples []string
	// Levels says what values are possible; Verified from where the effective one is read back.
	Levels, Verified string
	// Check refuses a name or level that can't be right, on any target. The level is empty where only the name is
	// known.
	Check func(name, level string) error
	// Bind finds the setting on a target; nil unless the class is Live.
	Bind func(ctx context.Context, w Scope, name string) (Setting, error)
	// Canonical writes a level as the target does, beyond what is the same for all; nil where that is nothing.
	Canonical func(level string) string
	// Holds says which spots a name stands for on any place, so that a setting that must stay is found by whatever
	// factor it is reached; nil where no journal changes any.
	Holds func(ctx context.Context, t host.Target, name string) Holds
	// OfDevice returns the scheme for a device, "queue@md0". It is nil for schemes without devices; its error has the
	// kind lab.Usage.
	OfDevice func(device string) (Scheme, error)
}

// Scope is the place that settings are found on.
type Scope struct {
	Target host.Target
	// Place under test: queue: is about its devices, mount: about its mount.
	Place lab.Place
	// Adapter is the one that a network's tests take, which factors call under-test; empty where there is none, or it
	// is not known.
	Adapter string
	// Commands are the user's own, by the name of the exec: factor.
	Commands map[string]spot.Commands
}

// UnderTest stands for the adapter that a network's tests take, which has another name on each machine.
const UnderTest = "under-test"

// AdapterName is the one that a factor names.
func (w Scope) AdapterName(name string) (string, error) {
	if name != UnderTest {
		return name, nil
	}
	if w.Adapter == "" {
		return "", &lab.Error{Kind: lab.Usage, What: "it is not known which adapter the tests take",
			Target: host.RemoteName(w.Target),
			Hints: []string{"name it: ip address shows them", UnderTest +
				" is the one that has the address under test, or leads to it, where a network is measured"}}
	}
	return w.Adapter, nil
}

// Named replaces under-test in texts for --keep by the name of the adapter.
func (w Scope) Named(texts []string) []string {
	var named []string
	for _, text := range texts {
		for _, scheme := range []string{"nic:", "irq:", "qdisc:"} {
			if rest, ok := strings.CutPrefix(text, scheme+UnderTest); ok && w.Adapter != "" {
				text = scheme + w.Adapter + rest
			}
		}
		named = append(named, text)
	}
	return named
}

// Refuse is Check, and what holds for every scheme.
func (s Scheme) Refuse(name, level string) error {
	factorName := s.Name + ":" + name
	if !utf8.ValidString(name+level) || strings.ContainsFunc(name+level, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f
	}) {
		return Wrong(fmt.Sprintf("%q holds a control character, or is no UTF-8", factorName+"="+level))
	}
	if len(name)+len(level) > maxText {
		return Wrong(fmt.Sprintf("%.40s… is longer than a kernel takes", factorName))
	}
	if level == Found {
		level = ""
	}
	if err := s.Check(name, level); err != nil {
		return &lab.Error{Kind: lab.Usage, What: err.Error(),
			Hints: []string{"its form: " + s.Syntax, "for example: " + s.Examples[0]}}
	}
	return nil
}

// maxText bounds names and levels: a file of /proc/sys or /sys takes a page.
const maxText = 4096

// Wrong is an error in what the user typed.
func Wrong(what string) error { return &lab.Error{Kind: lab.Usage, What: what} }

// Holds says whether a spot is one that a name stands for. The second text is the spot's path without links in it.
type Holds func(spot spot.Spot, resolved string) bool

// InFiles are the spots that are files, by patterns of their paths in which * stands for any text.
func InFiles(patterns ...string) Holds {
	match := Wildcard(patterns...)
	return func(s spot.Spot, resolved string) bool {
		return s.Kind == spot.InFile && (match.MatchString(s.Path) || match.MatchString(resolved))
	}
}

// Wildcard matches texts by a pattern in which * stands for anything.
func Wildcard(patterns ...string) *regexp.Regexp {
	var alternatives []string
	for _, p := range patterns {
		alternatives = append(alternatives, strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*"))
	}
	return regexp.MustCompile("^(" + strings.Join(alternatives, "|") + ")$")
}
