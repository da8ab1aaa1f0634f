package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"headroom/internal/diagnosis"
	"headroom/internal/diff"
	"headroom/internal/document"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/report"
	"headroom/internal/rule"
	"headroom/internal/runner"
	"headroom/internal/target"
	"headroom/internal/unit"
)

// subjectsOn are what arguments or --on name, where that is more than one machine: a run may be of several.
func (p *program) subjectsOn(args, on []string) ([]namedTarget, error) {
	if len(args) > 0 && len(on) > 0 {
		return nil, usage(args[0]+" and --on name two things", "leave out one of them")
	}
	var all []namedTarget
	for _, typed := range slices.Concat(args, on) {
		if members := p.targetsOfRun(typed); members != nil {
			for _, m := range members {
				if len(args)+len(on) > 1 {
					m.role = typed + ":" + m.role
				}
				all = append(all, m)
			}
			continue
		}
		n := namedTarget{role: typed, name: typed, numbered: true}
		if role, name := roleOf(typed); role != "" && p.allKinds().has(name) {
			n = namedTarget{role: role, name: name}
		}
		if slices.ContainsFunc(all, func(o namedTarget) bool { return o.role == n.role }) {
			if !p.traits(n.name).Scheduled { // two pods that are described alike may be on two nodes
				return nil, usage(typed + " stands twice")
			}
			n.role = fmt.Sprintf("%s (%d)", n.role, len(all)+1)
		}
		all = append(all, n)
	}
	if len(all) == 1 && !p.traits(all[0].name).Several {
		return nil, nil
	}
	return all, nil
}

// diagnosisTarget is one of several machines that are to be diagnosed, and how what is known of it is read.
type diagnosisTarget struct {
	namedTarget
	read func(ctx context.Context) (facts.Document, error)
}

// diagnoseSeveral diagnoses several machines, some at a time. One that can't be reached is reported, and ends nothing.
func (p *program) diagnoseSeveral(ctx context.Context, named []namedTarget, o doctorOptions) error {
	set, err := o.selectedRules()
	if err != nil {
		return err
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	wards, leftOut, closeAll, err := p.openDiagnosisTargets(ctx, named, o)
	defer closeAll()
	if err != nil {
		return err
	}
	machines := diagnosis.NewCollection(len(wards), func(d facts.Document) rule.Report {
		return diagnosis.Ask(set, d, o.asked())
	})
	machines.LeaveOut(leftOut...)
	var mu sync.Mutex // one is asked about at a time, which takes memory
	err = runner.Visits(ctx, len(wards), func(ctx context.Context, i int) error {
		doc, err := wards[i].read(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			machines.Miss(i, wards[i].role, wards[i].name, oneLineError(err))
		} else {
			machines.Add(i, wards[i].role, wards[i].name, doc)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if o.redact {
		machines = machines.Redacted()
	}
	d := machines.Document(knowledge)
	of := func(shown report.Options) document.Document {
		reported := d
		if !shown.Serials && !o.redact {
			reported = machines.Redacted().Document(knowledge)
		}
		return report.SeveralDoctorDocument(reported, o.shown())
	}
	err = showResult(p, nil, resultDocument{published: d, document: of}, o.result)
	if err == nil {
		err = gateOfSeveral(d, o.failOn)
	}
	if err == nil {
		err = missedMachines(d)
	}
	return err
}

// oneLineError is an error with the last that a program said.
func oneLineError(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*lab.Error](err); ok {
		if printed := strings.TrimSpace(e.Output); printed != "" {
			text += ": " + printed[strings.LastIndexByte(printed, '\n')+1:]
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// openDiagnosisTargets opens those for which one name stands, and says how each is read. Others are opened when it is
// their turn.
func (p *program) openDiagnosisTargets(ctx context.Context, named []namedTarget,
	o doctorOptions) (all []diagnosisTarget, leftOut []string,
	closeAll func(), err error) {
	var sets []*targetSet
	closeAll = func() {
		for _, s := range sets {
			if err := s.close(); err != nil {
				p.printError(err)
			}
		}
	}
	for _, n := range named {
		if !p.traits(n.name).Several {
			all = append(all, diagnosisTarget{n, func(ctx context.Context) (facts.Document, error) {
				return p.subject(ctx, n.name, o.timeout)
			}})
			continue
		}
		set, err := p.openSet(ctx, n.name, nil)
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
		leftOut = append(leftOut, set.leftOut...)
		for i, role := range rolesOfMembers(prefixOfMembers(p, n), set.members) {
			if slices.ContainsFunc(all, func(w diagnosisTarget) bool { return w.role == role }) { // of another cluster
				role = fmt.Sprintf("%s (%d)", role, len(all)+1)
			}
			t := set.targets[i]
			all = append(all,
				diagnosisTarget{namedTarget{role: role, name: t.Name()},
					func(ctx context.Context) (facts.Document, error) {
						doc, err := p.factsOfTarget(ctx, t, o.timeout)
						if f, ok := t.(target.FleetMember); ok {
							err = cmp.Or(err, f.Disconnect())
						}
						return doc, err
					}})
		}
	}
	return all, leftOut, closeAll, nil
}

// gateOfSeveral fails when a finding on any machine is at least as severe as asked for.
func gateOfSeveral(d diagnosis.Several, failOn string) error {
	var found []string
	for _, f := range d.Findings {
		if f.Verdict == rule.Found && failsGate(f.Severity, failOn) {
			found = append(found, fmt.Sprintf("%s (%s)", f.Rule, diagnosis.On(f.On, d.Known())))
		}
	}
	return gateError(found, failOn)
}

// missedMachines is the error of machines of which nothing is known.
func missedMachines(d diagnosis.Several) error {
	names := d.UnreachableError()
	if len(names) == 0 {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("%d of %s could not be diagnosed: %s", len(names),
		prose.Count(len(d.Machines), "machine"), unit.Names(names, ", ")),
		Hints: []string{"one by itself says more: headroom doctor TARGET"}}
}
