package report

import (
	"iter"
	"maps"
	"slices"

	"headroom/internal/facts"
	"headroom/internal/lab"
)

// Redacted is a run with several arms and its repetitions as an experiment's report reads them, without what names one piece of
// hardware or one host in warnings, levels and the user's own commands. The facts stay: ceilings are made of them.
func Redacted(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) (lab.Run, iter.Seq2[lab.Repetition, error]) {
	clean := facts.NewRedactor(identifying(run.Targets, run.Experiment)).Text
	run.Label, run.Warnings, run.Experiment = clean(run.Label), cleanTexts(run.Warnings, clean), cleanExperiment(run.Experiment, clean)
	run.NotVerified = cleanUnverified(run.NotVerified, clean)
	run.Arms = slices.Clone(run.Arms)
	for i, a := range run.Arms {
		run.Arms[i].Levels = cleanValues(a.Levels, clean)
	}
	run.Cells = slices.Clone(run.Cells)
	for i, c := range run.Cells {
		run.Cells[i].Params, run.Cells[i].Warnings = cleanValues(c.Params, clean), cleanTexts(c.Warnings, clean)
	}
	return run, func(yield func(lab.Repetition, error) bool) {
		for r, err := range repetitions {
			r.Warnings = cleanTexts(r.Warnings, clean)
			if !yield(r, err) {
				return
			}
		}
	}
}

// cleanExperiment is nil for nil.
func cleanExperiment(e *lab.Experiment, clean func(string) string) *lab.Experiment {
	if e == nil {
		return nil
	}
	out := *e
	out.Keep, out.BootOn = cleanAll(e.Keep, clean), clean(e.BootOn)
	out.Factors = slices.Clone(e.Factors)
	for i, f := range out.Factors {
		out.Factors[i].Levels, out.Factors[i].Found = cleanAll(f.Levels, clean), clean(f.Found)
	}
	out.Commands = maps.Clone(e.Commands)
	for name, c := range out.Commands {
		out.Commands[name] = lab.SettingCommands{Apply: cleanAll(c.Apply, clean), Verify: cleanAll(c.Verify, clean), Undo: cleanAll(c.Undo, clean)}
	}
	return &out
}

// cleanUnverified cleans levels as those of factors and arms are, so that they are found again.
func cleanUnverified(all []lab.Unverified, clean func(string) string) []lab.Unverified {
	all = slices.Clone(all)
	for i, u := range all {
		all[i].Level, all[i].Reason = clean(u.Level), clean(u.Reason)
	}
	return all
}

func cleanTexts(warnings []lab.Warning, clean func(string) string) []lab.Warning {
	warnings = slices.Clone(warnings)
	for i := range warnings {
		warnings[i].Text = clean(warnings[i].Text)
	}
	return warnings
}

func cleanValues(values map[string]string, clean func(string) string) map[string]string {
	values = maps.Clone(values)
	for name, v := range values {
		values[name] = clean(v)
	}
	return values
}
