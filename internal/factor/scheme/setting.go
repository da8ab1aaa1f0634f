package scheme

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
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
