package cli

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// onEach are the flags for a run on several machines, each with its name as its role.
func onEach(names ...string) []string {
	var args []string
	for _, n := range names {
		args = append(args, "--on", n+"=scripted://"+n)
	}
	return args
}

// RunOn is a run of a suite in /srv on several machines.
func (l *scriptedLab) runOn(names []string, args ...string) scriptedOutcome {
	l.Helper()
	return l.run(append(append([]string{"run", l.file("suite.yaml", scriptedSuite), "/srv"}, onEach(names...)...),
		args...)...)
}

// valuesOf are those of a metric of a job on one of several targets, or of all of them.
func valuesOf(d summary.Run, role, job, metric string) []float64 {
	var all []float64
	for _, c := range d.Cells {
		if c.Job == job && c.Levels[lab.TargetLevel] == role {
			for _, v := range c.Metrics[metric].Values {
				all = append(all, v.Value)
			}
		}
	}
	return all
}

// threeMachines are a, b and c, of which a does 1000 operations a second, b 2000 and c 3000.
func threeMachines(l *scriptedLab) []string {
	names := []string{"a", "b", "c"}
	for i, n := range names {
		l.machine(n).Fio = func(load *scripted.Load) scripted.IO {
			if load.Params["rw"] == "randread" {
				return scripted.IO{Read: float64(1000 * (i + 1))}
			}
			return scripted.IO{Write: float64(1000 * (i + 1))}
		}
	}
	return names
}

