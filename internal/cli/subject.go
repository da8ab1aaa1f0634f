package cli

import (
	"os"
	"path/filepath"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
)

// targetsOfRun returns the targets of a run on several, by name and role; none if an argument means something else, or
// one machine.
func (o *doctorCommand) targetsOfRun(name string) []experiment.NamedTarget {
	if _, err := os.Stat(name); o.app.AllKinds().Has(name) || name == app.StandardInput || name == "" ||
		err == nil && !app.IsFolder(name) {
		return nil
	}
	b, role, err := o.app.Subjects().RunOf(name)
	if err != nil || role != "" {
		return nil // a fault is reported when it is read
	}
	known := app.Machines(b)
	if len(known) < 2 {
		return nil
	}
	run := b.Run.ID // another run may become the last one meanwhile
	if filepath.Base(name) != name {
		run = name
	}
	var all []experiment.NamedTarget
	for _, role := range known {
		all = append(all, experiment.NamedTarget{Role: role, Name: run + ":" + role, Numbered: true})
	}
	return all
}

// subjectOn returns the subject that an argument or --on names; this machine without both.
func subjectOn(args, on []string) (string, error) {
	if len(args) == 0 {
		return app.OnlyTarget(on)
	}
	if len(on) > 0 {
		return "", app.Usage(args[0]+" and --on name two things", "leave out one of them")
	}
	return args[0], nil
}
