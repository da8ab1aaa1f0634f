package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/designtest"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Whole commands on scripted machines: what is tested is what a run does when loads fail, hang, take their time, or the
// machine is lost. Each test is in a bubble of synctest, so that loads take their thirty seconds by a clock that nobody
// waits for.

const (
	// scriptedScheme begins the names of scripted machines.
	scriptedScheme = "scripted://"
	// guestScheme begins the names of guests.
	guestScheme = qemu.Scheme
)

// scriptedLab is scripted machines, a store, and the command line.
type scriptedLab struct {
	*testing.T
	network  *scripted.Network
	machines map[string]*scripted.Machine
	dir      string
	env      map[string]string
	signals  chan os.Signal
	// opened makes of a connection the target that a command gets; nil for the connection itself.
	opened map[string]func(*scripted.Target) host.Target
	// schemes are those by which machines can be named; with "qemu:", qemu:db1 is the machine db1. Steps are reported
	// before each step of saving.
	schemes []string
	steps   func(string)
	// exit is called when a clean-up is cut short; nil where that must not happen.
	exit func(code int)
	// earlier says that the runs of the store were made by an earlier version.
	earlier bool
}

// inScriptedLab runs a test on machines of these names, in a bubble, beside other tests: it calls t.Parallel, so a test
// calls it once. A command or program that the script does not define fails the test.
func inScriptedLab(t *testing.T, names []string, test func(l *scriptedLab)) {
	t.Helper()
	t.Parallel()
	dir := designtest.FolderInMemory(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC))) // later than all files
		l := &scriptedLab{T: t, network: new(scripted.Network), machines: map[string]*scripted.Machine{}, dir: dir,
			env:     map[string]string{},
			signals: make(chan os.Signal, 8), opened: map[string]func(*scripted.Target) host.Target{},
			schemes: []string{scriptedScheme}}
		for _, name := range names {
			l.machines[name] = l.network.New(name)
		}
		test(l)
		l.designs()
		for _, name := range slices.Sorted(maps.Keys(l.machines)) {
			for _, line := range l.machines[name].Unexpected() {
				t.Errorf("nothing is written down about, on %s: %s", name, line)
			}
		}
	})
}

// designs fails the test where a run does not record what it was measured for, or where it could not be told from the
// rest of the header, as for the runs of earlier versions.
func (l *scriptedLab) designs() {
	l.Helper()
	if l.earlier {
		return
	}
	s := store.Open(filepath.Join(l.dir, "store"))
	rows, _ := s.List() // some tests damage runs
	for _, row := range rows {
		b, err := s.Find(row.ID)
		if err != nil || b.Run.Source != lab.Measured || len(b.Run.PartNames()) > 0 && b.Run.MadeBy() != lab.DesignRun {
			continue // of several arms earlier versions made no such bundle
		}
		earlier := b.Run
		earlier.Design = ""
		if recorded := b.Run.Design; recorded == "" || recorded != earlier.MadeBy() {
			l.Errorf("run %s (%s) records the design %q, and without that shows %q", row.ID, b.Run.Suite, recorded,
				earlier.MadeBy())
		}
	}
}

// machine is the one of a name.
func (l *scriptedLab) machine(name string) *scripted.Machine {
	l.Helper()
	m := l.machines[name]
	if m == nil {
		l.Fatalf("there is no scripted machine %s", name)
	}
	return m
}

// file writes a file of this machine, a suite for example, and returns its path.
func (l *scriptedLab) file(name, text string) string {
	l.Helper()
	full := filepath.Join(l.dir, name)
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
	return full
}

// noted is what moments of a run have told a test: they come by goroutines of their own.
type noted[T any] struct {
	mu  sync.Mutex
	all []T
}

func (n *noted[T]) add(v T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, v)
}

