// Package spot reads and sets one value at one place of a target: a file, an option of a mount, a parameter of an
// adapter. A spot is plain data, so that it can be stored in a journal and another process can restore it.
package spot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Kinds of spots.
const (
	InFile    = "file"    // the text of a file
	InMount   = "mount"   // one option of a mount
	InAdapter = "adapter" // a parameter that ethtool reads and sets
	// InDiscipline is the queueing discipline of an adapter.
	InDiscipline = "discipline"
	InNFS        = "nfs"      // an NFS mount that headroom makes
	InFolder     = "folder"   // the folder that it is mounted on
	InModules    = "modules"  // a module that is loaded for it
	ByCommands   = "commands" // the user's own commands
	InBoot       = "boot"     // how a machine is booted, which is only locked
)

// Absent is the value of a kernel argument, mount or module that does not exist.
const Absent = "absent"

// Spot is one value at one place of a target. It is plain data: it is stored in a journal, and another process can
// restore the value.
type Spot struct {
	Kind string `json:"kind"`
	// Path of the file or mount point, name of the adapter.
	Path string `json:"path,omitempty"`
	// Name of the mount option or the adapter's parameter.
	Name string `json:"name,omitempty"`
	// Options of an NFS mount, whose source is Name.
	Options string `json:"options,omitempty"`
	// Commands of the user.
	Commands *Commands `json:"commands,omitempty"`
}

// String names the spot for people.
func (s Spot) String() string {
	switch s.Kind {
	case InMount:
		return s.Name + " of the mount " + s.Path
	case InAdapter:
		return s.Name + " of " + s.Path
	case ByCommands, OnceDone:
		return s.Name
	case InDiscipline:
		return "the queueing discipline of " + s.Path
	case InNFS:
		return s.Name + " on " + s.Path
	case InModules:
		return "the module " + s.Name
	}
	return s.Path
}

// Key identifies a spot.
func (s Spot) Key() string { return s.Kind + "\x00" + s.Path + "\x00" + s.Name }

// OutlivesBoot reports whether a value survives a reboot. Values in /proc and /sys, and options of mounts and of
// adapters, are in the kernel's memory; for the user's commands it is unknown, and true is returned.
func (s Spot) OutlivesBoot() bool {
	switch s.Kind {
	case InMount, InAdapter, InDiscipline, InNFS, InModules:
		return false
	case InFile:
		return !strings.HasPrefix(s.Path, "/proc/") && !strings.HasPrefix(s.Path, "/sys/")
	}
	return true
}

// fileFor returns the file that must be read to know the value; empty if a command is needed.
func (s Spot) fileFor() string {
	switch s.Kind {
	case InFile:
		return s.Path
	case InMount, InNFS, InFolder:
		return collect.MountInfoPath
	case InModules:
		return ModulesFile
	}
	return ""
}

// Reading is the value of a spot, or why it is unknown.
type Reading struct {
	Value string
	Err   error
}

