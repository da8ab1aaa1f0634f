package storage

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// ResolvePlace finds out what a user points at: a directory or a block device, through any links, and the whole disks
// underneath, through partitions, device mapper, md, bcache, loop devices and a btrfs over several devices. There are
// no disks under tmpfs, overlay, ZFS (it hides them from /sys) or a file system on a server. An empty path is a place
// of kind lab.NoPlace.
//
// A relative path counts from headroom's own working directory. A path that can't be measured (a regular file, a
// character device, nothing at all) is an error of kind lab.Usage with a hint what to give instead.
func ResolvePlace(ctx context.Context, t host.Target, name string) (lab.Place, error) {
	if err := ctx.Err(); err != nil {
		return lab.Place{}, err
	}
	if name == "" {
		return lab.Place{Kind: lab.NoPlace}, nil
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return lab.Place{}, &lab.Error{What: "can't make " + name + " an absolute path", Err: err}
	}
	if err := collect.FileSystemAnswers(ctx, t, full, collect.AnswerWithin); err != nil {
		return lab.Place{}, err
	}
	s := NewStack(collect.Reader{FS: t.FS()})
	resolved, err := s.Resolve(full)
	if err != nil {
		return lab.Place{}, placeError(t, full, err)
	}
	info, err := s.Stat(resolved)
	if err != nil {
		return lab.Place{}, placeError(t, full, err)
	}
	place := lab.Place{Path: full, Resolved: resolved}
	switch mode := info.Mode(); {
	case mode.IsDir():
		place.Kind = lab.Directory
		m, ok := collect.MountOf(s.Mounts, resolved)
		if !ok {
			return lab.Place{}, &lab.Error{What: "can't tell which file system " + full + " is on",
				Target: host.RemoteName(t),
				Hints:  []string{collect.MountInfoPath + " can't be read or does not hold it; is /proc mounted?"}}
		}
		place.Filesystem = m.Kind
		place.Disks = s.Disks(s.OfMount(m)...)
		return place, nil
	case mode&fs.ModeDevice != 0 && mode&fs.ModeCharDevice == 0:
		device, ok := s.ByInode(resolved)
		if !ok {
			return lab.Place{}, usage(t, full+" is a block device that the kernel does not know (any more)",
				"lsblk lists the devices that are there")
		}
		place.Kind = lab.Device
		place.Size = s.Size(device)
		place.Disks = s.Disks(device)
		if place.Size == 0 {
			return lab.Place{},
				usage(t, full+" has a size of 0 bytes", "an empty card reader or an unused loop device looks "+
					"like this; lsblk lists the devices with their sizes")
		}
		return place, nil
	default:
		return lab.Place{}, wrongKind(t, full, mode)
	}
}

func usage(t host.Target, what string, hints ...string) error {
	return &lab.Error{Kind: lab.Usage, What: what, Target: host.RemoteName(t), Hints: hints}
}

// placeError explains why a path can't be measured.
func placeError(t host.Target, full string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && collect.Below(full, "/dev"):
		return usage(t, "there is no device "+full, "lsblk -d -o NAME,SIZE,MODEL lists the devices that are there")
	case errors.Is(err, fs.ErrNotExist):
		return usage(t, "there is no directory "+full, "make it: "+lab.ShellQuote([]string{"mkdir", "-p", full}))
	case errors.Is(err, fs.ErrPermission):
		return &lab.Error{Kind: lab.Usage, What: "can't look at " + full, Target: host.RemoteName(t), Err: err,
			Hints: []string{"run headroom as a user who may read it, or as root"}}
	}
	return &lab.Error{Kind: lab.Usage, What: "can't look at " + full, Target: host.RemoteName(t), Err: err}
}

// wrongKind returns the error for a path that is neither a directory nor a block device, with a hint what to give
// instead.
func wrongKind(t host.Target, full string, mode fs.FileMode) error {
	dir := path.Dir(full)
	switch {
	case mode.IsRegular() && strings.HasSuffix(full, ".fio"):
		return usage(t, full+" is a fio job file, not a place to measure", "a job file is given in place of a suite: "+
			lab.ShellQuote([]string{"headroom", "run", full}))
	case mode.IsRegular():
		return usage(t, full+" is a regular file, and headroom does not write to files that it did not make",
			"to measure the file system that it is on, give its directory: "+dir,
			"to measure it as a device, attach it: losetup --find --show --direct-io=on "+lab.ShellQuote(
				[]string{full}))
	case mode&fs.ModeCharDevice != 0 && strings.HasPrefix(path.Base(full), "nvme"):
		return usage(t, full+" is an NVMe controller, which holds no data itself",
			"give one of its namespaces, such as "+full+"n1")
	case mode&fs.ModeCharDevice != 0:
		return usage(t, full+" is a character device", "give a block device or a directory")
	}
	return usage(t, full+" is neither a directory nor a block device",
		"give a directory for a scratch file, or a block device")
}

// SameDevice reports whether a path, such as the path of the store, is on a disk of the place, so that writing there
// would disturb a measurement. The path need not exist yet: its nearest existing parent is looked at. Two folders on
// the same file system without disks (an NFS export, an overlay) are on the same device as well. The exception is a
// file system in memory, where writing disturbs no device.
func SameDevice(ctx context.Context, t host.Target, place lab.Place, name string) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	full, err := filepath.Abs(name)
	if err != nil {
		return false, &lab.Error{What: "can't make " + name + " an absolute path", Err: err}
	}
	s := NewStack(collect.Reader{FS: t.FS()})
	resolved, err := s.Resolve(full)
	for errors.Is(err, fs.ErrNotExist) && full != "/" {
		full = path.Dir(full)
		resolved, err = s.Resolve(full)
	}
	if err != nil {
		return false, &lab.Error{What: "can't find out which disk " + full + " is on",
			Target: host.RemoteName(t), Err: err}
	}
	here, ok := collect.MountOf(s.Mounts, resolved)
	if !ok {
		return false, &lab.Error{What: "can't find out which disk " + full + " is on", Target: host.RemoteName(t),
			Hints: []string{collect.MountInfoPath + " can't be read or does not hold it; is /proc mounted?"}}
	}
	for _, disk := range s.Disks(s.OfMount(here)...) {
		if slices.Contains(place.Disks, disk) {
			return true, nil
		}
	}
	if place.Kind != lab.Directory || len(place.Disks) > 0 || place.Filesystem == "tmpfs" ||
		place.Filesystem == "ramfs" {
		return false, nil
	}
	there, ok := collect.MountOf(s.Mounts, place.Resolved)
	return ok && there.Device == here.Device, nil
}
