package designtest

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
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
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Scheme is the prefix of the names of scripted machines.
const Scheme = "scripted://"

// soon is how long after the beginning of a load an event happens to it.
const soon = time.Millisecond

// Command is the command line: it runs the arguments of an environment, and returns the exit code.
type Command func(context.Context, app.Environment) int

// Lab is the scripted machines of a design and a store, on which commands are run.
type Lab struct {
	*testing.T
	Machines []*scripted.Machine
	design   Design
	dir      string
	command  Command
	signals  chan os.Signal
	// args are the command line of the design, found is the content of the machines before it.
	args  []string
	found map[string]string
	// atStep is called before each step of saving a run and of changing a setting, begun for each load.
	atStep func(string)
	begun  func(e *scripted.Event, first bool)
	mu     sync.Mutex // of both that follow: machines begin loads concurrently
	last   time.Time
}

// inLab runs a test on the machines of the design, in a bubble of synctest.
func (d Design) inLab(t *testing.T, command Command, test func(l *Lab)) {
	t.Helper()
	dir := FolderInMemory(t)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC))) // later than all files
		l := &Lab{T: t, design: d, dir: dir, command: command, signals: make(chan os.Signal, 8)}
		network := new(scripted.Network)
		for _, name := range d.Machines {
			m := network.New(name)
			m.AtLoad("", 0, func(e *scripted.Event) {
				l.loadBegins(e)
			})
			l.Machines = append(l.Machines, m)
		}
		l.prepare()
		l.found = l.contents()
		test(l)
		for _, m := range l.Machines {
			for _, line := range m.Unexpected() {
				t.Errorf("nothing is written down about, on %s: %s", m.Name, line)
			}
		}
	})
}

// loadBegins reports a load, and whether it is the first that begins at this moment.
func (l *Lab) loadBegins(e *scripted.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	first := now.After(l.last)
	if l.last = now; l.begun != nil {
		l.begun(e, first)
	}
}

// FolderInMemory returns a folder for the test, in memory if possible, where nothing waits for a disk.
func FolderInMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "headroom-design-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// prepare sets up the machines for the design, and the command line.
func (l *Lab) prepare() {
	l.Helper()
	if l.design.Prepare != nil {
		l.design.Prepare(l)
	}
	file := filepath.Join(l.dir, "suite.yaml")
	if err := os.WriteFile(file, []byte(l.design.Suite), 0o600); err != nil {
		l.Fatal(err)
	}
	for _, a := range l.design.Args {
		l.args = append(l.args, strings.ReplaceAll(a, "{suite}", file))
	}
}

// Machine returns the machine with a name.
func (l *Lab) Machine(name string) *scripted.Machine {
	l.Helper()
	for _, m := range l.Machines {
		if m.Name == name {
			return m
		}
	}
	l.Fatalf("there is no scripted machine %s", name)
	return nil
}

// outcome is the exit code and output of a command.
type outcome struct {
	args           []string
	code           int
	stdout, stderr string
	took           time.Duration
}

// store returns the folder of the runs.
func (l *Lab) store() string { return filepath.Join(l.dir, "store") }

// run runs a command line, without the program's name in front.
func (l *Lab) run(args ...string) outcome { return l.runIn(l.store(), args...) }

// runIn is run with another store.
func (l *Lab) runIn(store string, args ...string) outcome {
	l.Helper()
	var stdout, stderr bytes.Buffer
	start := time.Now()
	kind := app.TargetKind{Scheme: Scheme, Form: Scheme + "NAME",
		Open: func(_ context.Context, name string) (host.Target, error) {
			t, err := l.Machine(strings.TrimPrefix(name, Scheme)).Open(name)
			if err != nil {
				return nil, err
			}
			return t, nil
		}}
	code := l.command(l.Context(), app.Environment{Args: append([]string{"headroom", "--store", store}, args...),
		Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" },
		Version: "test", Executable: func() (string, error) { return Recorder(l.dir) }, Signals: l.signals,
		AtStep: l.atStep, Kinds: []app.TargetKind{kind},
		Exit: func(code int) { l.Errorf("the clean-up was cut short, with exit code %d", code) }})
	WaitForForks()
	if !slices.Contains(args, "--budget") && strings.Contains(stderr.String(), "--budget ended it") {
		l.Errorf("%s: it says that a budget ended it, and has none:\n%s", args, &stderr)
	}
	return outcome{args, code, stdout.String(), stderr.String(), time.Since(start)}
}

// interrupt is a Ctrl-C.
func (l *Lab) interrupt() { l.signals <- os.Interrupt }

// atLoad calls then at the at-th moment from now on at which loads begin.
func (l *Lab) atLoad(at int, then func(*scripted.Event)) {
	l.begun = func(e *scripted.Event, first bool) {
		if !first {
			return
		}
		if at--; at == 0 {
			then(e)
		}
	}
}

// failAt makes the loads fail that begin at such a moment; servers of network tests continue.
func (l *Lab) failAt(at int) {
	l.begun = func(e *scripted.Event, first bool) {
		if first {
			at--
		}
		if at == 0 && !slices.Contains(e.Argv, "--server") {
			e.Fail(1, "Remote I/O error\n")
		}
	}
}

// loads returns the loads of all machines, without recorders of loads.
func (l *Lab) loads() []*scripted.Load {
	var all []*scripted.Load
	for _, m := range l.Machines {
		all = append(all, m.Loads()...)
	}
	return slices.DeleteFunc(all, func(load *scripted.Load) bool { return load.Program == "headroom" })
}

// Recorder makes a file in a folder that looks like a program for scripted machines: the head of an ELF file.
func Recorder(dir string) (string, error) {
	head := elf.Header64{Ident: [elf.EI_NIDENT]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB),
		byte(elf.EV_CURRENT)}, Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64),
		Version: uint32(elf.EV_CURRENT)}
	var file bytes.Buffer
	if err := binary.Write(&file, binary.LittleEndian, head); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "headroom")
	return name, os.WriteFile(name, file.Bytes(), 0o700)
}
