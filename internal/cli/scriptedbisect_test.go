package cli

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// eight settings of a scripted machine, each with another level.
func eight() []string {
	return []string{"sysctl:vm.dirty_ratio=20,5", "sysctl:vm.dirty_background_ratio=10,2",
		"sysctl:vm.dirty_expire_centisecs=3000,100", "sysctl:vm.swappiness=60,1",
		"sysctl:vm.vfs_cache_pressure=100,50", "queue:read_ahead_kb=128,16", "queue:rq_affinity=1,2",
		"queue:scheduler=none,kyber"}
}

// bisectArguments are the arguments of a search among some settings.
func (l *scriptedLab) bisectArguments(settings []string, more ...string) []string {
	args := []string{"bisect", "settings", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--seed",
		"1"}
	for _, s := range settings {
		args = append(args, "--setting", s)
	}
	return append(args, more...)
}

// bisectionDocument is what a search has found.
func (l *scriptedLab) bisectionDocument() bisection.Document {
	l.Helper()
	return decoded[bisection.Document](l.run("bisect", "--show", "last", "--json").ends(0))
}

// culprits are those that were found, in order.
func culprits(d bisection.Document) []string {
	var names []string
	for _, c := range d.Culprits {
		names = append(names, c.Factor+"="+c.Bad)
	}
	slices.Sort(names)
	return names
}

// One of eight settings, or two of them, or none, or ones that only act together: found, and proved.
func TestScriptedBisectSettings(t *testing.T) {
	pressureAndRatio := func(m *scripted.Machine) {
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if m.Get(cachePressure) == "50" && m.Get(dirtyRatio) == "5" {
				io.Write *= 0.5
			}
			return io
		}
	}
	for name, c := range map[string]struct {
		script  func(m *scripted.Machine)
		outcome bisection.Outcome
		found   []string
		loss    float64
	}{
		"one": {func(m *scripted.Machine) { slowWrites(m, map[string]float64{readAhead + "=16": 0.6}) },
			bisection.Found, []string{"queue:read_ahead_kb=16"}, 0.6},
		"two": {func(m *scripted.Machine) {
			slowWrites(m, map[string]float64{readAhead + "=16": 0.6, swappiness + "=1": 0.5})
		}, bisection.Found,
			[]string{"queue:read_ahead_kb=16", "sysctl:vm.swappiness=1"}, 0.3},
		"together": {pressureAndRatio, bisection.Found,
			[]string{"sysctl:vm.dirty_ratio=5", "sysctl:vm.vfs_cache_pressure=50"}, 0.5},
		"none": {func(*scripted.Machine) {}, bisection.NoDifference, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				m := l.machine("db1")
				m.Noise = 0.01
				c.script(m)
				l.run(l.bisectArguments(eight())...).ends(0)
				d := l.bisectionDocument()
				if d.Outcome != c.outcome || !slices.Equal(culprits(d), c.found) || len(d.Candidates) != 8 {
					t.Errorf("%s: %v, of %d", d.Outcome, culprits(d), len(d.Candidates))
				}
				if d.Loss == nil || math.Abs(d.Loss.Ratio-c.loss) > 0.02 {
					t.Errorf("the loss is %+v", d.Loss)
				}
				if c.found != nil && (d.Reverted == nil || d.Applied == nil || math.Abs(d.Explained.Share-1) > 0.05 ||
					d.Proofs == 0) {
					t.Errorf("proof: %+v, %+v, explained %+v, %d proofs", d.Reverted, d.Applied, d.Explained, d.Proofs)
				}
				if len(c.found) != 1 {
					l.asFound("db1")
					return
				}
				for _, name := range []string{"report.html", "report.md", "report.csv"} {
					file := filepath.Join(l.dir, name)
					l.run("bisect", "--show", "last", "-o", file).ends(0)
					if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "queue:read") {
						t.Errorf("%s: %v, %.200s", name, err, data)
					}
				}
				l.asFound("db1")
			})
		})
	}
}

// A search that may not go on until it is sure has no answer, and an exit code that says so.
func TestScriptedBisectWithoutAnAnswer(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.05
		slowWrites(m, map[string]float64{readAhead + "=16": 0.7})
		for flag, most := range map[string]int{"--max-boots": 3, "--budget": 4} {
			value := map[string]string{"--max-boots": "3", "--budget": "35s"}[flag]
			l.run(l.bisectArguments(eight(), flag, value)...).ends(5).says("no culprit was found in")
			if d := l.bisectionDocument(); d.Outcome != bisection.Undecided || d.Measurements != most ||
				len(d.Culprits) != 0 {
				t.Errorf("with %s: %s after %d measurements", flag, d.Outcome, d.Measurements)
			}
		}
		l.asFound("db1")
	})
}

