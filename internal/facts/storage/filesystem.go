package storage

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Space is what is left on a file system, in bytes and in files.
type Space struct {
	Total int64
	// Free counts all free bytes, Available those that a plain user may take.
	Free, Available int64
	// Files and FreeFiles count inodes; both are zero on a file system that makes them as needed (btrfs).
	Files, FreeFiles int64
}

// roomLimit is what the answer may take. Nothing is measured without it, so that a busy machine, or one that is far
// away, has longer than for a fact of a snapshot, which would only be unknown.
const roomLimit = time.Minute

// Free asks how much room a folder's file system has.
func Free(ctx context.Context, t host.Target, dir string) (Space, error) {
	within, cancel := context.WithTimeout(ctx, roomLimit)
	defer cancel()
	p := collect.RunCommand(within, t, spaceCommand(dir))
	if err := ctx.Err(); err != nil { // it was stopped, which is no fault of the file system
		return Space{}, err
	}
	s, err := parseSpace(p)
	if err != nil {
		return Space{}, &lab.Error{What: "can't find out how much room is left in " + dir, Target: host.RemoteName(t),
			Command: spaceCommand(dir), Err: err}
	}
	return s, nil
}

// spaceCommand prints statfs(2). An fs.FS has no such call, and over SSH there is no other way; the format is the same
// in GNU coreutils and in BusyBox. %S is the size of a block, %b all blocks, %f the free ones, %a those for plain
// users, %c and %d inodes and free inodes.
func spaceCommand(dir string) []string { return []string{"stat", "-f", "-c", "%S %b %f %a %c %d", dir} }

func SpaceCommands(in collect.Scope) [][]string {
	if in.Place.Kind != lab.Directory {
		return nil
	}
	return [][]string{spaceCommand(in.Place.Path)}
}

// parseSpace reads what spaceCommand prints.
//
//	4096 20470738 20002342 18939814 5242880 5174190
func parseSpace(p collect.Printed) (Space, error) {
	if p.Failed != "" {
		return Space{}, fmt.Errorf("%s", p.Failed)
	}
	f := strings.Fields(p.Stdout)
	if len(f) != 6 {
		return Space{}, fmt.Errorf("stat printed %q, where six numbers are due", p.Stdout)
	}
	var n [6]int64
	for i := range n {
		v, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil || v < 0 {
			return Space{}, fmt.Errorf("stat printed %q, where six numbers are due", p.Stdout)
		}
		// The first number multiplies the three after it.
		if i > 0 && i < 4 && n[0] > 0 && v > math.MaxInt64/n[0] {
			return Space{}, fmt.Errorf("stat printed %q, which is more than a file system can hold", p.Stdout)
		}
		n[i] = v
	}
	return Space{Total: n[0] * n[1], Free: n[0] * n[2], Available: n[0] * n[3], Files: n[4], FreeFiles: n[5]}, nil
}

// CollectFilesystem describes the file system of a directory; a device has none.
func CollectFilesystem(r collect.Reader, in collect.Scope) []lab.Fact {
	if in.Place.Kind != lab.Directory {
		return nil
	}
	s := NewStack(r)
	where := in.Place.Resolved
	if where == "" {
		where = in.Place.Path
	}
	m, ok := collect.MountOf(s.Mounts, where)
	if !ok {
		return []lab.Fact{collect.Unknown("filesystem.type", collect.MountInfoPath, "no mount was found for "+where)}
	}
	facts := []lab.Fact{
		collect.Known("filesystem.type", m.Kind, collect.MountInfoPath),
		collect.Known("filesystem.options", m.Options, collect.MountInfoPath),
		collect.Known("filesystem.super_options", m.Super, collect.MountInfoPath),
		collect.Known("filesystem.source", m.Source, collect.MountInfoPath),
		collect.Known("filesystem.root", m.Root, collect.MountInfoPath),
		collect.Known("filesystem.mount_point", m.Point, collect.MountInfoPath),
	}
	for i := range facts {
		if facts[i].Value == "" {
			facts[i].Value = catalogue.None
		}
	}
	command := spaceCommand(in.Place.Path)
	space, err := parseSpace(in.Lookup(command))
	for _, f := range []struct {
		key   string
		value int64
	}{{"filesystem.size", space.Total}, {"filesystem.free", space.Available}} {
		if err != nil {
			facts = append(facts, collect.Unknown(f.key, lab.ShellQuote(command), err.Error()))
			continue
		}
		facts = append(facts, collect.Whole(f.key, f.value, lab.ShellQuote(command)))
	}
	return facts
}
