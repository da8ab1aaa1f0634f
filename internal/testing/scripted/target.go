package scripted

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Target is a connection to a machine. It can do what a machine can that is reached over ssh.
type Target struct {
	machine *Machine
	name    string
	// received are the folders of files that were copied there.
	received []string
}

var (
	_ host.Target      = (*Target)(nil)
	_ host.Leftovers   = (*Target)(nil)
	_ host.Receiver    = (*Target)(nil)
	_ host.Clock       = (*Target)(nil)
	_ host.FleetMember = (*Target)(nil)
	_ host.Closer      = (*Target)(nil)
)

// Open connects to the machine by a name, "scripted://db1". It fails at once if the machine is unreachable, as a first
// connection of ssh does.
func (m *Machine) Open(name string) (*Target, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lost {
		return nil, &lab.Error{What: "can't connect", Target: name, Err: errors.New("No route to host")}
	}
	return &Target{machine: m, name: name}, nil
}

// Machine returns the machine at the other end.
func (t *Target) Machine() *Machine { return t.machine }

// Name returns the name by which it was opened.
func (t *Target) Name() string { return t.name }

// Close removes copied files, if the machine can be reached; it holds nothing else.
func (t *Target) Close() error {
	t.machine.mu.Lock()
	reached := !t.machine.lost
	t.machine.mu.Unlock()
	for _, folder := range t.received {
		if reached {
			t.machine.Remove(folder)
		}
	}
	return nil
}

// Disconnect does nothing, either.
func (t *Target) Disconnect() error { return nil }

// ClockOffset returns 0.
func (t *Target) ClockOffset(ctx context.Context) (offset, uncertainty time.Duration, err error) {
	return 0, time.Millisecond, t.waitForConnection(ctx)
}

// waitForConnection waits for a lost connection, at most for the machine's Patience.
func (t *Target) waitForConnection(ctx context.Context) error {
	m := t.machine
	for began := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		m.mu.Lock()
		lost, gone := m.lost, m.destroyed
		m.mu.Unlock()
		switch {
		case gone != nil:
			return gone
		case !lost:
			return nil
		case time.Since(began) >= m.Patience:
			return &lab.Error{What: "the connection was lost, and could not be made again in " + m.Patience.String(),
				Target: t.name, Err: errors.New("No route to host")}
		}
		if err := pause(ctx, min(time.Second, max(m.Patience/4, time.Millisecond))); err != nil {
			return err
		}
	}
}

// Run answers a short command.
func (t *Target) Run(ctx context.Context, argv ...string) (host.Output, error) {
	if err := t.waitForConnection(ctx); err != nil {
		return host.Output{}, err
	}
	return t.machine.run(ctx, argv)
}

// ReadFiles reads files.
func (t *Target) ReadFiles(ctx context.Context, paths ...string) (map[string]host.File, error) {
	if err := t.waitForConnection(ctx); err != nil {
		return nil, err
	}
	files := make(map[string]host.File, len(paths))
	for _, name := range paths {
		data, err := t.machine.tree.text(name)
		if err != nil {
			err = &fs.PathError{Op: "open", Path: name, Err: err}
		}
		files[name] = host.File{Data: data, Err: err}
	}
	return files, nil
}

// FS is the machine's file system.
func (t *Target) FS() fs.FS { return files{t} }

// Start begins a job.
func (t *Target) Start(ctx context.Context, spec host.JobSpec) (host.Job, error) {
	if err := t.waitForConnection(ctx); err != nil {
		return nil, err
	}
	j, err := t.machine.start(t, spec)
	if err != nil {
		return nil, err
	}
	return j, nil
}

// Receive writes a file.
func (t *Target) Receive(ctx context.Context, name string, data []byte, _ fs.FileMode) (string, error) {
	if err := t.waitForConnection(ctx); err != nil {
		return "", err
	}
	full := path.Join(jobsFolder, name)
	t.machine.put(full, string(data))
	t.received = append(t.received, path.Dir(full))
	return full, nil
}

// JobsBelow lists the jobs that have a folder.
func (t *Target) JobsBelow(ctx context.Context, prefix string) ([]string, error) {
	if err := t.waitForConnection(ctx); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(t.machine.Names(jobsFolder), func(id string) bool {
		return !strings.HasPrefix(id, prefix)
	}), nil
}

// ClearJob ends a job and deletes its folder.
func (t *Target) ClearJob(ctx context.Context, id string) error {
	if err := t.waitForConnection(ctx); err != nil {
		return err
	}
	for _, p := range t.machine.withID(id) {
		if !p.kill("killed") {
			return t.stuck(ctx, p)
		}
	}
	t.machine.Remove(jobsFolder + "/" + id)
	return nil
}

// stuck returns the error of a process that does not end.
func (t *Target) stuck(ctx context.Context, p *process) error {
	if err := pause(ctx, 20*time.Second); err != nil {
		return err
	}
	return &lab.Error{What: "processes working in " + p.dir + " do not end after SIGKILL", Target: t.name,
		Hints: []string{"they are likely waiting for a device"}}
}

// job is a job in the view of its target's user.
type job struct {
	target      *Target
	process     *process
	once        sync.Once
	done        chan struct{}
	mu          sync.Mutex
	lostContact bool // up
}

