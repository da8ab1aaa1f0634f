package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// A target of which another can be had: what was lost with it is carried out again.

func asPod(t *scripted.Target) host.Target { return scripted.Pod{Target: t} }

func TestScriptedReplaced(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		l.opened["db1"] = asPod
		m.AtLoad("--name=reads", 2, func(e *scripted.Event) {
			e.After(4*time.Second, func() { m.Destroy("the pod was evicted") })
		})
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1").ends(0).says(
			"waiting for another target in place of one that is gone")
		d := l.saved("last")
		lost := func(w lab.RepeatedWarning) bool { return w.Code == "target-lost" }
		if i := slices.IndexFunc(d.Warnings, lost); i < 0 ||
			!strings.HasPrefix(d.Warnings[i].Text, "repetition 2 of reads") || !strings.HasSuffix(d.Warnings[i].Text,
			"was lost and repeated: the pod was evicted") || d.Status != lab.Complete {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		if r, w := len(values(d, "reads", "read.iops")), len(values(d, "writes", "write.iops")); r != 3 || w != 3 {
			t.Errorf("there are %d and %d values", r, w)
		}
		if got := l.loaded("db1"); !slices.Equal(got, []string{"layout", "reads", "reads", "reads", "reads", "writes",
			"writes", "writes"}) {
			t.Errorf("the loads were %v", got)
		}
		l.checkNothingLeft("db1")
	})
}

func TestScriptedReplacedTooOften(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		l.opened["db1"] = asPod
		for i := range 4 {
			m.AtLoad("--name=reads", i+2, func(e *scripted.Event) {
				e.After(4*time.Second, func() { m.Destroy("the pod was evicted") })
			})
		}
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1").ends(1).says(
			"it is the loss number 4 in this run", "1 of 6 repetitions are kept")
		if d := l.saved("last"); len(values(d, "reads", "read.iops")) != 1 || d.Status == lab.Complete {
			t.Errorf("the run is %s", d.Status)
		}
	})
}

// When one of several is lost, all of them repeat what they did together.
func TestScriptedSeveralReplaced(t *testing.T) {
	inScriptedLab(t, []string{"a", "b"}, func(l *scriptedLab) {
		m := l.machine("b")
		l.opened["b"] = asPod
		m.AtLoad("--name=reads", 2, func(e *scripted.Event) {
			e.After(4*time.Second, func() { m.Destroy("the pod was evicted") })
		})
		l.runOn([]string{"a", "b"}).ends(0)
		d := l.saved("last")
		if !slices.Contains(codes(d), "target-lost") || slices.Contains(codes(d), "no-sum") {
			t.Errorf("the warnings are %q", codes(d))
		}
		for _, role := range []string{"a", "b", runner.AllTargets} {
			if got := len(valuesOf(d, role, "reads", "read.iops")); got != 3 {
				t.Errorf("%d values of %s", got, role)
			}
		}
		want := []string{"layout", "reads", "reads", "reads", "reads", "writes", "writes", "writes"}
		if a, b := l.loaded("a"), l.loaded("b"); !slices.Equal(a, want) || !slices.Equal(b, want) {
			t.Errorf("the loads were %v and %v", a, b)
		}
		l.checkNothingLeft("a")
		l.checkNothingLeft("b")
	})
}

// A sweep of several guests has one result of each load: what they did together.
func TestScriptedPeers(t *testing.T) {
	inScriptedLab(t, []string{"one", "two"}, func(l *scriptedLab) {
		l.schemes = append(l.schemes, guestScheme)
		for _, n := range []string{"one", "two"} {
			m := l.machine(n)
			l.opened[n] = func(t *scripted.Target) host.Target { return scripted.Host{Target: t} }
			m.Fio = func(load *scripted.Load) scripted.IO {
				io := scripted.Drive(load)
				if strings.Contains(m.Get("/proc/cmdline"), "mitigations=off") {
					io.Read *= 1.25
				}
				return io
			}
		}
		suite := l.file("suite.yaml", fleetSuite)
		sweep := []string{"sweep", suite, "/srv", "--on", "qemu:one", "--on", "qemu:two", "--blocks", "3", "--seed",
			"1"}
		l.run(append(sweep, "--factor", "sysctl:vm.dirty_ratio=5,40")...).ends(2).says(
			"is set on a running machine, and several are measured")
		l.run("sweep", suite, "/srv", "--on", "a=qemu:one", "--on", "qemu:two", "--factor",
			"cmdline:mitigations=auto,off").ends(2).says(`there is no role "a" in a sweep of several targets`)
		l.run("sweep", suite, "/srv", "--on", "scripted://one", "--on", "qemu:two", "--factor",
			"cmdline:mitigations=auto,off").ends(2).says("is not headroom's own")
		l.machine("two").AtLoad("--name=reads", 4, func(e *scripted.Event) { e.After(5*time.Second, l.interrupt) })
		sweep = append(sweep, "--factor", "cmdline:mitigations=auto,off")
		l.run(sweep...).ends(130).says("headroom sweep --resume")
		l.run("sweep", "--resume", "last").ends(0)
		d := l.saved("last")
		iops := map[string][]float64{}
		for _, c := range d.Cells {
			for _, v := range c.Metrics["read.iops"].Values {
				iops[c.Levels["cmdline:mitigations"]] = append(iops[c.Levels["cmdline:mitigations"]], v.Value)
			}
		}
		if len(iops["auto"]) < 3 || iops["auto"][0] != 100_000 || len(iops["off"]) < 3 || iops["off"][0] != 125_000 {
			t.Errorf("reads reach %v", iops)
		}
		if !slices.Contains(codes(d), "sum-of-targets") || len(d.Targets) != 2 {
			t.Errorf("%d targets, and the warnings %q", len(d.Targets), codes(d))
		}
		if a, b := l.loaded("one"), l.loaded("two"); !slices.Equal(a, b) {
			t.Errorf("the loads were %v and %v", a, b)
		}
		l.checkNothingLeft("one")
		l.checkNothingLeft("two")
	})
}

