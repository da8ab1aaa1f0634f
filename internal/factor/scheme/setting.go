package scheme

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

// Setting is a live factor on one target: the spots that hold its level. Only a Journal changes it.
type Setting struct {
	// Factor is the whole name, as typed.
	Factor string
	Target host.Target
	// Spots are set in this order, and undone the other way round.
	Spots []spot.Spot
	// Companions are spots that the kernel changes along with these; those that can be read are put back after them.
	Companions []spot.Spot
	// Lacks are parts of the setting that the target does not have, or does not let be set, and that are left out:
	// "sysctl:net.core.rmem_max".
	Lacks []string
	// Values are what the spots are set to for a level; nil where each is set to the level itself.
	Values func(level string) ([]string, error)
	// Level is what the values of the spots amount to; nil where all must be alike.
	Level func(values []string) string
	// Possible are the levels that the target says it takes; nil where it does not tell. Listed says that there are no
	// others.
	Possible []string
	Listed   bool
	// At is the setting for one level, where which spots there are depends on it; nil where all levels have these.
	At func(ctx context.Context, level string) (Setting, error)
	// Later is for a level that becomes effective some time after it was set: what it returns is asked when a change is
	// compared with what is in effect. Nil where the spots tell all.
	Later func(ctx context.Context, level string) (func(context.Context) error, error)
}

// Places are the places that hold the level, for people: paths, options, parameters.
func (s Setting) Places() []string {
	var names []string
	for _, spot := range s.Spots {
		names = append(names, spot.String())
	}
	return names
}

// Read is the level in effect now. Where the spots differ, it names each: "sda none, sdb mq-deadline".
func (s Setting) Read(ctx context.Context) (string, error) {
	readings, err := spot.Read(ctx, s.Target, s.Spots)
	if err != nil {
		return "", err
	}
	var values []string
	for _, r := range readings {
		if r.Err != nil {
			return "", r.Err
		}
		values = append(values, r.Value)
	}
	return s.LevelOf(values), nil
}

func (s Setting) LevelOf(values []string) string {
	if s.Level != nil {
		return s.Level(values)
	}
	if !slices.ContainsFunc(values, func(v string) bool { return !spot.Same(v, values[0]) }) {
		return values[0]
	}
	var each []string
	for i, spot := range s.Spots {
		each = append(each, fmt.Sprintf("%s: %s", spot, values[i]))
	}
	return strings.Join(each, "; ")
}

// Wanted are the values of the spots at a level.
func (s Setting) Wanted(level string) ([]string, error) {
	if s.Values != nil {
		return s.Values(level)
	}
	return slices.Repeat([]string{level}, len(s.Spots)), nil
}

// OneFile is a setting that is a single file.
func OneFile(path string) Setting {
	return Setting{Spots: []spot.Spot{{Kind: spot.InFile, Path: path}}}
}

// Readable refuses a setting of which a spot can't be read now, so that a mistyped name is reported before anything is
// changed.
func (s Setting) Readable(ctx context.Context, t host.Target) (Setting, error) {
	readings, err := spot.Read(ctx, t, s.Spots)
	if err != nil {
		return Setting{}, err
	}
	for _, r := range readings {
		if r.Err != nil {
			return Setting{}, &lab.Error{What: r.Err.Error(), Target: host.RemoteName(t), Hints: spot.HintsOf(r.Err)}
		}
	}
	return s, nil
}

// CheckLevel refuses a level that is none of those which the file of the setting lists, where it lists them all:
// "[none] mq-deadline". Without a list nothing is known until the level is set.
func (s Setting) CheckLevel(level string) error {
	known := slices.ContainsFunc(s.Possible, func(p string) bool { return spot.Same(p, level) })
	if !s.Listed || len(s.Possible) == 0 || level == Found || known {
		return nil
	}
	scheduler := strings.HasSuffix(s.Spots[0].Path, "/queue/scheduler") // of several disks all are
	e := &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%s has no level %q", s.Factor, level),
		Target: host.RemoteName(s.Target),
		Hints:  []string{"here it takes " + strings.Join(s.Possible, ", ")}}
	switch near := yamlfile.DidYouMean(level, s.Possible); {
	case near != "":
		e.Hints = append(e.Hints, near)
	case scheduler && slices.Contains(schedulerModules(), level):
		return nil
	case scheduler && level == "noop":
		e.Hints = append(e.Hints, "since Linux 5.0 it is called none")
	case scheduler:
		e.Hints = append(e.Hints,
			"a scheduler that is a module is listed once it is loaded: modprobe "+level+"-iosched")
	}
	return e
}

// schedulerModules are the schedulers of Linux that the kernel loads when they are asked for, and another name of one.
// Source: block/elevator.c, elevator_find_get and elv_iosched_load_module.
func schedulerModules() []string { return []string{"mq-deadline", "deadline", "kyber", "bfq"} }

// ErrReadOnly is why a setting can be read only.
var ErrReadOnly = errors.New("its file can't be written")

// Settable says why a level can't be set, as far as that is known without setting it; nil where nothing speaks
// against it. Root may write any file by its permissions, so that those are asked that the kernel gave it.
func (s Setting) Settable(level string) error {
	if s.Possible != nil && !slices.Contains(s.Possible, level) {
		return errors.New(level + " is none of " + strings.Join(s.Possible, ", "))
	}
	for _, place := range s.Spots {
		if place.Kind != spot.InFile {
			continue
		}
		if err := Writable(s.Target, place.Path); err != nil {
			return err
		}
	}
	return nil
}

// Writable says why a file can't be written; nil where no reason is known.
func Writable(t host.Target, path string) error {
	info, err := fs.Stat(t.FS(), strings.TrimPrefix(path, "/"))
	if err == nil && info.Mode()&0o222 == 0 {
		err = ErrReadOnly
	}
	return err
}

// Refusal says why a factor is not changed.
func Refusal(factorName, reason string) error {
	return &lab.Error{Kind: lab.Refused, What: factorName + " is refused: " + reason,
		Hints: []string{"set it by hand, measure a run before and one after it, and compare them: headroom compare"}}
}
