package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// benches is a suite of one command, three times, with what is to be done before and after it.
const benches = `version: 1
name: benches
title: a command
place: directory
repetitions: 3
parameters: {count: 3}
jobs:
  - name: bench
    exec: [bench, --count, '{count}', --cpus, '{cpus}', --in, '{dir}', --job, '{job}']
    prepare: [[touch, prepared], [make-data, '{dir}']]
    cleanup: [clean, '{dir}']
    environment: {MODE: direct}
    timeout: 20s
    needs: {bench: bench-tools}
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`

// benchmarks has a machine have the programs of that suite; each ends as a function says, by what it is the how manieth
// time.
func benchmarks(m *scripted.Machine, does map[string]func(n int) scripted.Result) {
	for _, name := range []string{"bench", "make-data", "clean"} {
		n := 0
		m.Programs[name] = func(load *scripted.Load) scripted.Result {
			n++
			if does[name] != nil {
				return does[name](n)
			}
			if name == "bench" {
				if !m.Exists(load.Folder+"/prepared") || load.Env["MODE"] != "direct" {
					return scripted.Result{Exit: 3, Stderr: "nothing is prepared\n"}
				}
				return scripted.Result{Duration: 5 * time.Second, Stdout: "rate 100\n"}
			}
			return scripted.Result{Duration: time.Second}
		}
	}
}

// programs are those that were started on a machine, in order.
func programs(m *scripted.Machine) []string {
	var names []string
	for _, load := range m.Loads() {
		names = append(names, load.Program)
	}
	return names
}

func (l *scriptedLab) benches() []string {
	return []string{"run", l.file("suite.yaml", benches), "/srv", "--on", "scripted://db1"}
}

// Each repetition has a new folder, in which it is prepared, runs, and is cleaned up after; placeholders are filled in.
func TestScriptedCommandIsPreparedAndCleanedUp(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		benchmarks(m, nil)
		l.run(l.benches()...).ends(0)
		if got := values(l.saved("last"), "bench", "rate"); !slices.Equal(got, []float64{100, 100, 100}) {
			t.Errorf("rates: %v", got)
		}
		each := []string{"touch", "make-data", "bench", "clean"}
		if got := programs(m); !slices.Equal(got, slices.Repeat(each, 3)) {
			t.Errorf("it started %v", got)
		}
		bench := m.Loads()[2]
		if p := bench.Params; p["count"] != "3" || p["cpus"] != "4" || p["in"] != bench.Folder ||
			!strings.HasPrefix(p["in"], "/srv/headroom-") || p["job"] != "bench" {
			t.Errorf("parameters %v in %s", bench.Params, bench.Folder)
		}
		l.checkNothingLeft("db1")
	})
}

// A preparation that fails ends the run, since without it something else would be measured, and the clean-up is made
// all the same.
func TestScriptedPreparationFails(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		benchmarks(m, map[string]func(int) scripted.Result{"make-data": func(n int) scripted.Result {
			if n == 2 {
				return scripted.Result{Exit: 1, Stderr: "no room\n"}
			}
			return scripted.Result{}
		}})
		l.run(l.benches()...).ends(1).says("preparing bench failed", "no room", "1 of 3 repetitions are kept")
		if d := l.saved("last"); d.Status != lab.Interrupted || len(values(d, "bench", "rate")) != 1 {
			t.Errorf("the run is %s, with %v", d.Status, values(d, "bench", "rate"))
		}
		if got := programs(m); !slices.Equal(got, []string{"touch", "make-data", "bench", "clean", "touch",
			"make-data", "clean"}) {
			t.Errorf("it started %v", got)
		}
		l.checkNothingLeft("db1")
		l.run("run", "--resume", "last").ends(0)
		if d := l.saved("last"); d.Status != lab.Complete || len(values(d, "bench", "rate")) != 3 {
			t.Errorf("the run is %s, with %v", d.Status, values(d, "bench", "rate"))
		}
		l.checkNothingLeft("db1")
	})
}