// Sysctls of two files, as sysctl -a prints them: those that differ are searched.
func TestScriptedBisectSysctl(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.01
		slowWrites(m, map[string]float64{swappiness + "=1": 0.6})
		good := l.file("good.conf", "vm.dirty_ratio = 20\nvm.swappiness = 60\nvm.vfs_cache_pressure = 100\n"+
			"vm.dirty_background_ratio = 10\n")
		bad := l.file("bad.conf",
			"vm.dirty_ratio = 5\nvm.swappiness = 1\nvm.vfs_cache_pressure = 50\nvm.dirty_background_ratio = 10\n")
		args := []string{"bisect", "sysctl", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--seed",
			"1"}
		l.run(append(args, "--good", good)...).ends(2).says("needs both states")
		l.run(append(args, "--good", good, "--bad", good+".not")...).ends(2).says("can't read")
		l.run(append(args, "--good", good, "--bad", bad, "--keep", "sysctl:vm.swappiness")...).ends(4).says(
			"sysctl:vm.swappiness must stay")
		l.run(append(args, "--good", good, "--bad", bad)...).ends(0).says("vm.swappiness")
		if d := l.bisectionDocument(); d.Outcome != bisection.Found ||
			!slices.Equal(culprits(d), []string{"sysctl:vm.swappiness=1"}) || len(d.Candidates) != 3 {
			t.Errorf("%s: %v of %d", d.Outcome, culprits(d), len(d.Candidates))
		}
		l.asFound("db1")
	})
}

// Between the levels of one factor, the step is found at which it became slow.
func TestScriptedBisectSteps(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.01
		const requests = "/sys/block/nvme0n1/queue/nr_requests"
		slowWrites(m, map[string]float64{requests + "=64": 0.6, requests + "=32": 0.6, requests + "=16": 0.6,
			requests + "=8": 0.6})
		args := []string{"bisect", "steps", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--seed",
			"1"}
		l.run(args...).ends(2).says("a series has no levels yet")
		l.run(append(args, "--setting", "queue:nr_requests=64,32")...).ends(2).says(
			"between which there is nothing to search")
		l.run(append(args, "--setting", "queue:nr_requests=64,32,16", "--setting", "queue:rq_affinity=0,1,2")...).ends(
			2).says("a series is the levels of one factor")
		args = append(args, "--setting", "queue:nr_requests=1023,512,256,128,64,32,16,8")
		l.run(append(args, "--dry-run")...).ends(0).says("every measurement sets queue:nr_requests to one of 1023, " +
			"512, 256, 128, 64, 32, 16, 8")
		l.run(args...).ends(0)
		d := l.bisectionDocument()
		if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Good != "128" ||
			d.Culprits[0].Bad != "64" || math.Abs(d.Culprits[0].Effect.Ratio-0.6) > 0.02 {
			t.Errorf("%s: %+v", d.Outcome, d.Culprits)
		}
		l.asFound("db1")
	})
}

// Kernel arguments: every measurement is a boot. Mixtures with which the guest does not come up are left out and named.
func TestScriptedBisectArgs(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.bootable(map[string]float64{"slub_debug=FZPU": 0.5})
		m.Noise = 0.01
		m.OnBoot = func(line string) error { // one argument does not do without another
			if strings.Contains(line, "skew_tick=1") && !strings.Contains(line, "noresume") {
				return &lab.Error{What: "the guest does not come up"}
			}
			return nil
		}
		args := []string{"bisect", "args", l.file("suite.yaml", oneLoad), "/srv", "--on", "qemu:db1", "--seed", "1"}
		l.run(append(args, "--good", "root=/dev/vda1", "--bad", "root=/dev/vda2")...).ends(2).says("do not differ")
		args = append(args, "--bad", "slub_debug=FZPU audit=0 noresume nosoftlockup skew_tick=1 hung_task_panic=0 ro",
			"--good", "ro")
		l.run(append(args, "--dry-run")...).ends(0).says("cmdline:noresume: absent or there", "boot with arguments")
		l.run(args...).ends(0).says("slub_debug")
		d := l.bisectionDocument()
		if d.Outcome != bisection.Found || !slices.Equal(culprits(d), []string{"cmdline:slub_debug=FZPU"}) ||
			len(d.Candidates) != 6 {
			t.Errorf("%s: %v of %d", d.Outcome, culprits(d), len(d.Candidates))
		}
		failed := 0
		for _, a := range l.bundle("last").Run.Experiment.SearchSteps {
			if a.Failed != "" {
				failed++
			}
		}
		if failed == 0 || len(d.Unmeasurable) == 0 || !strings.Contains(d.Unmeasurable[0].Reason, "does not come up") {
			t.Errorf("%d did not come up: %+v", failed, d.Unmeasurable)
		}
	})
}

