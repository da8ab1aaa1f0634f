// Package scheme declares the parts of every scheme of factors: checks of names and levels, and the setting of a target
// that a name refers to.
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

// Found is the level that the machine had before: it is left alone.
const Found = "found"

// Class is when a level takes effect.
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
	// Levels describes the possible values; Verified is where the effective value is read back from.
	Levels, Verified string
	// Check refuses a name or level that can't be right on any target. The level is empty if only the name is known.
	Check func(name, level string) error
	// Bind finds the setting on a target; nil unless the class is Live.
	Bind func(ctx context.Context, w Scope, name string) (Setting, error)
	// Canonical writes a level as the target does, beyond what is the same for all schemes; nil if there is nothing to
	// do.
	Canonical func(level string) string
	// Holds returns which spots a name covers on any target, so that a setting that must stay is recognised whatever
	// factor changes it; nil if no journal changes any.
	Holds func(ctx context.Context, t host.Target, name string) Holds
	// OfDevice returns the scheme for a device, "queue@md0". It is nil for schemes without devices; its error has the
	// kind lab.Usage.
	OfDevice func(device string) (Scheme, error)
}

// Scope is where settings are looked up.
type Scope struct {
	Target host.Target
	// Place under test: queue: is about its devices, mount: about its mount.
	Place lab.Place
	// Adapter is the network adapter that the tests of a network use, which factors call under-test; empty if there is
	// none, or it is unknown.
	Adapter string
	// Commands are the user's own, by the name of the exec: factor.
	Commands map[string]spot.Commands
}

// UnderTest is an alias of the adapter that a network's tests use, whose real name differs between machines.
const UnderTest = "under-test"

// AdapterName returns the adapter that a factor names.
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

// Refuse is Check with the rules for every scheme.
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

// Holds reports whether a name covers a spot. The second text is the spot's path with links resolved.
type Holds func(spot spot.Spot, resolved string) bool

// InFiles covers the spots that are files, by patterns of their paths in which * matches any text.
func InFiles(patterns ...string) Holds {
	match := Wildcard(patterns...)
	return func(s spot.Spot, resolved string) bool {
		return s.Kind == spot.InFile && (match.MatchString(s.Path) || match.MatchString(resolved))
	}
}

// Wildcard matches texts by a pattern in which * matches any text.
func Wildcard(patterns ...string) *regexp.Regexp {
	var alternatives []string
	for _, p := range patterns {
		alternatives = append(alternatives, strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*"))
	}
	return regexp.MustCompile("^(" + strings.Join(alternatives, "|") + ")$")
}