// A command that fails, prints no number, hangs or is killed costs its own repetition; a clean-up that fails costs
// none.
func TestScriptedCommandFails(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		does    scripted.Result
		kept    int
		warns   []string
		says    string
	}{
		"exit code": {"bench", scripted.Result{Duration: time.Second, Exit: 7, Stderr: "out of memory\n"}, 2,
			[]string{"command-failed", "few-repetitions"}, "out of memory"},
		"no number": {"bench", scripted.Result{Duration: time.Second, Stdout: "done\n"}, 2,
			[]string{"command-failed", "few-repetitions"}, "rate"},
		"signal": {"bench", scripted.Result{Duration: time.Second, Signal: "segmentation fault"}, 2,
			[]string{"command-failed", "few-repetitions"}, "segmentation fault"},
		"timeout": {"bench", scripted.Result{Hangs: true}, 2, []string{"command-failed", "few-repetitions"},
			"was ended after its timeout of 20s"},
		"clean-up": {"clean", scripted.Result{Exit: 1, Stderr: "busy\n"}, 3, []string{"cleanup-failed"}, "busy"},
		"clean-up hangs": {"clean", scripted.Result{Hangs: true}, 3, []string{"cleanup-failed"},
			"it was ended after its timeout"},
		"prepare is slow": {"make-data", scripted.Result{Duration: 15 * time.Second}, 3, nil, "No warnings"},
	} {
		t.Run(name, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				m := l.machine("db1")
				benchmarks(m, map[string]func(int) scripted.Result{c.program: func(n int) scripted.Result {
					switch {
					case n == 2:
						return c.does
					case c.program == "bench":
						return scripted.Result{Duration: 5 * time.Second, Stdout: "rate 100\n"}
					}
					return scripted.Result{Duration: time.Second}
				}})
				code := 0
				if c.kept < 3 {
					code = 1
				}
				l.run(l.benches()...).ends(code)
				printed := l.run("show", "last", "--warnings").ends(0).stdout
				if !strings.Contains(strings.Join(strings.Fields(printed), " "), c.says) {
					t.Errorf("it does not print %q:\n%s", c.says, printed)
				}
				d := l.saved("last")
				want := slices.Clone(c.warns)
				if slices.Sort(want); d.Status != lab.Complete || len(values(d, "bench", "rate")) != c.kept ||
					!slices.Equal(codes(d), want) {
					t.Errorf("the run is %s, with %v, warnings %q", d.Status, values(d, "bench", "rate"), codes(d))
				}
				if got := programs(m); len(got) != 12 {
					t.Errorf("it started %v", got)
				}
				l.checkNothingLeft("db1")
			})
		})
	}
}

// What a command needs and the machine lacks is reported before anything is started, with the package that has it.
func TestScriptedCommandThatIsNotInstalled(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		benchmarks(m, nil)
		delete(m.Programs, "bench")
		l.run(l.benches()...).ends(1).says("bench needs bench, which is not installed", "apt-get install bench-tools")
		benchmarks(m, nil)
		delete(m.Programs, "clean")
		l.run(l.benches()...).ends(1).says("bench needs clean, which is not installed")
		if got := programs(m); len(got) > 0 {
			t.Errorf("it started %v", got)
		}
		l.run("run", l.file("tree.yaml", "version: 1\njobs:\n  - {name: built, exec: ['{tree}/bench']}\n"), "/srv",
			"--on", "scripted://db1").ends(2).says("{tree}")
		l.checkNothingLeft("db1")
	})
}

// A command that refuses to be root runs as somebody else, who owns its folder.
func TestScriptedCommandOfAnotherUser(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		benchmarks(m, nil)
		as := func(user string) []string {
			return []string{"run",
				l.file("user.yaml", strings.Replace(benches, "    timeout", "    user: "+user+"\n    timeout", 1)),
				"/srv", "--on", "scripted://db1"}
		}
		l.run(as("postgres")...).ends(1).says("there is no user postgres to run it as")
		l.run(as("nobody")...).ends(0)
		for _, load := range m.Loads() {
			if !strings.Contains(load.Line(), "setpriv --reuid=65534 --regid=65534 --clear-groups -- "+load.Program) {
				t.Errorf("it is not run as nobody: %s", load.Line())
			}
		}
		if !slices.ContainsFunc(m.Commands(), func(line string) bool {
			return strings.HasPrefix(line, "chown -h -- nobody /srv/headroom-")
		}) {
			t.Error("nobody does not own the folder")
		}
		l.checkNothingLeft("db1")
	})
}

// A folder in which something is mounted is not removed: the run says so, and restore removes it when it is not mounted
// any more.
func TestScriptedCommandLeavesAMount(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		mounted := m.Get("/proc/self/mountinfo")
		benchmarks(m, nil)
		m.AtLoad("make-data", 3, func(e *scripted.Event) {
			m.Set("/proc/self/mountinfo", mounted+"\n40 27 0:40 / "+e.Load.Folder+"/mnt rw - tmpfs tmpfs rw")
		})
		l.run(l.benches()...).ends(1).says("something is mounted on /srv/headroom-",
			"unmount it, then: headroom restore")
		if len(m.Names("/srv")) != 1 {
			t.Errorf("in /srv there is %v", m.Names("/srv"))
		}
		l.run("restore").ends(1).says("something is mounted on")
		m.Set("/proc/self/mountinfo", mounted)
		l.run("restore").ends(0).says("removed /srv/headroom-")
		l.checkNothingLeft("db1")
	})
}

// Ctrl-C ends what a command has started, and removes its folder.
func TestScriptedCommandIsInterrupted(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		benchmarks(m, nil)
		m.AtLoad("bench --count", 2, func(e *scripted.Event) {
			e.Result.Hangs = true
			e.After(5*time.Second, l.interrupt)
		})
		l.run(l.benches()...).ends(130).says("1 of 3 repetitions are kept")
		l.checkNothingLeft("db1")
		l.run("run", "--resume", "last").ends(0)
		if d := l.saved("last"); d.Status != lab.Complete || len(values(d, "bench", "rate")) != 3 {
			t.Errorf("the run is %s, with %v", d.Status, values(d, "bench", "rate"))
		}
		l.checkNothingLeft("db1")
	})
}

