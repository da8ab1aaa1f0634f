package cli

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/scripted"
	"github.com/headroom/headroom/internal/unit"
)

const readAhead = "/sys/block/nvme0n1/queue/read_ahead_kb"

// readAheadHelps has writes be faster the more a disk reads ahead, up to 128 kB.
func readAheadHelps(m *scripted.Machine) {
	slowWrites(m, map[string]float64{readAhead + "=16": 0.4, readAhead + "=32": 0.6, readAhead + "=64": 0.92})
}

// The best level is found, the smallest that is enough, and where more of it no longer pays.
func TestScriptedSweep(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.004
		readAheadHelps(m)
		l.run("sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--factor",
			"queue:read_ahead_kb=16,32,64,128,256", "--seed", "1", "--repeat", "2").ends(0)
		d := decoded[sweep.Document](l.run("sweep", "--show", "last", "--json").ends(0))
		if len(d.Cells) != 1 || d.Blocks != 6 {
			t.Fatalf("%d cells in %d blocks", len(d.Cells), d.Blocks)
		}
		c := d.Cells[0]
		if slices.Sort(c.BestSet); !slices.Equal(c.BestSet, []string{"128", "256"}) || c.Best != "128" ||
			!c.Distinguishable {
			t.Errorf("the best are %v, of which %s is the smallest", c.BestSet, c.Best)
		}
		if c.SmallestForShare != "64" || c.SmallestBetween != (sweep.Between{From: "64", To: "64"}) || d.Share != 0.9 {
			t.Errorf("%g of the best takes %s, between %+v", d.Share, c.SmallestForShare, c.SmallestBetween)
		}
		if c.Verdict != sweep.Better || c.Gain == nil || math.Abs(c.Gain.Ratio-2.5) > 0.02 || c.NoLongerPays == nil ||
			len(c.Harm) != 0 {
			t.Errorf("%s, gain %+v, no longer pays %+v, harm %v", c.Verdict, c.Gain, c.NoLongerPays, c.Harm)
		}
		if d.PerVisit == nil {
			t.Error("it does not say how many repetitions a visit is worth")
		}
		for _, name := range []string{"report.html", "report.md", "report.csv"} {
			file := filepath.Join(l.dir, name)
			l.run("sweep", "--show", "last", "-o", file).ends(0)
			if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "queue:read") {
				t.Errorf("%s: %v, %.200s", name, err, data)
			}
		}
		l.asFound("db1")
	})
}

// Against a baseline that is the best the others do harm, and a smaller share takes a smaller level.
func TestScriptedSweepAgainstItsBest(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.004
		readAheadHelps(m)
		d := decoded[sweep.Document](l.run("sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1",
			"--factor", "queue:read_ahead_kb=16,32,found", "--seed", "1",
			"--baseline", "found", "--share", "50%", "--blocks", "6", "--json").ends(0))
		c := d.Cells[0]
		var harm []string
		for _, h := range c.Harm {
			harm = append(harm, h.Level)
		}
		if d.Baseline != "found" || c.Best != "found" || c.SmallestForShare != "32" ||
			!slices.Equal(harm, []string{"16", "32"}) {
			t.Errorf("baseline %s, best %s, half of it takes %s, harm %v", d.Baseline, c.Best, c.SmallestForShare, harm)
		}
		l.asFound("db1")
	})
}

// How much load keeps a latency: more of it is slower here.
func TestScriptedSweepOfTheLoad(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").Fio = func(load *scripted.Load) scripted.IO {
			rate, err := strconv.ParseFloat(load.Params["rate_iops"], 64)
			if err != nil { // while the file is laid out
				rate = 1000
			}
			latency := 200 * time.Microsecond
			if rate > 4000 {
				latency = 5 * time.Millisecond
			}
			return scripted.IO{Write: rate, Latency: latency}
		}
		args := []string{"sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--blocks", "3",
			"--seed", "1"}
		o := l.run(append(args, "--factor", "job:rate_iops=1000,2000,4000,8000", "--limit", "p99=2ms")...).ends(0)
		d := decoded[sweep.Document](l.run("sweep", "--show", "last", "--json").ends(0))
		if len(d.Curves) == 0 {
			t.Fatalf("no curve of latency: %s", o.stdout)
		}
		o.says("up to 4.00k IOPS with write p99 within 2.00 ms")
		l.run(append(args, "--factor", "sysctl:vm.swappiness=1,2", "--limit", "2ms")...).ends(2).says(
			"the levels must be more and more of it")
		l.run(append(args, "--factor", "job:rate_iops=1000,2000", "--limit", "soon")...).ends(2).says("--limit")
		l.asFound("db1")
	})
}

