package ladderrun

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/unit"
)

// rung is a rung to measure.
type rung struct {
	name  string
	kind  ladder.Kind
	place lab.Place
	// jobs load it at the same time, one for each of the drives that carry it: a volume over four drives is compared
	// with four drives with as many operations in flight.
	jobs int
	// below is the number, from 1, of the rung below it; 0 for none.
	below int
	// guest has the disk; nil for a rung of the machine with the storage.
	guest *ladderGuest
	disk  *host.Disk
}

// targetOf returns the target on which a rung is measured.
func (s *storageLadder) targetOf(r rung) host.Target {
	if r.guest == nil {
		return s.base
	}
	return s.plan.Opened(r.guest.name)
}

// hasLower reports whether a rung is stored on lower ones.
func (r rung) hasLower() bool { return r.kind == ladder.Volume || r.kind == ladder.Files }

// jobsPerPlace returns how many jobs share one place, each on a separate part.
func (r rung) jobsPerPlace() int {
	if r.place.Members != nil {
		return 1
	}
	return r.jobs
}

const (
	// nullWord names the null device among places.
	nullWord = "null"
	// memoryFolder is a file system in memory that every Linux has. memoryShare is how much of it is read: more than
	// most caches near a core hold.
	memoryFolder = "/dev/shm"
	memoryShare  = 256 << 20
)

// rungs finds the rungs below one place, or takes several as named.
func (s *storageLadder) rungs(ctx context.Context, args []string) ([]rung, error) {
	if err := s.checkPaths(args); err != nil {
		return nil, err
	}
	if len(args) > 1 {
		return s.named(ctx, args)
	}
	if len(args) == 0 {
		args = []string{"."}
	}
	top, levels, err := s.inspect(ctx, args[0])
	if err != nil {
		return nil, err
	}
	var rungs, drives []rung
	var paths []string
	for _, l := range levels {
		if len(l.Disks) == 1 && l.Disks[0] == l.Path { // nothing is known below it
			r, err := s.device(ctx, ladder.Drive, l.Path, 1)
			if err != nil {
				return nil, err
			}
			drives, paths = append(drives, r), append(paths, l.Path)
			if l.Kind == "drbd" || l.Kind == "zfs" {
				s.notes = append(s.notes, "the kernel does not report what "+l.Path+" is stored on: name the rungs "+
					"below it, like headroom ladder /dev/sdb "+l.Path)
			}
		}
	}
	if rungs, err = s.withoutStorage(ctx, len(drives)); err != nil {
		return nil, err
	}
	rungs = append(rungs, drives...)
	for _, group := range groups(paths) {
		r, err := s.group(ctx, strings.Join(group, ","))
		if err != nil {
			return nil, err
		}
		rungs = append(rungs, r)
	}
	for i, l := range levels {
		asked := top.Kind == lab.Device && i == len(levels)-1
		if slices.Contains(paths, l.Path) || l.Kind == "partition" && !asked || internalVolume(l) {
			continue
		}
		r, err := s.device(ctx, ladder.Volume, l.Path, len(l.Disks))
		if err != nil {
			return nil, err
		}
		rungs = append(rungs, r)
	}
	if top.Kind == lab.Directory {
		rungs = append(rungs, rung{name: top.Path, kind: ladder.Files, place: top, jobs: max(1, len(drives))})
	}
	if len(drives) == 0 {
		return nil, app.Usage("no disk is known under "+top.Path+", so there is nothing to climb from",
			"name the rungs from the bottom up: headroom ladder null /dev/sdb "+top.Path)
	}
	return rungs, s.findLower(ctx, rungs)
}

// checkPaths refuses paths that would be relative to the working directory of another machine.
func (s *storageLadder) checkPaths(args []string) error {
	name := host.RemoteName(s.base)
	if name == "" {
		return nil
	}
	if len(args) == 0 {
		return app.Usage("climb to what on "+name+"? no working directory is known there",
			"headroom ladder /srv --on "+name)
	}
	for _, arg := range args {
		for path := range strings.SplitSeq(arg, ",") {
			if path != nullWord && !filepath.IsAbs(path) {
				return app.Usage(fmt.Sprintf("%s is on %s, where no working directory is known", path, name),
					"write the whole path: /srv")
			}
		}
	}
	return nil
}

