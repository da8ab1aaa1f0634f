package cli

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/scripted"
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
		l.run(append(args, "--dry-run=full")...).ends(0).says("profiles 4 loads more",
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

// How a profiled load ends that was ended says nothing: what the recorder and the kernel have seen counts. One that
// fails by itself, reports errors, or does nothing while it is recorded, is not profiled.
func TestScriptedEndsOfProfiledLoads(t *testing.T) {
	idle := &profile.Counted{Seconds: 4, Calls: 40, CallBytes: 6000} // fio looks at counters of disks, and says so
	nothing := func(load *scripted.Load) scripted.Result {
		var r profile.Request
		if err := json.Unmarshal(load.Stdin, &r); err != nil {
			t.Error(err)
		}
		found := profile.Recording{Kernel: "6.1.0", Architecture: "x86_64", CPUs: 2}
		if r.Part == profile.Calls {
			found.Traced = &profile.Traced{Seconds: 0.6, Bursts: 6, Functions: true, Counted: idle,
				Calls: []profile.CallCount{{Function: "vfs_write", Context: profile.InLoad, Count: 3}}}
		} else {
			found.Sampled = &profile.Sampled{Event: "cpu-clock", Hz: r.Hz, Seconds: 4, Samples: 1, Counted: idle,
				Stacks: []profile.Stack{{Context: profile.InLoad, Task: "fio", Count: 1,
					Frames: []string{"fio:main", "hrtimer_nanosleep"}}}}
		}
		text, err := json.Marshal(found)
		if err != nil {
			t.Error(err)
		}
		return scripted.Result{Duration: 9 * time.Second, EarlyMessages: profile.Ready + "\n", Stdout: string(text),
			Stderr: profile.Done + "\n"}
	}
	for name, c := range map[string]struct {
		becomes  func(*scripted.Result)
		recorder func(*scripted.Load) scripted.Result
		set      string
		errno    int
		why      string
		reports  bool
	}{
		"the kernel counts no I/O of it": {set: "ioengine=mmap", recorder: nothing, reports: true},
		"it reports":                     {reports: true},
		"it prints nothing":              {becomes: func(r *scripted.Result) { r.Files = nil }},
		"it says nothing while it runs":  {becomes: func(r *scripted.Result) { r.Early = "" }, reports: true},
		"it does not end":                {becomes: func(r *scripted.Result) { r.Hangs = true }},
		"it does not end and says nothing": {becomes: func(r *scripted.Result) {
			r.Hangs, r.Early = true, ""
		}},
		"it crashes at once": {becomes: func(r *scripted.Result) {
			r.Duration, r.Signal, r.Files = time.Second, "segmentation fault", nil
		}, why: "the load failed: fio printed no result (ended by signal: segmentation fault)"},
		"it fails at once": {becomes: func(r *scripted.Result) {
			r.Duration, r.Exit, r.Stderr, r.Files = time.Second, 1, "fio: engine libaio not loadable\n", nil
		}, why: "the load failed: fio printed no result (fio: engine libaio not loadable)"},
		"it ends by itself and prints nothing": {becomes: func(r *scripted.Result) {
			r.Duration, r.Files = 5*time.Second, nil
		}},
		"it reports failed I/Os": {errno: 5, becomes: func(r *scripted.Result) { r.Exit = 0 },
			why: "input/output error (errno 5)", reports: true},
		"it does nothing": {recorder: nothing, why: "the load did no I/O while it was recorded"},
		"it does nothing and does not end": {becomes: func(r *scripted.Result) { r.Hangs = true }, recorder: nothing,
			why: "the load did no I/O while it was recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				m := l.machine("db1")
				if c.recorder != nil {
					m.Programs["headroom"] = c.recorder
				}
				m.Fio = func(load *scripted.Load) scripted.IO {
					io := scripted.Drive(load)
					if load.Params["runtime"] == "60s" { // as a profiled one
						io.Errno = c.errno
					}
					return io
				}
				m.AtLoad("fio", 0, func(e *scripted.Event) {
					if e.Load.Params["runtime"] == "60s" && c.becomes != nil {
						c.becomes(e.Result)
					}
				})
				args := []string{"run", l.file("one.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--repeat", "1",
					"--profile=1"}
				if c.set != "" {
					args = append(args, "--set", c.set)
				}
				l.run(args...).ends(0)
				profiles := l.profiles()
				for _, p := range profiles {
					if c.why == "" && p.Failed != "" || !strings.Contains(p.Failed, c.why) {
						t.Errorf("%s failed because of %q", p.Part, p.Failed)
					}
					if c.why == "" && (p.Traced == nil) == (p.Sampled == nil) {
						t.Errorf("recorded was %+v", p.Recording)
					}
					if p.Failed == "" && (len(p.Values) > 0) != c.reports {
						t.Errorf("of %s the load reports %v", p.Part, p.Values)
					}
				}
				if n := len(profiles); n != 2 {
					t.Errorf("%d loads were profiled", n)
				}
				l.checkNothingLeft("db1")
			})
		})
	}
}
