package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/machines"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/runner"
)

// subjectsOn returns the machines that arguments or --on name, if there are several: a run can have several.
func (o *doctorCommand) subjectsOn(args []string) ([]experiment.NamedTarget, error) {
	if len(args) > 0 && len(o.on) > 0 {
		return nil, app.Usage(args[0]+" and --on name two things", "leave out one of them")
	}
	var all []experiment.NamedTarget
	for _, typed := range slices.Concat(args, o.on) {
		if members := o.targetsOfRun(typed); members != nil {
			for _, m := range members {
				if len(args)+len(o.on) > 1 {
					m.Role = typed + ":" + m.Role
				}
				all = append(all, m)
			}
			continue
		}
		n := experiment.NamedTarget{Role: typed, Name: typed, Numbered: true}
		if role, name := app.RoleOf(typed); role != "" && o.app.AllKinds().Has(name) {
			n = experiment.NamedTarget{Role: role, Name: name}
		}
		if slices.ContainsFunc(all, func(t experiment.NamedTarget) bool { return t.Role == n.Role }) {
			if !o.app.Traits(n.Name).Scheduled { // two pods with the same description may be on two nodes
				return nil, app.Usage(typed + " stands twice")
			}
			n.Role = fmt.Sprintf("%s (%d)", n.Role, len(all)+1)
		}
		all = append(all, n)
	}
	if len(all) == 1 && !o.app.Traits(all[0].Name).Several {
		return nil, nil
	}
	return all, nil
}

// diagnosisTarget is one of several machines to diagnose, with a function that reads its facts.
type diagnosisTarget struct {
	experiment.NamedTarget
	read func(ctx context.Context) (facts.Document, error)
}

// diagnoseSeveral diagnoses several machines, some at a time. An unreachable machine is reported, and the others
// continue.
func (o *doctorCommand) diagnoseSeveral(ctx context.Context, named []experiment.NamedTarget) error {
	set, err := o.selectedRules()
	if err != nil {
		return err
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	wards, leftOut, closeAll, err := o.openTargets(ctx, named)
	defer closeAll()
	if err != nil {
		return err
	}
	all := diagnosis.NewCollection(len(wards), func(d facts.Document) rule.Report {
		return diagnosis.Ask(set, d, o.asked())
	})
	all.LeaveOut(leftOut...)
	var mu sync.Mutex // one machine is diagnosed at a time, which takes memory
	err = runner.Visits(ctx, len(wards), func(ctx context.Context, i int) error {
		doc, err := wards[i].read(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			all.Miss(i, wards[i].Role, wards[i].Name, oneLineError(err))
		} else {
			all.Add(i, wards[i].Role, wards[i].Name, doc)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if o.redact {
		all = all.Redacted()
	}
	d := all.Document(knowledge)
	of := func(shown report.Options) document.Document {
		reported := d
		if !shown.Serials && !o.redact {
			reported = all.Redacted().Document(knowledge)
		}
		return machines.Diagnoses(reported, o.shown())
	}
	err = results.ShowResult(o.app, nil, results.ResultDocument{Published: d, Document: of}, o.result)
	if err == nil {
		err = gateOfSeveral(d, o.failOn)
	}
	if err == nil {
		err = missedMachines(d)
	}
	return err
}

// oneLineError returns an error in a line, with the last line that a program printed.
func oneLineError(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*lab.Error](err); ok {
		if printed := strings.TrimSpace(e.Output); printed != "" {
			text += ": " + printed[strings.LastIndexByte(printed, '\n')+1:]
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// openTargets opens the targets whose names mean several, and returns how to read each. Others are opened when they are
// read.
func (o *doctorCommand) openTargets(ctx context.Context, named []experiment.NamedTarget) (all []diagnosisTarget,
	leftOut []string, closeAll func(), err error) {
	var sets []*app.TargetSet
	closeAll = func() {
		for _, s := range sets {
			if err := s.Close(); err != nil {
				o.app.PrintError(err)
			}
		}
	}
	for _, n := range named {
		if !o.app.Traits(n.Name).Several {
			all = append(all, diagnosisTarget{n, func(ctx context.Context) (facts.Document, error) {
				return o.app.Subjects().Facts(ctx, n.Name, o.timeout)
			}})
			continue
		}
		set, err := o.app.OpenSet(ctx, n.Name, nil)
		if err != nil {
			if len(named) == 1 || ctx.Err() != nil {
				return nil, nil, closeAll, err
			}
			all = append(all, diagnosisTarget{n, func(context.Context) (facts.Document, error) {
				return facts.Document{}, err
			}})
			continue
		}
		sets = append(sets, set)
		leftOut = append(leftOut, set.LeftOut...)
		for i, role := range experiment.RolesOfMembers(experiment.PrefixOfMembers(o.app, n), set.Members) {
			if slices.ContainsFunc(all, func(w diagnosisTarget) bool { return w.Role == role }) { // of another cluster
				role = fmt.Sprintf("%s (%d)", role, len(all)+1)
			}
			t := set.Targets[i]
			all = append(all,
				diagnosisTarget{experiment.NamedTarget{Role: role, Name: t.Name()},
					func(ctx context.Context) (facts.Document, error) {
						doc, err := o.app.Subjects().FactsOfTarget(ctx, t, o.timeout)
						if f, ok := t.(host.FleetMember); ok {
							err = cmp.Or(err, f.Disconnect())
						}
						return doc, err
					}})
		}
	}
	return all, leftOut, closeAll, nil
}

// gateOfSeveral returns an error if a finding on any machine has the severity failOn or a worse one.
func gateOfSeveral(d diagnosis.Several, failOn string) error {
	var found []string
	for _, f := range d.Findings {
		if f.Verdict == rule.Found && failsGate(f.Severity, failOn) {
			found = append(found, fmt.Sprintf("%s (%s)", f.Rule, diagnosis.On(f.On, d.Known())))
		}
	}
	return gateError(found, failOn)
}

// missedMachines returns the error about machines without any known facts.
func missedMachines(d diagnosis.Several) error {
	names := d.UnreachableError()
	if len(names) == 0 {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("%d of %s could not be diagnosed: %s", len(names),
		prose.Count(len(d.Machines), "machine"), prose.Names(names, ", ")),
		Hints: []string{"one by itself says more: headroom doctor TARGET"}}
}
