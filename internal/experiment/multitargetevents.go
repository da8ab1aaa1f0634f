package experiment

import (
	"context"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// planEvents reads the events, which happen during the loads of all targets.
func (t *MultiTargetRun) planEvents() error {
	var ends []lab.RunTarget
	for _, m := range t.Parts {
		ends = append(ends, lab.RunTarget{Role: m.Role, Target: m.Target.Name()})
	}
	return PlanEventsOfAll(t.Parts, func(on string) (string, error) {
		return EventTarget(t.App.AllKinds(), on, "", ends...)
	})
}

// openEvents opens the events, which the first part carries out and all of them see.
func (t *MultiTargetRun) openEvents(ctx context.Context) (func() error, error) {
	var open []host.Target
	for _, m := range t.Parts {
		open = append(open, m.Target)
		if m.Server != nil {
			open = append(open, m.Server.Target)
		}
	}
	first := t.Parts[0]
	release, err := first.OpenEvents(ctx, open...)
	t.Run.Events = first.Run.Events
	for _, m := range t.Parts[1:] {
		m.Events = first.Events
	}
	return release, err
}
