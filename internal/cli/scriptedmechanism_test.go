package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/testing/scripted"
)

const schedulerFile = "/sys/block/nvme0n1/queue/scheduler"

// dearKyber is a machine on which the Kyber scheduler costs 40%, and its recorder counts that it runs.
func dearKyber(m *scripted.Machine) {
	runs := func() bool { return strings.Contains(m.Get(schedulerFile), "[kyber]") }
	m.Noise = 0.01
	m.Fio = func(load *scripted.Load) scripted.IO {
		io := scripted.Drive(load)
		if runs() {
			io.Write *= 0.6
		}
		return io
	}
	m.Programs["headroom"] = func(l *scripted.Load) scripted.Result {
		var r profile.Request
		if err := json.Unmarshal(l.Stdin, &r); err != nil {
			return scripted.Result{Err: err}
		}
		found := profile.Recording{Kernel: "6.12.1", Architecture: "x86_64", CPUs: 2}
		if r.Part == profile.Calls {
			found.Traced = &profile.Traced{Seconds: r.Trace.Seconds(), Bursts: 6, Functions: true,
				Calls: []profile.CallCount{{Function: "aio_write", Context: profile.InLoad, Count: 2000},
					{Function: "blk_mq_submit_bio", Context: profile.InLoad, Count: 2000}}}
			if runs() {
				found.Traced.Calls = append(found.Traced.Calls, profile.CallCount{Function: "kyber_dispatch_request",
					Context: profile.InLoad, Count: 3000})
			}
		}
		text, err := json.Marshal(found)
		return scripted.Result{Duration: r.Delay + r.Trace + r.Sample + r.Follow, Stdout: string(text) + "\n",
			EarlyMessages: profile.Ready + "\n", Stderr: profile.Done + "\n", Err: err}
	}
}

// slowWithKyber is a machine on which everything takes longer where the Kyber scheduler runs, which itself takes next
// to no time: its CPU is as busy for fewer I/Os.
func slowWithKyber(m *scripted.Machine) {
	dearKyber(m)
	m.Fio = func(load *scripted.Load) scripted.IO {
		io := scripted.Drive(load)
		if strings.Contains(m.Get(schedulerFile), "[kyber]") {
			io.Write /= 2.36
		}
		return io
	}
	counting := m.Programs["headroom"]
	m.Programs["headroom"] = func(l *scripted.Load) scripted.Result {
		var r profile.Request
		if err := json.Unmarshal(l.Stdin, &r); err != nil {
			return scripted.Result{Err: err}
		}
		if r.Part != profile.Time {
			return counting(l)
		}
		sampled := &profile.Sampled{Event: "cpu-clock", Hz: r.Hz, Seconds: r.Sample.Seconds()}
		for _, function := range []string{"aio_write", "blk_mq_submit_bio", "nvme_queue_rq", "ext4_file_write_iter",
			"dma_map_page_attrs", "entry_SYSCALL_64"} {
			sampled.Stacks = append(sampled.Stacks, profile.Stack{Context: profile.InLoad, Task: "fio",
				Frames: []string{function}, Count: uint64(float64(r.Hz) * r.Sample.Seconds() / 6)})
		}
		text, err := json.Marshal(profile.Recording{Kernel: "6.12.1", Architecture: "x86_64", CPUs: 2,
			Sampled: sampled})
		return scripted.Result{Duration: r.Delay + r.Sample + r.Follow, Stdout: string(text) + "\n",
			EarlyMessages: profile.Ready + "\n", Stderr: profile.Done + "\n", Err: err}
	}
}

// The part that accounts for most of a loss comes first. A function that appeared and takes little of it is said to
// account for little.
func TestScriptedAccount(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		slowWithKyber(m)
		run := []string{"run", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--repeat", "2",
			"--profile=3", "--label"}
		l.run(append(slices.Clone(run), "none")...).ends(0)
		m.Set(schedulerFile, "none mq-deadline [kyber]")
		l.run(append(run, "kyber")...).ends(0)
		l.run("profile", "diff", "none", "kyber").ends(0).says("Everything takes 2.",
			"Differs, but accounts for little", "kyber_dispatch_request", "What accounts for the time")
		d := decoded[difference.Document](l.run("profile", "diff", "none", "kyber", "--json").ends(0))
		a := d.Cells[0].Account
		if most, clearly := a.Most(); !clearly || most.Reason != difference.Uniform || most.Share.Value < 0.8 {
			t.Errorf("%+v", a)
		}
		l.run("compare", "none", "kyber").ends(0).says("In kyber, ", "everything takes 2.", "for little")
		l.run("facts", "diff", "none", "kyber").ends(0).says("for little")
	})
}

