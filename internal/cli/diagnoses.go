package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"headroom/internal/diff"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/outliers"
	"headroom/internal/prose"
	"headroom/internal/rule"
	"headroom/internal/runner"
	"headroom/internal/target"
)

// diagnosesSchema names the document of `headroom doctor --json` on several machines. Fields are added to it, never
// renamed and never removed.
const diagnosesSchema = "headroom/diagnoses/v1"

// diagnoses are what holds several machines back.
type diagnoses struct {
	Schema   string            `json:"schema"`
	Machines []diagnosed       `json:"machines"`
	Findings []rule.Shared     `json:"findings"`
	Unlike   []outliers.Unlike `json:"unlike"`
	// LeftOut says of nodes that were meant and can have no pod why.
	LeftOut []string `json:"left_out,omitempty"`
}

// diagnosed is one of them: what the rules say, or why nothing is known.
type diagnosed struct {
	Name      string       `json:"name"`
	Diagnosis *rule.Report `json:"diagnosis,omitempty"`
	Error     string       `json:"error,omitempty"`
}

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
		if role, name := roleOf(typed); role != "" && p.kinds().has(name) {
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

// ward is one of several machines that are to be diagnosed, and how what is known of it is read.
type ward struct {
	namedTarget
	read func(ctx context.Context) (facts.Document, error)
}

// diagnoseSeveral diagnoses several machines, some at a time. One that can't be reached is said, and ends nothing.
func (p *program) diagnoseSeveral(ctx context.Context, named []namedTarget, o doctorOptions) error {
	set, err := o.rulesToAsk()
	if err != nil {
		return err
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	d := diagnoses{Schema: diagnosesSchema}
	wards, closeAll, err := p.openWards(ctx, named, o, &d)
	defer closeAll()
	if err != nil {
		return err
	}
	d.Machines = make([]diagnosed, len(wards))
	known := newManyFacts(len(wards))
	var mu sync.Mutex // one is asked about at a time, which takes memory
	err = runner.Visits(ctx, len(wards), func(ctx context.Context, i int) error {
		doc, err := wards[i].read(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		mu.Lock()
		defer mu.Unlock()
		d.Machines[i] = o.diagnosis(set, wards[i].namedTarget, doc, err)
		if err == nil {
			known.keep(i, o.redacted(doc).Facts)
		}
		return nil
	})
	if err != nil {
		return err
	}
	names, reports := d.reports()
	d.Findings = rule.Share(names, reports)
	at := known.kept()
	var ofKnown []string
	for _, i := range at {
		ofKnown = append(ofKnown, names[i])
	}
	d.Unlike = outliers.Machines(knowledge, ofKnown, func(i int) []lab.Fact { return known.of(at[i]) })
	if p.json {
		err = p.printJSON(d)
	} else {
		p.printDiagnoses(d, o)
	}
	if err == nil {
		err = d.gate(o.failOn)
	}
	if err == nil {
		err = d.missed()
	}
	return err
}

// diagnosis is what the rules say of one machine, or why nothing is known of it.
func (o doctorOptions) diagnosis(set *rule.Set, n namedTarget, doc facts.Document, err error) diagnosed {
	if err != nil {
		d := diagnosed{Name: n.role, Error: inALine(err)}
		if o.redact { // nobody has said what it is called but who typed it
			r := facts.NewRedactor(hostOf(n.name))
			d.Name, d.Error = r.Text(d.Name), r.Text(d.Error)
		}
		return d
	}
	name := n.role
	if o.redact {
		name = facts.NewRedactor(doc.Facts).Text(name)
	}
	report := o.ask(set, o.redacted(doc))
	return diagnosed{Name: name, Diagnosis: &report}
}

// inALine is an error with the last that a program said.
func inALine(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*lab.Error](err); ok {
		if said := strings.TrimSpace(e.Output); said != "" {
			text += ": " + said[strings.LastIndexByte(said, '\n')+1:]
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// hostOf is what the name of a target says of what its host is called.
func hostOf(name string) []lab.Fact {
	u, err := url.Parse(name)
	if err != nil {
		return nil
	}
	called := []lab.Fact{{Key: "host.name", Value: u.Hostname()}}
	if u.User != nil {
		called = append(called, lab.Fact{Key: "host.name", Value: u.User.Username()})
	}
	return append(called, lab.Fact{Key: "cluster.node", Value: u.Query().Get("node")})
}

// openWards opens those for which one name stands, and says how each is read. Others are opened when it is their turn.
func (p *program) openWards(ctx context.Context, named []namedTarget, o doctorOptions, d *diagnoses) (all []ward,
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
			all = append(all, ward{n, func(ctx context.Context) (facts.Document, error) {
				return p.subject(ctx, n.name, o.timeout)
			}})
			continue
		}
		set, err := p.openSet(ctx, n.name, nil)
		if err != nil {
			if len(named) == 1 || ctx.Err() != nil {
				return nil, closeAll, err
			}
			all = append(all, ward{n, func(context.Context) (facts.Document, error) { return facts.Document{}, err }})
			continue
		}
		sets = append(sets, set)
		for _, text := range set.leftOut {
			if o.redact {
				name, _, _ := strings.Cut(strings.TrimPrefix(text, "node "), " ")
				text = facts.NewRedactor([]lab.Fact{{Key: "cluster.node", Value: name}}).Text(text)
			}
			d.LeftOut = append(d.LeftOut, text)
		}
		for i, role := range rolesOfMembers(p.prefixOfMembers(n), set.members) {
			if slices.ContainsFunc(all, func(w ward) bool { return w.role == role }) { // of another cluster
				role = fmt.Sprintf("%s (%d)", role, len(all)+1)
			}
			t := set.targets[i]
			all = append(all,
				ward{namedTarget{role: role, name: t.Name()}, func(ctx context.Context) (facts.Document, error) {
					doc, err := p.factsOfTarget(ctx, t, o.timeout)
					if f, ok := t.(target.FleetMember); ok {
						err = cmp.Or(err, f.Disconnect())
					}
					return doc, err
				}})
		}
	}
	return all, closeAll, nil
}

// reports are those of all machines, nil where nothing is known, with their names.
func (d diagnoses) reports() ([]string, []*rule.Report) {
	names, reports := make([]string, len(d.Machines)), make([]*rule.Report, len(d.Machines))
	for i, m := range d.Machines {
		names[i], reports[i] = m.Name, m.Diagnosis
	}
	return names, reports
}

// known are the machines that could be diagnosed.
func (d diagnoses) known() []string {
	var names []string
	for _, m := range d.Machines {
		if m.Diagnosis != nil {
			names = append(names, m.Name)
		}
	}
	return names
}

// gate fails when a finding on any machine is at least as severe as asked for.
func (d diagnoses) gate(failOn string) error {
	if failOn == "" {
		return nil
	}
	worst := slices.Index(rule.Severities(), failOn)
	var found []string
	for _, f := range d.Findings {
		if f.Verdict == rule.Found && slices.Index(rule.Severities(), f.Severity) <= worst {
			found = append(found, fmt.Sprintf("%s (%s)", f.Rule, onWhich(f.On, d.known())))
		}
	}
	if len(found) == 0 {
		return nil
	}
	return &lab.Error{Kind: lab.Gate, What: fmt.Sprintf("%s of severity %s or worse: %s",
		prose.Count(len(found), "finding"), failOn, strings.Join(found, ", "))}
}

// missed is the error of machines of which nothing is known.
func (d diagnoses) missed() error {
	var names []string
	for _, m := range d.Machines {
		if m.Diagnosis == nil {
			names = append(names, m.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("%d of %s could not be diagnosed: %s", len(names),
		prose.Count(len(d.Machines), "machine"), firstOf(names, ", ")),
		Hints: []string{"one by itself says more: headroom doctor TARGET"}}
}