// A load that does not end makes the clean-up long, and a second Ctrl-C cuts it short: then it is said what is left.
func TestScriptedCleanUpCutShort(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		var codes noted[int]
		l.exit = codes.add
		m.AtLoad("--name=reads", 2, func(e *scripted.Event) {
			e.Result.Hangs, e.Result.Unkillable = true, true
			e.After(4*time.Second, l.interrupt)
			e.After(5*time.Second, l.interrupt) // the same wish
			e.After(8*time.Second, l.interrupt)
		})
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on",
			"scripted://db1").says("do not end after SIGKILL", "headroom restore")
		if got := codes.list(); !slices.Equal(got, []int{130}) {
			t.Errorf("it was cut short with %v", got)
		}
		if names := m.Names("/srv"); len(names) != 1 {
			t.Errorf("what a load may still write to is removed: %v", names)
		}
		l.run("restore").ends(1).says("do not end after SIGKILL")
	})
}

// A load that says how much it moves, and not how long it takes, is given as long as the slowest that is measured would
// need.
func TestScriptedLoadBySizeHangs(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AtLoad("--name=reads", 1, func(e *scripted.Event) { e.Result.Hangs = true })
		suite := l.file("suite.yaml", strings.Replace(fleetSuite, "runtime: 30s, time_based: 1", "size: 64m", 1))
		start := time.Now()
		l.run("run", suite, "/srv", "--on", "scripted://db1").ends(1).says("1 of 2 loads failed",
			"fio had not ended after 14m 39s, and was: it did not say")
		// 16384 operations at 20 a second, and a minute.
		if took, want := time.Since(start), (16384/20+60)*time.Second; took < want || took > want+15*time.Second {
			t.Errorf("it took %s, and not %s", took, want)
		}
		if got := len(values(l.saved("last"), "reads", "read.iops")); got != 1 {
			t.Errorf("%d values", got)
		}
		l.checkNothingLeft("db1")
	})
}

// With a precision it repeats where it is needed, and goes on when more is asked for.
func TestScriptedPrecision(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.05
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			io.Write = min(io.Write, 20_000) // the same again and again, but for the noise
			return io
		}
		suite := l.file("suite.yaml", scriptedSuite)
		run := func(args ...string) scriptedOutcome {
			return l.run(append([]string{"run", suite, "/srv", "--on", "scripted://db1"}, args...)...)
		}
		run("--precision", "0%").ends(2).says("is no share above 0% and below 100%")
		run("--budget", "soon").ends(2).says("is no length of time")
		run("--budget", "10s").ends(2).says("is shorter than one pass over 2 cells")
		run("--precision", "4%", "--dry-run").ends(0).says("4%")
		m.AtLoad("--name=writes", 3, func(e *scripted.Event) { e.After(5*time.Second, l.interrupt) })
		run("--precision", "4%").ends(130).says("headroom run --resume")
		l.run("run", "--resume", "last").ends(0)
		d := l.saved("last")
		r, w := len(values(d, "reads", "read.iops")), len(values(d, "writes", "write.iops"))
		if !d.Anytime || d.Precision != 0.04 || len(d.Undecided) > 0 || r < 8 || w < 8 {
			t.Errorf("%d and %d values, of which %+v are not precise", r, w, d.Undecided)
		}
		for _, c := range d.Cells {
			for name, v := range c.Metrics {
				if strings.HasSuffix(name, ".iops") && (v.Interval == nil || v.Hi-v.Lo > 2*0.04*v.Center*1.001) {
					t.Errorf("%s of %s is %+v", name, c.Job, v.Interval)
				}
			}
		}
		l.run("run", "--resume", "last").ends(2)
		l.run("run", "--resume", "last", "--precision", "0.5%", "--budget", "3m").ends(0)
		d = l.saved("last")
		more := len(values(d, "reads", "read.iops")) + len(values(d, "writes", "write.iops")) - r - w
		if more < 10 || more > 18 || len(d.Undecided) == 0 {
			t.Errorf("in three minutes there were %d more, and undecided are %+v", more, d.Undecided)
		}
		l.checkNothingLeft("db1")
	})
}
