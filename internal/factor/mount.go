package factor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
)

const mountInfo = "/proc/self/mountinfo"

// mountOption is one thing that a remount can change.
type mountOption struct {
	name string
	// levels that it has; nil where the level is any value, written NAME=VALUE.
	levels []string
	// written are the options that mountinfo shows for the levels; empty where it shows none.
	written []string
	// given are the options that mount takes for the levels.
	given []string
	// unwritten is the value that holds when mountinfo shows none, by file system, for those with any value.
	unwritten map[string]string
	// perMount options are those of the mount itself, the sixth field of mountinfo; others belong to the file system.
	perMount bool
	// only are the file systems that have it; nil for all.
	only []string
}

// mountOptions are what can be varied. Others are left out: what a remount does not change (data=), what mountinfo does
// not show, and what would stop the machine (ro). Sources: mount(8); Documentation/admin-guide/ext4.rst;
// fs/ext4/super.c, _ext4_show_options; fs/btrfs/super.c, btrfs_show_options; mm/shmem.c, shmem_show_options.
func mountOptions() []mountOption {
	return []mountOption{
		{name: "atime", levels: []string{"noatime", "relatime", "strictatime"},
			written: []string{"noatime", "relatime", ""},
			given:   []string{"noatime", "atime,relatime", "atime,strictatime"}, perMount: true},
		{name: "diratime", levels: []string{"1", "0"}, written: []string{"", "nodiratime"},
			given: []string{"diratime", "nodiratime"}, perMount: true},
		{name: "lazytime", levels: []string{"1", "0"}, written: []string{"lazytime", ""},
			given: []string{"lazytime", "nolazytime"}},
		{name: "sync", levels: []string{"1", "0"}, written: []string{"sync", ""}, given: []string{"sync", "async"}},
		{name: "discard", levels: []string{"1", "0"}, written: []string{"discard", ""},
			given: []string{"discard", "nodiscard"},
			only:  []string{"ext4", "xfs"}},
		{name: "barrier", levels: []string{"1", "0"}, written: []string{"", "nobarrier"},
			given: []string{"barrier", "nobarrier"},
			only:  []string{"ext4", "btrfs"}},
		{name: "delalloc", levels: []string{"1", "0"}, written: []string{"", "nodelalloc"},
			given: []string{"delalloc", "nodelalloc"},
			only:  []string{"ext4"}},
		{name: "auto_da_alloc", levels: []string{"1", "0"}, written: []string{"", "noauto_da_alloc"},
			given: []string{"auto_da_alloc", "noauto_da_alloc"},
			only:  []string{"ext4"}},
		{name: "commit", unwritten: map[string]string{"ext4": "5", "btrfs": "30"}, only: []string{"ext4", "btrfs"}},
		{name: "stripe", unwritten: map[string]string{"ext4": "0"}, only: []string{"ext4"}},
		{name: "huge", unwritten: map[string]string{"tmpfs": "never"}, only: []string{"tmpfs"}},
	}
}

func findMountOption(name string) (mountOption, error) {
	var all []string
	for _, o := range mountOptions() {
		if o.name == name {
			return o, nil
		}
		all = append(all, o.name)
	}
	return mountOption{}, fmt.Errorf("mount: varies %s, not %s", strings.Join(all, ", "), strconv.Quote(name))
}

var optionValue = regexp.MustCompile(`^[A-Za-z0-9_:.-]+$`)

// mountScheme is mount:, an option of the mount under test.
func mountScheme() Scheme {
	return Scheme{Name: "mount", Title: "an option of the mount under test", Class: Live, Needs: "remount",
		Syntax: "mount:OPTION",
		Examples: []string{"mount:atime=noatime,relatime", "mount:commit=5,30", "mount:barrier=0,1",
			`mount:nfs="10.0.1.1:/srv vers=4.2,nconnect=1","10.0.1.1:/srv vers=4.2,nconnect=4"`},
		Levels: "1 and 0, for atime noatime, relatime and strictatime, for commit, stripe and huge a value; for " +
			"nfs whole mounts, which are made for each level and undone: addresses of the server, a colon, the " +
			"path, a space, the options",
		Verified: "/proc/self/mountinfo; of nfs also /proc/self/mountstats and /sys/kernel/sunrpc/xprt-switches",
		check:    checkMount, bind: bindMount, holds: func(_ context.Context, _ target.Target, name string) Holds {
			match := wildcard(name)
			return func(s Spot, _ string) bool { return s.Kind == inMount && match.MatchString(s.Name) }
		}}
}

func checkMount(name, level string) error {
	if name == nfsName {
		if level == "" {
			return nil
		}
		_, err := ParseNFSMount(level)
		return err
	}
	o, err := findMountOption(name)
	switch {
	case err != nil:
		return err
	case level == "":
	case o.levels != nil && !slices.Contains(o.levels, level):
		return fmt.Errorf("mount:%s is one of %s, not %s", name, strings.Join(o.levels, ", "), strconv.Quote(level))
	case o.levels == nil && !optionValue.MatchString(level):
		return errors.New("an option's value holds letters and figures, unlike " + strconv.Quote(level))
	}
	return nil
}