// A file says what is varied, with commands of the user's own; flags come first.
func TestScriptedSweepOfAFile(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		level := "slow"
		m.Answer = func(argv []string) (scripted.Output, bool) {
			switch strings.Join(argv[:min(2, len(argv))], " ") {
			case "tune get":
				return scripted.Output{Stdout: level + "\n"}, true
			case "tune set", "tune back":
				level = argv[2]
				return scripted.Output{}, true
			}
			return scripted.Output{}, false
		}
		m.Fio = func(load *scripted.Load) scripted.IO {
			return scripted.IO{Write: map[string]float64{"slow": 1000, "middle": 2000, "fast": 4000}[level]}
		}
		l.file("short.yaml", oneLoad)
		file := l.file("sweep.yaml", `version: 1
experiment: sweep
suite: short.yaml
place: /srv
on: scripted://db1
factors: ["exec:tune=slow,middle,fast"]
baseline: middle
blocks: 6
share: 0.4
margin: 0.02
alpha: 0.1
keep: ["sysctl:vm.*"]
commands:
  tune: {apply: [tune, set, "{level}"], verify: [tune, get], undo: [tune, back, "{old}"]}
`)
		d := decoded[sweep.Document](l.run("sweep", file, "--blocks", "2", "--seed", "1", "--json").ends(0))
		if c := d.Cells[0]; d.Baseline != "middle" || d.Blocks != 2 || d.Share != 0.4 || d.Margin != 0.02 ||
			d.Alpha != 0.1 || c.Top != "fast" || c.SmallestForShare != "middle" {
			t.Errorf("baseline %s, blocks %d, share %g, margin %g, alpha %g, top %s, smallest %s", d.Baseline, d.Blocks,
				d.Share, d.Margin, d.Alpha, c.Top, c.SmallestForShare)
		}
		e := l.bundle("last").Run.Experiment
		if level != "slow" || !slices.Equal(e.Keep, []string{"sysctl:vm.*"}) ||
			!slices.Equal(e.Commands["tune"].Undo, []string{"tune", "back", "{old}"}) {
			t.Errorf("it is %s; kept are %v, commands %v", level, e.Keep, e.Commands)
		}
		l.asFound("db1")
	})
}

// The levels are compared with another place, on another machine, which is visited in each block; both are left clean,
// also when interrupted.
func TestScriptedSweepAgainstAReference(t *testing.T) {
	inScriptedLab(t, []string{"db1", "db2"}, func(l *scriptedLab) {
		readAheadHelps(l.machine("db1"))
		l.machine("db2").Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			io.Write *= 2
			return io
		}
		l.machine("db2").AtLoad("--name=writes", 2, func(e *scripted.Event) { e.After(5*time.Second, l.interrupt) })
		l.run("sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--factor",
			"queue:read_ahead_kb=16,128", "--reference", "/tmp", "--reference-on", "scripted://db2",
			"--blocks", "3", "--seed", "1").ends(130).says("reference: ", "headroom sweep --resume")
		l.asFound("db1")
		l.asFound("db2")
		l.run("sweep", "--resume", "last").ends(0)
		d := decoded[sweep.Document](l.run("sweep", "--show", "last", "--json").ends(0))
		if c := d.Cells[0]; c.ToReference == nil || math.Abs(c.ToReference.Ratio-0.5) > 1e-9 ||
			d.Reference != vary.ReferenceArm || d.Blocks != 3 {
			t.Errorf("to the reference %s: %+v, in %d blocks", d.Reference, c.ToReference, d.Blocks)
		}
		counts := blocksOf(l.repetitions("last"))
		if len(counts) != 3*3 || slices.Max(slices.Collect(maps.Values(counts))) != 1 {
			t.Errorf("repetitions: %v", counts)
		}
		l.asFound("db1")
		l.asFound("db2")
	})
}

