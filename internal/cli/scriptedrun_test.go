package cli

import (
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// scriptedSuite is two loads of ten seconds, three times each.
const scriptedSuite = `version: 1
name: scripted
title: loads for tests on scripted machines
place: directory
repetitions: 3
order: sequential
size: 1g
defaults: {ioengine: libaio, direct: 1, bs: 4k, runtime: 10s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread, iodepth: 4}}
  - {name: writes, fio: {rw: randwrite, iodepth: 16}}
`

// values are those of a metric of a job's cell, one for each repetition that has it.
func values(d summary.Run, job, metric string) []float64 {
	var all []float64
	for _, c := range d.Cells {
		if c.Job == job {
			for _, v := range c.Metrics[metric].Values {
				all = append(all, v.Value)
			}
		}
	}
	return all
}

// codes are those of all warnings of a run and its cells, each once.
func codes(d summary.Run) []string {
	var all []string
	for _, w := range d.Warnings {
		all = append(all, w.Code)
	}
	for _, c := range d.Cells {
		for _, w := range c.Warnings {
			all = append(all, w.Code)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestScriptedRun(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").Fio = func(load *scripted.Load) scripted.IO {
			if load.Params["rw"] == "randread" {
				return scripted.IO{Read: 1000 + float64(load.Number)} // the first load lays out the file
			}
			return scripted.IO{Write: 5000, Latency: 3 * time.Millisecond}
		}
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1").ends(0).says(
			"Reads reach 1.00k IOPS", "No warnings.")
		d := l.saved("last")
		if d.Status != lab.Complete || len(codes(d)) != 0 {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		if got := values(d, "reads", "read.iops"); !slices.Equal(got, []float64{1002, 1003, 1004}) {
			t.Errorf("reads: %v", got)
		}
		if got := values(d, "writes", "write.latency.mean"); !slices.Equal(got, []float64{0.003, 0.003, 0.003}) {
			t.Errorf("latency of writes: %v", got)
		}
		if got := l.loaded("db1"); !slices.Equal(got, []string{"layout", "reads", "reads", "reads", "writes",
			"writes", "writes"}) {
			t.Errorf("the loads were %v", got)
		}
		l.checkNothingLeft("db1")
	})
}

func TestScriptedLoadFails(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").AtLoad("--name=reads", 2, func(e *scripted.Event) {
			e.Fail(1, "fio: io_u error: Remote I/O error\n")
		})
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1").ends(1).says(
			"1 of 6 loads failed", "Remote I/O error")
		d := l.saved("last")
		if d.Status != lab.Complete || !slices.Equal(codes(d), []string{"errors", "few-repetitions", "no-result"}) {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		if n, of := len(values(d, "reads", "read.iops")), d.Cells[0].N; n != 2 || of != 3 {
			t.Errorf("%d values of %d repetitions", n, of)
		}
		if n := len(values(d, "writes", "write.iops")); n != 3 {
			t.Errorf("what came after it has %d values", n)
		}
		l.checkNothingLeft("db1")
	})
}

func TestScriptedLoadHangs(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").AtLoad("--name=reads", 1, func(e *scripted.Event) { e.Result.Hangs = true })
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1").ends(1).says(
			"1 of 6 loads failed", "had not ended after 1m 10s, and was")
		d := l.saved("last")
		if !slices.Equal(codes(d), []string{"errors", "few-repetitions", "not-ended"}) {
			t.Errorf("the warnings are %q", codes(d))
		}
		if r, w := len(values(d, "reads", "read.iops")), len(values(d, "writes", "write.iops")); r != 2 || w != 3 {
			t.Errorf("%d and %d values", r, w)
		}
		l.checkNothingLeft("db1")
	})
}

func TestScriptedBudget(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").Noise = 0.05
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1", "--budget", "4m",
			"--repeat", "1").ends(0)
		d := l.saved("last")
		reads, writes := len(values(d, "reads", "read.iops")), len(values(d, "writes", "write.iops"))
		// 24 loads of 10 s are 4 minutes; what comes around each takes no time here.
		if d.Status != lab.Complete || reads+writes > 24 || reads+writes < 20 || min(reads, writes) < 2 {
			t.Errorf("the run is %s, with %d and %d values", d.Status, reads, writes)
		}
		l.checkNothingLeft("db1")
	})
}

// A run that looks for a precision goes on with the same plan, and with what is left of its budget.
func TestScriptedBudgetGoesOn(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.05
		m.AtLoad("--name=writes", 2, func(e *scripted.Event) { e.After(5*time.Second, l.interrupt) })
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1", "--precision", "0.0001%",
			"--budget", "2m").ends(130)
		l.run("run", "--resume", "last").ends(0).says("The budget of 2m 00s left undecided")
		b := l.bundle("last")
		if b.Run.Status != lab.Complete || b.Run.Budget != 120 || !b.Run.Anytime {
			t.Errorf("%+v", b.Run)
		}
		numbers, spent, last := map[string]int{}, 0.0, lab.Repetition{}
		for _, rep := range l.repetitions("last") {
			numbers[rep.Cell]++
			if rep.Number != numbers[rep.Cell] || rep.Block < last.Block || rep.Block > last.Block+1 {
				t.Errorf("%+v after %+v", rep, last)
			}
			spent += rep.Took
			last = rep
		}
		// Twelve loads of 10 s; the one that was interrupted is not of the budget.
		if spent < 110 || spent > 120 || last.Block < 5 {
			t.Errorf("%d passes took %v s", last.Block, spent)
		}
		l.checkNothingLeft("db1")
	})
}

func TestScriptedTargetLost(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AtLoad("--name=reads", 2, func(e *scripted.Event) { e.After(5*time.Second, m.Disconnect) })
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1").ends(1).says(
			"the connection was lost, and could not be made again", "1 of 6 repetitions are kept")
		if names := m.Names("/srv"); len(names) != 1 {
			t.Errorf("nobody could remove the scratch file, but there is %v", names)
		}
		// While it can't be reached nothing can be done about it.
		l.run("run", "--resume", "last").ends(1).says("can't connect")
		m.Reconnect()
		l.run("run", "--resume", "last").ends(0)
		if d := l.saved("last"); d.Status != lab.Complete || len(values(d, "reads", "read.iops")) != 3 ||
			len(values(d, "writes", "write.iops")) != 3 {
			t.Errorf("the run is %s, with %d and %d values", d.Status, len(values(d, "reads", "read.iops")),
				len(values(d, "writes", "write.iops")))
		}
		l.checkNothingLeft("db1")
	})
}

// A connection that comes back in time costs nothing.
func TestScriptedTargetLostForAMinute(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AtLoad("--name=reads", 2, func(e *scripted.Event) {
			e.After(5*time.Second, m.Disconnect)
			e.After(65*time.Second, m.Reconnect)
		})
		l.run("run", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "scripted://db1").ends(0)
		if d := l.saved("last"); d.Status != lab.Complete || len(values(d, "reads", "read.iops")) != 3 {
			t.Errorf("the run is %s, with %d values", d.Status, len(values(d, "reads", "read.iops")))
		}
		l.checkNothingLeft("db1")
	})
}
