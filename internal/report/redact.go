package report

import (
	"maps"
	"slices"

	factors "headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
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
// given is left as it is.
func redact(s Summary) Summary {
	redactor := facts.NewRedactor(identifying(s.Targets, s.Experiment))
	clean := redactor.Text

	s.Label, s.SuiteText, s.Command = clean(s.Label), clean(s.SuiteText), cleanAll(s.Command, clean)
	s.Warnings, s.Experiment = cleanWarnings(s.Warnings, clean), cleanExperiment(s.Experiment, clean)
	s.Targets = slices.Clone(s.Targets)
	for i := range s.Targets {
		t := &s.Targets[i]
		t.Target, t.Place.Path, t.Place.Resolved = clean(t.Target), clean(t.Place.Path), clean(t.Place.Resolved)
		t.Facts = slices.Clone(t.Facts)
		for j, f := range t.Facts {
			t.Facts[j] = redactor.Fact(f)
		}
	}
	s.Events = cleanEvents(s.Events, clean)
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