// Published figures that can't be read are refused before anything is measured.
func TestScriptedSweepRefusesPublishedFiguresFirst(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		args := []string{"sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--factor",
			"queue:read_ahead_kb=16,32", "--published"}
		l.run(append(args, "reference:nobody")...).ends(2).says(`no published figures of merit of "nobody"`)
		l.run(append(args, l.file("mine.csv", "rw,speed\nread,4\n"))...).ends(2).says(`mine.csv:1: expected rw, bs`,
			`found "speed"`)
		l.run(append(args, "missing.csv")...).ends(2).says("can't read the published results missing.csv")
		if n := len(l.machine("db1").Loads()); n > 0 {
			t.Errorf("%d loads", n)
		}
	})
}

// A budget ends a sweep before the next block; the first is always finished.
func TestScriptedSweepEndsOnItsBudget(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		args := []string{"sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--factor",
			"queue:read_ahead_kb=16,32,64", "--seed", "1"}
		// six show that no level makes a difference
		for budget, blocks := range map[string]int{"1ms": 1, "100s": 3, "1h": 6} {
			l.run(append(args, "--budget", budget)...).ends(0)
			if d := l.saved("last"); d.Status != lab.Complete || len(l.repetitions("last")) != 3*blocks {
				t.Errorf("with %s the run is %s, with %d repetitions", budget, d.Status, len(l.repetitions("last")))
			}
		}
		l.asFound("db1")
	})
}

// A machine that is lost in the middle of a level has its setting put back when it can be reached, and the sweep goes
// on.
func TestScriptedSweepLosesItsTarget(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		readAheadHelps(m)
		m.AtLoad("--name=writes", 3, func(e *scripted.Event) { e.After(5*time.Second, m.Disconnect) })
		l.run("sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--factor",
			"queue:read_ahead_kb=16,32,64", "--blocks", "2", "--seed", "1").ends(1).
			says("the connection was lost", "2 repetitions")
		if now := m.Get(readAhead); now == "128" {
			t.Errorf("it is %s, and nobody could put it back", now)
		}
		l.run("restore").ends(1).says("queue:read_ahead_kb", "can't be reached")
		l.run("doctor").ends(0)
		m.Reconnect()
		l.run("sweep", "--resume", "last").ends(0).says("queue:read_ahead_kb")
		counts := blocksOf(l.repetitions("last"))
		if d := l.saved("last"); d.Status != lab.Complete || len(counts) != 2*3 {
			t.Errorf("the run is %s: %v", d.Status, counts)
		}
		l.asFound("db1")
	})
}

// bootable has the machine db1 be a guest, qemu:db1, which can be started again.
func (l *scriptedLab) bootable(slow map[string]float64) *scripted.Machine {
	m := l.machine("db1")
	m.SetOutput("dmesg", scripted.Output{})
	l.schemes = append(l.schemes, guestScheme)
	l.opened["db1"] = func(t *scripted.Target) host.Target { return scripted.Host{Target: t} }
	m.Fio = func(load *scripted.Load) scripted.IO {
		io := scripted.Drive(load)
		for argument, factor := range slow {
			if slices.Contains(strings.Fields(m.Get("/proc/cmdline")), argument) {
				io.Write *= factor
			}
		}
		return io
	}
	return m
}

// A level with which a guest does not come up ends a sweep, and says so; what was measured is kept.
func TestScriptedSweepWithALevelThatDoesNotBoot(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.bootable(nil)
		hangs := true
		m.OnBoot = func(line string) error {
			if hangs && strings.Contains(line, "mitigations=off") {
				return &lab.Error{What: "the guest hangs"}
			}
			return nil
		}
		args := []string{"sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "qemu:db1", "--factor",
			"cmdline:mitigations=auto,off", "--blocks", "2", "--seed", "1"}
		l.run(append(args, "--dry-run=full")...).ends(0).says("boot with arguments mitigations=off")
		l.run(args...).ends(1).says("the guest hangs")
		if d := l.saved("last"); d.Status != lab.Interrupted {
			t.Errorf("the run is %s", d.Status)
		}
		hangs = false
		l.run("sweep", "--resume", "last").ends(0)
		boots := map[string]int{}
		for _, r := range l.repetitions("last") {
			boots[r.Boot]++
		}
		if d := l.saved("last"); d.Status != lab.Complete || len(boots) != 4 {
			t.Errorf("the run is %s: %v", d.Status, boots)
		}
	})
}