// A run that was cut off by a death leaves the folder of its command, which restore removes with all that still runs in
// it.
func TestScriptedCommandDies(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		d := &crashes{scriptedLab: l, machine: l.machine("db1")}
		benchmarks(d.machine, nil)
		d.machine.AtLoad("bench --count", 2, func(e *scripted.Event) {
			e.After(2*time.Second, func() { d.record("a load") })
		})
		l.run(l.benches()...).ends(0)
		left := d.list()[0]
		left.restore()
		d.afterCrash(left, "restore").ends(0).says("ended its load", "removed /srv/headroom-",
			"continue with: headroom run --resume")
		l.checkNothingLeft("db1")
		d.afterCrash(left, "run", "--resume", "last").ends(0)
		l.checkNothingLeft("db1")
	})
}

// An imported run is resumed only with --trust. The commands that it would execute are shown first.
func TestScriptedImportedRunIsTrusted(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		benchmarks(m, nil)
		m.AtLoad("bench --count", 3, func(e *scripted.Event) { e.After(2*time.Second, l.interrupt) })
		l.run("ablate", l.file("suite.yaml", benches), "/srv", "--on", "scripted://db1", "--setting",
			"sysctl:vm.swappiness=1", "--setting", "env:MODE=direct", "--blocks", "1", "--seed", "1").ends(130)
		file, other := filepath.Join(l.dir, "run.headroom"), filepath.Join(l.dir, "other")
		l.run("export", "last", "--format", "run", "--serials", "-o", file).ends(0)
		there := func(args ...string) scriptedOutcome { return l.run(append(args, "--store", other)...) }
		there("import", file).ends(0)
		before := len(m.Loads())
		there("ablate", "--resume", "last").ends(4).says("was imported; resuming it executes what came "+
			"with it:", "prepare: touch prepared",
			"command: bench --count 3", "clean up: clean", "setting: sysctl:vm.swappiness 1", "levels: env:MODE=direct",
			"on: scripted://db1 /srv", "add --trust")
		if len(m.Loads()) != before {
			t.Error("loads were started")
		}
		there("ablate", "--trust", "quick", "/srv").ends(2).says("--trust means nothing without --resume")
		there("ablate", "--resume", "last", "--trust").ends(0)
		if len(m.Loads()) == before {
			t.Error("no load was started")
		}
		l.asFound("db1")
	})
}

// What CrystalDiskMark printed elsewhere stands beside a run of its suite, load by load; that another tool made it is
// told.
func TestScriptedCompareWithCrystalDiskMark(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.run("run", "cdm", "/srv", "--on", "scripted://db1", "--repeat", "3", "--label", "mine").ends(0)
		file := filepath.Join("..", "ingest", "testdata", "crystaldiskmark", "8.0.4.txt")
		l.run("import", file, "--label", "theirs").ends(0)
		o := l.run("compare", "mine", "theirs", "--json")
		d := decoded[compare.Document](o)
		paired := map[string]bool{}
		for _, c := range d.Cells {
			paired[c.Job] = true
			if c.NewJob != "" || c.Verdict != compare.Incomparable ||
				!strings.Contains(c.Why, "engine fio -> diskspd") {
				t.Errorf("%s with %s: %s, %s", c.Job, c.NewJob, c.Verdict, c.Why)
			}
		}
		for _, job := range []string{"SEQ1M-Q8T1", "SEQ128K-Q32T1", "RND4K-Q32T16", "RND4K-Q1T1"} {
			if !paired[job+"-read"] || !paired[job+"-write"] {
				t.Errorf("%s is not held against anything: %v", job, paired)
			}
		}
	})
}

// What the machine was like that imported results are of is said by a snapshot of it: doctor and ceilings know it then.
func TestScriptedImportWithFacts(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		results := filepath.Join("..", "ingest", "testdata", "crystaldiskmark", "8.0.4.txt")
		snapshot := l.file("db1.json", l.run("facts", "--json", "--on", "scripted://db1").ends(0).stdout)
		l.run("import", results, "--label", "bare").ends(0)
		l.run("import", results, "--facts", snapshot, "--label", "known").ends(0)
		known := l.bundle("known").Run.Targets[0].Facts
		if bare := l.bundle("bare").Run.Targets[0].Facts; len(known) < len(bare)+20 ||
			!slices.ContainsFunc(known, func(f lab.Fact) bool {
				return f.Key == "kernel.release" && f.Value == "6.12.0-scripted"
			}) {
			t.Errorf("%d facts, without a snapshot %d", len(known), len(bare))
		}
		l.run("doctor", "known").ends(0).says("(known): nothing found", "clear,")
		l.run("show", "known").ends(0)
		l.run("import", results, "--facts", "scripted://db1").ends(2).says("is a machine as it is now")
		l.run("import", results, "--facts", l.file("nothing.json", "{}")).ends(2)
		l.run("import", results, "--facts", "known", "--label", "by a run").ends(0)
		exported := filepath.Join(l.dir, "known.headroom")
		l.run("export", "known", "--format", "run", "-o", exported).ends(0)
		l.run("import", exported, "--facts", snapshot).ends(2).says("is a run of headroom's own")
	})
}
