package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// eventsSuite is a load of a minute, twice.
const eventsSuite = `version: 1
name: upset
title: a load that events come upon
place: directory
repetitions: 2
size: 1g
defaults: {ioengine: libaio, direct: 1, bs: 4k, runtime: 60s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread, iodepth: 4}}
`

// linkCommands has a machine know two scripts that cut a link and put it back, in a second each, and a file that says
// whether it is up.
func linkCommands(m *scripted.Machine) {
	const link = "/sys/test/link"
	m.Set(link, "up")
	for name, state := range map[string]string{"cut": "down", "put": "up"} {
		m.Programs[name] = func(*scripted.Load) scripted.Result {
			m.Set(link, state)
			return scripted.Result{Duration: time.Second}
		}
	}
	m.SetOutput("put", scripted.Output{})
	m.Answer = func(argv []string) (scripted.Output, bool) {
		if argv[len(argv)-1] != "put" {
			return scripted.Output{}, false
		}
		m.Set(link, "up")
		return scripted.Output{}, true
	}
}

func linkOf(m *scripted.Machine) string { return m.Get("/sys/test/link") }

// outage is a rate over a minute that is as it should be but for some seconds.
func outageOf(from, to int, share float64) []float64 {
	all := slices.Repeat([]float64{1}, 60)
	for i := from; i < to; i++ {
		all[i] = share
	}
	return all
}

// occurrencesIn is what became of the first event in each load.
func occurrencesIn(d summary.Run) []lab.Occurrence {
	var all []lab.Occurrence
	if d.Events == nil {
		return nil
	}
	for _, load := range d.Events.Loads {
		all = append(all, load.Happened[0])
	}
	return all
}

func TestScriptedEvent(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		linkCommands(m)
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			io.Seconds = outageOf(20, 33, 0)
			return io
		}
		var states noted[string]
		m.AtLoad("--name=reads", 0, func(e *scripted.Event) {
			for _, after := range []time.Duration{19, 22, 28, 32, 50} {
				e.After(after*time.Second+500*time.Millisecond, func() { states.add(linkOf(m)) })
			}
		})
		suite := l.file("suite.yaml", eventsSuite)
		l.run("run", suite, "/srv", "--on", "scripted://db1", "--event", "20s: cut", "--undo", "put", "--event-for",
			"10s", "--event-left", "50%").ends(0).
			says("event: 20s into each load, cut, undone 10s later", "nothing came through for 13 s",
				"50% should be left", "3 s after it was undone")
		want := []string{"up", "down", "down", "up", "up"}
		if got := states.list(); !slices.Equal(got, append(want, want...)) {
			t.Errorf("the link was %v", got)
		}
		d := l.saved("last")
		if d.Status != lab.Complete || !slices.Equal(codes(d), []string{"few-repetitions"}) {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		for _, h := range occurrencesIn(d) {
			if math.Abs(h.At-20) > 0.2 || math.Abs(h.Took-1) > 0.01 || math.Abs(h.Undone-30) > 0.2 || h.Failed != "" {
				t.Errorf("what happened is %+v", h)
			}
		}
		if n := len(d.Events.Loads); n != 2 {
			t.Fatalf("%d loads", n)
		}
		f := d.Events.Loads[0].Findings[0]
		if f.Unknown != "" || math.Abs(f.Stall-13) > 0.3 || f.Lowest != 0 || f.Recovery == nil ||
			math.Abs(*f.Recovery-13) > 0.5 {
			t.Errorf("found is %+v", f)
		}
		if got := values(d, "reads", lab.EventStall); len(got) != 2 || math.Abs(got[0]-13) > 0.3 {
			t.Errorf("the stalls are %v", got)
		}
		l.run("show", "last").ends(0).says("cut")
		l.run("report", "last", "-o", l.dir+"/page.html").ends(0)
		l.run("restore").ends(0).says("nothing was left behind")
		l.checkNothingLeft("db1")
	})
}