// Read reads many spots: all files in one round trip, each page of ethtool once. An error means that the target can't
// be reached; a fault of one spot is in its reading.
func Read(ctx context.Context, t host.Target, spots []Spot) ([]Reading, error) {
	var paths []string
	seen := map[string]bool{}
	for _, s := range spots {
		if p := s.fileFor(); p != "" && !seen[p] {
			seen[p] = true
			paths = append(paths, p)
		}
	}
	var files map[string]host.File
	if len(paths) > 0 {
		var err error
		if files, err = t.ReadFiles(ctx, paths...); err != nil {
			return nil, err
		}
	}
	pages := adapterPages{target: t, pages: map[string]page{}}
	readings := make([]Reading, len(spots))
	for i, s := range spots {
		switch s.Kind {
		case InFile:
			readings[i] = FileReading(s.Path, files[s.Path])
		case InMount:
			readings[i] = mountReading(s, files[collect.MountInfoPath])
		case InNFS:
			readings[i] = nfsReading(s, files[collect.MountInfoPath])
		case InModules:
			readings[i] = ModuleReading(s, files[ModulesFile])
		case InFolder:
			readings[i] = folderReading(ctx, t, s, files[collect.MountInfoPath])
		case InAdapter:
			readings[i] = pages.read(ctx, s)
		case InDiscipline:
			readings[i] = disciplineReading(ctx, t, s)
		case ByCommands:
			readings[i] = s.Commands.read(ctx, t, s.Name)
		case OnceDone: // it is always unknown
		default:
			readings[i].Err = fmt.Errorf("a spot of the kind %q is not known to this version", s.Kind)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return readings, nil
}

func FileReading(path string, f host.File) Reading {
	if f.Err != nil {
		return Reading{Err: &lab.Error{What: "can't read " + path, Err: plainCause(f.Err),
			Hints: hintsFor(f.Err.Error())}}
	}
	value := strings.TrimRight(string(f.Data), "\n")
	if strings.HasPrefix(path, "/sys/") {
		value, _ = Chosen(value)
	}
	return Reading{Value: strings.TrimSpace(value)}
}

// plainCause removes "open PATH:", which the error around it contains.
func plainCause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// writeScript writes its first argument to the file of its second by one write(2), as files of /proc/sys and /sys
// require. dd is the only tool that reports the reason of a failure (EINVAL, EBUSY) under BusyBox too; a shell's
// builtin printf always says "I/O error", and so does BusyBox's tee.
const writeScript = `printf %s "$1" | dd of="$2" bs=65536`

// Marked returns a command that runs another as a child, so that its own process keeps the mark in its arguments.
func Marked(mark string, argv ...string) []string {
	return append([]string{"sh", "-c", `"$@"`, mark}, argv...)
}

// argv returns the command that sets a spot. It contains the mark so that a command whose headroom was killed can be
// found: it could still be about to write.
func (s Spot) argv(mark, value, old string, mounted host.File) ([]string, error) {
	switch s.Kind {
	case InFile:
		if value == "" {
			value = "\n" // writing nothing at all changes nothing
		}
		return []string{"sh", "-c", writeScript, mark, value, s.Path}, nil
	case InMount:
		argv, err := remountCommand(s, value, mounted)
		return Marked(mark, argv...), err
	case InAdapter:
		argv, err := adapterCommand(s, value)
		return Marked(mark, argv...), err
	case InNFS:
		return nfsCommand(s, mark, value), nil
	case InFolder:
		return folderCommand(s, mark, value), nil
	case InModules:
		return moduleCommand(s, mark, value), nil
	case ByCommands:
		return Marked(mark, s.Commands.command(value, old)...), nil
	}
	return nil, fmt.Errorf("a spot of the kind %q is not known to this version", s.Kind)
}

// Write sets a spot.
func (s Spot) Write(ctx context.Context, t host.Target, mark, value, old string) error {
	if s.Kind == InDiscipline {
		return writeDiscipline(ctx, t, s, mark, value)
	}
	var mounted host.File
	if s.Kind == InMount {
		files, err := t.ReadFiles(ctx, collect.MountInfoPath)
		if err != nil {
			return err
		}
		mounted = files[collect.MountInfoPath]
	}
	argv, err := s.argv(mark, value, old, mounted)
	if err != nil {
		return err
	}
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return err
	}
	if out.ExitCode != 0 {
		printed := complaint(string(out.Stderr))
		return &lab.Error{What: fmt.Sprintf("can't set %s to %q", s, value),
			Target: host.RemoteName(t), Command: argv,
			Output: printed, Hints: hintsFor(printed)}
	}
	return nil
}

// complaint returns the error output of a command, without dd's counts ("0+1 records in").
func complaint(stderr string) string {
	var kept []string
	for line := range strings.Lines(stderr) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasSuffix(line, "records in") &&
			!strings.HasSuffix(line, "records out") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// hintsFor returns hints, according to the reason that the kernel gave.
func hintsFor(printed string) []string {
	printed = strings.ToLower(printed)
	for _, known := range []struct{ reason, hint string }{
		{"permission denied", "settings are changed as root; a file that only reads takes no value at all"},
		{"operation not permitted", "settings are changed as root, and the kernel may be locked down"},
		{"read-only file system", "a container sees its settings read-only: run on the host itself"},
		{"invalid argument", "the kernel does not take this value: headroom factors NAME shows what is in effect and " +
			"what is possible"},
		{"numerical result out of range", "the value is too large or too small for the kernel"},
		{"device or resource busy", "something uses it: find out what, or measure without this factor"},
		{"not supported", "the driver can't do this"},
		{"input/output error", "an interrupt that the kernel manages by itself, or a device that refuses"},
		{"no such file", "this kernel or driver has no such setting"},
		{"file does not exist", "this kernel or driver has no such setting"},
	} {
		if strings.Contains(printed, known.reason) {
			return []string{known.hint}
		}
	}
	return nil
}

// OnceDone is the kind of a spot for an action that one of the user's commands does, and another undoes. Whether it was
// run can't be read.
const OnceDone = "done"

// HintsOf returns the hints of a wrapped error.
func HintsOf(err error) []string {
	if e, ok := errors.AsType[*lab.Error](err); ok {
		return e.Hints
	}
	return nil
}

// globScript prints the names that match its arguments, one per line. Only the patterns are expanded: without IFS no
// words are split.
const globScript = `IFS=; for p in "$@"; do for f in $p; do [ -e "$f" ] && printf '%s\n' "$f"; done; done; true`

// Glob lists the files of a target that match, in one round trip; names that can't be listed are omitted.
func Glob(ctx context.Context, t host.Target, patterns ...string) []string {
	out, err := t.Run(ctx, append([]string{"sh", "-c", globScript, "sh"}, patterns...)...)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")[:strings.Count(string(out.Stdout), "\n")]
}

// RealPaths resolves the links in paths, so that two names of one file are recognised as one.
func RealPaths(ctx context.Context, t host.Target, paths []string) ([]string, error) {
	argv := append([]string{"realpath"}, paths...)
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return nil, err
	}
	resolved := strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")
	if out.ExitCode != 0 || len(resolved) != len(paths) {
		printed := strings.TrimSpace(string(out.Stderr))
		return nil, &lab.Error{What: fmt.Sprintf("can't find out what %s really is", strings.Join(paths, ", ")),
			Target:  host.RemoteName(t),
			Command: argv, Output: printed, Hints: hintsFor(printed)}
	}
	return resolved, nil
}

// Files returns spots for paths.
func Files(paths []string) []Spot {
	var spots []Spot
	for _, p := range paths {
		spots = append(spots, Spot{Kind: InFile, Path: p})
	}
	return spots
}

// Paths returns the paths of spots.
func Paths(spots []Spot) []string {
	var paths []string
	for _, s := range spots {
		paths = append(paths, s.Path)
	}
	return paths
}