// An end that does not come up ends the search, because there is nothing to hold the others against; it goes on when it
// does.
func TestScriptedBisectWithoutAnEnd(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.bootable(map[string]float64{"slub_debug=FZPU": 0.5})
		hangs := true
		m.OnBoot = func(line string) error {
			if hangs && strings.Contains(line, "skew_tick=1") {
				return &lab.Error{What: "the guest does not come up"}
			}
			return nil
		}
		l.run("bisect", "args", l.file("suite.yaml", oneLoad), "/srv", "--on", "qemu:db1", "--bad",
			"slub_debug=FZPU audit=0 skew_tick=1", "--seed", "1").ends(1).says("does not come up")
		if d := l.saved("last"); d.Status != lab.Interrupted {
			t.Errorf("the run is %s", d.Status)
		}
		hangs = false
		l.run("bisect", "--resume", "last").ends(0)
		if d := l.bisectionDocument(); d.Outcome != bisection.Found ||
			!slices.Equal(culprits(d), []string{"cmdline:slub_debug=FZPU"}) {
			t.Errorf("%s: %v", d.Outcome, culprits(d))
		}
	})
}

// Of two kernels' builds, the options that boot arguments stand for are searched, and the rest is counted.
func TestScriptedBisectKconfig(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.bootable(map[string]float64{"iommu.strict=1": 0.7})
		good := l.file("good.config", "# Linux/x86 6.12.0 Kernel Configuration\nCONFIG_IOMMU_DEFAULT_DMA_LAZY=y\n# "+
			"CONFIG_IOMMU_DEFAULT_DMA_STRICT is not set\n# CONFIG_INIT_ON_ALLOC_DEFAULT_ON is not set\n# "+
			"CONFIG_SLUB_DEBUG_ON is not set\n# CONFIG_KASAN is not set\n")
		bad := l.file("bad.config", "# Linux/x86 6.12.0 Kernel Configuration\n# CONFIG_IOMMU_DEFAULT_DMA_LAZY is not "+
			"set\nCONFIG_IOMMU_DEFAULT_DMA_STRICT=y\nCONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\nCONFIG_SLUB_DEBUG_ON=y\n"+
			"CONFIG_KASAN=y\n")
		args := []string{"bisect", "kconfig", l.file("suite.yaml", oneLoad), "/srv", "--on", "qemu:db1", "--seed", "1"}
		l.run(append(args, "--good", good)...).ends(2).says("needs both configurations")
		l.run(append(args, "--good", good, "--bad", l.file("none.config", "hello\n"))...).ends(2)
		l.run(append(args, "--good", good, "--bad", good)...).ends(2).says("no boot argument stands for any")
		l.run(append(args, "--good", good, "--bad", bad)...).ends(0).says("iommu.strict", "KASAN")
		d := l.bisectionDocument()
		if d.Outcome != bisection.Found || !slices.Equal(culprits(d), []string{"cmdline:iommu.strict=1"}) {
			t.Errorf("%s: %v of %+v", d.Outcome, culprits(d), d.Candidates)
		}
		if d.Excluded == nil || !slices.Contains(d.Excluded.First, "KASAN") {
			t.Errorf("not searched: %+v", d.Excluded)
		}
		// Kernels are only built where a guest is to start them.
		l.run("bisect", "kconfig", filepath.Join(l.dir, "suite.yaml"), "/srv", "--on", "qemu:db1", "--good", good,
			"--bad", bad, "--tree", l.dir).ends(2)
	})
}

