package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
)

// sentElsewhere imports a run that somebody has edited: its header, its one repetition and its profile.
func sentElsewhere(t *testing.T, edit func(*lab.Run, *lab.Repetition, *profile.Load)) error {
	t.Helper()
	run, rep, load := exampleRun("ABCDEFGH01"), exampleRepetition(1), exampleProfile(1)
	edit(&run, &rep, &load)
	s := Open(t.TempDir())
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []lab.Repetition{exampleRepetition(2), rep} {
		if err := errors.Join(w.Raw(r.Raw[0], nil), w.Repetition(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Commit(), w.Profile(load),
		w.Close(func(r *lab.Run) { r.Status = lab.Complete })); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := b.Export(&archive); err != nil {
		t.Fatal(err)
	}
	to := Open(t.TempDir())
	_, err = to.Imports.Read(&archive)
	if n, readErr := to.Len(); readErr != nil || err != nil && n > 0 {
		t.Errorf("a run that was refused is in the store: %v", readErr)
	}
	return err
}

// A run whose parts name what it does not have is refused with the place, since every command that reads it would fail.
func TestImportedRunsNameOnlyWhatTheyHave(t *testing.T) {
	const header, line = "ABCDEFGH01/run.json", "ABCDEFGH01/repetitions/000001.jsonl, line 2"
	const profiles = "ABCDEFGH01/profiles, load 1"
	for name, c := range map[string]struct {
		edit  func(*lab.Run, *lab.Repetition, *profile.Load)
		place string
	}{
		"repetition of an unknown cell": {func(_ *lab.Run, r *lab.Repetition, _ *profile.Load) { r.Cell = "x" }, line},
		"repetition after one":          {func(_ *lab.Run, r *lab.Repetition, _ *profile.Load) { r.After = "x" }, line},
		"more events than the run has": {func(_ *lab.Run, r *lab.Repetition, _ *profile.Load) {
			r.Events = &lab.EventResult{Each: make([]lab.Occurrence, 1)}
		}, line},
		"bins without counts": {func(_ *lab.Run, r *lab.Repetition, _ *profile.Load) {
			r.Latency = map[string]lab.Histogram{"read": {Nanoseconds: []int64{1}}}
		}, line},
		"cell of an unknown arm": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Cells[0].Arm = "x"
		}, header},
		"two cells of one name": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Cells = append(r.Cells, r.Cells[0])
		}, header},
		"two arms of one name": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Arms = append(r.Arms, r.Arms[0])
		}, header},
		"two targets of one role": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Targets = append(r.Targets, r.Targets[0])
		}, header},
		"facts of an unknown target": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Targets[0].FactsAs = "x"
		}, header},
		"unknown baseline": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Experiment = &lab.Experiment{Kind: "sweep", Baseline: "x"}
		}, header},
		"unknown reference": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Experiment = &lab.Experiment{Kind: "sweep", Baseline: "only", Reference: "x"}
		}, header},
		"search of an unknown arm": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Experiment = &lab.Experiment{Kind: "bisect", SearchSteps: []lab.SearchStep{{Arm: "x"}}}
		}, header},
		"pair of unknown settings": {func(r *lab.Run, _ *lab.Repetition, _ *profile.Load) {
			r.Experiment = &lab.Experiment{Kind: "ablate", Factors: make([]lab.VariedFactor, 1),
				Pairs: [][2]int{{1, 2}}}
		}, header},
		"profile of an unknown cell": {func(_ *lab.Run, _ *lab.Repetition, l *profile.Load) { l.Cell = "x" }, profiles},
		"profile of an unknown arm":  {func(_ *lab.Run, _ *lab.Repetition, l *profile.Load) { l.Arm = "x" }, profiles},
		"profile of an unknown role": {func(_ *lab.Run, _ *lab.Repetition, l *profile.Load) { l.Role = "x" }, profiles},
	} {
		err := sentElsewhere(t, c.edit)
		if lab.KindOf(err) != lab.Usage || !strings.Contains(err.Error(), c.place+": ") {
			t.Errorf("%s: %v, which does not name %s", name, err, c.place)
		}
	}
	if err := sentElsewhere(t, func(*lab.Run, *lab.Repetition, *profile.Load) {}); err != nil {
		t.Errorf("a run that is whole: %v", err)
	}
}

// Names come into files for other programs, where a line end would begin a line of its own.
func TestNamesWithControlCharactersAreRefused(t *testing.T) {
	for _, bad := range []string{"a\nforged 1", "a\r", "a\x1b[2K", "a\u009b1m", "a\u202eb", "a\u2028b", "a\x00"} {
		for name, edit := range map[string]func(*lab.Run, *lab.Repetition, *profile.Load){
			"cell": func(run *lab.Run, rep *lab.Repetition, l *profile.Load) {
				run.Cells[0].ID, rep.Cell, l.Cell = bad, bad, bad
			},
			"arm": func(run *lab.Run, _ *lab.Repetition, l *profile.Load) {
				run.Arms[0].ID, run.Cells[0].Arm, l.Arm = bad, bad, bad
			},
			"role": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) { run.Arms[0].Role = bad },
			"fact": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) {
				run.Targets[0].Facts = []lab.Fact{{Key: bad}}
			},
			"stage": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) { run.Stages = []lab.Stage{{Name: bad}} },
			"level": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) {
				run.Arms[0].Levels = map[string]string{bad: "1"}
			},
			"parameter": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) {
				run.Cells[0].Params = map[string]string{bad: "1"}
			},
			"metric of a suite": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) {
				run.Cells[0].Metrics = map[string]lab.MetricInfo{bad: {}}
			},
			"unit": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) {
				run.Cells[0].Metrics = map[string]lab.MetricInfo{"a": {Unit: lab.Unit(bad)}}
			},
			"warning": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) {
				run.Warnings = []lab.Warning{{Code: bad}}
			},
			"taint of a cell": func(run *lab.Run, _ *lab.Repetition, _ *profile.Load) {
				run.Cells[0].Warnings = []lab.Warning{{Code: "a", Taints: []string{bad}}}
			},
			"metric": func(_ *lab.Run, rep *lab.Repetition, _ *profile.Load) { rep.Values[bad] = 1 },
			"samples": func(_ *lab.Run, rep *lab.Repetition, _ *profile.Load) {
				rep.Samples = map[string]lab.Samples{bad: {}}
			},
			"latency": func(_ *lab.Run, rep *lab.Repetition, _ *profile.Load) { rep.Latency[bad] = lab.Histogram{} },
			"series": func(_ *lab.Run, rep *lab.Repetition, _ *profile.Load) {
				rep.Series = []lab.Series{{Metric: bad}}
			},
			"port": func(_ *lab.Run, rep *lab.Repetition, _ *profile.Load) {
				rep.Ports = []lab.PortTraffic{{Port: bad}}
			},
			"warning of a repetition": func(_ *lab.Run, rep *lab.Repetition, _ *profile.Load) {
				rep.Warnings = []lab.Warning{{Code: bad}}
			},
			"metric of a profile": func(_ *lab.Run, _ *lab.Repetition, l *profile.Load) { l.Values[bad] = 1 },
		} {
			if err := sentElsewhere(t, edit); lab.KindOf(err) != lab.Usage ||
				!strings.Contains(err.Error(), "control characters") {
				t.Errorf("%s %q: %v", name, bad, err)
			}
		}
	}
}