// The way back is on disk before anything is done, so that whoever comes later can go it.
func TestScriptedEventLost(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		linkCommands(m)
		suite := l.file("suite.yaml", eventsSuite)
		m.AtLoad("--name=reads", 1, func(e *scripted.Event) { e.After(25*time.Second, m.Disconnect) })
		l.run("run", suite, "/srv", "--on", "scripted://db1", "--event", "20s: cut", "--undo", "put", "--event-for",
			"10s").ends(1).
			says("the connection was lost", "headroom restore")
		if linkOf(m) != "down" {
			t.Errorf("nobody could put it back, and it is %s", linkOf(m))
		}
		l.run("restore").ends(1).says("can't connect")
		m.Reconnect()
		l.run("restore").ends(0)
		if linkOf(m) != "up" {
			t.Errorf("it is %s", linkOf(m))
		}
		l.checkNothingLeft("db1")
		l.run("run", "--resume", "last").ends(0)
		if got := occurrencesIn(l.saved("last")); len(got) != 2 {
			t.Errorf("what happened is %+v", got)
		}
		if linkOf(m) != "up" {
			t.Errorf("then it is %s", linkOf(m))
		}
		l.run("restore").ends(0).says("nothing was left behind")
		l.checkNothingLeft("db1")
	})
}

// TestScriptedEventUndoneFirst has an event that can't be undone during the load. It is undone before the scratch file
// is removed, which a link that is cut would hold up; and where that fails, too, the file is left to headroom restore.
func TestScriptedEventUndoneFirst(t *testing.T) {
	for name, on := range map[string][]string{"one": {"--on", "scripted://db1"},
		"two": {"--on", "a=scripted://db1", "--on", "b=scripted://db2"}} {
		for failures, rest := range map[int][]string{1: {"put", "put", "rm"}, 3: {"put", "put", "put"}} {
			t.Run(fmt.Sprint(name, failures), func(t *testing.T) {
				inScriptedLab(t, []string{"db1", "db2"}, func(l *scriptedLab) { l.undoesFirst(on, failures, rest) })
			})
		}
	}
}

// undoesFirst has the first attempts to undo an event fail, and checks the order in which the run ends.
func (l *scriptedLab) undoesFirst(on []string, failures int, want []string) {
	m := l.machine("db1")
	linkCommands(m)
	answer, puts := m.Answer, 0
	m.Answer = func(argv []string) (scripted.Output, bool) {
		if argv[len(argv)-1] == "put" {
			if puts++; puts <= failures {
				return scripted.Output{Exit: 1, Stderr: "put: not now\n"}, true
			}
		}
		return answer(argv)
	}
	o := l.run(append([]string{"run", l.file("suite.yaml", eventsSuite), "/srv", "--event", "20s: cut", "--undo", "put",
		"--event-on", "scripted://db1"}, on...)...).ends(1).says("event: cut was not undone")
	var order []string
	for _, command := range m.Commands() {
		switch {
		case strings.HasSuffix(command, " put"):
			order = append(order, "put")
		case strings.Contains(command, "rm ") && strings.Contains(command, ".scratch"):
			order = append(order, "rm")
		}
	}
	if !slices.Equal(order, want) {
		l.Errorf("the end is %v, want %v", order, want)
	}
	if failures == 1 {
		o.says("it was undone when the loads were over")
	} else {
		if files := l.machine("db2").Names("/srv"); len(on) > 2 && len(files) != 1 {
			l.Errorf("a place that may be behind the link was cleaned: %v", files)
		}
		l.run("restore").ends(0)
	}
	if linkOf(m) != "up" {
		l.Errorf("the link is %s", linkOf(m))
	}
	l.checkNothingLeft("db1")
}

