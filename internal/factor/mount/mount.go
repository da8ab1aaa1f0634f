// Package mount has the factor of mounts: options of the one under test, and NFS mounts that are made.
package mount

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

var optionValue = prose.Pattern(`^[A-Za-z0-9_:.-]+$`)

// Option is mount:, an option of the mount under test.
func Option() scheme.Scheme {
	return scheme.Scheme{Name: "mount", Title: "an option of the mount under test", Class: scheme.Live,
		Needs:  "remount",
		Syntax: "mount:OPTION",
		Examples: []string{"mount:atime=noatime,relatime", "mount:commit=5,30", "mount:barrier=0,1",
			`mount:nfs="10.0.1.1:/srv vers=4.2,nconnect=1","10.0.1.1:/srv vers=4.2,nconnect=4"`},
		Levels: "1 and 0, for atime noatime, relatime and strictatime, for commit, stripe and huge a value; for " +
			"nfs whole mounts, which are made for each level and undone: addresses of the server, a colon, the " +
			"path, a space, the options",
		Verified: "/proc/self/mountinfo; of nfs also /proc/self/mountstats and /sys/kernel/sunrpc/xprt-switches",
		Check:    checkMount, Bind: bindMount,
		Holds: func(_ context.Context, _ host.Target, name string) scheme.Holds {
			match := scheme.Wildcard(name)
			return func(s spot.Spot, _ string) bool { return s.Kind == spot.InMount && match.MatchString(s.Name) }
		}}
}

func checkMount(name, level string) error {
	if name == nfsName {
		if level == "" {
			return nil
		}
		_, err := ParseNFS(level)
		return err
	}
	o, err := spot.FindMountOption(name)
	switch {
	case err != nil:
		return err
	case level == "":
	case o.Levels != nil && !slices.Contains(o.Levels, level):
		return fmt.Errorf("mount:%s is one of %s, not %s", name, strings.Join(o.Levels, ", "), strconv.Quote(level))
	case o.Levels == nil && !optionValue().MatchString(level):
		return errors.New("an option's value holds letters and figures, unlike " + strconv.Quote(level))
	}
	return nil
}

// bindMount is an option of the mount of the place.
func bindMount(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	if name == nfsName {
		return nfsMounts(w.Target, w.Place.Path)
	}
	o, err := spot.FindMountOption(name)
	if err != nil {
		return scheme.Setting{}, scheme.Wrong(err.Error())
	}
	if w.Place.Kind != lab.Directory {
		return scheme.Setting{}, &lab.Error{Kind: lab.Refused, What: "mount:" + name +
			" is about the mount of a directory, and the place is none",
			Hints: []string{"name a directory as the place"}}
	}
	start := w.Place.Resolved
	if start == "" {
		start = w.Place.Path
	}
	resolved, err := spot.RealPaths(ctx, w.Target, []string{start})
	if err != nil {
		return scheme.Setting{}, err
	}
	read, err := w.Target.ReadFiles(ctx, collect.MountInfoPath)
	if err != nil {
		return scheme.Setting{}, err
	}
	for dir := resolved[0]; ; dir = path.Dir(dir) {
		m, err := spot.MountAt(read[collect.MountInfoPath], dir)
		if err != nil && dir != "/" {
			continue
		}
		if err != nil {
			return scheme.Setting{}, err
		}
		if o.Only != nil && !slices.Contains(o.Only, m.Kind) {
			return scheme.Setting{},
				&lab.Error{Kind: lab.Refused, What: fmt.Sprintf("mount:%s is an option of %s, and %s is %s", name,
					strings.Join(o.Only, " and "), dir, m.Kind), Target: host.RemoteName(w.Target)}
		}
		return scheme.Setting{Spots: []spot.Spot{{Kind: spot.InMount, Path: dir, Name: name}}, Possible: o.Levels}, nil
	}
}
