package designtest

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Shown returns what a machine shows of a factor: the level in effect, or the original value.
type Shown func(l *Lab) string

// File shows a factor by a file of a machine.
func File(machine, name string) Shown {
	return func(l *Lab) string { return l.Machine(machine).Get(name) }
}

// Argument shows the value of a kernel argument of the machine's boot; empty for none.
func Argument(machine, name string) Shown {
	return func(l *Lab) string {
		for _, a := range strings.Fields(l.Machine(machine).Get("/proc/cmdline")) {
			if value, ok := strings.CutPrefix(a, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// Mounts shows a machine's NFS mounts, in the form of levels of mount:nfs; empty for none.
func Mounts(machine string) Shown {
	return func(l *Lab) string {
		var all []string
		for _, n := range l.Machine(machine).Mounts() {
			all = append(all, n.Address+":"+n.Path+" "+strings.Join(n.Options, ","))
		}
		return strings.Join(all, "; ")
	}
}

// atBegin is what the machines show of each factor when a load begins.
type atBegin struct {
	at    time.Time
	shown map[string]string
}

// effects records what the machines show of the factors when loads begin.
type effects struct {
	*Lab
	found map[string]string
	all   []atBegin
	// commands is how many commands each machine had run when the last load began.
	commands map[string]int
}

// watch begins to record what is shown. Other watchers of loads are still called.
func (e *effects) watch() {
	e.found = e.shows()
	before := e.begun
	e.begun = func(load *scripted.Event, first bool) {
		if before != nil {
			before(load, first)
		}
		e.all = append(e.all, atBegin{time.Now(), e.shows()})
		e.commands = map[string]int{}
		for _, m := range e.Machines {
			e.commands[m.Name] = len(m.Commands())
		}
	}
}

func (e *effects) shows() map[string]string {
	all := map[string]string{}
	for factor, shown := range e.design.Shows {
		all[factor] = shown(e.Lab)
	}
	return all
}

// check fails the test unless each repetition began with exactly the levels of its arm, and with the original values of
// factors that the arm does not name.
func (e *effects) check() {
	e.Helper()
	checked := 0
	for _, b := range e.bundles(e.store()) {
		arms := map[string]lab.Arm{}
		for _, a := range b.Run.Arms {
			arms[a.ID] = a
		}
		cells := map[string]lab.Cell{}
		for _, c := range b.Run.Cells {
			cells[c.ID] = c
		}
		for r, err := range b.Repetitions() {
			if err != nil {
				e.Fatal(err)
			}
			i := slices.IndexFunc(e.all, func(a atBegin) bool {
				return a.at.Sub(r.Start).Abs() < time.Second
			})
			if i < 0 {
				e.Errorf("no load began when %s did, at %s", r.Cell, r.Start)
				continue
			}
			levels := arms[cells[r.Cell].Arm].Levels
			for _, factor := range slices.Sorted(maps.Keys(e.design.Shows)) {
				want, varied := levels[factor]
				if !varied {
					want = e.found[factor]
				}
				if checked++; e.all[i].shown[factor] != want {
					e.Errorf("%s in block %d began with %s=%q, and its arm has %q", r.Cell, r.Block, factor,
						e.all[i].shown[factor], want)
				}
			}
		}
	}
	if checked == 0 && len(e.design.Shows) > 0 {
		e.Error("no level was checked")
	}
}

// snapshots fails the test unless each run has the snapshots of its targets before and after it. Servers, which run no
// load, need only the first. For a missing snapshot the header's facts are read, which are fewer.
func (l *Lab) snapshots() {
	l.Helper()
	for _, b := range l.bundles(l.store()) {
		for _, when := range []store.SnapshotTime{store.Before, store.After} {
			for _, t := range b.Run.Targets {
				if when == store.After && t.Role == experiment.ServerRole {
					continue
				}
				n := 0
				for _, err := range b.EachFact(t.Role, when) {
					if n++; err != nil {
						l.Errorf("the facts of %s: %v", t.Target, err)
						break
					}
				}
				if n == 0 || when == store.Before && n <= len(t.Facts) {
					l.Errorf("%d facts of %s (%s) are saved, %v; the header has %d", n, t.Target, t.Role, when,
						len(t.Facts))
				}
			}
		}
	}
}

// inOneOrder fails the test unless scratch files were removed after the last load before mounts and settings were
// restored: a file may be on a mount.
func (e *effects) inOneOrder() {
	e.Helper()
	for _, m := range e.Machines {
		undone := ""
		for _, command := range m.Commands()[e.commands[m.Name]:] {
			if strings.HasPrefix(command, "rm ") && strings.Contains(command, ".scratch") && undone != "" {
				e.Errorf("on %s, %s was undone before the scratch file was removed", m.Name, undone)
			}
			for _, undo := range e.design.Undo {
				part, ok := strings.CutPrefix(undo, m.Name+":")
				if ok && !strings.HasPrefix(part, "rm ") && strings.Contains(command, part) {
					undone = path.Base(part)
				}
			}
		}
	}
}
