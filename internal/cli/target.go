package cli

import (
	"fmt"

	"headroom/internal/app"
	"headroom/internal/experiment"
	"headroom/internal/store"
)

// targetFor finds out which target the command line, or the run that is to be resumed, means.
func (p *program) targetFor(o experiment.RunOptions, s *store.Store) (string, error) {
	name, err := app.OnlyTarget(o.On)
	if err != nil || o.Resume == "" {
		return name, err
	}
	b, err := s.Find(o.Resume)
	if err != nil {
		return "", err
	}
	was := app.TargetOfRun(b.Run)
	if len(o.On) > 0 && name != was {
		return "", app.Usage(fmt.Sprintf("run %s was measured on %s; it can't go on elsewhere", b.Run.ID, was),
			"headroom run --resume "+o.Resume)
	}
	return was, nil
}

// bootsFreely says whether a target is booted in any way that an experiment varies, without permission.
func (p *program) bootsFreely(name string) bool { return p.Traits(name).OwnBoot }
