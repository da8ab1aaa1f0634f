package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// crash is what a process leaves that dies at a moment: its store, and the machine as it was.
type crash struct {
	at, store string
	restore   func()
}

// crashes collects what a process would leave at moments while it goes on to its end. So one run has all that can be
// left of it, and a bubble need hold no process that is gone.
type crashes struct {
	*scriptedLab
	machine *scripted.Machine
	mu      sync.Mutex // of all: some are noted by the clock
	all     []crash
}

// list are those that were taken down.
func (d *crashes) list() []crash {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

// record takes down what a death at this moment would leave.
func (d *crashes) record(at string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	store := filepath.Join(d.dir, fmt.Sprint("left", len(d.all)))
	if err := os.CopyFS(store, os.DirFS(filepath.Join(d.dir, "store"))); err != nil {
		d.Errorf("at %s: %v", at, err)
		return
	}
	d.all = append(d.all, crash{at, store, d.machine.Snapshot()})
}

// afterCrash runs a command on what a death has left.
func (d *crashes) afterCrash(left crash, args ...string) scriptedOutcome {
	d.Helper()
	return d.run(append(slices.Clone(args), "--store", left.store)...)
}

// checkNothingLeft fails the test unless all is as it was found.
func (d *crashes) checkNothingLeft(left crash) {
	d.Helper()
	d.asFound(d.machine.Name)
	d.noJournals(left.store)
}

// Whatever step of saving a run dies at, restore leaves nothing behind, all that was finished before is whole, and the
// run goes on to its end.
func TestScriptedRunDiesAtEachStepOfSaving(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		d := &crashes{scriptedLab: l, machine: l.machine("db1")}
		const repetitions = 3
		var begun []int // loads, by death
		l.steps = func(step string) {
			writes := slices.DeleteFunc(l.loaded("db1"), func(name string) bool { return name != "writes" })
			begun = append(begun, len(writes))
			d.record(step)
		}
		l.run("run", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--repeat",
			strconv.Itoa(repetitions)).ends(0)
		l.steps = nil
		resumed := 0
		for i, left := range d.list() {
			left.restore()
			d.afterCrash(left, "restore").ends(0)
			d.checkNothingLeft(left)
			rows, err := store.Open(left.store).List()
			if err != nil || len(rows) > 1 {
				t.Fatalf("at %s: %d runs, %v", left.at, len(rows), err)
			}
			if len(rows) == 0 {
				if begun[i] > 0 {
					t.Errorf("at %s: there is no run, and %d loads", left.at, begun[i])
				}
				continue
			}
			saved := wholeRepetitions(t, left, rows[0].ID)
			if saved < begun[i]-1 { // the last one may be in the midst of being saved
				t.Errorf("at %s: %d loads were begun, and %d repetitions are saved", left.at, begun[i], saved)
			}
			if i%4 != 0 || rows[0].Status != lab.Interrupted {
				continue
			}
			resumed++
			d.afterCrash(left, "run", "--resume", "last").ends(0)
			d.checkNothingLeft(left)
			if saved = wholeRepetitions(t, left, rows[0].ID); saved != repetitions {
				t.Errorf("at %s: it went on to %d repetitions of %d", left.at, saved, repetitions)
			}
		}
		if len(begun) < 40 || begun[len(begun)-1] < repetitions || resumed < 5 {
			t.Errorf("it died %d times in %d loads, and went on %d times", len(begun), begun[len(begun)-1], resumed)
		}
	})
}

// wholeRepetitions counts the repetitions of a run in what a death has left, and fails the test unless they are whole
// and the run is said to have ended.
func wholeRepetitions(t *testing.T, left crash, run string) int {
	t.Helper()
	b, err := store.Open(left.store).Find(run)
	if err != nil {
		t.Fatalf("at %s: %v", left.at, err)
	}
	if b.Run.Status == lab.Running {
		t.Errorf("at %s: the run is still said to go on", left.at)
	}
	n := 0
	for rep, err := range b.Repetitions() {
		if n++; err != nil || rep.Values[lab.IOPS(lab.Write)] <= 0 {
			t.Errorf("at %s: repetition %+v, %v", left.at, rep, err)
		}
	}
	raw := 0
	for _, err := range b.Raw() {
		if raw++; err != nil {
			t.Errorf("at %s: %v", left.at, err)
		}
	}
	if raw < n {
		t.Errorf("at %s: %d repetitions, and the raw output of %d", left.at, n, raw)
	}
	return n
}

