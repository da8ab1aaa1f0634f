package scripted

import (
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Event is a moment at which something else can happen than what is written down. Of a load that is about to start the
// result is there to be changed. The result of a command is still empty; the command is carried out unless it is made
// to fail, to hang or to print something.
type Event struct {
	Machine *Machine
	Argv    []string
	// Load that starts; nil for a command.
	Load   *Load
	Result *Result
}

// Fail has the load or the command fail.
func (e *Event) Fail(exit int, stderr string) {
	e.Result.Exit, e.Result.Stderr, e.Result.Stdout, e.Result.Files, e.Result.Duration = exit, stderr, "", nil,
		min(e.Result.Duration, time.Second)
}

// After calls a function some time after this moment: Machine.Disconnect, or what ends the run.
func (e *Event) After(d time.Duration, do func()) { time.AfterFunc(d, do) }

// trigger is what happens at the how manieth load or command that holds a text; at every one where at is 0.
type trigger struct {
	loads bool
	text  string
	at    int
	came  int
	then  func(*Event)
}

// AtLoad has something happen at the how manieth load whose command line holds a text, from 1; at every one for 0.
func (m *Machine) AtLoad(text string, at int, then func(*Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.triggers = append(m.triggers, &trigger{loads: true, text: text, at: at, then: then})
}

// AtCommand is the same for short commands, writes to files among them: sh -c '… dd of="$2" …' MARK VALUE PATH.
func (m *Machine) AtCommand(text string, at int, then func(*Event)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.triggers = append(m.triggers, &trigger{text: text, at: at, then: then})
}

// dueTriggers are the faults of a load or a command.
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