// kyberRuns says whether Kyber's function is the only one that is named.
func kyberRuns(list []difference.CellFunctions) bool {
	return len(list) == 1 && len(list[0].Functions) == 1 && list[0].Functions[0].Name == "kyber_dispatch_request" &&
		list[0].Functions[0].Calls.Change == difference.Appeared
}

// A search that profiles its ends expects the culprit from then on, and shows by which function it does harm.
func TestScriptedBisectWithProfiles(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		dearKyber(l.machine("db1"))
		l.run(l.bisectArguments(eight(), "--profile=2")...).ends(0).says("by the profiles of the two ends",
			"queue:scheduler=kyber: kyber_dispatch_request 0.00 → 1.50 calls per I/O")
		d := l.bisectionDocument()
		if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.ExpectedFrom != lab.PriorsFromProfiles ||
			d.Expected[0].Factor != "queue:scheduler" || d.Expected[0].Probability < 0.7 {
			t.Fatalf("%s from %s: %+v, %+v", d.Outcome, d.ExpectedFrom, d.Expected, d.Culprits)
		}
		if c := d.Culprits[0]; c.Mechanism == nil || c.Mechanism.Evidence != diff.Moved || !kyberRuns(c.Functions) {
			t.Errorf("%+v", c)
		}
		l.asFound("db1")
		proved := map[string]bool{}
		for _, s := range d.Steps {
			proved[s.Arm] = proved[s.Arm] || s.Purpose != "tell"
		}
		for _, p := range l.profiles() {
			if !proved[p.Arm] {
				t.Errorf("%s is neither an end nor part of the proof, and was profiled", p.Arm)
			}
		}
		if !slices.Contains(slices.Collect(maps.Values(proved)), false) {
			t.Errorf("no mixture was measured: %v", proved)
		}

		l.run(l.bisectArguments(eight(), "--profile=2", "--no-priors")...).ends(0)
		if d := l.bisectionDocument(); d.ExpectedFrom != "" || len(d.Expected) > 0 || d.Culprits[0].Mechanism == nil {
			t.Errorf("without priors: %+v, %+v", d.Expected, d.Culprits)
		}
	})
}

// An ablation and a comparison name the functions that go with what they measured.
func TestScriptedVerdictsWithProfiles(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		dearKyber(m)
		suite := l.file("suite.yaml", oneLoad)
		l.run("ablate", suite, "/srv", "--on", "scripted://db1", "--setting", "queue:scheduler=kyber", "--setting",
			"sysctl:vm.swappiness=1", "--profile=2", "--seed", "1").ends(0).says("What the kernel does otherwise",
			"With queue:scheduler=kyber, writes: kyber_dispatch_request 0.00 → 1.50")
		d := decoded[ablation.Document](l.run("ablate", "--show", "last", "--json").ends(0))
		for _, s := range d.Settings {
			if s.Factor == "queue:scheduler" != kyberRuns(s.Functions) {
				t.Errorf("%s: %+v", s.Factor, s.Functions)
			}
		}

		run := []string{"run", suite, "/srv", "--on", "scripted://db1", "--repeat", "2", "--profile=2", "--label"}
		l.run(append(slices.Clone(run), "none")...).ends(0)
		m.Set(schedulerFile, "none mq-deadline [kyber]")
		l.run(append(run, "kyber")...).ends(0)
		c := decoded[compare.Document](l.run("compare", "none", "kyber", "--json").ends(0))
		if !kyberRuns(c.New[0].Functions) {
			t.Errorf("%+v", c.New[0].Functions)
		}
		l.run("compare", "none", "kyber").ends(0).says("In kyber, ", "kyber_dispatch_request 0.00 → 1.50 calls per I/O")
		l.run("facts", "diff", "none", "kyber").ends(0).says("kyber_dispatch_request 0.00 → 1.50 calls per I/O",
			"as it is known to do")
	})
}

// Of a live comparison the two sides are profiled in turns, and their functions stand below the verdict, too.
func TestScriptedLiveWithProfiles(t *testing.T) {
	inScriptedLab(t, []string{"db1", "db2"}, func(l *scriptedLab) {
		for _, name := range []string{"db1", "db2"} {
			dearKyber(l.machine(name))
		}
		l.machine("db2").Set(schedulerFile, "none mq-deadline [kyber]")
		suite := l.file("suite.yaml", oneLoad)
		c := compared(l.run("compare", "--live", suite, "/srv", "scripted://db1", "scripted://db2", "--seed", "3",
			"--pairs", "6", "--profile=2", "--json").ends(0))
		if !kyberRuns(c.New[0].Functions) {
			t.Errorf("%+v", c.New[0].Functions)
		}
	})
}
