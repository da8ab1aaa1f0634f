package scripted

import (
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Event is a moment at which a test can change what happens. If a load is about to start its result can be changed. The
// result of a command is still empty; the command is run unless it is made to fail, to hang or to print something.
type Event struct {
	Machine *Machine
	Argv    []string
	// Load that starts; nil for a command.
	Load   *Load
	Result *Result
}

// Fail makes the load or the command fail.
func (e *Event) Fail(exit int, stderr string) {
	e.Result.Exit, e.Result.Stderr, e.Result.Stdout, e.Result.Files, e.Result.Duration = exit, stderr, "", nil,
		min(e.Result.Duration, time.Second)
}

// After calls a function some time after this moment: Machine.Disconnect, or one that ends the run.
func (e *Event) After(d time.Duration, do func()) { time.AfterFunc(d, do) }

// trigger is an action at the at-th load or command that contains a text; at every one if at is 0.
type trigger struct {
	loads bool
	text  string
	at    int
	came  int
	then  func(*Event)
}

// AtLoad calls then at the at-th load, from 1, whose command line contains a text; at every one for 0.
func (m *Machine) AtLoad(text string, at int, then func(*Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.triggers = append(m.triggers, &trigger{loads: true, text: text, at: at, then: then})
}

// AtCommand is the same for short commands, including writes to files: sh -c '… dd of="$2" …' MARK VALUE PATH.
func (m *Machine) AtCommand(text string, at int, then func(*Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.triggers = append(m.triggers, &trigger{text: text, at: at, then: then})
}

// dueTriggers returns the triggers of a load or a command.
func (m *Machine) dueTriggers(loads bool, argv []string) []*trigger {
	line := lab.ShellQuote(argv)
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*trigger
	for _, f := range m.triggers {
		if f.loads == loads && strings.Contains(line, f.text) {
			if f.came++; f.at == 0 || f.at == f.came {
				due = append(due, f)
			}
		}
	}
	return due
}
