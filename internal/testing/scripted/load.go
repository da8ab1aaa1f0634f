package scripted

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Load is a job, in the form that models of loads see.
type Load struct {
	Machine *Machine
	// Number counts the jobs of the machine from 1; ID is the ID that headroom gave the job.
	Number int
	ID     string
	// Typed is the argument vector, Argv the vector without commands in front of the program ("taskset -c 1", "timeout
	// 30"), and Program the program's name.
	Typed, Argv []string
	Program     string
	// Params are the options by their long names, "1" for one without a value; for fio those of its first job. Jobs are
	// all of fio's jobs.
	Params map[string]string
	Jobs   []map[string]string
	// Env are its environment variables, Folder is its working directory.
	Env    map[string]string
	Folder string
	Stdin  []byte
	// Server is the machine at the other end of a network test; nil if no process listens there.
	Server *Machine
	// begins is the start time: now, unless the start was scheduled. limit is the limit of timeout(1), if it is in
	// front.
	begins time.Time
	limit  time.Duration
}

// Begins returns the start time.
func (l *Load) Begins() time.Time { return l.begins }

// Line returns the command line.
func (l *Load) Line() string { return lab.ShellQuote(l.Typed) }

// Result is the outcome of a load.
type Result struct {
	// Duration is how long it runs. Hangs makes it run until it is killed, and Unkillable even then.
	Duration          time.Duration
	Hangs, Unkillable bool
	Exit              int
	Signal            string
	// Stdout and Stderr are printed at its end; Early and EarlyMessages at its start, on standard output and standard
	// error. Files are written into its folder.
	Stdout, Stderr, Early, EarlyMessages string
	Files                                map[string]string
	Usage                                []Use
	// Listens is the port of a server; its Protocol defaults to "tcp".
	Listens  int
	Protocol string
	// Err is why it could not be started.
	Err error
	// ended is called when it has ended, in any way.
	ended func()
}

// jobsFolder holds the folders of jobs.
const jobsFolder = "/dev/shm/headroom-0"

// has reports whether a folder exists; for callers that hold the machine's lock.
func (m *Machine) has(dir string) bool {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	_, _, err := m.tree.find(dir, true)
	return err == nil
}

// put replaces the content of a file.
func (m *Machine) put(name, text string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.data, n.size = []byte(text), int64(len(text))
}
