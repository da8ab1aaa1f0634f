// Package config defines the settings that users keep in files and in the environment: their names, their valid values,
// and the origin of each value. It finds the files and reads them, unless another user could have written them.
//
// The first of these that has a value for a setting determines it: a flag, an environment variable, the user's file,
// the system's file. Otherwise the code that uses the setting has a default.
package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// Place is a kind of source of values.
type Place string

const (
	Flag        Place = "flag"
	Environment Place = "environment"
	User        Place = "user"
	System      Place = "system"
	Default     Place = "default"
)

// Origin is the source of one value.
type Origin struct {
	Place Place
	// Name of the flag, the variable or the file.
	Name string
	// Line and Column in the file, from 1; 0 elsewhere.
	Line, Column int
}

// String returns the origin as config show prints it.
func (o Origin) String() string {
	switch o.Place {
	case Default:
		return string(Default)
	case Environment:
		return "$" + o.Name
	case Flag:
		return o.Name
	}
	return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
}

// Value of a setting, with its origin.
type Value struct {
	Text   string
	Origin Origin
}

// Settings are the settings from one place, or from all of them.
type Settings struct {
	// Values by the names of keys, Targets by their names.
	Values, Targets map[string]Value
}

// Merge takes each value from the first of several settings that has it.
func Merge(all ...Settings) Settings {
	merged := empty()
	for _, s := range slices.Backward(all) {
		maps.Copy(merged.Values, s.Values)
		maps.Copy(merged.Targets, s.Targets)
	}
	return merged
}

// Text returns the value of a setting; empty if no place has one.
func (s Settings) Text(key string) string { return s.Values[key].Text }

// TargetNames returns the sorted names of targets.
func (s Settings) TargetNames() []string { return slices.Sorted(maps.Keys(s.Targets)) }

func empty() Settings { return Settings{Values: map[string]Value{}, Targets: map[string]Value{}} }

// FromEnvironment reads the settings in environment variables. An empty variable counts as unset.
func FromEnvironment(env func(string) string, r Rules) (Settings, error) {
	s := empty()
	for _, k := range Keys() {
		text := env(Variable(k.Name))
		if text == "" {
			continue
		}
		if hint := k.fault(text); hint != "" {
			return s, wrong(Variable(k.Name), text, hint)
		}
		s.Values[k.Name] = Value{text, Origin{Place: Environment, Name: Variable(k.Name)}}
	}
	for _, word := range strings.Fields(env(TargetsVariable)) {
		name, address, found := strings.Cut(word, "=")
		hint := "write NAME=TARGET NAME=TARGET, like db=ssh://root@db1"
		if found {
			if hint = nameFault(name); hint == "" {
				hint = r.Target(address)
			}
		}
		if hint != "" {
			return s, wrong(TargetsVariable, word, hint)
		}
		s.Targets[name] = Value{address, Origin{Place: Environment, Name: TargetsVariable}}
	}
	return s, nil
}

func wrong(variable, text, hint string) error {
	return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("the environment variable %s can't be %q", variable, text),
		Hints: []string{hint}}
}

// The names of the settings that have one value.
const (
	Store       = "store"
	Suites      = "suites"
	Margin      = "margin"
	Alpha       = "alpha"
	Redact      = "redact"
	Serials     = "serials"
	SSHConfig   = "ssh-config"
	SSHPatience = "ssh-patience"
	KubeImage   = "kube-image"
	KubeDisk    = "kube-disk"
)

const (
	// targets is the key of a mapping from names to targets; version is the key of the file format's version.
	targets = "targets"
	version = "version"
	// newest version of the format.
	newest = 1
)

const (
	// FileVariable is the variable with the name of the user's file; its value None means that no file is read.
	FileVariable = "HEADROOM_CONFIG"
	None         = "none"
	// TargetsVariable is the variable with named targets.
	TargetsVariable = "HEADROOM_TARGETS"
)

// Key is a setting that has one value.
type Key struct {
	Name string
	// Default describes the default in words.
	Default string
	// OfFlags is true if the value is the default of the flag of this name, in all commands that have it.
	OfFlags bool
	// path is true if the value is a path. In a file it must not be relative, since headroom can be started in any
	// folder.
	path bool
	// fault describes how to correct a value; empty for a valid value.
	fault func(text string) string
}

// Keys returns the settings in the order in which they are shown.
func Keys() []Key {
	return []Key{
		{Name: Store, Default: "$XDG_DATA_HOME/headroom", path: true, fault: anything},
		{Name: Suites, Default: "built-in suites only", path: true, fault: anything},
		{Name: Margin, Default: "3%; ladder, bisect and net interference 5%", OfFlags: true, fault: shareFault},
		{Name: Alpha, Default: "5%", OfFlags: true, fault: shareFault},
		{Name: Redact, Default: "false", OfFlags: true, fault: switchFault},
		{Name: Serials, Default: "false", OfFlags: true, fault: switchFault},
		{Name: SSHConfig, Default: "your ssh's own", path: true, fault: anything},
		{Name: SSHPatience, Default: "2m", fault: durationFault},
		{Name: KubeImage, Default: "none", fault: anything},
		{Name: KubeDisk, Default: "none", fault: anything},
	}
}

// Variable returns the environment variable of a setting, by the name of its key.
func Variable(key string) string {
	return "HEADROOM_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// Rules are checks and replacements that this package can't make itself.
type Rules struct {
	// Home replaces ~ at the beginning of paths in files.
	Home string
	// Target describes how to correct a text that is not a target; empty for a valid target.
	Target func(text string) string
}

func anything(string) string { return "" }

func shareFault(text string) string {
	if _, err := unit.ParseShare(text); err != nil {
		return "write a share above 0 and below 100%, like 3% or 0.03"
	}
	return ""
}

func switchFault(text string) string {
	if text != "true" && text != "false" {
		return "write true or false"
	}
	return ""
}

func durationFault(text string) string {
	if d, err := time.ParseDuration(text); err != nil || d < 0 {
		return "write a length of time, like 10m or 90s"
	}
	return ""
}

// pathFault describes how to correct a path in a file.
func pathFault(text string) string {
	if !filepath.IsAbs(text) {
		return "write the whole path, like /srv/headroom or ~/headroom"
	}
	return ""
}

// nameOfTarget matches valid names of targets: like roles, so that both can be distinguished from addresses and paths.
var nameOfTarget = prose.Pattern(`^[a-z][a-z0-9-]{0,39}$`)

// nameFault describes how to correct a target's name.
func nameFault(name string) string {
	switch {
	case !nameOfTarget().MatchString(name):
		return "write a name of small letters, digits and hyphens, like fast-nas"
	case slices.Contains([]string{"local", "localhost", "last"}, name):
		return name + " has a meaning already; choose another name"
	}
	return ""
}