// list is all of it so far.
func (n *noted[T]) list() []T {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

// scriptedOutcome is how a command ended, and what it printed.
type scriptedOutcome struct {
	*testing.T
	args           []string
	code           int
	stdout, stderr string
}

// run carries out a command line, without the program's name in front.
func (l *scriptedLab) run(args ...string) scriptedOutcome {
	l.Helper()
	var stdout, stderr bytes.Buffer
	var kinds []app.TargetKind
	for _, scheme := range l.schemes {
		kind := app.TargetKind{Scheme: scheme, Form: scheme + "NAME"}
		if own := app.New(app.Environment{}).AllKinds().Of(scheme); own != nil {
			kind.Traits, kind.Disks = own.Traits, own.Disks
		}
		kind.Open = func(_ context.Context, name string) (host.Target, error) {
			return l.open(name, strings.TrimPrefix(name, scheme))
		}
		kinds = append(kinds, kind)
	}
	code := Run(l.Context(),
		app.Environment{Args: append([]string{"headroom", "--store", filepath.Join(l.dir, "store")},
			args...), Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr,
			Env: func(name string) string { return l.env[name] }, Version: "test", Signals: l.signals, AtStep: l.steps,
			Executable: func() (string, error) { return designtest.Recorder(l.dir) },
			Exit: func(code int) {
				if l.exit == nil {
					l.Errorf("the clean-up was cut short, with exit code %d", code)
					return
				}
				l.exit(code)
			},
			Kinds: kinds})
	designtest.WaitForForks()
	return scriptedOutcome{l.T, args, code, stdout.String(), stderr.String()}
}

// open connects to a machine.
func (l *scriptedLab) open(name, machine string) (host.Target, error) {
	m := l.machines[machine]
	if m == nil {
		return nil, app.Usage("there is no scripted machine " + machine)
	}
	t, err := m.Open(name)
	if err != nil {
		return nil, err
	}
	if as := l.opened[machine]; as != nil {
		return as(t), nil
	}
	return t, nil
}

// checkNothingLeft fails the test when something of a run is left on a machine: a scratch file, the folder of a job, a
// load.
func (l *scriptedLab) checkNothingLeft(name string) {
	l.Helper()
	m := l.machine(name)
	for _, folder := range []string{"/srv", "/tmp", "/dev/shm/headroom-0"} {
		if left := m.Names(folder); len(left) > 0 {
			l.Errorf("left in %s of %s: %v", folder, name, left)
		}
	}
	if left := m.Running(); len(left) > 0 {
		l.Errorf("still running on %s: %v", name, left)
	}
}

// loaded are the names of the jobs of fio's that were started on a machine, in order.
func (l *scriptedLab) loaded(name string) []string {
	l.Helper()
	var all []string
	for _, load := range l.machine(name).Loads() {
		all = append(all, load.Params["name"])
	}
	return all
}

// interrupt is a Ctrl-C.
func (l *scriptedLab) interrupt() { l.signals <- os.Interrupt }

// ends fails the test when the command ended in another way.
func (o scriptedOutcome) ends(code int) scriptedOutcome {
	o.Helper()
	if o.code != code {
		o.Fatalf("headroom %s: exit code %d, want %d\n%s%s", strings.Join(o.args, " "), o.code, code, o.stdout,
			o.stderr)
	}
	return o
}

// says fails the test when a text is in neither of what was printed.
func (o scriptedOutcome) says(texts ...string) scriptedOutcome {
	o.Helper()
	for _, text := range texts {
		if !strings.Contains(o.stdout+o.stderr, text) {
			o.Errorf("headroom %s does not say %q:\n%s%s", strings.Join(o.args, " "), text, o.stdout, o.stderr)
		}
	}
	return o
}

// saved is the document of a run, as programs read it.
func (l *scriptedLab) saved(name string) summary.Run {
	l.Helper()
	out := l.run("show", name, "--json").ends(0)
	var d summary.Run
	if err := json.Unmarshal([]byte(out.stdout), &d); err != nil {
		l.Fatalf("%v in %s", err, out.stdout)
	}
	return d
}