// A budget in which six blocks of all levels do not fit is spent on a coarse grid of them, and then on fewer loads;
// what is left out is said, and the baseline is not.
func TestScriptedSweepFitsItsBudget(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").Noise = 0.002
		one := l.file("one.yaml", oneLoad)
		args := func(suite, budget string, more ...string) []string {
			return append([]string{"sweep", suite, "/srv", "--on", "scripted://db1", "--factor",
				"job:iodepth=1,2,3,4,6,8,12,16,32", "--seed", "1", "--budget", budget}, more...)
		}
		levels := func() (all []string) {
			for _, a := range l.bundle("last").Run.Arms {
				all = append(all, a.Levels["job:iodepth"])
			}
			return all
		}
		l.run(args(one, "6m")...).ends(0).says("left out, since 6 blocks of everything take", "5 levels of 9")
		if got := levels(); !slices.Equal(got, []string{"1", "3", "6", "32"}) {
			t.Errorf("levels %v", got)
		}
		if d := l.saved("last"); !slices.Contains(codes(d), "left-out-for-budget") || d.Cells[0].N < 6 {
			t.Errorf("%v, %d repetitions", codes(d), d.Cells[0].N)
		}
		l.run(args(one, "6m", "--baseline", "12", "--dry-run")...).ends(0).says("job:iodepth: 1, 4, 12, 32")
		l.run(args(one, "2h", "--dry-run")...).ends(0).says("1, 2, 3, 4, 6, 8, 12, 16, 32")

		many := l.file("many.yaml", strings.Replace(oneLoad, "fio: {rw: randwrite, iodepth: 16}",
			"fio: {rw: randwrite}, matrix: {bs: [4k, 8k, 16k, 32k, 64k, 128k]}", 1))
		l.run(args(many, "840s")...).ends(0).says("6 levels of 9 and 3 loads of 6")
		sizes := map[string]bool{}
		for _, c := range l.saved("last").Cells {
			sizes[c.Params["bs"]] = true
		}
		if len(sizes) != 3 || !sizes["4k"] || !sizes["128k"] || !slices.Equal(levels(), []string{"1", "6", "32"}) {
			t.Errorf("%v at %v", sizes, levels())
		}
		l.asFound("db1")
	})
}

// Loads that are decided after six blocks get no more of a budget: what they would have taken goes to the one that is
// open, and the run ends within it.
func TestScriptedSweepSpendsItsBudgetOnOpenLoads(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.04
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			small := 0.5
			if load.Params["bs"] == "32k" {
				small = 0.97
			}
			if m.Get(readAhead) == "32" {
				io.Write *= small
			}
			return io
		}
		suite := l.file("many.yaml", strings.Replace(oneLoad, "fio: {rw: randwrite, iodepth: 16}",
			"fio: {rw: randwrite}, matrix: {bs: [4k, 8k, 16k, 32k]}", 1))
		args := []string{"sweep", suite, "/srv", "--on", "scripted://db1", "--factor", "queue:read_ahead_kb=32,128",
			"--seed", "2", "--budget", "15m"}
		o := l.run(args...).ends(0)
		d := decoded[sweep.Document](l.run("sweep", "--show", "last", "--json").ends(0))
		visits := map[string]int{}
		for _, c := range d.Cells {
			visits[c.Params["bs"]] = c.Levels[0].N
		}
		if visits["4k"] != 6 || visits["8k"] != 6 || visits["16k"] != 6 || visits["32k"] < 10 || d.Settled != 3 ||
			d.Looks != 2 {
			t.Errorf("blocks by load %v, %d settled, %d looks", visits, d.Settled, d.Looks)
		}
		if want := 1 - d.Alpha/float64(2*d.Claims); math.Abs(d.Confidence-want) > 1e-9 {
			t.Errorf("two looks share the risk: %g, want %g", d.Confidence, want)
		}
		for _, c := range d.Cells {
			if c.Params["bs"] != "32k" && (c.Verdict != sweep.Better || c.Top != "128") {
				t.Errorf("%s: %s, best %s", c.Title, c.Verdict, c.Top)
			}
		}
		if !strings.Contains(strings.Join(strings.Fields(o.stdout), " "),
			"Decided after 6 blocks, so that the rest of the budget went to the others: 3 loads of 4") {
			t.Errorf("it does not say which loads got no more: %s", o.stdout)
		}
		taken := time.Duration(0)
		for _, r := range l.repetitions("last") {
			taken += unit.SecondsToDuration(r.Took)
		}
		if taken > 15*time.Minute {
			t.Errorf("it took %s", taken)
		}
		l.asFound("db1")
	})
}
