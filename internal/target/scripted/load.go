package scripted

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/target"
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

// Line is the command line.
func (l *Load) Line() string { return lab.ShellQuote(l.Typed) }

// Result is what becomes of a load.
type Result struct {
	// Duration is its time; Hangs says that it goes on until it is killed, and Unkillable that it does even then.
	Duration          time.Duration
	Hangs, Unkillable bool
	Exit              int
	Signal            string
	// Stdout and Stderr are printed when it ends, Early on its standard output when it begins. Files are what it writes
	// into its folder.
	Stdout, Stderr, Early string
	Files                 map[string]string
	Usage                 []Use
	// Listens is the port of a server, of a Protocol that is "tcp" if it is empty.
	Listens  int
	Protocol string
	// Err is why it could not be started.
	Err error
	// ended is called when it has ended, in whatever way.
	ended func()
}

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

// process is a job on its machine.
type process struct {
	machine *Machine
	load    *Load
	dir     string
	pid     int
	result  Result
	began   time.Time
	timer   *time.Timer
	// ended, exit and signal are guarded by the machine.
	ended   time.Time
	exit    int
	signal  string
	handles []*job
}

// newLoad makes a load of what was asked for.
func (m *Machine) newLoad(spec target.JobSpec) *Load {
	l := &Load{Machine: m, ID: spec.ID, Typed: spec.Argv, Env: map[string]string{}, Stdin: spec.Stdin}
	for _, v := range spec.Env {
		name, value, _ := strings.Cut(v, "=")
		l.Env[name] = value
	}
	l.Argv = l.unwrap(spec.Argv)
	if len(l.Argv) > 0 {
		l.Program = path.Base(l.Argv[0])
	}
	l.Params, l.Jobs = options(l.Argv)
	return l
}

// options reads "--name=value", "--name value" and "--name". A name that fio takes for the first of a new job begins
// one.
func options(argv []string) (map[string]string, []map[string]string) {
	global := map[string]string{}
	var jobs []map[string]string
	into := global
	for i := 1; i < len(argv); i++ {
		word, long := strings.CutPrefix(argv[i], "--")
		if !long {
			continue
		}
		name, value, given := strings.Cut(word, "=")
		if !given {
			value = "1"
			if i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
				value = argv[i+1]
			}
		}
		if name == "name" && value != "global" {
			into = maps.Clone(global)
			jobs = append(jobs, into)
		}
		into[name] = value
	}
	if len(jobs) > 0 {
		return jobs[0], jobs
	}
	return global, nil
}

var shifts = regexp.MustCompile(`shift ([0-9]+)`)

// unwrap takes off what stands in front of a program.
func (l *Load) unwrap(argv []string) []string {
	for len(argv) > 0 {
		rest := argv[1:]
		drop := func(valued ...string) { // options, those with a value of their own in the next word among them
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				last := rest[0] == "--"
				if slices.Contains(valued, rest[0]) {
					rest = rest[min(2, len(rest)):]
				} else {
					rest = rest[1:]
				}
				if last {
					break
				}
			}
		}
		switch path.Base(argv[0]) {
		case "env":
			for drop("-u"); len(rest) > 0 && strings.Contains(rest[0], "="); rest = rest[1:] {
				name, value, _ := strings.Cut(rest[0], "=")
				l.Env[name] = value
			}
		case "timeout":
			drop("-k", "-s")
			if len(rest) > 0 {
				seconds, _ := strconv.ParseFloat(strings.TrimSuffix(rest[0], "s"), 64)
				l.limit, rest = time.Duration(seconds*float64(time.Second)), rest[1:]
			}
		case "taskset", "chrt":
			if drop("-c"); len(rest) > 0 && !slices.Contains(argv, "-c") {
				rest = rest[1:]
			}
		case "numactl", "nice", "setpriv", "stdbuf", "setsid":
			drop("-n", "-N", "-m", "-C")
		case "sh":
			script, ok := scriptOf(argv)
			if !ok || !strings.HasSuffix(strings.TrimSpace(script), `"$@"`) {
				return argv
			}
			shifted := 0
			if found := shifts.FindStringSubmatch(script); found != nil {
				shifted, _ = strconv.Atoi(found[1])
			}
			if len(argv) < 4+shifted {
				return argv
			}
			if shifted > 0 && strings.Contains(script, `cd -- "$1"`) {
				l.Folder = argv[4]
			}
			rest = argv[4+shifted:]
		default:
			return argv
		}
		argv = rest
	}
	return argv
}

// scriptOf is the script of sh -c.
func scriptOf(argv []string) (string, bool) {
	if len(argv) < 4 || path.Base(argv[0]) != "sh" || argv[1] != "-c" {
		return "", false
	}
	return argv[2], true
}

// jobsFolder holds the folders of jobs.
const jobsFolder = "/dev/shm/headroom-0"

