package spot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// mountOption is a setting that a remount can change.
type mountOption struct {
	Name string
	// Levels that it has; nil if the level is any value, written NAME=VALUE.
	Levels []string
	// written are the options that mountinfo shows for the levels; empty if it shows none.
	written []string
	// given are the options to pass to mount for the levels.
	given []string
	// unwritten is the effective value if mountinfo shows none, by file system, for options with any value.
	unwritten map[string]string
	// perMount options belong to the mount itself, the sixth field of mountinfo; others belong to the file system.
	perMount bool
	// Only are the file systems that have it; nil for all.
	Only []string
}

// MountOptions are the options that can be varied. Not included are options that a remount does not change (data=),
// that mountinfo does not show, or that would stop the machine (ro). Sources: mount(8);
// Documentation/admin-guide/ext4.rst; fs/ext4/super.c, _ext4_show_options; fs/btrfs/super.c, btrfs_show_options;
// mm/shmem.c, shmem_show_options.
func MountOptions() []mountOption {
	return []mountOption{
		{Name: "atime", Levels: []string{"noatime", "relatime", "strictatime"},
			written: []string{"noatime", "relatime", ""},
			given:   []string{"noatime", "atime,relatime", "atime,strictatime"}, perMount: true},
		{Name: "diratime", Levels: []string{"1", "0"}, written: []string{"", "nodiratime"},
			given: []string{"diratime", "nodiratime"}, perMount: true},
		{Name: "lazytime", Levels: []string{"1", "0"}, written: []string{"lazytime", ""},
			given: []string{"lazytime", "nolazytime"}},
		{Name: "sync", Levels: []string{"1", "0"}, written: []string{"sync", ""}, given: []string{"sync", "async"}},
		{Name: "discard", Levels: []string{"1", "0"}, written: []string{"discard", ""},
			given: []string{"discard", "nodiscard"},
			Only:  []string{"ext4", "xfs"}},
		{Name: "barrier", Levels: []string{"1", "0"}, written: []string{"", "nobarrier"},
			given: []string{"barrier", "nobarrier"},
			Only:  []string{"ext4", "btrfs"}},
		{Name: "delalloc", Levels: []string{"1", "0"}, written: []string{"", "nodelalloc"},
			given: []string{"delalloc", "nodelalloc"},
			Only:  []string{"ext4"}},
		{Name: "auto_da_alloc", Levels: []string{"1", "0"}, written: []string{"", "noauto_da_alloc"},
			given: []string{"auto_da_alloc", "noauto_da_alloc"},
			Only:  []string{"ext4"}},
		{Name: "commit", unwritten: map[string]string{"ext4": "5", "btrfs": "30"}, Only: []string{"ext4", "btrfs"}},
		{Name: "stripe", unwritten: map[string]string{"ext4": "0"}, Only: []string{"ext4"}},
		{Name: "huge", unwritten: map[string]string{"tmpfs": "never"}, Only: []string{"tmpfs"}},
	}
}

func FindMountOption(name string) (mountOption, error) {
	var all []string
	for _, o := range MountOptions() {
		if o.Name == name {
			return o, nil
		}
		all = append(all, o.Name)
	}
	return mountOption{}, fmt.Errorf("mount: varies %s, not %s", strings.Join(all, ", "), strconv.Quote(name))
}

// MountAt returns the newest mount at a point, which is the visible one.
func MountAt(f host.File, point string) (collect.Mount, error) {
	if f.Err != nil {
		return collect.Mount{}, f.Err
	}
	for _, m := range slices.Backward(collect.ParseMounts(f.Data)) {
		if m.Point == point {
			return m, nil
		}
	}
	return collect.Mount{}, &lab.Error{What: "nothing is mounted on " + point + " now",
		Hints: []string{"mount it again with the same options"}}
}

// value returns the level that a mount has.
func (o mountOption) value(m collect.Mount) string {
	shown := strings.Split(m.Super, ",")
	if o.perMount {
		shown = strings.Split(m.Options, ",")
	}
	for i, w := range o.written {
		if w != "" && slices.Contains(shown, w) {
			return o.Levels[i]
		}
	}
	if i := slices.Index(o.written, ""); i >= 0 {
		return o.Levels[i]
	}
	for _, s := range shown {
		if v, ok := strings.CutPrefix(s, o.Name+"="); ok {
			return v
		}
	}
	return o.unwritten[m.Kind]
}

// option returns the argument of mount for a level.
func (o mountOption) option(level string) string {
	if i := slices.Index(o.Levels, level); i >= 0 {
		return o.given[i]
	}
	return o.Name + "=" + level
}

func mountReading(s Spot, f host.File) Reading {
	m, err := MountAt(f, s.Path)
	if err != nil {
		return Reading{Err: err}
	}
	o, err := FindMountOption(s.Name)
	if err != nil {
		return Reading{Err: err}
	}
	return Reading{Value: o.value(m)}
}

// remountCommand changes one option. All options of the mount itself are given again, because the kernel clears those
// that a remount does not name; options of the file system stay unless they are named.
func remountCommand(s Spot, level string, f host.File) ([]string, error) {
	m, err := MountAt(f, s.Path)
	if err != nil {
		return nil, err
	}
	o, err := FindMountOption(s.Name)
	if err != nil {
		return nil, err
	}
	options := []string{"remount"}
	for kept := range strings.SplitSeq(m.Options, ",") {
		if !o.perMount || !slices.Contains(o.written, kept) {
			options = append(options, kept)
		}
	}
	options = append(options, o.option(level))
	return []string{"mount", "-o", strings.Join(options, ","), s.Path}, nil
}