func TestScriptedEventInterrupt(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		linkCommands(m)
		suite := l.file("suite.yaml", eventsSuite)
		m.AtLoad("cut", 2, func(e *scripted.Event) { e.After(3*time.Second, l.interrupt) })
		l.run("run", suite, "/srv", "--on", "scripted://db1", "--event", "20s: cut", "--undo",
			"put").ends(130).says("1 of 2 repetitions are kept")
		if linkOf(m) != "up" {
			t.Errorf("it is %s", linkOf(m))
		}
		l.checkNothingLeft("db1")
		l.run("run", "--resume", "last", "--event", "20s: cut").ends(2).says(
			"--event can't be changed when a run is resumed")
		l.run("run", "--resume", "last").ends(0)
		if got := occurrencesIn(l.saved("last")); len(got) != 2 {
			t.Errorf("what happened is %+v", got)
		}
		l.checkNothingLeft("db1")
	})
}

// A Ctrl-C while the event itself is being done ends that, and undoes it.
func TestScriptedEventInterruptedItself(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		linkCommands(m)
		m.AtLoad("cut", 1, func(e *scripted.Event) {
			e.Result.Duration = time.Hour
			e.After(3*time.Second, l.interrupt)
		})
		l.run("run", l.file("suite.yaml", eventsSuite), "/srv", "--on", "scripted://db1", "--event", "20s: cut",
			"--undo", "put").ends(130)
		if linkOf(m) != "up" {
			t.Errorf("it is %s", linkOf(m))
		}
		l.run("restore").ends(0).says("nothing was left behind")
		l.checkNothingLeft("db1")
	})
}

// What goes wrong with an event is reported next to it: the numbers of the load stand, those of the event do not.
func TestScriptedEventFails(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		linkCommands(m)
		m.AtLoad("cut", 1, func(e *scripted.Event) { e.Fail(2, "cut: no such link\n") })
		m.AtLoad("cut", 2, func(e *scripted.Event) { e.Result.Hangs = true })
		l.run("run", l.file("suite.yaml", eventsSuite), "/srv", "--on", "scripted://db1", "--event", "20s: cut",
			"--undo", "put").ends(1).
			says("! event-failed", "2 of 2 loads failed")
		d := l.saved("last")
		if got := values(d, "reads", lab.EventStall); got != nil {
			t.Errorf("the stalls are %v", got)
		}
		if !slices.Contains(codes(d), "event-failed") {
			t.Errorf("the warnings are %q", codes(d))
		}
		if got := values(d, "reads", "read.iops"); !slices.Equal(got, []float64{50_000, 50_000}) {
			t.Errorf("the numbers of the loads are %v", got)
		}
		for i, want := range []string{"cut: no such link", "it had not ended 1m 00s after the load, and was"} {
			if got := occurrencesIn(d)[i].Failed; got != want {
				t.Errorf("of load %d it says %q", i+1, got)
			}
		}
		if linkOf(m) != "up" {
			t.Errorf("it is %s", linkOf(m))
		}
		l.checkNothingLeft("db1")
	})
}

// An undoing that fails ends the run, and is tried again by restore until it has been done.
func TestScriptedEventUndoFails(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		linkCommands(m)
		refuse := true
		undo := m.Answer
		m.Answer = func(argv []string) (scripted.Output, bool) {
			if refuse && argv[len(argv)-1] == "put" {
				return scripted.Output{Stderr: "put: the link does not come up\n", Exit: 1}, true
			}
			return undo(argv)
		}
		l.run("run", l.file("suite.yaml", eventsSuite), "/srv", "--on", "scripted://db1", "--event", "20s: cut",
			"--undo", "put").ends(1).
			says("the link does not come up", "headroom restore")
		if linkOf(m) != "down" {
			t.Errorf("it is %s", linkOf(m))
		}
		if got := len(l.loaded("db1")); got > 3 {
			t.Errorf("it went on with what it could not undo: %v", l.loaded("db1"))
		}
		l.run("restore").ends(1).says("the link does not come up")
		refuse = false
		l.run("restore").ends(0)
		if linkOf(m) != "up" {
			t.Errorf("then it is %s", linkOf(m))
		}
		l.run("restore").ends(0).says("nothing was left behind")
	})
}

