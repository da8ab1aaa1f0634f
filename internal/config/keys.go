package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/unit"
)

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
var nameOfTarget = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// nameFault describes how to correct a target's name.
func nameFault(name string) string {
	switch {
	case !nameOfTarget.MatchString(name):
		return "write a name of small letters, digits and hyphens, like fast-nas"
	case slices.Contains([]string{"local", "localhost", "last"}, name):
		return name + " has a meaning already; choose another name"
	}
	return ""
}
