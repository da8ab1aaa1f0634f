package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/profile"
	"headroom/internal/store"
	"headroom/internal/target/scripted"
)

// profiles are the profiled loads of the last run.
func (l *scriptedLab) profiles() []profile.Load {
	l.Helper()
	b, err := store.Open(filepath.Join(l.dir, "store")).Find("last")
	if err != nil {
		l.Fatal(err)
	}
	var all []profile.Load
	for p, err := range b.Profiles() {
		if err != nil {
			l.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// requests are what recorders on a machine were asked.
func (l *scriptedLab) requests(name string) []profile.Request {
	l.Helper()
	var all []profile.Request
	for _, load := range l.machine(name).Loads() {
		if load.Program != "headroom" {
			continue
		}
		var r profile.Request
		if err := json.Unmarshal(load.Stdin, &r); err != nil {
			l.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// A load is profiled beside the first repetitions of its cell, is none of them, and ends when its recorder is done.
func TestScriptedProfiledLoads(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		suite := l.file("one.yaml", oneLoad)
		args := []string{"run", suite, "/srv", "--on", "scripted://db1", "--set", "runtime=20s",
			"--set", "ramp_time=2s",
			"--repeat", "4", "--profile=2", "--profile-hz", "199"}
		l.run(append(args, "--dry-run=full")...).ends(0).says("profiles 4 loads besides",
			"profiled beside its first 2 repetitions: time (9s) and calls (5.6s)", "--runtime=60s")
		l.run(args...).ends(0).says("profiling ", ", time, 1 of 2", ", calls, 2 of 2")
		if n := l.saved("last").Cells[0].N; n != 4 {
			t.Errorf("%d repetitions", n)
		}
		var parts []profile.Part
		for _, p := range l.profiles() {
			parts = append(parts, p.Part)
			if p.Failed != "" || p.Boot == "" || p.Seconds < 4 || p.Seconds > 11 || len(p.Values) == 0 {
				t.Errorf("profiled was %+v", p)
			}
		}
		if want := []profile.Part{profile.Time, profile.Calls, profile.Time, profile.Calls}; !slices.Equal(parts,
			want) {
			t.Errorf("profiled were %v", parts)
		}
		asked := l.requests("db1")
		if len(asked) != 4 {
			t.Fatalf("asked were %+v", asked)
		}
		if r := asked[0]; r.Hz != 199 || r.Delay != 3*time.Second || r.Delay+r.Sample+r.Follow > 10*time.Second ||
			r.Trace != 0 || !slices.Equal(r.Devices, []string{"259:0"}) {
			t.Errorf("asked was %+v", r)
		}
		if r := asked[1]; r.Trace == 0 || r.Sample != 0 || !strings.HasSuffix(r.Folder, ".") {
			t.Errorf("asked was %+v", r)
		}
		l.checkNothingLeft("db1")
	})
}

// Whatever becomes of a recorder, the run goes on, and what it had made is gone.
func TestScriptedRecorderFails(t *testing.T) {
	for name, c := range map[string]struct {
		becomes func(*scripted.Load) scripted.Result
		why     string
	}{
		"it says why": {func(*scripted.Load) scripted.Result {
			return scripted.Result{Stderr: "headroom: the kernel is locked down\n", Exit: 1}
		}, "the kernel is locked down"},
		"it dies": {func(*scripted.Load) scripted.Result {
			return scripted.Result{EarlyMessages: "ready\n", Duration: 3 * time.Second, Signal: "killed"}
		}, "has ended by itself"},
		"it is never ready": {func(*scripted.Load) scripted.Result {
			return scripted.Result{Hangs: true}
		}, "was not ready after 2m0s"},
		"it does not end": {func(*scripted.Load) scripted.Result {
			return scripted.Result{EarlyMessages: "ready\n", Hangs: true}
		}, "did not end in time"},
		"what it prints is no recording": {func(*scripted.Load) scripted.Result {
			return scripted.Result{EarlyMessages: "ready\n", Stdout: "{"}
		}, "is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				l.machine("db1").Programs["headroom"] = c.becomes
				l.run("run", l.file("one.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--repeat", "2",
					"--profile=1").ends(0).says("not profiled: ", c.why)
				for _, p := range l.profiles() {
					if !strings.Contains(p.Failed, c.why) {
						t.Errorf("it failed because of %q", p.Failed)
					}
				}
				if n := len(l.profiles()); n != 2 {
					t.Errorf("%d loads were profiled", n)
				}
				l.checkNothingLeft("db1")
			})
		})
	}
}

// A load that takes long to start has a minute of its own all the same, and is not ended as one that hangs.
func TestScriptedProfiledLoadStartsSlowly(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if load.Params["runtime"] == "60s" { // as a profiled one
				io.Duration = 100 * time.Second
			}
			return io
		}
		m.Programs["headroom"] = func(*scripted.Load) scripted.Result {
			return scripted.Result{EarlyMessages: "ready\n", Hangs: true}
		}
		l.run("run", l.file("one.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--repeat", "1",
			"--profile=1").ends(0)
		for _, p := range l.profiles() {
			if !strings.Contains(p.Failed, "the recorder did not end in time") || p.Seconds < 100 ||
				len(p.Values) == 0 {
				t.Errorf("profiled was %+v", p)
			}
		}
		if n := len(l.profiles()); n != 2 {
			t.Errorf("%d loads were profiled", n)
		}
		l.checkNothingLeft("db1")
	})
}

// A machine of another processor needs a recorder of its own, and is measured without one.
func TestScriptedRecorderOfAnotherProcessor(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").Set("/proc/sys/kernel/arch", "aarch64")
		l.machine("db1").SetOutput("uname -m", scripted.Output{Stdout: "aarch64\n"})
		l.run("run", l.file("one.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--repeat", "1", "--profile=1").
			ends(0).says("the machine is aarch64", "--recorder PATH")
		if n := len(l.requests("db1")); n != 0 {
			t.Errorf("%d recorders were started", n)
		}
	})
}

func TestScriptedProfilesThatAreRefused(t *testing.T) {
	inScriptedLab(t, []string{"a", "b"}, func(l *scriptedLab) {
		suite := l.file("one.yaml", oneLoad)
		on := []string{"--on", "scripted://a"}
		for why, args := range map[string][]string{
			"on one target, and not several": {"run", suite, "/srv", "--on", "scripted://a", "--on", "scripted://b",
				"--profile"},
			"and not a network": {"sweep", "network", "--on", "client=scripted://a", "--on", "server=scripted://b",
				"--factor", "job:parallel=1,2", "--profile"},
			"is no rate of samples": append([]string{"run", suite, "/srv", "--profile", "--profile-hz", "20000"},
				on...),
			"--event disturbs them": append([]string{"run", suite, "/srv", "--profile", "--event", "1s: true",
				"--no-undo"}, on...),
			"means nothing with --layers": {"compare", "--layers", "--profile", suite, "scripted://a", "/srv"},
			"takes a whole number from 1": append([]string{"run", suite, "/srv", "--profile=0"}, on...),
		} {
			l.run(args...).ends(2).says(why)
		}
	})
}
