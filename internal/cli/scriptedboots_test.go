package cli

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Two experiments with stores of their own do not start one host by turns: the second one is refused, and what it would
// take for the host's own arguments would be the first one's.
func TestScriptedTwoExperimentsStartOneHost(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.kexecs(nil)
		suite, other := l.file("suite.yaml", oneLoad), filepath.Join(l.dir, "other")
		sweep := func(args ...string) []string {
			return append([]string{"sweep", suite, "/srv", "--on", "scripted://db1", "--reboot", "scripted://db1",
				"--factor", "cmdline:mitigations=auto,off", "--blocks", "1", "--seed", "1"}, args...)
		}
		var boots []string
		m.OnBoot = func(line string) error { boots = append(boots, line); return nil }
		m.AtLoad("--name=writes", 1, func(e *scripted.Event) {
			e.After(5*time.Second, func() {
				before := len(boots)
				l.run(sweep("--store", other)...).ends(4).says("the boot of scripted://db1 can't be changed",
					"headroom --store "+filepath.Join(l.dir, "store")+" sweep", "--wait waits until process")
				if len(boots) != before {
					t.Errorf("it was started with %q", boots[before:])
				}
				l.noJournals(other)
			})
		})
		l.run(sweep()...).ends(0)
		if now := m.Get("/proc/cmdline"); now != ownCmdline || len(boots) != 3 || boots[2] != ownCmdline {
			t.Errorf("it runs with %s, and was started with %q", now, boots)
		}
		l.asFound("db1")
		l.run(sweep("--store", other)...).ends(0)
		l.asFound("db1")
		l.noJournals(other)
	})
}

// A host that a killed experiment has left stays locked for the experiments of other stores until it is put right.
func TestScriptedHostThatWasLeftStaysLocked(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.kexecs(nil)
		m.OnBoot = func(line string) error {
			if !strings.Contains(line, "mitigations=off") {
				return &lab.Error{What: "it hangs"}
			}
			return nil
		}
		suite, other := l.file("suite.yaml", oneLoad), filepath.Join(l.dir, "other")
		sweep := []string{"sweep", suite, "/srv", "--on", "scripted://db1", "--reboot", "scripted://db1", "--factor",
			"cmdline:mitigations=off,auto", "--blocks", "1", "--seed", "1", "--boot-limit", "3m"}
		l.run(sweep...).ends(1)
		m.PowerCycle()
		m.OnBoot = nil
		l.run(append(sweep, "--store", other)...).ends(4).says("the boot of scripted://db1 can't be changed",
			"headroom restore --store "+filepath.Join(l.dir, "store"))
		l.run("restore").ends(0).says("runs with its own boot arguments")
		l.run("restore").ends(0).says("nothing was left behind")
		l.run(append(sweep, "--store", other)...).ends(0)
		l.asFound("db1")
		l.noJournals(other)
	})
}
