package designtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Test fails unless a command line meets the requirements for every experiment.
func Test(t *testing.T, command Command, d Design) {
	t.Parallel()
	w := whole{}
	d.inLab(t, command, func(l *Lab) { w = d.whole(l) })
	if t.Failed() {
		return
	}
	for _, c := range []struct {
		name string
		run  func(l *Lab, w whole)
	}{
		{"interrupted", d.interrupted}, {"failed", d.failed}, {"lost", d.lost}, {"budget", d.budget},
		{"not put back", d.notPutBack},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.inLab(t, command, func(l *Lab) { c.run(l, w) })
		})
	}
}

// whole is an uninterrupted experiment.
type whole struct {
	// measured is how often each cell was measured, moments is the number of times at which loads began.
	measured map[string]int
	moments  int
}

// whole runs the experiment: it must do exactly what its dry run lists and leave nothing, and print what the saved run
// shows. At the end it examines what kills at various moments would have left.
func (d Design) whole(l *Lab) whole {
	dry := l.run(append(l.args, "--dry-run=full")...)
	if d.NoDryRun {
		l.ends(dry, 2)
	} else {
		l.endsInOrder(dry, 0)
	}
	if n := len(l.loads()); n > 0 {
		l.Fatalf("the dry run has started %d loads", n)
	}
	k := &kills{Lab: l}
	k.watch()
	e := &effects{Lab: l}
	e.watch()
	printed := l.ends(l.run(append(l.args, "--json")...), 0)
	k.end()
	l.asFound()
	e.check()
	e.inOneOrder()
	l.snapshots()
	if !d.NoDryRun {
		l.doesWhatItListed(dry.stdout)
		l.costsWhatItSaid(dry, printed)
	}
	w := whole{l.measured(l.store()), k.moments}
	l.profiled(true)
	if shown := l.ends(l.run(append(d.Show, "--json")...), 0); shown.stdout != printed.stdout {
		l.Errorf("it has printed\n%sand of the saved run says\n%s", printed.stdout, shown.stdout)
	}
	d.reportsAsShown(l)
	l.canBeSent()
	d.resumedOnlyBy(l)
	k.look(w)
	return w
}

// canBeSent fails the test unless another store accepts each run.
func (l *Lab) canBeSent() {
	l.Helper()
	for _, b := range l.bundles(l.store()) {
		if _, err := store.Open(filepath.Join(l.TempDir(), "store")).Imports.Adopt(b.Dir()); err != nil {
			l.Errorf("another store refuses the run: %v", err)
		}
	}
}

// reportsAsShown fails the test unless headroom report writes the same page of the last run as the design's own
// command.
func (d Design) reportsAsShown(l *Lab) {
	l.Helper()
	if d.Show[0] == "show" {
		return
	}
	var pages []string
	for _, args := range [][]string{d.Show, {"report", "last"}} {
		file := filepath.Join(l.TempDir(), "page.html")
		l.ends(l.run(append(args, "-o", file)...), 0)
		page, err := os.ReadFile(file)
		if err != nil {
			l.Fatal(err)
		}
		pages = append(pages, string(page))
	}
	if pages[0] != pages[1] {
		l.Errorf("headroom %s writes\n%sand headroom report\n%s", d.Show[0], pages[0], pages[1])
	}
}

// resumedOnlyBy checks that commands of other designs refuse to resume the run, and name the command that does. That
// command has nothing left to measure: it shows the result, or reports that.
func (d Design) resumedOnlyBy(l *Lab) {
	before := len(l.loads())
	if o := l.run(d.resume()...); o.code != 0 && o.code != 2 || len(l.loads()) > before {
		l.Errorf("of a complete run, headroom %s ended with %d and started %d loads", strings.Join(o.args, " "), o.code,
			len(l.loads())-before)
	}
	for _, other := range []lab.Design{lab.DesignRun, lab.DesignSweep, lab.DesignNet, lab.DesignLadder,
		lab.DesignLive} {
		if strings.Fields(string(other.Resume("last")))[1] == d.resume()[0] {
			continue
		}
		o := l.ends(l.run(strings.Fields(other.Resume("last"))[1:]...), 2)
		if !strings.Contains(o.stderr, d.Design.Resume("last")) {
			l.Errorf("headroom %s does not name the command that resumes the run:\n%s", strings.Join(o.args, " "), o.stderr)
		}
	}
}

// interrupted interrupts the experiment with Ctrl-C and resumes it, repeatedly: each time soon after one more
// repetition was saved, and at first at each load before that.
func (d Design) interrupted(l *Lab, w whole) {
	args, at, before := l.args, 1, 0
	for attempt := 1; ; attempt++ {
		if attempt > w.moments+8 {
			l.Fatalf("after %d interruptions it has not ended", attempt)
		}
		l.atLoad(at, func(e *scripted.Event) { e.After(soon, l.interrupt) })
		o := l.run(args...)
		l.asFound()
		if o.code == 0 {
			l.showsAsPrinted(o)
			break
		}
		l.ends(o, 130)
		if len(l.bundles(l.store())) > 0 {
			l.ends(l.run("show", "last"), 0)
		}
		args = d.resume()
		switch saved := l.saved(); {
		case saved == before:
			at++
		case saved > before+1:
			at, before = max(1, at-1), saved
		default:
			before = saved
		}
	}
	l.same(l.store(), w)
	l.profiled(false)
}

// showsAsPrinted fails the test unless headroom show prints of the last run what a command printed at its end.
func (l *Lab) showsAsPrinted(printed outcome) {
	l.Helper()
	shown := l.ends(l.run("show", "last"), 0)
	if !strings.HasPrefix(printed.stdout, shown.stdout) {
		l.Errorf("it has printed\n%sand headroom show prints\n%s", printed.stdout, shown.stdout)
	}
}