// inspect finds the devices below a place, which may be several devices.
func (s *storageLadder) inspect(ctx context.Context, arg string) (lab.Place, []storage.StackLevel, error) {
	top, err := s.resolve(ctx, arg)
	if err != nil || top.Members == nil {
		if err != nil {
			return top, nil, err
		}
		levels, err := storage.StackLevels(ctx, s.base, top)
		return top, levels, err
	}
	var all []storage.StackLevel
	for _, member := range top.Members {
		levels, err := storage.StackLevels(ctx, s.base, lab.Place{Kind: lab.Device, Path: member, Resolved: member})
		if err != nil {
			return top, nil, err
		}
		for _, l := range levels {
			if !slices.ContainsFunc(all, func(other storage.StackLevel) bool { return other.Path == l.Path }) {
				all = append(all, l)
			}
		}
	}
	return top, all, nil
}

// resolve splits an argument at commas into several devices, unless something has that name.
func (s *storageLadder) resolve(ctx context.Context, arg string) (lab.Place, error) {
	place, err := storage.ResolvePlace(ctx, s.base, arg)
	if err != nil && strings.Contains(arg, ",") {
		return experiment.ResolveDevices(ctx, s.base, arg)
	}
	return place, err
}

// withoutStorage returns the rungs without storage: memory, and the null device, alone and for as many jobs as there
// are drives.
func (s *storageLadder) withoutStorage(ctx context.Context, drives int) ([]rung, error) {
	var rungs []rung
	place, err := storage.ResolvePlace(ctx, s.base, memoryFolder)
	if err == nil && place.Filesystem == "tmpfs" {
		space, err := storage.Free(ctx, s.base, memoryFolder)
		if err != nil {
			return nil, err
		}
		if space.Available < memoryShare+experiment.Spare {
			s.notes = append(s.notes, fmt.Sprintf("memory was left out: %s has %s free", memoryFolder,
				unit.Bytes(float64(space.Available))))
		} else {
			rungs = append(rungs, rung{name: memoryFolder, kind: ladder.Memory, place: place, jobs: 1})
		}
	}
	null, err := s.null(ctx, 1)
	if err != nil {
		return nil, err
	}
	rungs = append(rungs, null)
	if drives > 1 {
		null.jobs = drives
		rungs = append(rungs, null)
	}
	return rungs, nil
}

// null returns the null device if there is one, and otherwise fio's null engine. It does not load the module, which
// would stay loaded.
func (s *storageLadder) null(ctx context.Context, jobs int) (rung, error) {
	if place, err := storage.ResolvePlace(ctx, s.base, results.NullDevice); err == nil && place.Kind == lab.Device {
		return rung{name: results.NullDevice, kind: ladder.Null, place: place, jobs: jobs}, nil
	}
	return rung{name: "fio's null engine", kind: ladder.Null, place: lab.Place{Kind: lab.NoPlace}, jobs: jobs}, nil
}

func (s *storageLadder) device(ctx context.Context, kind ladder.Kind, path string, jobs int) (rung, error) {
	place, err := storage.ResolvePlace(ctx, s.base, path)
	return rung{name: path, kind: kind, place: place, jobs: jobs}, err
}

func (s *storageLadder) group(ctx context.Context, paths string) (rung, error) {
	place, err := experiment.ResolveDevices(ctx, s.base, paths)
	return rung{name: paths, kind: ladder.DriveGroup, place: place, jobs: len(place.Members)}, err
}