// A factor is set in the middle of a load and put back at a moment of it, or at its end.
func TestScriptedEventFactor(t *testing.T) {
	inScriptedLab(t, []string{"db1", "other"}, func(l *scriptedLab) {
		const file = "/proc/sys/vm/dirty_ratio"
		m, other := l.machine("db1"), l.machine("other")
		var states noted[string]
		m.AtLoad("--name=reads", 0, func(e *scripted.Event) {
			for _, after := range []time.Duration{14, 16, 36, 39} {
				e.After(after*time.Second, func() { states.add(m.Get(file) + "/" + other.Get(file)) })
			}
		})
		suite := l.file("suite.yaml", eventsSuite)
		l.run("run", suite, "/srv", "--on", "scripted://db1", "--repeat", "1", "--event",
			"15s: sysctl:vm.dirty_ratio=5", "--event", "38s: undo", "--event", "17s: sysctl:vm.dirty_ratio=7",
			"--event-on", "scripted://db1", "--event-on", "scripted://other", "--event-left", "90%").ends(0).
			says("event: 15s into each load, sysctl:vm.dirty_ratio=5",
				"event: 17s into each load, sysctl:vm.dirty_ratio=7 on scripted://other")
		// One is undone at its moment, the other after the 20 s that are usual.
		if want := []string{"20/20", "5/20", "5/7", "20/20"}; !slices.Equal(states.list(), want) {
			t.Errorf("the levels were %v, want %v", states.list(), want)
		}
		if a, b := m.Get(file), other.Get(file); a != "20" || b != "20" {
			t.Errorf("they are %s and %s", a, b)
		}
		l.checkNothingLeft("db1")
		l.checkNothingLeft("other")
	})
}

func TestScriptedEventRefusals(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		suite := l.file("suite.yaml", eventsSuite)
		short := l.file("short.yaml", scriptedSuite)
		command := l.file("command.yaml", strings.Replace(eventsSuite, "fio: {rw: randread, iodepth: 4}",
			"exec: [sleep, '60'], metrics: {rate: {match: '([0-9])', unit: 1/s, better: higher}}", 1))
		sized := l.file("sized.yaml", strings.Replace(eventsSuite, "runtime: 60s, time_based: 1", "size: 512m", 1))
		m := l.machine("db1")
		m.SetOutput("systemctl is-active stopped", scripted.Output{Stdout: "inactive\n", Exit: 3})
		m.SetOutput("systemctl is-active chrooted",
			scripted.Output{Stderr: "Running in chroot, ignoring command 'is-active'\n"})
		cut := []string{"--event", "20s: cut", "--undo", "put"}
		for i, c := range []struct {
			code int
			says string
			args []string
		}{
			{2, "there is no event", []string{suite, "--undo", "put"}},
			{2, "is no length of time", append(cut, suite, "--event-for", "long")},
			{2, "--event-left:", append(cut, suite, "--event-left", "half")},
			{2, "does not say when and what", []string{suite, "--event", "cut"}},
			{4, `no command is given that undoes "cut"`, []string{suite, "--event", "20s: cut"}},
			{2, `--undo "put" belongs to no event`, []string{suite, "--event", "20s: sysctl:vm.swappiness=0", "--undo",
				"put"}},
			{2, "--undo is empty", []string{suite, "--event", "20s: cut", "--undo", " "}},
			{2, "undoes nothing", []string{suite, "--event", "20s: undo"}},
			{2, "undoes nothing", append(cut, suite, "--event", "10s: undo")},
			{2, "--event-on is there 3 times for 1 event", append(cut, suite, "--event-on", "scripted://db1",
				"--event-on", "scripted://db1", "--event-on", "scripted://db1")},
			{2, "--event-on nowhere is no target", append(cut, suite, "--event-on", "nowhere")},
			{2, "--event takes words, and no shell reads it",
				[]string{suite, "--event", "20s: cut | cat", "--undo", "put"}},
			{2, "an event sets one level", []string{suite, "--event", "20s: sysctl:vm.swappiness=0,10"}},
			{2, "can't be set while a load runs", []string{suite, "--event", "20s: cmdline:mitigations=off"}},
			{2, "restart takes SERVICE", []string{suite, "--event", "20s: restart"}},
			{4, "not active", []string{suite, "--event", "20s: restart stopped"}},
			{4, "not active", []string{suite, "--event", "20s: restart chrooted"}},
			{2, "an event needs a load with a rate over time, and reads has none", append(cut, command)},
			{2, "it is not known how long reads runs", append(cut, sized)},
			{2, "reads counts for 10s, and an event needs 5 s before it", append(cut, short)},
		} {
			o := l.run(append([]string{"run", "--on", "scripted://db1"}, append(c.args, "/srv")...)...)
			if o.code != c.code || !strings.Contains(o.stderr, c.says) {
				t.Errorf("%d: %v: exit code %d, and not %d with %q: %s", i, c.args, o.code, c.code, c.says, o.stderr)
			}
		}
		l.run("run", suite, "/srv", "--on", "scripted://db1", "--event", "20s: cut", "--no-undo",
			"--dry-run").ends(0).says("event: 20s into each load, cut")
		if got := l.loaded("db1"); len(got) > 0 {
			t.Errorf("loads were started: %v", got)
		}
		l.checkNothingLeft("db1")
	})
}

