package experiment

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// NamedTarget is one of several targets of a run.
type NamedTarget struct {
	Role, Name string
	// Numbered says that the role was not typed.
	Numbered bool
}

// severalTargets are those that the command line, or the run that is to be resumed, measures at the same time; none
// where there is one.
func severalTargets(p *app.App, o RunOptions, s *store.Store) ([]NamedTarget, error) {
	if o.Resume == "" {
		named, err := rolesOf(o.On)
		if len(o.On) < 2 && (err != nil || len(named) == 0 || !p.Traits(named[0].Name).Several) {
			return nil, nil
		}
		return named, err
	}
	b, err := s.FindWhole(o.Resume)
	if err != nil || !app.IsMultiTarget(b.Run) {
		return nil, err
	}
	if len(o.On) > 0 {
		return nil, app.Usage("--resume takes the targets from the run", "headroom run --resume "+o.Resume)
	}
	var all []NamedTarget
	for _, t := range b.Run.Targets {
		all = append(all, NamedTarget{Role: t.Role, Name: t.Target})
	}
	return all, nil
}

// MaxRoleLength is that of the names of snapshots.
const MaxRoleLength = 40

// rolesOf are the targets of several --on, numbered where no role is typed.
func rolesOf(on []string) ([]NamedTarget, error) {
	var all []NamedTarget
	for i, typed := range on {
		role, name := app.RoleOf(typed)
		numbered := role == ""
		if numbered {
			role = fmt.Sprintf("target-%d", i+1)
		}
		switch {
		case role == runner.AllTargets:
			return nil, app.Usage(fmt.Sprintf("the role %q stands for all targets together", role),
				"give the target another")
		case len(role) > MaxRoleLength:
			return nil, app.Usage(fmt.Sprintf("the role %s is longer than %d characters", role, MaxRoleLength))
		case slices.ContainsFunc(all, func(t NamedTarget) bool { return t.Role == role }):
			return nil, app.Usage("two targets have the role "+role,
				"give each its own: --on a=ssh://db1 --on b=ssh://db2")
		}
		all = append(all, NamedTarget{role, name, numbered})
	}
	return all, nil
}

// optionsOf are those for one of the targets. fio is brought to those that files can be copied to.
func optionsOf(o RunOptions, t host.Target) RunOptions {
	if _, receives := t.(host.Receiver); !receives {
		o.BringFio = ""
	}
	return o
}
