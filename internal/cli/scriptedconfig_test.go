package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// header is that of the last run.
func (l *scriptedLab) header() lab.Run {
	l.Helper()
	b, err := store.Open(filepath.Join(l.dir, "store")).Find("last")
	if err != nil {
		l.Fatal(err)
	}
	return b.Run
}

// What the configuration says is kept with a run, so that the run goes on, and is measured again, without it: the
// address of a target, the margin as if it had been typed. The command has the names that were typed.
func TestScriptedConfigIsKeptWithRuns(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		suites := filepath.Join(l.dir, "suites")
		if err := os.Mkdir(suites, 0o700); err != nil {
			t.Fatal(err)
		}
		l.file("suites/nightly.yaml", oneLoad)
		l.file("suites/ahead.yaml", "version: 1\nexperiment: sweep\non: fast\nsuite: nightly\nplace: /srv\nmargin: 8%\n"+
			"blocks: 4\nfactors: ['queue:read_ahead_kb=16,256']\n")
		l.env = map[string]string{"HEADROOM_TARGETS": "fast=scripted://db1", "HEADROOM_SUITES": suites,
			"HEADROOM_MARGIN": "5%", "HEADROOM_ALPHA": "0.01"}
		typed := []string{"sweep", "nightly", "/srv", "--on", "fast", "--factor", "queue:read_ahead_kb=16,256",
			"--blocks", "4"}
		l.run(append(typed, "--dry-run")...).ends(0).says("scripted://db1")
		l.run(typed...).ends(0)
		run := l.header()
		if got, want := run.Command[3:], append(slices.Clone(typed), "--margin=5%",
			"--alpha=0.01"); !slices.Equal(got, want) {
			t.Errorf("the command is %q, want %q", got, want)
		}
		if run.Targets[0].Target != "scripted://db1" || run.Experiment.Margin != 0.05 || run.Experiment.Alpha != 0.01 {
			t.Errorf("on %s with %+v", run.Targets[0].Target, run.Experiment)
		}
		// Another margin now changes nothing of a run that was measured.
		l.env = map[string]string{"HEADROOM_MARGIN": "20%"}
		if d := decoded[sweep.Document](l.run("sweep", "--show", "last", "--json").ends(0)); d.Margin != 0.05 {
			t.Errorf("the margin is shown as %g", d.Margin)
		}
		l.env = map[string]string{"HEADROOM_TARGETS": "fast=scripted://db1", "HEADROOM_SUITES": suites,
			"HEADROOM_MARGIN": "5%", "HEADROOM_ALPHA": "0.01"}
		// An experiment's file is nearer than the configuration, and names targets and suites like a command line.
		l.run("sweep", "ahead").ends(0)
		if run = l.header(); run.Experiment.Margin != 0.08 || run.Experiment.Alpha != 0.01 ||
			slices.ContainsFunc(run.Command, func(word string) bool { return strings.HasPrefix(word, "--margin") }) {
			t.Errorf("%+v, measured with %q", run.Experiment, run.Command)
		}
		if run.Targets[0].Target != "scripted://db1" {
			t.Errorf("measured on %s", run.Targets[0].Target)
		}
		// Both sides of a live comparison.
		l.run("compare", "--live", "--suite", "nightly", "fast", "/srv", "/tmp",
			"--dry-run").ends(0).says("scripted://db1")
		l.run("list", "--on", "fast").ends(0).says("short")
		l.run("facts", "fast", "--only", "kernel.release").ends(0).says("scripted://db1")
		l.run("run", "nightly", "/srv", "--on", "fats").ends(2).says("is no target")
	})
}

// A run that was measured on a target by its name is resumed where it was, whatever the name stands for now.
func TestScriptedResumeWithoutConfig(t *testing.T) {
	inScriptedLab(t, []string{"db1", "db2"}, func(l *scriptedLab) {
		l.env = map[string]string{"HEADROOM_TARGETS": "fast=scripted://db1"}
		l.machine("db1").AtLoad("--name=reads", 2, func(*scripted.Event) { l.interrupt() })
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "fast").ends(130)
		l.env = map[string]string{"HEADROOM_TARGETS": "fast=scripted://db2"}
		l.run("run", "--resume", "last").ends(0)
		if got := l.header().Targets[0].Target; got != "scripted://db1" {
			t.Errorf("it was measured on %s", got)
		}
		if loads := l.loaded("db2"); len(loads) > 0 {
			t.Errorf("%v were measured on the other machine", loads)
		}
	})
}