func TestScriptedSeveral(t *testing.T) {
	inScriptedLab(t, []string{"a", "b", "c"}, func(l *scriptedLab) {
		names := threeMachines(l)
		l.runOn(names).ends(0).says("reads", "all")
		d := l.saved("last")
		if d.Status != lab.Complete || len(codes(d)) != 0 {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		for i, n := range names {
			want := float64(1000 * (i + 1))
			if got := valuesOf(d, n, "reads", "read.iops"); !slices.Equal(got, []float64{want, want, want}) {
				t.Errorf("reads on %s: %v", n, got)
			}
			if got := l.loaded(n); !slices.Equal(got, []string{"layout", "reads", "reads", "reads", "writes",
				"writes", "writes"}) {
				t.Errorf("the loads on %s were %v", n, got)
			}
			l.checkNothingLeft(n)
		}
		if got := valuesOf(d, runner.AllTargets, "reads", "read.iops"); !slices.Equal(got,
			[]float64{6000, 6000, 6000}) {
			t.Errorf("reads on all: %v", got)
		}
		// The mean of all latencies is that of all operations: of each 6 one took 4 ms, two took 2, and three 1.33.
		if got := valuesOf(d, runner.AllTargets, "reads", "read.latency.mean"); len(got) != 3 || got[0] < 0.001999 ||
			got[0] > 0.002001 {
			t.Errorf("latency of reads on all: %v", got)
		}
		if got := valuesOf(d, runner.AllTargets, "reads", lab.CommonSeconds); !slices.Equal(got,
			[]float64{10, 10, 10}) {
			t.Errorf("the seconds together: %v", got)
		}
		if got := valuesOf(d, runner.AllTargets, "reads", lab.StartSkew); !slices.Equal(got, []float64{0, 0, 0}) {
			t.Errorf("they began apart by %v", got)
		}
		l.run("compare", "last:a", "last:c").ends(0).says("a", "c", "differs")
		l.run("show", "last:b", "--cells").ends(0).says("scripted on /srv of scripted://b", "2.00k")
		l.run("export", "last:c", "--format", "csv").ends(0).says(":c")
		l.run("report", "last:a", "-o", l.dir+"/arm.html").ends(0)
		l.run("export", "last:c", "--format", "run", "-o", l.dir+"/arm.headroom").ends(2).says("a whole run")
		l.run("show", "last:d").ends(2).says("a, b, c")
		l.run("rm", "last:a").ends(2).says("name the run")
		l.run("__complete", "show", "last:").ends(0).says("last:a\nlast:b\nlast:c\n")
		l.run("label", "last", "three").ends(0)
		l.run("export", "last", "--format", "csv").ends(0).says("reads")
		l.run("report", "last", "-o", l.dir+"/page.html").ends(0)
		l.run("history", "scripted").ends(0)
		l.run("rm", "last").ends(0)
		l.run("show", "last").ends(2)
	})
}

func TestScriptedSeveralOneFails(t *testing.T) {
	inScriptedLab(t, []string{"a", "b", "c"}, func(l *scriptedLab) {
		names := threeMachines(l)
		l.machine("b").AtLoad("--name=reads", 2, func(e *scripted.Event) {
			e.Fail(1, "fio: io_u error: Remote I/O error\n")
		})
		l.machine("c").AtLoad("--name=writes", 1, func(e *scripted.Event) { e.Result.Hangs = true })
		l.runOn(names).ends(1).says("2 of 18 loads failed")
		d := l.saved("last")
		if d.Status != lab.Complete || !slices.Contains(codes(d), "no-sum") ||
			!slices.Contains(codes(d), "not-ended") || !slices.Contains(codes(d), "errors") {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		for role, want := range map[string]int{"a": 3, "b": 2, "c": 3, runner.AllTargets: 2} {
			if got := len(valuesOf(d, role, "reads", "read.iops")); got != want {
				t.Errorf("%d values of reads on %s", got, role)
			}
		}
		for role, want := range map[string]int{"a": 3, "b": 3, "c": 2, runner.AllTargets: 2} {
			if got := len(valuesOf(d, role, "writes", "write.iops")); got != want {
				t.Errorf("%d values of writes on %s", got, role)
			}
		}
		for _, n := range names {
			l.checkNothingLeft(n)
		}
	})
}

// When one is lost for good, nothing is kept of the repetition, and the run ends; when it is back the rest is measured.
func TestScriptedSeveralOneLost(t *testing.T) {
	inScriptedLab(t, []string{"a", "b", "c"}, func(l *scriptedLab) {
		names := threeMachines(l)
		lost := l.machine("b")
		lost.AtLoad("--name=reads", 2, func(e *scripted.Event) { e.After(5*time.Second, lost.Disconnect) })
		l.runOn(names).ends(1).says("the connection was lost, and could not be made again",
			"4 of 24 repetitions are kept")
		d := l.saved("last")
		if a, b, all := len(valuesOf(d, "a", "reads", "read.iops")), len(valuesOf(d, "b", "reads", "read.iops")),
			len(valuesOf(d, runner.AllTargets, "reads", "read.iops")); a != 1 || b != 1 || all != 1 {
			t.Errorf("there are %d, %d and %d values", a, b, all)
		}
		l.checkNothingLeft("a")
		l.checkNothingLeft("c")
		l.run("run", "--resume", "last").ends(1).says("can't connect")
		lost.Reconnect()
		l.run("restore").ends(0).says("was cut off", "removed /srv/headroom-", " on scripted://b")
		l.run("run", "--resume", "last").ends(0)
		d = l.saved("last")
		if a, b, all := len(valuesOf(d, "a", "reads", "read.iops")), len(valuesOf(d, "b", "reads", "read.iops")),
			len(valuesOf(d, runner.AllTargets, "reads", "read.iops")); a != 3 || b != 3 || all != 3 {
			t.Errorf("then there are %d, %d and %d values", a, b, all)
		}
		if got := len(valuesOf(d, runner.AllTargets, "writes", "write.iops")); got != 3 {
			t.Errorf("%d values of writes on all", got)
		}
		for _, n := range names {
			l.checkNothingLeft(n)
		}
	})
}

// One after the other, each by itself: nothing is added up. What was saved before an interruption is not measured
// again.
func TestScriptedSeveralInSequence(t *testing.T) {
	inScriptedLab(t, []string{"a", "b", "c"}, func(l *scriptedLab) {
		names := threeMachines(l)
		l.machine("b").AtLoad("--name=reads", 2, func(e *scripted.Event) { e.After(5*time.Second, l.interrupt) })
		for _, n := range names {
			l.machine(n).AtLoad("--name=", 0, func(e *scripted.Event) {
				for _, o := range names {
					if o != n && e.Load.Params["name"] != "layout" && len(l.machine(o).Running()) > 0 {
						t.Errorf("%s and %s are loaded at the same time", n, o)
					}
				}
			})
		}
		l.runOn(names, "--at-once", "1").ends(130).says("4 of 18 repetitions are kept")
		l.run("run", "--resume", "last").ends(0)
		d := l.saved("last")
		for i, n := range names {
			want := float64(1000 * (i + 1))
			if got := valuesOf(d, n, "reads", "read.iops"); !slices.Equal(got, []float64{want, want, want}) {
				t.Errorf("reads on %s: %v", n, got)
			}
			l.checkNothingLeft(n)
		}
		if got := valuesOf(d, runner.AllTargets, "reads", "read.iops"); got != nil {
			t.Errorf("there is a sum: %v", got)
		}
		if a, b, c := len(l.loaded("a")), len(l.loaded("b")), len(l.loaded("c")); a != 2+6 || b != 2+7 || c != 2+6 {
			t.Errorf("there were %d, %d and %d loads", a, b, c)
		}
	})
}

func TestScriptedSeveralRefusals(t *testing.T) {
	inScriptedLab(t, []string{"a", "b"}, func(l *scriptedLab) {
		suite := l.file("suite.yaml", scriptedSuite)
		two := onEach("a", "b")
		run := func(args ...string) scriptedOutcome { return l.run(append([]string{"run"}, args...)...) }
		run(append(two, suite, "/srv", "--at-once", "-1")...).ends(2).says(
			"--at-once is how many targets are loaded at the same time")
		run(append(two, suite, "/srv", "--precision", "3%")...).ends(2).says(
			"a number of times that is fixed beforehand")
		run(append(two, "--dry-run")...).ends(2).says("run what?")
		run(append(two, suite, "/srv", "/srv", "/srv")...).ends(2)
		run(append(two, suite, "/srv", "/nowhere")...).ends(2).says("there is no directory /nowhere on scripted://b")
		run(suite, "/srv", "--on", "a=scripted://a", "--on", "a=scripted://b").ends(2).says(
			"two targets have the role a")
		run(suite, "/srv", "--on", "all=scripted://a", "--on", "b=scripted://b").ends(2).says(
			`the role "all" stands for all targets together`)
		run(suite, "/srv", "--on", strings.Repeat("a", 41)+"=scripted://a", "--on", "b=scripted://b").ends(2).says(
			"is longer than 40 characters")
		run(suite, "/srv", "--on", "scripted://a", "--on", "scripted://a").ends(4).says(
			"target-1 (scripted://a) and target-2 (scripted://a) are one machine, and /srv is one place")
		run(suite, "/srv", "--on", "scripted://a", "--on", "scripted://none").ends(2).says(
			"there is no scripted machine none")
		l.machine("b").Folder("/srv/b")
		// Two places on one machine are two targets, and need room for both.
		l.machine("b").Free = 3 << 29
		run(suite, "/srv", "/srv/b", "--on", "scripted://b", "--on", "scripted://b").ends(1).says(
			"and those of the others (2.00 GiB in all) does not fit")
		l.machine("b").Free = 800 << 30
		l.machine("b").Remove("/srv/b")
		out := run(append(two, suite, "/srv", "--dry-run=full")...).ends(0).says("a, scripted://a:", "b, scripted://b:",
			"--name=reads")
		if n := strings.Count(out.stdout, "--name=writes"); n != 2 {
			t.Errorf("the writes are there %d times", n)
		}
		for _, n := range []string{"a", "b"} {
			if got := l.loaded(n); len(got) > 0 {
				t.Errorf("loads were started on %s: %v", n, got)
			}
			l.checkNothingLeft(n)
		}
		l.run("list").ends(0).says("no runs")
	})
}

// The report names the machine that is not like the others, and what it has that they do not.
func TestScriptedSeveralOutlier(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	inScriptedLab(t, names, func(l *scriptedLab) {
		for _, n := range names {
			l.machine(n).Noise = 0.01
		}
		slow := l.machine("e")
		slow.Set("/sys/devices/pci0000:00/0000:00:06.0/nvme/nvme0/nvme0n1/queue/scheduler", "none mq-deadline [kyber]")
		slow.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			io.Read /= 2
			return io
		}
		l.runOn(names, "--repeat", "8").ends(0).says("e ")
		d := l.saved("last")
		if d.Outliers == nil || d.Outliers.Targets != 6 || len(d.Outliers.Found) != 1 {
			t.Fatalf("found are %+v", d.Outliers)
		}
		o := d.Outliers.Found[0]
		if o.Role != "e" || !o.Worse || !strings.HasPrefix(o.Metric, "read.") || o.Ratio < 0.45 || o.Ratio > 0.55 {
			t.Errorf("found is %+v", o)
		}
		if len(o.Differences) == 0 || o.Differences[0].Value != "kyber" {
			t.Errorf("nothing says by what it differs: %+v", o)
		}
		if o.OtherRuns != (outliers.OtherRuns{}) ||
			!strings.Contains(d.Outliers.Text, "was not like the others while they were measured") {
			t.Errorf("one run: %+v, %s", o.OtherRuns, d.Outliers.Text)
		}
		// So it is in two more runs, and in one beside two others; what was measured in another place says nothing of
		// this one.
		for range 2 {
			l.runOn(names, "--repeat", "2").ends(0)
		}
		l.runOn([]string{"b", "c", "e"}, "--repeat", "2").ends(0)
		for _, n := range names {
			l.machine(n).Folder("/srv/b")
		}
		l.run(append([]string{"run", l.file("suite.yaml", scriptedSuite), "/srv/b", "--repeat", "2"},
			onEach(names...)...)...).ends(0)
		l.runOn(names, "--repeat", "8").ends(0).says("is not like the others:", "so it was in 4 of 4 other runs")
	})
}

// Clocks that nobody can read are no reason not to measure; only nothing is added up.
func TestScriptedSeveralWithoutClock(t *testing.T) {
	inScriptedLab(t, []string{"a", "b"}, func(l *scriptedLab) {
		l.opened["b"] = func(t *scripted.Target) host.Target {
			return struct {
				host.Target
				host.Leftovers
			}{t, t}
		}
		l.runOn([]string{"a", "b"}, "--repeat", "1").ends(0).says("the clock of b can't be read")
		d := l.saved("last")
		if got := valuesOf(d, "b", "reads", "read.iops"); !slices.Equal(got, []float64{50_000}) {
			t.Errorf("reads of b: %v", got)
		}
		if got := valuesOf(d, runner.AllTargets, "reads", "read.iops"); got != nil ||
			!slices.Contains(codes(d), "clocks-unknown") || !slices.Contains(codes(d), "no-sum") {
			t.Errorf("a sum of %v, and the warnings %q", got, codes(d))
		}
		l.checkNothingLeft("a")
		l.checkNothingLeft("b")
	})
}

// Loads that began apart are added up over the seconds that they have in common, with a warning.
func TestScriptedSeveralApart(t *testing.T) {
	inScriptedLab(t, []string{"a", "b"}, func(l *scriptedLab) {
		late := l.machine("b")
		late.Fio = func(load *scripted.Load) scripted.IO {
			if load.Params["name"] == "reads" {
				time.Sleep(3 * time.Second)
			}
			return scripted.Drive(load)
		}
		l.runOn([]string{"a", "b"}).ends(0).says("started 3.00 s apart")
		d := l.saved("last")
		if got := valuesOf(d, runner.AllTargets, "reads", lab.StartSkew); !slices.Equal(got, []float64{3, 3, 3}) {
			t.Errorf("they began apart by %v", got)
		}
		if got := valuesOf(d, runner.AllTargets, "reads", lab.CommonSeconds); !slices.Equal(got, []float64{7, 7, 7}) {
			t.Errorf("together they ran for %v", got)
		}
		if got := codes(d); !slices.Contains(got, "started-apart") {
			t.Errorf("the warnings are %q", got)
		}
	})
}

// Whenever it is interrupted, nothing is left on any machine, and going on leads to the same run.
func TestScriptedSeveralInterruptedAnywhere(t *testing.T) {
	inScriptedLab(t, []string{"a", "b"}, func(l *scriptedLab) {
		l.runOn([]string{"a", "b"}, "--repeat", "1").ends(0)
		all := len(l.machine("b").Commands())
		for _, at := range []int{1, all / 3, all / 2, 2 * all / 3} {
			var came atomic.Int64
			l.machine("b").AtCommand("", 0, func(*scripted.Event) {
				if came.Add(1) == int64(at) {
					l.interrupt()
				}
			})
			o := l.runOn([]string{"a", "b"}, "--repeat", "1").ends(130)
			l.checkNothingLeft("a")
			l.checkNothingLeft("b")
			if !strings.Contains(o.stderr, "go on with") {
				continue // before it was begun
			}
			l.run("run", "--resume", "last").ends(0)
			d := l.saved("last")
			for _, role := range []string{"a", "b", runner.AllTargets} {
				if r, w := len(valuesOf(d, role, "reads", "read.iops")),
					len(valuesOf(d, role, "writes", "write.iops")); r != 1 || w != 1 {
					t.Errorf("interrupted at command %d it has %d and %d values of %s", at, r, w, role)
				}
			}
		}
	})
}

// In turn, so many are loaded at the same time.
func TestScriptedSeveralSomeAtOnce(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	inScriptedLab(t, names, func(l *scriptedLab) {
		var atOnce noted[int]
		for _, n := range names {
			l.machine(n).AtLoad("--name=reads", 1, func(e *scripted.Event) {
				e.After(5*time.Second, func() {
					running := 0
					for _, o := range names {
						running += len(l.machine(o).Running())
					}
					atOnce.add(running)
				})
			})
		}
		l.runOn(names, "--at-once", "2", "--repeat", "1").ends(0).says("and the same on 4 more, 2 targets at a time")
		if most := slices.Max(atOnce.list()); most != 2 {
			t.Errorf("%d were loaded at the same time", most)
		}
		d := l.saved("last")
		for _, n := range names {
			if got := valuesOf(d, n, "reads", "read.iops"); !slices.Equal(got, []float64{50_000}) {
				t.Errorf("reads of %s: %v", n, got)
			}
		}
	})
}
