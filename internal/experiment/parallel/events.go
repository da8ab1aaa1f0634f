package parallel

import (
	"context"
	"slices"

	"headroom/internal/app"
	"headroom/internal/target"
)

// PlanEvents takes up the events, which come upon the loads of all targets.
func (t *MultiTargetRun) planEvents() error {
	err := t.Parts[0].PlanEvents(func(on string) (string, error) {
		var hints []string
		for _, m := range t.Parts {
			if m.Role == on {
				return m.Target.Name(), nil
			}
			hints = append(hints, "--event-on "+m.Role)
		}
		if t.AllKinds().Has(on) {
			return on, nil
		}
		return "", app.Usage("it is not said where the events are",
			append(hints[:min(len(hints), app.MaxNamed)], "--event-on TARGET, which is "+t.AllKinds().Forms())...)
	})
	for _, m := range t.Parts[1:] {
		m.Run.Events = slices.Clone(t.Parts[0].Run.Events)
	}
	return err
}

// OpenEvents opens the events, which the first part carries out and all of them see.
func (t *MultiTargetRun) openEvents(ctx context.Context) (func() error, error) {
	var open []target.Target
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
