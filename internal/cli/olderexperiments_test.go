package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// seeded are the arguments of an experiment on the one machine.
func seeded(more ...string) []string { return onMachine(append(more, "--seed", "1")...) }

// asSetting are the arguments of a search among settings.
func asSetting(settings ...string) []string {
	var args []string
	for _, s := range settings {
		args = append(args, "--setting", s)
	}
	return args
}

// guestsOfOlder are guests that loads are faster in without mitigations.
func guestsOfOlder(l *scriptedLab) {
	l.schemes = append(l.schemes, guestScheme)
	for name, m := range l.machines {
		l.opened[name] = func(t *scripted.Target) host.Target { return scripted.Host{Target: t} }
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if strings.Contains(m.Get("/proc/cmdline"), "mitigations=off") {
				io.Read *= 1.25
			}
			return io
		}
	}
}

// slower has writes of the one machine be slower as long as files have some values.
func slower(factors map[string]float64) func(*scriptedLab) {
	return func(l *scriptedLab) {
		l.machine("db1").Noise = 0.005
		slowWrites(l.machine("db1"), factors)
	}
}

// olderExperiments are the kinds that vary something.
func olderExperiments() []olderKind {
	one := []string{"db1"}
	sweep, ablate := []string{"sweep"}, []string{"ablate"}
	bisect := func(what ...string) []string { return append([]string{"bisect"}, what...) }
	swept := [][]string{{"sweep", "--show", "last", "--json"}}
	ablated := [][]string{{"ablate", "--show", "last", "--json"}}
	searched := [][]string{{"bisect", "--show", "last", "--json"}}
	wanted := []string{".wanted"} // one measurement of each end does not tell how many are
	found := slower(map[string]float64{swappiness + "=1": 0.6})
	boots := func(l *scriptedLab) { l.bootable(map[string]float64{"slub_debug=FZPU": 0.5}).Noise = 0.005 }
	return []olderKind{
		{name: "sweep", machines: one, set: slower(map[string]float64{readAhead + "=16": 0.5}),
			made: olderRun(olderWrites, sweep, seeded("--factor", "queue:read_ahead_kb=16,128", "--blocks", "2")...),
			cut:  loadCut("db1", "--name=writes", 3), resume: sweep, prints: swept,
			killed: func(l *scriptedLab, now func()) {
				m := l.machine("db1")
				m.AtLoad("--name=writes", 0, func(e *scripted.Event) {
					if len(m.Loads()) > 2 && m.Get(readAhead) == "16" {
						now()
					}
				})
			},
			file: readAhead, had: "128", leaves: "16", undone: "are restored: queue:read_ahead_kb"},
		{name: "sweep-reference", machines: []string{"db1", "db2"}, set: func(*scriptedLab) {},
			made: olderRun(olderWrites, sweep, seeded("--factor", "queue:read_ahead_kb=16,128", "--blocks", "2",
				"--reference", "/tmp", "--reference-on", "scripted://db2")...),
			cut: loadCut("db2", "--name=writes", 2), resume: sweep, prints: swept},
		{name: "sweep-budget", machines: one, set: slower(nil),
			made: olderRun(olderWrites, sweep, seeded("--factor", "job:iodepth=1,2,4,8", "--budget", "40s")...),
			cut:  loadCut("db1", "--name=writes", 5), resume: sweep, prints: swept,
			// Four blocks were enough for a difference of any size once.
			withheld: []string{".cells[0].gain.", ".cells[0].levels[", ".recommended.gain.", ".recommended.losses["}},
		{name: "sweep-guests", machines: []string{"one", "two"}, set: guestsOfOlder,
			made: olderRun(olderReads, sweep, "/srv", "--on", "qemu:one", "--on", "qemu:two", "--blocks", "2",
				"--seed", "1", "--factor", "cmdline:mitigations=auto,off", "--label", "kept"),
			cut: loadCut("two", "--name=reads", 3), resume: sweep, prints: swept},
		{name: "sweep-host", machines: one,
			set: func(l *scriptedLab) { l.kexecs(map[string]float64{"mitigations=off": 1.25}) },
			made: olderRun(olderWrites, sweep, seeded("--factor", "cmdline:mitigations=auto,off", "--blocks", "2",
				"--reboot", "scripted://db1")...),
			cut: loadCut("db1", "--name=writes", 3), resume: append(sweep, "--reboot", "scripted://db1"),
			prints: swept},
		{name: "sweep-network", machines: []string{"client", "server"},
			set: func(l *scriptedLab) { l.wired(2, "client", "server") },
			made: olderRun(olderSend, sweep, betweenEnds("--address", "198.18.1.2", "--address", "198.18.2.2",
				"--factor", "pin:cpus=0,1", "--blocks", "2", "--seed", "1")...),
			cut: loadCut("client", "--client", 5), resume: sweep, prints: swept},
		{name: "ablate", machines: one, set: found,
			made: olderRun(olderWrites, ablate, seeded(append(asSetting("sysctl:vm.dirty_ratio=5",
				"sysctl:vm.swappiness=1"), "--blocks", "2")...)...),
			cut: loadCut("db1", "--name=writes", 5), resume: ablate, prints: ablated,
			withheld: []string{".unexplained[0].all.ratio"}}, // a product was all that a sum was held against
		{name: "ablate-pairs", machines: one,
			set: func(l *scriptedLab) {
				m := l.machine("db1")
				m.Noise = 0.002
				m.Fio = func(load *scripted.Load) scripted.IO {
					io := scripted.Drive(load)
					if m.Get(swappiness) == "1" && m.Get(cachePressure) == "50" {
						io.Write *= 0.5
					}
					return io
				}
			},
			made: olderRun(olderWrites, ablate, seeded(append(asSetting("sysctl:vm.dirty_ratio=5",
				"sysctl:vm.swappiness=1", "sysctl:vm.vfs_cache_pressure=50"), "--pairs", "1", "--blocks", "4")...)...),
			cut: loadCut("db1", "--name=writes", 5), resume: ablate, prints: ablated,
			// Three blocks were enough for a difference and for an interaction once.
			withheld: []string{".settings[1].", ".settings[2].", ".interactions", ".unexplained[0]."}},
		{name: "bisect-settings", machines: one, set: found,
			made: olderRun(olderWrites, bisect("settings"), seeded(asSetting("sysctl:vm.dirty_ratio=20,5",
				"sysctl:vm.swappiness=60,1", "sysctl:vm.vfs_cache_pressure=100,50")...)...),
			cut: loadCut("db1", "--name=writes", 5), resume: bisect(), prints: searched, withheld: wanted},
		{name: "bisect-steps", machines: one,
			set: slower(map[string]float64{"/sys/block/nvme0n1/queue/nr_requests=16": 0.6,
				"/sys/block/nvme0n1/queue/nr_requests=8": 0.6}),
			made: olderRun(olderWrites, bisect("steps"), seeded("--setting", "queue:nr_requests=1023,64,16,8")...),
			cut:  loadCut("db1", "--name=writes", 4), resume: bisect(), prints: searched, withheld: wanted},
		{name: "bisect-sysctl", machines: one, set: found,
			made: func(l *scriptedLab, code int) {
				l.run(append([]string{"bisect", "sysctl", l.file("suite.yaml", olderWrites), "--good",
					l.file("good.conf", "vm.swappiness = 60\nvm.vfs_cache_pressure = 100\n"), "--bad",
					l.file("bad.conf", "vm.swappiness = 1\nvm.vfs_cache_pressure = 50\n")}, seeded()...)...).ends(code)
			},
			cut: loadCut("db1", "--name=writes", 4), resume: bisect(), prints: searched, withheld: wanted},
		{name: "bisect-args", machines: one, set: boots,
			made: olderRun(olderWrites, bisect("args"), "/srv", "--on", "qemu:db1", "--seed", "1", "--label", "kept",
				"--bad", "slub_debug=FZPU audit=0 ro", "--good", "ro"),
			cut: loadCut("db1", "--name=writes", 3), resume: bisect(), prints: searched, withheld: wanted},
		{name: "bisect-kconfig", machines: one,
			set: func(l *scriptedLab) { l.bootable(map[string]float64{"iommu.strict=1": 0.7}).Noise = 0.005 },
			made: func(l *scriptedLab, code int) {
				const head = "# Linux/x86 6.12.0 Kernel Configuration\n"
				l.run("bisect", "kconfig", l.file("suite.yaml", olderWrites), "/srv", "--on", "qemu:db1", "--seed",
					"1", "--label", "kept", "--good", l.file("good.config", head+"CONFIG_IOMMU_DEFAULT_DMA_LAZY=y\n"+
						"# CONFIG_IOMMU_DEFAULT_DMA_STRICT is not set\n# CONFIG_INIT_ON_ALLOC_DEFAULT_ON is not set\n"+
						"# CONFIG_KASAN is not set\n"), "--bad", l.file("bad.config", head+
						"# CONFIG_IOMMU_DEFAULT_DMA_LAZY is not set\nCONFIG_IOMMU_DEFAULT_DMA_STRICT=y\n"+
						"CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y\nCONFIG_KASAN=y\n")).ends(code)
			},
			cut: loadCut("db1", "--name=writes", 3), resume: bisect(), prints: searched, withheld: wanted},
		{name: "bisect-facts", machines: []string{"fast", "slow", "db1"},
			set: func(l *scriptedLab) {
				for _, file := range []string{swappiness, cachePressure} {
					l.machine("slow").Set(file, "50")
				}
				slower(map[string]float64{cachePressure + "=50": 0.6})(l)
			},
			made: func(l *scriptedLab, code int) {
				l.run(append([]string{"bisect", "facts", "scripted://fast", "scripted://slow", l.file("suite.yaml",
					olderWrites)}, seeded()...)...).ends(code)
			},
			cut: loadCut("db1", "--name=writes", 4), resume: bisect(), prints: searched, withheld: wanted},
		{name: "bisect-commits", machines: one, set: gitTree,
			made: func(l *scriptedLab, code int) {
				l.run("bisect", "commits", "v1..main", l.file("suite.yaml", olderTree), "--tree", l.commitTree(),
					"--seed", "1", "--label", "kept").ends(code)
			},
			cut: loadCut("db1", "/bench", 3), resume: bisect(), prints: searched, withheld: wanted},
		{name: "bisect-check", machines: one,
			set: func(l *scriptedLab) { l.here("db1"); benchmarksOfOlder(l.machine("db1")) },
			made: func(l *scriptedLab, code int) {
				m, suite := l.machine("db1"), l.file("suite.yaml", olderBenches)
				l.run("run", suite, "/srv", "--repeat", "6", "--label", "good").ends(code)
				benchesAt(m, 60)
				l.run("run", suite, "/srv", "--repeat", "6", "--label", "bad").ends(code)
				benchesAt(m, 100)
				l.run("bisect", "check", suite, "/srv", "--good", "good", "--bad", "bad").ends(code)
			},
			more: func(l *scriptedLab) {
				l.run("bisect", "check", l.file("suite.yaml", olderBenches), "/srv", "--good", "good", "--bad",
					"bad").ends(0)
			}},
	}
}