// What a run that died has left elsewhere waits until that machine is named, or all are.
func TestScriptedLeftOnAnotherMachine(t *testing.T) {
	inScriptedLab(t, []string{"db1", "db2"}, func(l *scriptedLab) {
		d := &crashes{scriptedLab: l, machine: l.machine("db1")}
		d.machine.AtLoad("--name=writes", 2, func(e *scripted.Event) {
			e.After(5*time.Second, func() { d.record("a load") })
		})
		suite := l.file("suite.yaml", oneLoad)
		l.run("ablate", suite, "/srv", "--on", "scripted://db1", "--setting", "sysctl:vm.swappiness=1", "--setting",
			"queue:read_ahead_kb=16", "--blocks", "1", "--seed", "3").ends(0)
		left := d.list()[0]
		left.restore()
		if d.machine.Get(swappiness) == "60" && d.machine.Get(readAhead) == "128" {
			t.Fatal("no setting was changed when it died")
		}
		d.afterCrash(left, "run", suite, "/srv", "--on", "scripted://db2", "--repeat", "1").ends(0).
			says("on scripted://db1 was cut off; to look after what it left there: headroom restore",
				"settings on scripted://db1 are still changed")
		d.machine.Disconnect()
		d.afterCrash(left, "restore").ends(1).says("what it left on scripted://db1 can't be looked after now",
			"are still changed", "and it can't be reached")
		d.machine.Reconnect()
		// A run on that machine mends it first. This one is an ablation that goes on.
		d.afterCrash(left, "ablate", "--resume", "last~1").ends(2)
		d.afterCrash(left, "run", suite, "/srv", "--on", "scripted://db1", "--repeat",
			"1").ends(0).says("ended its load",
			"are restored")
		d.checkNothingLeft(left)
		l.checkNothingLeft("db2")
	})
}

// A setting that somebody else has changed after a death counts as headroom's own only where it was never read back.
func TestScriptedExternalChangeAfterACrash(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		d := &crashes{scriptedLab: l, machine: l.machine("db1")}
		d.machine.AtLoad("--name=writes", 2, func(e *scripted.Event) {
			e.After(5*time.Second, func() { d.record("a load") })
		})
		l.run("sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--factor",
			"sysctl:vm.swappiness=1,10", "--blocks", "1", "--seed", "1").ends(0)
		left := d.list()[0]
		left.restore()
		d.machine.Set(swappiness, "77")
		d.afterCrash(left, "restore").ends(4).says(`is "77" now: something else has changed it`)
		d.afterCrash(left, "restore", "--anyway").ends(0)
		d.checkNothingLeft(left)
	})
}

// kexecs has db1 be a machine that is started again by kexec, as rented ones are.
func (l *scriptedLab) kexecs(slow map[string]float64) *scripted.Machine {
	m := l.bootable(slow)
	delete(l.opened, "db1")
	m.Kexecs()
	return m
}

// cmdline of a scripted machine as it starts by itself.
const ownCmdline = "BOOT_IMAGE=/boot/vmlinuz-6.12.0-scripted root=/dev/vda1 ro quiet"

// A real host is started again at every visit, with other arguments, and by itself in the end, also when interrupted.
func TestScriptedSweepOfARealHost(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.kexecs(map[string]float64{"mitigations=off": 1.25})
		var boots []string
		m.OnBoot = func(line string) error { boots = append(boots, line); return nil }
		args := []string{"sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--factor",
			"cmdline:mitigations=auto,off", "--blocks", "2", "--seed", "1"}
		l.run(append(args, "--reboot", "scripted://db1", "--dry-run")...).ends(0).says("scripted://db1 is restarted "+
			"by kexec at every visit", "boot scripted://db1 with its own arguments, and verify them")
		l.run(append(args, "--reboot", "scripted://db1", "--boot-way", "lilo")...).ends(2).says(
			"there is no boot method called lilo")
		l.run(append(args, "--reboot", "scripted://db1", "--boot-way", "grub")...).ends(4).says("grub: ")
		if len(boots) != 0 {
			t.Fatalf("it was restarted: %q", boots)
		}
		m.AtLoad("--name=writes", 3, func(e *scripted.Event) { e.After(5*time.Second, l.interrupt) })
		l.run(append(args, "--reboot", "scripted://db1")...).ends(130)
		if now := m.Get("/proc/cmdline"); now != ownCmdline || len(boots) != 4 || boots[3] != ownCmdline {
			t.Errorf("it runs with %s, and was started with %q", now, boots)
		}
		l.asFound("db1")
		l.run("sweep", "--resume", "last").ends(4).says("that was not allowed")
		l.run("sweep", "--resume", "last", "--reboot", "scripted://db1").ends(0)
		if now := m.Get("/proc/cmdline"); now != ownCmdline || boots[len(boots)-1] != ownCmdline {
			t.Errorf("it runs with %s, and was started with %q", now, boots)
		}
		iops := map[string]float64{}
		for _, c := range l.saved("last").Cells {
			iops[c.Levels["cmdline:mitigations"]] = c.Metrics["write.iops"].Center
		}
		if iops["auto"] != 200_000 || iops["off"] != 250_000 {
			t.Errorf("writes reach %v", iops)
		}
		l.asFound("db1")
	})
}