// An event happens during the loads of all targets, and all of them tell what it did to theirs.
func TestScriptedSeveralEvent(t *testing.T) {
	inScriptedLab(t, []string{"a", "b", "server"}, func(l *scriptedLab) {
		server := l.machine("server")
		linkCommands(server)
		for _, n := range []string{"a", "b"} {
			l.machine(n).Fio = func(load *scripted.Load) scripted.IO {
				io := scripted.Drive(load)
				if io.Seconds = outageOf(20, 31, 0.5); n == "b" {
					io.Seconds = outageOf(20, 31, 0)
				}
				return io
			}
		}
		suite := l.file("suite.yaml", eventsSuite)
		args := append([]string{"run", suite, "/srv", "--event", "20s: cut", "--undo", "put", "--event-for", "10s"},
			onEach("a", "b")...)
		l.run(args...).ends(2).says("--event-on is required", "--event-on a", "--event-on b")
		l.run(append(args, "--event-on", "nowhere")...).ends(2)
		server.AtLoad("cut", 2, func(e *scripted.Event) { e.After(3*time.Second, l.interrupt) })
		l.run(append(args, "--event-on", "scripted://server")...).ends(130).says(
			"event: 20s into each load, cut on scripted://server", "3 of 6 repetitions are kept")
		if linkOf(server) != "up" {
			t.Errorf("it is %s", linkOf(server))
		}
		l.run("run", "--resume", "last").ends(0)
		d := l.saved("last")
		if n := len(d.Events.Loads); n != 4 {
			t.Errorf("%d loads tell of it", n)
		}
		for role, want := range map[string]float64{"a": 0.5, "b": 1} {
			if got := valuesOf(d, role, "reads", lab.EventDip); len(got) != 2 || math.Abs(got[0]-want) > 0.01 ||
				math.Abs(got[1]-want) > 0.01 {
				t.Errorf("the dips of %s are %v", role, got)
			}
		}
		var cuts int
		for _, load := range server.Loads() {
			if load.Program == "cut" {
				cuts++
			}
		}
		if cuts != 3 { // one of them was interrupted
			t.Errorf("it was cut %d times", cuts)
		}
		for _, n := range []string{"a", "b", "server"} {
			l.checkNothingLeft(n)
		}
	})
}
