package scheme

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

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
