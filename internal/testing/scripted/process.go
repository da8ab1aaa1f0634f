package scripted

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// process is a job on its machine.
type process struct {
	machine *Machine
	load    *Load
	dir     string
	pid     int
	result  Result
	began   time.Time
	timer   *time.Timer
	ending  sync.Mutex // held while it ends: a killed process writes no more files
	// ended, exit and signal are guarded by the machine's lock.
	ended   time.Time
	exit    int
	signal  string
	handles []*job
}

// newLoad makes a load from a job's specification.
func (m *Machine) newLoad(spec host.JobSpec) *Load {
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

// start begins a job.
func (m *Machine) start(t *Target, spec host.JobSpec) (*job, error) {
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
	m.put(dir+"/stderr", result.EarlyMessages)
	m.mu.Lock()
	m.processes = append(m.processes, p)
	if !result.Hangs {
		p.timer = time.AfterFunc(time.Until(l.begins)+result.Duration, p.finish)
	}
	m.mu.Unlock()
	return j, nil
}

// outcome returns a load's scripted result.
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
	case l.Program == "headroom":
		return m.record(l)
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

// missing returns the error of a program that is not installed.
func missing(argv []string) error {
	return &lab.Error{What: "can't run " + argv[0], Command: argv, Output: argv[0] + ": not found", Err: fs.ErrNotExist}
}

// finish ends a process that was not killed.
func (p *process) finish() {
	p.ending.Lock()
	defer p.ending.Unlock()
	p.machine.mu.Lock()
	ended := !p.ended.IsZero()
	p.machine.mu.Unlock()
	if ended {
		return
	}
	p.write()
	p.end(p.result.Exit, p.result.Signal)
}

// write writes the output and the files of a process that ends.
func (p *process) write() {
	dir, r := p.dir, p.result
	p.machine.put(dir+"/stdout", r.Early+r.Stdout)
	p.machine.put(dir+"/stderr", r.EarlyMessages+r.Stderr)
	for name, text := range r.Files {
		if !path.IsAbs(name) {
			name = path.Join(p.load.Folder, name)
		}
		p.machine.put(name, text)
	}
}

// end records the end of a process.
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

// kill ends a process from outside, and reports whether it could.
func (p *process) kill(signal string) bool {
	if p.result.Unkillable {
		return false
	}
	p.ending.Lock()
	defer p.ending.Unlock()
	if p.load.Program == "fio" && p.result.Exit == 0 && !p.result.Hangs { // fio prints what it has measured so far
		p.write()
		p.end(128, "")
		return true
	}
	p.end(-1, signal)
	return true
}

// withID returns the processes of a job.
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

// pause waits, unless ctx ends first.
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