// slowCommits are those of the git tree of gitTree in which a program is slow.
func slowCommits() []string { return []string{"0643d685215e", "28e708f7b239", "a3f95bff3022"} }

// gitTree has this machine check commits out, as folders without anything in them, and run their program.
func gitTree(l *scriptedLab) {
	m := l.here("db1")
	m.Answer = func(argv []string) (scripted.Output, bool) {
		at := slices.Index(argv, "git")
		switch {
		case argv[0] == "sync" || argv[0] == "chmod":
			return scripted.Output{}, true
		case at < 0:
			return scripted.Output{}, false
		}
		args := argv[at+9:] // after -C and three options
		switch {
		case slices.Contains(args, "--git-common-dir"):
			return scripted.Output{Stdout: filepath.Join(l.dir, "tree", ".git") + "\n"}, true
		case args[0] == "worktree" && args[1] == "add":
			if err := os.MkdirAll(args[4], 0o755); err != nil {
				l.Error(err)
			}
			m.Folder(args[4])
		}
		return scripted.Output{}, true
	}
	m.Programs["bench"] = func(load *scripted.Load) scripted.Result {
		built, err := os.Readlink(path.Dir(load.Argv[0]))
		if err != nil {
			l.Error(err)
			return scripted.Result{Exit: 1}
		}
		rate := "rate 100\n"
		if slices.Contains(slowCommits(), built) {
			rate = "rate 50\n"
		}
		return scripted.Result{Duration: 3 * time.Second, Stdout: rate}
	}
}

// commitTree makes the git tree, whose commits are the same ones each time.
func (l *scriptedLab) commitTree() string {
	l.Helper()
	dir := filepath.Join(l.dir, "tree")
	commands := [][]string{{"init", "-q", "-b", "main", dir}}
	for i := range 6 {
		commands = append(commands, []string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c",
			"commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", fmt.Sprint("Change ", i)})
	}
	for _, args := range append(commands, []string{"-C", dir, "tag", "v1", "main~5"}) {
		git := exec.Command("git", args...)
		git.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2027-01-01T00:00:00Z",
			"GIT_COMMITTER_DATE=2027-01-01T00:00:00Z")
		if out, err := git.CombinedOutput(); err != nil {
			l.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}