// What differs between two machines is searched on a third, as far as it can be set there; what can't, and what is to
// be kept, is left out.
func TestScriptedBisectFacts(t *testing.T) {
	inScriptedLab(t, []string{"fast", "slow", "db1"}, func(l *scriptedLab) {
		for file, value := range map[string]string{swappiness: "1", cachePressure: "50", dirtyRatio: "5",
			"/proc/sys/kernel/osrelease": "6.1.0-other"} {
			l.machine("slow").Set(file, value)
		}
		m := l.machine("db1")
		m.Noise = 0.01
		m.ReadOnly("/proc/sys/kernel/osrelease")
		slowWrites(m, map[string]float64{cachePressure + "=50": 0.6})
		args := []string{"bisect", "facts", "scripted://fast", "scripted://slow", l.file("suite.yaml", oneLoad), "/srv",
			"--on", "scripted://db1", "--seed", "1"}
		l.run(append(args, "--keep", "sysctl:vm.*")...).ends(2).says("that can be set")
		l.run("bisect", "facts", "scripted://fast").ends(2).says("two machines, a suite")
		l.run(append(args, "--keep", "sysctl:vm.dirty_ratio")...).ends(0).says("vm.vfs_cache_pressure")
		d := l.bisectionDocument()
		var names []string
		for _, c := range d.Candidates {
			names = append(names, c.Factor)
		}
		if slices.Sort(names); d.Outcome != bisection.Found ||
			!slices.Equal(culprits(d), []string{"sysctl:vm.vfs_cache_pressure=50"}) ||
			!slices.Equal(names, []string{"sysctl:vm.swappiness", "sysctl:vm.vfs_cache_pressure"}) {
			t.Errorf("%s: %v of %v", d.Outcome, culprits(d), names)
		}
		if i := slices.IndexFunc(d.Warnings, func(w lab.CountedWarning) bool { return w.Code == "not-settable" }); i <
			0 || !strings.Contains(d.Warnings[i].Text, "osrelease") {
			t.Errorf("warnings: %+v", d.Warnings)
		}
		l.run("bisect", "facts", "--show", "last").ends(0).says("vm.vfs_cache_pressure")
		l.asFound("db1")
		if l.machine("fast").Loads() != nil || l.machine("slow").Loads() != nil {
			t.Error("the two machines were loaded")
		}
	})
}

// A load that fails in one mixture is that mixture's fault; which it was is named, and the search goes on without it.
func TestScriptedBisectWithMixturesThatFail(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.01
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if (m.Get(dirtyRatio) == "5") != (m.Get(cachePressure) == "50") {
				return scripted.IO{Errno: 121, Exit: 1, Says: "fio: io_u error: Remote I/O error\n"}
			}
			if m.Get(readAhead) == "16" {
				io.Write *= 0.6
			}
			return io
		}
		l.run(l.bisectArguments(eight())...).ends(0)
		d := l.bisectionDocument()
		if d.Outcome != bisection.Found || !slices.Equal(culprits(d), []string{"queue:read_ahead_kb=16"}) ||
			len(d.Unmeasurable) == 0 {
			t.Errorf("%s: %v; can't be measured: %+v", d.Outcome, culprits(d), d.Unmeasurable)
		}
		l.asFound("db1")
	})
}

// What is no search is refused, and says what to write.
func TestScriptedBisectionsThatAreRefused(t *testing.T) {
	const command = "version: 1\nparameters: {count: 3}\njobs:\n  - {name: says, exec: [bench, '{count}']}\n"
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		suite, says := l.file("suite.yaml", oneLoad), l.file("says.yaml", command)
		for _, c := range []struct {
			code int
			says string
			args []string
		}{
			{2, "needs to know what differs", nil},
			{2, "varies what?", []string{"settings", suite, "/srv"}},
			{2, "differ in one thing only", []string{"settings", suite, "/srv", "--setting",
				"sysctl:vm.swappiness=1,2"}},
			{2, "needs two levels", []string{"settings", suite, "/srv", "--setting", "sysctl:vm.swappiness=1,2,3",
				"--setting", "sysctl:vm.dirty_ratio=1,2"}},
			{2, "a search can't mix them", []string{"settings", says, "/srv", "--setting", "job:count=1,2", "--setting",
				"sysctl:vm.dirty_ratio=1,2"}},
			{2, "is no range of commits", []string{"commits", "main", suite}},
			{2, "needs a range of commits", []string{"commits"}},
			{2, "--keep-built 0 is too few", []string{"commits", "a..b", suite, "--keep-built", "0"}},
		} {
			l.run(append(append([]string{"bisect"}, c.args...), "--on", "scripted://db1")...).ends(c.code).says(c.says)
		}
		l.run("bisect", "commits", "a..b", suite, "--tree", l.dir).ends(2).says("is in no git tree")
		l.asFound("db1")
	})
}