// groups returns the drives that are loaded at the same time: neighbours in pairs, then all. Of an odd number the last
// is in no pair; of two, the pair is all.
func groups(paths []string) [][]string {
	var list [][]string
	if len(paths) > 2 {
		for i := 0; i+1 < len(paths); i += 2 {
			list = append(list, paths[i:i+2])
		}
	}
	if len(paths) > 1 {
		list = append(list, paths)
	}
	return list
}

// internalVolume reports whether a volume is a part that LVM made for itself. Source: lvmraid(7), lvmthin(7),
// lvmcache(7).
func internalVolume(l storage.StackLevel) bool {
	if l.Kind != "lvm" {
		return false
	}
	return slices.ContainsFunc([]string{"_rimage_", "_rmeta_", "_mimage_", "_mlog", "_tdata", "_tmeta", "_cdata",
		"_cmeta", "_corig", "-tpool"},
		func(part string) bool { return strings.Contains(l.Path, part) })
}

// named returns the rungs as the user named them.
func (s *storageLadder) named(ctx context.Context, args []string) ([]rung, error) {
	var rungs []rung
	for _, arg := range args {
		if arg == nullWord {
			r, err := s.null(ctx, 1)
			if err != nil {
				return nil, err
			}
			rungs = append(rungs, r)
			continue
		}
		top, levels, err := s.inspect(ctx, arg)
		if err != nil {
			return nil, err
		}
		r := rung{name: top.Path, kind: kindOf(top, levels), place: top, jobs: 1}
		switch {
		case top.Members != nil:
			r.jobs = len(top.Members)
		case r.hasLower():
			r.jobs = s.countDrives(levels, rungs)
		}
		rungs = append(rungs, r)
	}
	return rungs, s.findLower(ctx, rungs)
}

func kindOf(top lab.Place, levels []storage.StackLevel) ladder.Kind {
	switch {
	case top.Members != nil:
		return ladder.DriveGroup
	case top.Path == results.NullDevice:
		return ladder.Null
	case top.Filesystem == "tmpfs" || top.Filesystem == "ramfs":
		return ladder.Memory
	case top.Kind == lab.Directory:
		return ladder.Files
	case len(levels) == 1 && levels[0].Kind == "disk":
		return ladder.Drive
	}
	return ladder.Volume
}

// countDrives returns how many drives carry a place. If the kernel does not report them, it is the number of the rung
// before it.
func (s *storageLadder) countDrives(levels []storage.StackLevel, before []rung) int {
	n := 0
	for _, l := range levels {
		if l.Kind == "disk" {
			n++
		}
	}
	if n == 0 && len(before) > 0 {
		n = before[len(before)-1].jobs
	}
	return max(1, n)
}

// findLower finds the rung below each volume and file system.
func (s *storageLadder) findLower(ctx context.Context, rungs []rung) error {
	for i := range rungs {
		if !rungs[i].hasLower() {
			continue
		}
		for j := i - 1; j >= 0 && rungs[i].below == 0; j-- {
			on, err := s.storedOn(ctx, rungs[j], rungs[i], j == i-1)
			if err != nil {
				return err
			}
			if on {
				rungs[i].below = j + 1
			}
		}
	}
	return nil
}

// storedOn reports whether a rung is stored on a lower one with as many jobs. A group of devices is below a rung with
// the same disks. If the kernel does not report it, the rung named just before it counts as below it.
func (s *storageLadder) storedOn(ctx context.Context, lower, upper rung, next bool) (bool, error) {
	switch {
	case lower.kind == ladder.Memory || lower.kind == ladder.Null || lower.jobs != upper.jobs:
		return false, nil
	case lower.kind == ladder.DriveGroup:
		return len(upper.place.Disks) > 0 && slices.Equal(lower.place.Disks, upper.place.Disks), nil
	}
	on, known, err := storage.Stacked(ctx, s.base, lower.place, upper.place)
	if err == nil && !known && next {
		s.notes = append(s.notes,
			fmt.Sprintf("the kernel does not report what %s is stored on; it is taken to be %s, which was named before it",
				upper.name, lower.name))
		return true, nil
	}
	return on && known, err
}
