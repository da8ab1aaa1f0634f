package report

import (
	"maps"
	"slices"
	"strings"

	factors "headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/outliers"
)

// identifying are the facts of a run by which it is known what names hardware and hosts. The servers of mounts that are levels are among them: only the first is found on a target.
func identifying(targets []lab.RunTarget, e *lab.Experiment) []lab.Fact {
	var all []lab.Fact
	for _, t := range targets {
		all = append(all, t.Facts...)
	}
	if e == nil {
		return all
	}
	for _, v := range e.Factors {
		for _, level := range v.Levels {
			if v.Factor != factors.NFSFactor {
				continue
			}
			m, err := factors.ParseNFSMount(level)
			for _, a := range m.Addresses {
				if err == nil {
					all = append(all, lab.Fact{Key: "mount.nfs.server", Value: a.String()})
				}
			}
		}
	}
	return all
}

// redact returns the run without what names one piece of hardware or one host: not in its facts, and not where a path,
// a command or a warning repeats it (/dev/disk/by-id/nvme-MODEL_SERIAL does). What that is, package facts knows. The run
// given is left as it is. Names shows those by which targets are told apart.
func redact(s Summary, names bool) Summary {
	known := identifying(s.Targets, s.Experiment)
	if names {
		known = slices.DeleteFunc(known, func(f lab.Fact) bool {
			return slices.ContainsFunc(s.Targets, func(t lab.RunTarget) bool { return named(f, t.Role) })
		})
	}
	redactor := facts.NewRedactor(known)
	clean := redactor.Text
	s = withRoles(s, clean)

	s.Label, s.SuiteText, s.Command = clean(s.Label), clean(s.SuiteText), cleanAll(s.Command, clean)
	s.Warnings, s.Experiment, s.NotVerified = cleanWarnings(s.Warnings, clean), cleanExperiment(s.Experiment, clean), cleanUnverified(s.NotVerified, clean)
	s.Targets = slices.Clone(s.Targets)
	for i := range s.Targets {
		t := &s.Targets[i]
		t.Target, t.Place.Path, t.Place.Resolved = clean(t.Target), clean(t.Place.Path), clean(t.Place.Resolved)
		t.NotVerified = cleanUnverified(t.NotVerified, clean)
		t.Facts = slices.Clone(t.Facts)
		for j, f := range t.Facts {
			t.Facts[j] = redactor.Fact(f)
		}
	}
	s.Events, s.Outliers = cleanEvents(s.Events, clean), cleanOutliers(s.Outliers, clean)
	s.Cells = slices.Clone(s.Cells)
	for i := range s.Cells {
		c := &s.Cells[i]
		c.Target, c.Command, c.Warnings = clean(c.Target), cleanAll(c.Command, clean), cleanWarnings(c.Warnings, clean)
		if c.Runs != nil {
			runs := *c.Runs
			runs.Argv = cleanAll(runs.Argv, clean)
			runs.Prepare, runs.CleanUp = cleanLists(runs.Prepare, clean), cleanLists(runs.CleanUp, clean)
			runs.Environment = maps.Clone(runs.Environment)
			for name, v := range runs.Environment {
				runs.Environment[name] = clean(v)
			}
			c.Runs = &runs
		}
		c.Params, c.Levels = cleanValues(c.Params, clean), cleanValues(c.Levels, clean)
	}
	return s
}

// named says whether a role is the name of a target, or its first part.
func named(f lab.Fact, role string) bool {
	return role != "" && (f.Value == role || strings.HasPrefix(f.Value, role+"."))
}

// withRoles hides the roles that are names: a node of a cluster has its own. Where one machine is a client and another a server, roles say what they do.
func withRoles(s Summary, clean func(string) string) Summary {
	if len(s.Targets) < 2 || s.Experiment != nil || s.Study != nil || len(s.Network) > 0 {
		return s
	}
	s.Targets = slices.Clone(s.Targets)
	for i := range s.Targets {
		s.Targets[i].Role, s.Targets[i].FactsAs = clean(s.Targets[i].Role), clean(s.Targets[i].FactsAs)
	}
	id := func(id, role string) string {
		if cell, own := strings.CutSuffix(id, "@"+role); own {
			return cell + "@" + clean(role)
		}
		return id
	}
	roles := map[string]string{} // of cells, by their IDs
	s.Cells = slices.Clone(s.Cells)
	for i := range s.Cells {
		c := &s.Cells[i]
		roles[c.ID] = c.Role
		c.ID, c.Role, c.Arm = id(c.ID, c.Role), clean(c.Role), clean(c.Arm)
	}
	s.Undecided, s.Plateaus = slices.Clone(s.Undecided), slices.Clone(s.Plateaus)
	for i := range s.Undecided {
		s.Undecided[i].Cell = id(s.Undecided[i].Cell, roles[s.Undecided[i].Cell])
	}
	for i := range s.Plateaus {
		p := &s.Plateaus[i]
		p.Cells, p.Text = slices.Clone(p.Cells), clean(p.Text)
		for k := range p.Cells {
			p.Cells[k] = id(p.Cells[k], roles[p.Cells[k]])
		}
	}
	if s.Events != nil {
		events := *s.Events
		events.Loads = slices.Clone(events.Loads)
		for i := range events.Loads {
			events.Loads[i].Cell = id(events.Loads[i].Cell, roles[events.Loads[i].Cell])
		}
		s.Events = &events
	}
	return s
}

// cleanOutliers is nil for nil. What differs was cleaned when it was found, by what is known of the whole machines.
func cleanOutliers(d *outliers.Document, clean func(string) string) *outliers.Document {
	if d == nil {
		return nil
	}
	out := *d
	out.Found = slices.Clone(d.Found)
	for i := range out.Found {
		o := &out.Found[i]
		o.Role, o.Typical, o.Text = clean(o.Role), clean(o.Typical), clean(o.Text)
	}
	return &out
}

func cleanEvents(e *Events, clean func(string) string) *Events {
	if e == nil {
		return nil
	}
	events := *e
	events.Events = slices.Clone(e.Events)
	for i := range events.Events {
		u := &events.Events[i]
		u.Target, u.Command, u.Undo = clean(u.Target), cleanAll(u.Command, clean), cleanAll(u.Undo, clean)
	}
	events.Loads = slices.Clone(e.Loads)
	for i := range events.Loads {
		l := &events.Loads[i]
		l.Errors, l.Happened = cleanAll(l.Errors, clean), slices.Clone(l.Happened)
		for k := range l.Happened {
			l.Happened[k].Failed = clean(l.Happened[k].Failed)
		}
	}
	return &events
}

func cleanLists(lists [][]string, clean func(string) string) [][]string {
	lists = slices.Clone(lists)
	for i := range lists {
		lists[i] = cleanAll(lists[i], clean)
	}
	return lists
}

func cleanAll(texts []string, clean func(string) string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = clean(texts[i])
	}
	return texts
}

func cleanWarnings(warnings []Warning, clean func(string) string) []Warning {
	warnings = slices.Clone(warnings)
	for i := range warnings {
		warnings[i].Text = clean(warnings[i].Text)
	}
	return warnings
}

// withoutFacts returns the run without what is known of its machines. The run given is left as it is.
func withoutFacts(s Summary) Summary {
	s.Targets = slices.Clone(s.Targets)
	for i := range s.Targets {
		s.Targets[i].Facts = nil
	}
	return s
}
