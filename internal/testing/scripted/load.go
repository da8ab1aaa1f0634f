package scripted

import (
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Load is a job, as whoever says what comes of it sees it.
type Load struct {
	Machine *Machine
	// Number counts the jobs of the machine from 1, ID is the one that headroom gave it.
	Number int
	ID     string
	// Typed is the argument vector, Argv the one without what is in front of the program ("taskset -c 1", "timeout
	// 30"), and Program the name of that.
	Typed, Argv []string
	Program     string
	// Params are its options by their long names, "1" for one without a value; of fio those of its first job. Jobs are
	// all of fio's.
	Params map[string]string
	Jobs   []map[string]string
	// Env are variables that it was given, Folder is where it works.
	Env    map[string]string
	Folder string
	Stdin  []byte
	// Server is the machine at the other end of a network's test; nil where nobody listens there.
	Server *Machine
	// begins is when it begins: at once, unless it was started ahead. limit is that of timeout(1), where it stands in
	// front.
	begins time.Time
	limit  time.Duration
}

// Begins is when it began.
func (l *Load) Begins() time.Time { return l.begins }

// Line is the command line.
func (l *Load) Line() string { return lab.ShellQuote(l.Typed) }

// Result is what becomes of a load.
type Result struct {
	// Duration is its time; Hangs says that it goes on until it is killed, and Unkillable that it does even then.
	Duration          time.Duration
	Hangs, Unkillable bool
	Exit              int
	Signal            string
	// Stdout and Stderr are printed when it ends, Early on its standard output when it begins, and EarlyMessages on the
	// other one. Files are what it writes into its folder.
	Stdout, Stderr, Early, EarlyMessages string
	Files                                map[string]string
	Usage                                []Use
	// Listens is the port of a server, of a Protocol that is "tcp" if it is empty.
	Listens  int
	Protocol string
	// Err is why it could not be started.
	Err error
	// ended is called when it has ended, in any way.
	ended func()
}

// jobsFolder holds the folders of jobs.
const jobsFolder = "/dev/shm/headroom-0"

// has says whether a folder is there; for callers that hold the machine.
func (m *Machine) has(dir string) bool {
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	_, _, err := m.tree.find(dir, true)
	return err == nil
}

// put has a file hold exactly a text.
func (m *Machine) put(name, text string) {
	n := m.at(name)
	m.tree.mu.Lock()
	defer m.tree.mu.Unlock()
	n.data, n.size = []byte(text), int64(len(text))
}