// A host that does not come back is named, with what to do; after a power cycle restore finds it as it was.
func TestScriptedRealHostHangs(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.kexecs(nil)
		m.OnBoot = func(line string) error {
			if strings.Contains(line, "mitigations=off") {
				return &lab.Error{What: "it hangs"}
			}
			return nil
		}
		suite := l.file("suite.yaml", oneLoad)
		args := []string{"sweep", suite, "/srv", "--on", "scripted://db1", "--reboot", "scripted://db1", "--factor",
			"cmdline:mitigations=auto,off", "--blocks", "1", "--seed", "1", "--boot-limit", "3m"}
		l.run(args...).ends(1).says("the machine did not come back in 3m",
			"a power cycle starts it with its own boot arguments", "headroom restore --reboot scripted://db1")
		l.run("restore").ends(1).says("can't be taken away now")
		m.PowerCycle()
		l.run("restore").ends(0).says("runs with its own boot arguments, and nothing is left there of what was put " +
			"there for a boot")
		l.run("restore").ends(0).says("nothing was left behind")
		l.asFound("db1")
	})
}

// A headroom that dies while a host runs with other arguments leaves what it takes to end that, which is done where it
// is allowed.
func TestScriptedRealHostIsLeft(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		d := &crashes{scriptedLab: l, machine: l.kexecs(nil)}
		d.machine.AtLoad("--name=writes", 1, func(e *scripted.Event) {
			e.After(5*time.Second, func() { d.record("a load") })
		})
		l.steps = func(step string) {
			if step == "restart" || step == "forget the record of a boot" {
				d.record(step)
			}
		}
		l.run("sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--reboot", "scripted://db1",
			"--factor", "cmdline:mitigations=auto,off", "--blocks", "1",
			"--seed", "1").ends(0)
		l.steps = nil
		for _, left := range d.list() {
			left.restore()
			runs := d.machine.Get("/proc/cmdline")
			if runs == ownCmdline {
				d.afterCrash(left, "restore").ends(0).says("runs with its own boot arguments")
			} else {
				d.afterCrash(left, "run", filepath.Join(l.dir, "suite.yaml"), "/srv", "--on", "scripted://db1",
					"--repeat",
					"1")
				d.afterCrash(left, "restore").ends(4).says("it still runs, or will start, as run",
					"headroom restore --reboot scripted://db1")
				d.afterCrash(left, "restore", "--reboot", "scripted://db1").ends(0).says(
					"was restarted, and runs with its own boot arguments")
			}
			if now := d.machine.Get("/proc/cmdline"); now != ownCmdline {
				t.Errorf("at %s: it runs with %s", left.at, now)
			}
			d.afterCrash(left, "restore").ends(0).says("nothing was left behind")
			d.checkNothingLeft(left)
		}
		if n := len(d.list()); n != 4 {
			t.Errorf("it died %d times", n)
		}
	})
}

// A place that is another one after a boot is not measured.
func TestScriptedPlaceAfterABoot(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.kexecs(nil)
		mounted := m.Get("/proc/self/mountinfo")
		m.OnBoot = func(line string) error {
			text := mounted
			if strings.Contains(line, "mitigations=off") { // the drive was not mounted
				text, _, _ = strings.Cut(mounted, "\n27 22")
			}
			m.Set("/proc/self/mountinfo", text)
			return nil
		}
		l.run("sweep", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db1", "--reboot", "scripted://db1",
			"--factor", "cmdline:mitigations=off,auto", "--blocks", "1", "--seed", "1").
			ends(4).says("/srv differs from its state before the boot")
		if now := m.Get("/proc/cmdline"); now != ownCmdline {
			t.Errorf("it runs with %s", now)
		}
		l.asFound("db1")
	})
}

// The boot of one machine is varied, and the load runs on another.
func TestScriptedBootOfAnotherMachine(t *testing.T) {
	inScriptedLab(t, []string{"db1", "db2"}, func(l *scriptedLab) {
		m := l.kexecs(nil)
		l.machine("db2").Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if strings.Contains(m.Get("/proc/cmdline"), "nfsd.threads=1") {
				io.Write /= 2
			}
			return io
		}
		args := []string{"bisect", "args", l.file("suite.yaml", oneLoad), "/srv", "--on", "scripted://db2", "--boot-on",
			"scripted://db1", "--bad", "nfsd.threads=1 skew_tick=1", "--seed", "1"}
		l.run(append(args, "--dry-run")...).ends(4).says("that was not allowed")
		l.run(append(args, "--reboot", "scripted://db1")...).ends(0)
		if d := l.bisectionDocument(); !slices.Equal(culprits(d), []string{"cmdline:nfsd.threads=1"}) {
			t.Errorf("%s: %v", d.Outcome, culprits(d))
		}
		if now := m.Get("/proc/cmdline"); now != ownCmdline || len(m.Loads()) != 0 {
			t.Errorf("it runs with %s, and ran %d loads", now, len(m.Loads()))
		}
		l.asFound("db1")
		l.asFound("db2")
	})
}