// mounted is a line of mountinfo.
type mounted struct {
	point   string
	options []string // of the mount itself
	kind    string
	super   []string // of the file system
}

// parseMounts reads /proc/PID/mountinfo: mount ID, parent, device, root, mount point, options, any number of optional
// fields up to a lone "-", type, source, options of the file system. Source: proc_pid_mountinfo(5).
//
//	27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
//	36 29 0:33 /@home /home rw,noatime shared:19 - btrfs /dev/mapper/crypt rw,compress=zstd:3,ssd,subvolid=257
//	52 27 7:0 / /mnt/a\040b rw,nosuid,noatime shared:3 - ext4 /dev/loop0 rw,commit=30,nobarrier
func parseMounts(data []byte) []mounted {
	var list []mounted
	for line := range bytes.Lines(data) {
		f := strings.Split(strings.TrimRight(string(line), "\n"), " ")
		dash := slices.Index(f, "-")
		if dash < 6 || dash+3 >= len(f) {
			continue
		}
		list = append(list, mounted{point: unescape(f[4]), options: strings.Split(f[5], ","), kind: f[dash+1],
			super: strings.Split(f[dash+3], ",")})
	}
	return list
}

// unescape undoes the three octal digits of white space and backslashes in paths: "\040".
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// mountAt is the newest mount at a point: that one is seen.
func mountAt(f target.File, point string) (mounted, error) {
	if f.Err != nil {
		return mounted{}, f.Err
	}
	list := parseMounts(f.Data)
	for _, m := range slices.Backward(list) {
		if m.point == point {
			return m, nil
		}
	}
	return mounted{}, &lab.Error{What: "nothing is mounted on " + point + " now",
		Hints: []string{"mount it again as it was; options then are what the mount gives"}}
}

// value is the level that a mount has.
func (o mountOption) value(m mounted) string {
	shown := m.super
	if o.perMount {
		shown = m.options
	}
	for i, w := range o.written {
		if w != "" && slices.Contains(shown, w) {
			return o.levels[i]
		}
	}
	if i := slices.Index(o.written, ""); i >= 0 {
		return o.levels[i]
	}
	for _, s := range shown {
		if v, ok := strings.CutPrefix(s, o.name+"="); ok {
			return v
		}
	}
	return o.unwritten[m.kind]
}

// option is what mount is given for a level.
func (o mountOption) option(level string) string {
	if i := slices.Index(o.levels, level); i >= 0 {
		return o.given[i]
	}
	return o.name + "=" + level
}

func mountReading(s Spot, f target.File) reading {
	m, err := mountAt(f, s.Path)
	if err != nil {
		return reading{err: err}
	}
	o, err := findMountOption(s.Name)
	if err != nil {
		return reading{err: err}
	}
	return reading{value: o.value(m)}
}

// remountCommand changes one option. The options of the mount itself are given again, all of them, because the kernel
// takes those that a remount does not name for cleared; those of the file system stay unless they are named.
func remountCommand(s Spot, level string, f target.File) ([]string, error) {
	m, err := mountAt(f, s.Path)
	if err != nil {
		return nil, err
	}
	o, err := findMountOption(s.Name)
	if err != nil {
		return nil, err
	}
	options := []string{"remount"}
	for _, kept := range m.options {
		if !o.perMount || !slices.Contains(o.written, kept) {
			options = append(options, kept)
		}
	}
	options = append(options, o.option(level))
	return []string{"mount", "-o", strings.Join(options, ","), s.Path}, nil
}

// bindMount is an option of the mount that the place lies on.
func bindMount(ctx context.Context, w Scope, name string) (Setting, error) {
	if name == nfsName {
		return nfsMounts(w.Target, w.Place.Path)
	}
	o, err := findMountOption(name)
	if err != nil {
		return Setting{}, wrong(err.Error())
	}
	if w.Place.Kind != lab.Directory {
		return Setting{}, &lab.Error{Kind: lab.Refused, What: "mount:" + name +
			" is about the mount that a directory lies on, and the place is none",
			Hints: []string{"name a directory as the place"}}
	}
	start := w.Place.Resolved
	if start == "" {
		start = w.Place.Path
	}
	resolved, err := realPaths(ctx, w.Target, []string{start})
	if err != nil {
		return Setting{}, err
	}
	read, err := w.Target.ReadFiles(ctx, mountInfo)
	if err != nil {
		return Setting{}, err
	}
	for dir := resolved[0]; ; dir = path.Dir(dir) {
		m, err := mountAt(read[mountInfo], dir)
		if err != nil && dir != "/" {
			continue
		}
		if err != nil {
			return Setting{}, err
		}
		if o.only != nil && !slices.Contains(o.only, m.kind) {
			return Setting{},
				&lab.Error{Kind: lab.Refused, What: fmt.Sprintf("mount:%s is an option of %s, and %s is %s", name,
					strings.Join(o.only, " and "), dir, m.kind), Target: target.RemoteName(w.Target)}
		}
		return Setting{Spots: []Spot{{Kind: inMount, Path: dir, Name: name}}, Possible: o.levels}, nil
	}
}
