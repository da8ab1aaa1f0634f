package factor

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
)

var queueAttribute = regexp.MustCompile(`^(iosched/)?[a-z0-9_]+$`)

func checkQueue(name, _ string) error {
	if !queueAttribute.MatchString(name) {
		return errors.New("queue: takes the name of a file in /sys/block/DISK/queue, not " + quoted(name))
	}
	return nil
}

// bindQueue is an attribute of the queues of all disks under the place.
func bindQueue(ctx context.Context, w Scope, name string) (Setting, error) {
	if len(w.Place.Disks) == 0 {
		return Setting{}, &lab.Error{Kind: lab.Refused, What: "queue:" + name +
			" is about the disks under the place, and there are none",
			Target: target.RemoteName(w.Target),
			Hints:  []string{"name a place on a disk: tmpfs and file systems over the network have no queue here"}}
	}
	s := Setting{listed: true}
	for _, disk := range w.Place.Disks {
		s.spots = append(s.spots, Spot{Kind: inFile, Path: "/sys/block/" + strings.ReplaceAll(disk, "/", "!") +
			"/queue/" + name})
	}
	resolved, err := realPaths(ctx, w.Target, pathsOf(s.spots))
	if err != nil {
		return Setting{}, err
	}
	read, err := w.Target.ReadFiles(ctx, pathsOf(s.spots)...)
	if err != nil {
		return Setting{}, err
	}
	for i, spot := range s.spots {
		s.companions = append(s.companions, companionsOfFile(ctx, w.Target, resolved[i])...)
		_, choices := chosen(string(read[spot.Path].Data))
		if i == 0 {
			s.possible = choices
		}
		s.possible = slices.DeleteFunc(s.possible, func(c string) bool { return !slices.Contains(choices, c) })
	}
	return s.readable(ctx, w.Target)
}

func pathsOf(spots []Spot) []string {
	var paths []string
	for _, s := range spots {
		paths = append(paths, s.Path)
	}
	return paths
}