func (j *job) close() { j.once.Do(func() { close(j.done) }) }

// loseContact stops waiting for a job whose machine was unreachable for too long.
func (j *job) loseContact() {
	m := j.process.machine
	m.mu.Lock()
	lost := m.lost
	m.mu.Unlock()
	if lost {
		j.mu.Lock()
		j.lostContact = true
		j.mu.Unlock()
		j.close()
	}
}

func (j *job) ID() string            { return j.process.load.ID }
func (j *job) Dir() string           { return j.process.dir }
func (j *job) Done() <-chan struct{} { return j.done }

func (j *job) Poll(ctx context.Context) (host.JobState, error) {
	if err := j.target.waitForConnection(ctx); err != nil {
		return host.JobState{}, err
	}
	p := j.process
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	s := host.JobState{Started: p.began}
	if p.ended.IsZero() {
		return s, nil
	}
	s.Done, s.Ended, s.ExitCode, s.Signal = true, p.ended, p.exit, p.signal
	for _, u := range p.result.Usage {
		s.UserSeconds += u.CPU * p.ended.Sub(p.began).Seconds() / 2
	}
	s.SystemSeconds, s.MaxRSS = s.UserSeconds, 16<<20
	return s, nil
}

// read returns a file of the job's folder.
func (j *job) read(ctx context.Context, name string) ([]byte, error) {
	if err := j.target.waitForConnection(ctx); err != nil {
		return nil, err
	}
	full := path.Join(j.process.dir, name)
	data, err := j.process.machine.tree.text(full)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: full, Err: err}
	}
	return data, nil
}

// Fetch shortens long files as other targets do.
func (j *job) Fetch(ctx context.Context, name string) ([]byte, error) {
	data, err := j.read(ctx, name)
	if size, err := j.Size(ctx, name); err == nil && size > host.MaxFetched {
		return data[:min(len(data), 1<<20)], &host.Cut{Name: name, Size: size}
	}
	return data, err
}

func (j *job) Size(ctx context.Context, names ...string) (int64, error) {
	if err := j.target.waitForConnection(ctx); err != nil {
		return 0, err
	}
	sum := int64(0)
	for _, name := range names {
		info, err := j.process.machine.tree.stat(path.Join(j.process.dir, name), true)
		if err == nil {
			sum += info.Size()
		}
	}
	return sum, nil
}

func (j *job) Tail(ctx context.Context, name string, n int64) ([]byte, error) {
	data, err := j.read(ctx, name)
	return data[max(0, int64(len(data))-n):], err
}

func (j *job) Kill(ctx context.Context, _ time.Duration) error {
	if err := j.target.waitForConnection(ctx); err != nil {
		return err
	}
	if !j.process.kill("terminated") {
		return j.target.stuck(ctx, j.process)
	}
	return nil
}

func (j *job) Remove(ctx context.Context) error {
	if err := j.target.waitForConnection(ctx); err != nil {
		return err
	}
	j.process.machine.Remove(j.process.dir)
	return nil
}

// files is the file system of a machine.
type files struct{ t *Target }

var _ interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadDirFS
	fs.ReadLinkFS
} = files{}

func asked[T any](f files, op, name string, do func(tr *tree, full string) (T, error)) (T, error) {
	var v T
	err := error(fs.ErrInvalid)
	if fs.ValidPath(name) {
		if err = f.t.waitForConnection(context.Background()); err == nil {
			v, err = do(f.t.machine.tree, "/"+name)
		}
	}
	if err != nil {
		err = &fs.PathError{Op: op, Path: name, Err: err}
	}
	return v, err
}

func (f files) Open(name string) (fs.File, error) {
	return asked(f, "open", name, func(tr *tree, full string) (fs.File, error) {
		info, err := tr.stat(full, true)
		if err != nil {
			return nil, err
		}
		o := &openFile{info: info, Reader: strings.NewReader("")}
		if info.IsDir() {
			o.entries, err = tr.list(full)
			return o, err
		}
		text, err := tr.text(full)
		o.Reader = bytes.NewReader(text)
		return o, err
	})
}

func (f files) ReadFile(name string) ([]byte, error) {
	return asked(f, "open", name, func(tr *tree, full string) ([]byte, error) { return tr.text(full) })
}

func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	return asked(f, "open", name, func(tr *tree, full string) ([]fs.DirEntry, error) { return tr.list(full) })
}

func (f files) Stat(name string) (fs.FileInfo, error) {
	return asked(f, "stat", name, func(tr *tree, full string) (fs.FileInfo, error) { return tr.stat(full, true) })
}

func (f files) Lstat(name string) (fs.FileInfo, error) {
	return asked(f, "lstat", name, func(tr *tree, full string) (fs.FileInfo, error) { return tr.stat(full, false) })
}

func (f files) ReadLink(name string) (string, error) {
	return asked(f, "readlink", name, func(tr *tree, full string) (string, error) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		n, _, err := tr.find(full, false)
		if err == nil && n.mode&fs.ModeSymlink == 0 {
			err = syscall.EINVAL
		}
		if err != nil {
			return "", err
		}
		return n.link, nil
	})
}
