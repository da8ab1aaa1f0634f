// Package config defines the settings that users keep in files and in the environment: their names, their valid values,
// and the origin of each value. It finds the files and reads them, unless another user could have written them.
//
// The first of these that has a value for a setting determines it: a flag, an environment variable, the user's file,
// the system's file. Otherwise the code that uses the setting has a default.
package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
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