// start begins a job.
func (m *Machine) start(t *Target, spec target.JobSpec) (*job, error) {
	l := m.newLoad(spec)
	l.begins = time.Now()
	if spec.Unattended != nil && spec.Unattended.Begin.After(l.begins) {
		l.begins = spec.Unattended.Begin
	}
	m.mu.Lock()
	for _, p := range m.processes {
		if p.load.ID == spec.ID && m.has(p.dir) {
			m.mu.Unlock()
			return nil, &lab.Error{What: "there is a job " + spec.ID + " already", Target: t.name, Err: fs.ErrExist}
		}
	}
	m.loads = append(m.loads, l)
	l.Number = len(m.loads)
	m.mu.Unlock()
	dir := jobsFolder + "/" + spec.ID
	m.Folder(dir)
	for name, data := range spec.Files {
		m.put(path.Join(dir, name), string(data))
	}
	if l.Folder == "" || l.Folder == "." {
		l.Folder = dir
	}
	result := m.outcome(l)
	for _, f := range m.dueTriggers(true, spec.Argv) {
		f.then(&Event{Machine: m, Argv: spec.Argv, Load: l, Result: &result})
	}
	if result.Err != nil {
		m.Remove(dir)
		return nil, result.Err
	}
	if l.limit > 0 && (result.Hangs || result.Duration > l.limit) {
		result.Duration, result.Hangs, result.Exit = l.limit, false, 124
	}
	p := &process{machine: m, load: l, dir: dir, pid: 1000 + l.Number, result: result, began: l.begins}
	j := &job{target: t, process: p, done: make(chan struct{})}
	p.handles = []*job{j}
	m.put(dir+"/stdout", result.Early)
	m.put(dir+"/stderr", "")
	m.mu.Lock()
	m.processes = append(m.processes, p)
	if !result.Hangs {
		p.timer = time.AfterFunc(time.Until(l.begins)+result.Duration, p.finish)
	}
	m.mu.Unlock()
	return j, nil
}

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

// outcome is what a load comes to by what is written down.
func (m *Machine) outcome(l *Load) Result {
	if program, ok := m.Programs[l.Program]; ok {
		return program(l)
	}
	m.mu.Lock()
	absent := m.absent[l.Program]
	m.mu.Unlock()
	switch {
	case absent:
	case l.Program == "fio":
		return m.fio(l)
	case l.Program == "iperf3":
		return m.iperf3(l)
	case l.Program == "sockperf":
		return m.sockperf(l)
	case strings.HasPrefix(l.Program, "ib_"):
		return m.perftest(l)
	case l.Program == "sleep":
		seconds, _ := strconv.ParseFloat(l.Argv[1], 64)
		return Result{Duration: time.Duration(seconds * float64(time.Second))}
	case l.Program == "touch":
		for _, name := range l.Argv[1:] {
			if !path.IsAbs(name) {
				name = path.Join(l.Folder, name)
			}
			m.at(name)
		}
		return Result{}
	case commands()[l.Program] != nil:
		out, err := commands()[l.Program](m, l.Argv)
		return Result{Stdout: out.Stdout, Stderr: out.Stderr, Exit: out.Exit, Err: err}
	default:
		return Result{Err: m.unexpectedCommand(l.Typed)}
	}
	return Result{Err: missing(l.Typed)}
}

// missing is the error of a program that is not installed.
func missing(argv []string) error {
	return &lab.Error{What: "can't run " + argv[0], Command: argv, Output: argv[0] + ": not found", Err: fs.ErrNotExist}
}

// finish ends a process that has come to its end by itself.
func (p *process) finish() {
	dir, r := p.dir, p.result
	p.machine.put(dir+"/stdout", r.Early+r.Stdout)
	p.machine.put(dir+"/stderr", r.Stderr)
	for name, text := range r.Files {
		if !path.IsAbs(name) {
			name = path.Join(p.load.Folder, name)
		}
		p.machine.put(name, text)
	}
	p.end(r.Exit, r.Signal)
}

// end takes note of the end of a process.
func (p *process) end(exit int, signal string) {
	m := p.machine
	m.mu.Lock()
	if !p.ended.IsZero() {
		m.mu.Unlock()
		return
	}
	p.ended, p.exit, p.signal = time.Now(), exit, signal
	if signal != "" {
		p.exit = -1
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	for _, u := range p.result.Usage {
		m.spent.add(u, max(0, p.ended.Sub(p.began).Seconds()))
	}
	handles, lost := slices.Clone(p.handles), m.lost
	m.mu.Unlock()
	if p.result.ended != nil {
		p.result.ended()
	}
	if !lost {
		for _, j := range handles {
			j.close()
		}
	}
}

// kill ends a process from outside, and says whether it could.
func (p *process) kill(signal string) bool {
	if p.result.Unkillable {
		return false
	}
	p.end(-1, signal)
	return true
}

// withID are the processes of a job.
func (m *Machine) withID(id string) []*process {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*process
	for _, p := range m.processes {
		if p.load.ID == id {
			all = append(all, p)
		}
	}
	return all
}

// pause lets time pass, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
