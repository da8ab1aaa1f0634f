package kernelfile

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/factor/scheme"
	"headroom/internal/factor/spot"
	"headroom/internal/lab"
	"headroom/internal/target"
)

var queueAttribute = regexp.MustCompile(`^(iosched/)?[a-z0-9_]+$`)

// Queue is queue:, a setting of the queues of all disks under the place.
func Queue() scheme.Scheme {
	return scheme.Scheme{Name: "queue", Title: "a setting of the queues of all disks under the place",
		Class: scheme.Live, Needs: "nothing",
		Syntax: "queue:ATTRIBUTE",
		Examples: []string{"queue:scheduler=none,mq-deadline", "queue:read_ahead_kb=128,4096",
			"queue:nr_requests=64,256"},
		Levels: "what the kernel takes", Verified: "/sys/block/DISK/queue/ATTRIBUTE of every disk",
		Check: checkQueue, Bind: bindQueue, Holds: func(_ context.Context, _ target.Target, name string) scheme.Holds {
			return scheme.InFiles("/sys/*/queue/" + name)
		}}
}

func checkQueue(name, _ string) error {
	if !queueAttribute.MatchString(name) {
		return errors.New("queue: takes the name of a file in /sys/block/DISK/queue, not " + strconv.Quote(name))
	}
	return nil
}

// bindQueue is an attribute of the queues of all disks under the place.
func bindQueue(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	if len(w.Place.Disks) == 0 {
		return scheme.Setting{}, &lab.Error{Kind: lab.Refused, What: "queue:" + name +
			" is about the disks under the place, and there are none",
			Target: target.RemoteName(w.Target),
			Hints:  []string{"name a place on a disk: tmpfs and file systems over the network have no queue here"}}
	}
	s := scheme.Setting{Listed: true}
	for _, disk := range w.Place.Disks {
		s.Spots = append(s.Spots,
			spot.Spot{Kind: spot.InFile, Path: "/sys/block/" + strings.ReplaceAll(disk, "/", "!") +
				"/queue/" + name})
	}
	resolved, err := spot.RealPaths(ctx, w.Target, spot.Paths(s.Spots))
	if err != nil {
		return scheme.Setting{}, err
	}
	read, err := w.Target.ReadFiles(ctx, spot.Paths(s.Spots)...)
	if err != nil {
		return scheme.Setting{}, err
	}
	for i, place := range s.Spots {
		s.Companions = append(s.Companions, scheme.CompanionsOf(ctx, w.Target, resolved[i])...)
		_, choices := spot.Chosen(string(read[place.Path].Data))
		if i == 0 {
			s.Possible = choices
		}
		s.Possible = slices.DeleteFunc(s.Possible, func(c string) bool { return !slices.Contains(choices, c) })
	}
	return s.Readable(ctx, w.Target)
}
