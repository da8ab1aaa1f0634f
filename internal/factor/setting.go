package factor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// Setting is a live factor on one target: the spots that hold its level. Only a Journal changes it.
type Setting struct {
	factor string
	target target.Target
	// spots in the order in which they are set.
	spots []Spot
	// companions are spots that the kernel changes along with these; those that can be read are put back after them.
	companions []Spot
	// lacks are parts of the setting that the target does not have or does not let be set, by their own names as
	// factors.
	lacks []string
	// values are what the spots are set to for a level; nil where each is set to the level itself.
	values func(level string) ([]string, error)
	// level is what the values of the spots amount to; nil where all must be alike.
	level func(values []string) string
	// possible are the values that this target takes, where it tells. listed says that there are no others.
	possible []string
	listed   bool
	// at is the setting for one level, where which spots there are depends on it; nil where all levels have these.
	at func(ctx context.Context, level string) (Setting, error)
	// later is for a level that becomes effective some time after it was set: what it returns is asked when a change is
	// held against what is in effect. Nil where the spots tell all.
	later func(ctx context.Context, level string) (func(context.Context) error, error)
}

// Factor is the whole name, as typed.
func (s Setting) Factor() string { return s.factor }

// Lacks are parts of the setting that the target does not have, or does not let be set, and that are left out:
// "sysctl:net.core.rmem_max".
func (s Setting) Lacks() []string { return slices.Clone(s.lacks) }

// Possible are the levels that the target says it takes; nil where it does not tell.
func (s Setting) Possible() []string { return slices.Clone(s.possible) }

// Spots are the places that hold the level, for people: paths, options, parameters.
func (s Setting) Spots() []string {
	var names []string
	for _, spot := range s.spots {
		names = append(names, spot.String())
	}
	return names
}

// Read is the level in effect now. Where the spots differ, it names each: "sda none, sdb mq-deadline".
func (s Setting) Read(ctx context.Context) (string, error) {
	readings, err := readSpots(ctx, s.target, s.spots)
	if err != nil {
		return "", err
	}
	var values []string
	for _, r := range readings {
		if r.err != nil {
			return "", r.err
		}
		values = append(values, r.value)
	}
	return s.levelOf(values), nil
}

func (s Setting) levelOf(values []string) string {
	if s.level != nil {
		return s.level(values)
	}
	if !slices.ContainsFunc(values, func(v string) bool { return !same(v, values[0]) }) {
		return values[0]
	}
	var each []string
	for i, spot := range s.spots {
		each = append(each, fmt.Sprintf("%s: %s", spot, values[i]))
	}
	return strings.Join(each, "; ")
}

// wanted are the values of the spots at a level.
func (s Setting) wanted(level string) ([]string, error) {
	if s.values != nil {
		return s.values(level)
	}
	return slices.Repeat([]string{level}, len(s.spots)), nil
}

// oneFile is a setting that is a single file.
func oneFile(path string) Setting { return Setting{spots: []Spot{{Kind: inFile, Path: path}}} }

// files are spots for paths.
func files(paths []string) []Spot {
	var spots []Spot
	for _, p := range paths {
		spots = append(spots, Spot{Kind: inFile, Path: p})
	}
	return spots
}

// readable refuses a setting of which a spot can't be read now, so that a mistyped name is told before anything is
// changed.
func (s Setting) readable(ctx context.Context, t target.Target) (Setting, error) {
	readings, err := readSpots(ctx, t, s.spots)
	if err != nil {
		return Setting{}, err
	}
	for i, r := range readings {
		if r.err != nil && s.spots[i].OneWay == "" {
			return Setting{}, &lab.Error{What: r.err.Error(), Target: target.RemoteName(t), Hints: detailsOf(r.err)}
		}
	}
	return s, nil
}
