package designtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// failed makes the loads of a moment fail, each in a separate experiment: the first, which may lay out a file, and a
// later one. Nothing must be left, and nothing else must be missing once the experiment has been resumed.
func (d Design) failed(l *Lab, w whole) {
	for _, at := range []int{1, 1 + w.moments/2} {
		l.dir = l.TempDir()
		l.failAt(at)
		o := l.run(l.args...)
		if failed := l.failures(); d.FailuresAnswer || failed == 0 { // of a layout, which ends it
			l.endsInOrder(o, 0, 1)
		} else if l.endsInOrder(o, 1); !strings.Contains(o.stderr, fmt.Sprintf("%d of ", failed)) ||
			!strings.Contains(o.stderr, "loads failed: ") {
			l.Errorf("it does not say which loads failed:\n%s", o.stderr)
		}
		l.goOn(w)
	}
}

// failures counts the loads that have failed.
func (l *Lab) failures() int {
	l.Helper()
	n := 0
	for _, b := range l.bundles(l.store()) {
		for r, err := range b.Repetitions() {
			if err != nil {
				l.Fatal(err)
			}
			if experiment.LoadFailed(r) {
				n++
			}
		}
	}
	return n
}

// lost makes a machine unreachable during such a load, and reachable again later.
func (d Design) lost(l *Lab, w whole) {
	for _, at := range []int{1, 1 + w.moments/2} {
		l.dir = l.TempDir()
		l.atLoad(at, func(e *scripted.Event) { e.After(soon, e.Machine.Disconnect) })
		l.ends(l.run(l.args...), 1)
		if n := l.failures(); n > 0 {
			l.Errorf("%d loads that were lost with their machine are kept, so that nothing repeats them", n)
		}
		for _, m := range l.Machines {
			m.Reconnect()
		}
		l.endsInOrder(l.run(d.restore()...), 0)
		l.goOn(w)
	}
}

// endsInOrder fails the test if a command ended with another code, or has left anything.
func (l *Lab) endsInOrder(o outcome, codes ...int) {
	l.Helper()
	if !slices.Contains(codes, o.code) {
		l.ends(o, codes[0])
	}
	l.asFound()
}

// goOn resumes an interrupted experiment. In the end each repetition of the plan was run, including failed ones.
func (l *Lab) goOn(w whole) {
	l.Helper()
	interrupted := func(dir string) bool {
		return slices.ContainsFunc(l.runs(dir), func(r lab.Run) bool { return r.Status != lab.Complete })
	}
	if interrupted(l.store()) {
		l.endsInOrder(l.run(l.design.resume()...), 0, 1)
	}
	if interrupted(l.store()) {
		l.Fatal("it was gone on with, and is not complete")
	}
	got, want := carriedOut(l.measured(l.store())), carriedOut(w.measured)
	if !l.design.Adaptive && !maps.Equal(got, want) {
		l.Fatalf("carried out:\n%sto be carried out:\n%s", listed(got), listed(want))
	}
}

// carriedOut counts repetitions whether they failed or not.
func carriedOut(measured map[string]int) map[string]int {
	all := map[string]int{}
	for key, n := range measured {
		all[strings.TrimSuffix(key, failedSuffix)] += n
	}
	return all
}

// budget ends the experiment early, and in time. The saved run records it, and is resumed to its end.
func (d Design) budget(l *Lab, w whole) {
	if d.Budget == 0 {
		return
	}
	o := l.run(append(l.args, "--budget", d.Budget.String())...)
	l.endsInOrder(o, 0, 5)
	if latest := d.Budget + time.Second; o.took > latest {
		l.Errorf("it took %s with a budget of %s", o.took, d.Budget)
	}
	got, all := count(l.measured(l.store())), count(w.measured)
	if got == 0 || got >= all && !d.Adaptive {
		l.Errorf("within its budget it has measured %d repetitions of %d", got, all)
	}
	if !d.Adaptive && !strings.Contains(o.stderr, "--budget ended it after ") {
		l.Errorf("it does not say what its budget has left undone:\n%s", o.stderr)
	}
	if d.Adaptive || slices.ContainsFunc(l.runs(l.store()), func(r lab.Run) bool { return r.Anytime }) {
		return // measured values decide how much is left
	}
	for command, said := range map[string]string{"list": "complete after ",
		"show last": "budget ended the run after "} {
		if o := l.ends(l.run(strings.Fields(command)...), 0); !strings.Contains(o.stdout, said) {
			l.Errorf("headroom %s does not say what its budget has left undone:\n%s", command, o.stdout)
		}
	}
	l.showsAsPrinted(l.ends(l.run(d.resume()...), 0))
	l.same(l.store(), w)
	if o := l.run("list"); strings.Contains(o.stdout, "complete after ") {
		l.Errorf("nothing is left undone any more:\n%s", o.stdout)
	}
}

// notPutBack makes commands fail that restore something, from the first load on: that must be reported, and restore
// must retry until it succeeds.
func (d Design) notPutBack(l *Lab, _ whole) {
	for _, s := range d.Undo {
		l.dir = l.TempDir()
		machine, command, _ := strings.Cut(s, ":")
		refuse, before := true, len(l.loads())
		l.Machine(machine).AtCommand(command, 0, func(e *scripted.Event) {
			if refuse && len(l.loads()) > before {
				e.Fail(1, "Device or resource busy\n")
			}
		})
		for _, args := range [][]string{l.args, d.restore()} {
			o := l.ends(l.run(args...), 1)
			if !strings.Contains(o.stderr, "headroom restore") {
				l.Errorf("headroom %s does not say what to do about %q:\n%s", args[0], command, o.stderr)
			}
			for line := range strings.Lines(o.stderr) {
				if strings.HasPrefix(line, "headroom: ") && strings.Count(o.stderr, line) > 1 {
					l.Errorf("headroom %s says twice: %s", args[0], line)
				}
			}
		}
		refuse = false
		l.endsInOrder(l.run(d.restore()...), 0)
		if o := l.ends(l.run(d.restore()...), 0); !strings.Contains(o.stdout+o.stderr, "nothing was left behind") {
			l.Errorf("restored once, restore finds something again:\n%s%s", o.stdout, o.stderr)
		}
	}
}
