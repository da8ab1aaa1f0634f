package cli

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// fleetOf33 are the names of the fewest machines that are one.
func fleetOf33() []string {
	names := make([]string, runner.MinFleet)
	for i := range names {
		names[i] = fmt.Sprintf("n%02d", i+1)
	}
	return names
}

// fleetSuite is one load of half a minute, twice.
const fleetSuite = `version: 1
name: crowd
title: a load for tests on many scripted machines
place: directory
repetitions: 2
size: 1g
defaults: {ioengine: libaio, direct: 1, bs: 4k, runtime: 30s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread, iodepth: 4}}
`

func (l *scriptedLab) runFleet(args ...string) scriptedOutcome {
	l.Helper()
	return l.run(append(append([]string{"run", l.file("suite.yaml", fleetSuite), "/srv"}, onEach(fleetOf33()...)...),
		args...)...)
}

// All loads of a fleet begin at the same moment, although they are started one after the other, and nobody follows
// them.
func TestScriptedFleet(t *testing.T) {
	names := fleetOf33()
	inScriptedLab(t, names, func(l *scriptedLab) {
		l.machine("n07").AtLoad("--name=reads", 2, func(e *scripted.Event) {
			e.Fail(1, "fio: io_u error: Remote I/O error\n")
		})
		l.machine("n09").Set("/proc/sys/vm/swappiness", "10")
		l.runFleet().ends(1).says("1 of 66 loads failed", "and the same on 32 more, all at once")
		d := l.saved("last")
		if d.Status != lab.Complete || !slices.Contains(codes(d), "no-sum") ||
			slices.Contains(codes(d), "started-apart") {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		for _, n := range names {
			want := 2
			if n == "n07" {
				want = 1
			}
			if got := valuesOf(d, n, "reads", "read.iops"); len(got) != want || got[0] != 50_000 {
				t.Errorf("reads of %s: %v", n, got)
			}
			if got := l.loaded(n); !slices.Equal(got, []string{"layout", "reads", "reads"}) {
				t.Errorf("the loads of %s were %v", n, got)
			}
			l.checkNothingLeft(n)
		}
		if got := valuesOf(d, runner.AllTargets, "reads", "read.iops"); !slices.Equal(got, []float64{33 * 50_000}) {
			t.Errorf("reads of all: %v", got)
		}
		// The first snapshot of each is whole.
		for _, n := range []string{"n01", "n09", "n33"} {
			facts := 0
			for _, err := range l.bundle("last").EachFact(n, store.Before) {
				if facts++; err != nil {
					t.Fatal(err)
				}
			}
			if facts < 20 {
				t.Errorf("the first snapshot of %s has %d facts", n, facts)
			}
		}
		// What is as on the first is kept once.
		for _, target := range d.Targets {
			switch {
			case target.Role == "n01" && (target.FactsAs != "" || len(target.Facts) < 20):
				t.Errorf("the first has %d facts, as %q", len(target.Facts), target.FactsAs)
			case target.Role == "n09":
				if !slices.ContainsFunc(target.Facts, func(f lab.Fact) bool { return f.Value == "10" }) {
					t.Errorf("its own facts are %+v", target.Facts)
				}
			case target.Role != "n01" && (target.FactsAs != "n01" || len(target.Facts) > 20):
				t.Errorf("%s has %d facts, as %q", target.Role, len(target.Facts), target.FactsAs)
			}
		}
	})
}

func TestScriptedFleetInterruptAndResume(t *testing.T) {
	names := fleetOf33()
	inScriptedLab(t, names, func(l *scriptedLab) {
		l.machine("n20").AtLoad("--name=reads", 2, func(e *scripted.Event) { e.After(10*time.Second, l.interrupt) })
		l.runFleet().ends(130).says("34 of 68 repetitions are kept; continue with: headroom run --resume")
		for _, n := range names {
			l.checkNothingLeft(n)
		}
		// One is lost while nobody looks, and nothing is kept of the repetition.
		lost := l.machine("n03")
		lost.AtLoad("--name=reads", 1, func(e *scripted.Event) { e.After(5*time.Second, lost.Disconnect) })
		l.run("run", "--resume", "last").ends(1).says("the connection was lost")
		d := l.saved("last")
		if got := len(valuesOf(d, "n01", "reads", "read.iops")); got != 1 {
			t.Errorf("%d values of another", got)
		}
		if got := len(valuesOf(d, "n03", "reads", "read.iops")); got != 1 {
			t.Errorf("%d values of the one that was lost", got)
		}
		lost.Reconnect()
		l.run("restore").ends(0).says("was cut off", "removed /srv/headroom-")
		for _, n := range names {
			l.checkNothingLeft(n)
		}
	})
}

// A fleet that can't be measured leaves no run behind.
func TestScriptedFleetRefused(t *testing.T) {
	names := fleetOf33()
	inScriptedLab(t, names, func(l *scriptedLab) {
		l.machine("n30").Free = 1 << 20
		l.runFleet().ends(1).says("does not fit into /srv", "1.00 MiB are free")
		l.run("list").ends(0).says("no runs")
		l.run("restore").ends(0).says("nothing was left behind")
		for _, n := range names {
			if got := l.loaded(n); len(got) > 0 {
				t.Errorf("%s was loaded: %v", n, got)
			}
		}
	})
}
