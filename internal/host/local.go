package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Local is this machine.
type Local struct {
	// jobs is the folder that holds the folders of detached jobs.
	jobs string
}

// NewLocal returns this machine as a target. Detached jobs get their folders below jobs, which should be on a memory
// file system: then the output of a job that loads a disk is not written to that disk.
func NewLocal(jobs string) *Local { return &Local{jobs: jobs} }

// Name is "local".
func (l *Local) Name() string { return LocalName }

// LocalFiles returns the folder that holds the folders of its jobs.
func (l *Local) LocalFiles() (jobs string) { return l.jobs }

// FS is the whole file system of this machine.
func (l *Local) FS() fs.FS { return os.DirFS("/") }

// Run runs a short command with an empty standard input, in the C locale. If not even SIGKILL ends a command, because
// it waits in the kernel for a file system or device that does not answer, Run abandons it when ctx is done.
func (l *Local) Run(ctx context.Context, argv ...string) (Output, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = environment(os.Environ())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(killedWithin):
			return Output{}, &lab.Error{What: argv[0] + " waits in the kernel, where it can't be ended", Command: argv,
				Err: ctx.Err()}
		}
	}
	out := Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		out.ExitCode = exit.ExitCode()
		return out, nil
	}
	if err != nil {
		return out, &lab.Error{What: "can't run " + argv[0], Command: argv, Output: tail(stderr.String(), 2000),
			Err: err}
	}
	return out, nil
}

// killedWithin is how long a command can take to end after SIGKILL. A command that ends at all takes milliseconds.
const killedWithin = 2 * time.Second

// environment is the user's environment with the locale set to C, so that the output of tools can be parsed, and with
// the folders of system tools added to PATH, which a plain user's PATH lacks on Debian.
func environment(env []string) []string {
	path := os.Getenv("PATH") + ":/usr/local/sbin:/usr/sbin:/sbin"
	return append(env, "LC_ALL=C", "PATH="+path)
}

// ReadFiles reads files one after the other.
func (l *Local) ReadFiles(_ context.Context, paths ...string) (map[string]File, error) {
	files := make(map[string]File, len(paths))
	for _, p := range paths {
		data, err := os.ReadFile(p)
		files[p] = File{Data: data, Err: err}
	}
	return files, nil
}

// Start starts a detached job in a new session, so that a Ctrl-C at the terminal reaches only headroom, which then
// decides whether to end the job.
func (l *Local) Start(_ context.Context, spec JobSpec) (Job, error) {
	if err := PrivateFolder(l.jobs); err != nil {
		return nil, err
	}
	switch same, err := l.folders(spec.ID); {
	case err != nil:
		return nil, err
	case len(same) > 0:
		return nil, &lab.Error{What: "there is a job " + spec.ID + " already", Err: fs.ErrExist}
	}
	dir := filepath.Join(l.jobs, folderName(spec.ID, newToken()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	for name, data := range spec.Files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	stdout, err := os.OpenFile(filepath.Join(dir, "stdout"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	stderr, err := os.OpenFile(filepath.Join(dir, "stderr"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Env = append(environment(os.Environ()), spec.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if spec.Stdin != nil {
		cmd.Stdin = bytes.NewReader(spec.Stdin)
	}
	j := &localJob{id: spec.ID, dir: dir, cmd: cmd, done: make(chan struct{})}
	j.state.Started = time.Now()
	if err := cmd.Start(); err != nil {
		_ = os.RemoveAll(dir)
		return nil, &lab.Error{What: "can't start " + spec.Argv[0], Command: spec.Argv, Err: err}
	}
	go j.wait()
	return j, nil
}

// PrivateFolder creates the folder of the jobs. Every user can create names in its parent folder, so an existing one
// must be a real folder that this user owns. Otherwise another user could read and control the jobs.
func PrivateFolder(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || !ok || int(owner.Uid) != os.Getuid() {
		return &lab.Error{Kind: lab.Refused, What: dir + " is not a private folder of this user",
			Hints: []string{"find out who made it, and remove it"}}
	}
	return nil
}

type localJob struct {
	id, dir string
	cmd     *exec.Cmd
	done    chan struct{}

	mu    sync.Mutex
	state JobState
}

func (j *localJob) ID() string            { return j.id }
func (j *localJob) Dir() string           { return j.dir }
func (j *localJob) Done() <-chan struct{} { return j.done }

func (j *localJob) wait() {
	_ = j.cmd.Wait() // the process state has all information of the error
	j.mu.Lock()
	j.state.Done = true
	j.state.Ended = time.Now()
	ps := j.cmd.ProcessState
	j.state.ExitCode = ps.ExitCode()
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		j.state.Signal = ws.Signal().String()
	}
	j.state.UserSeconds = ps.UserTime().Seconds()
	j.state.SystemSeconds = ps.SystemTime().Seconds()
	if ru, ok := ps.SysUsage().(*syscall.Rusage); ok {
		j.state.MaxRSS = ru.Maxrss * 1024
	}
	j.mu.Unlock()
	close(j.done)
}

func (j *localJob) Poll(context.Context) (JobState, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state, nil
}

func (j *localJob) Fetch(_ context.Context, name string) ([]byte, error) {
	return fetchLocal(filepath.Join(j.dir, name))
}

func (j *localJob) Size(_ context.Context, names ...string) (int64, error) {
	var sum int64
	for _, name := range names {
		info, err := os.Stat(filepath.Join(j.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		sum += info.Size()
	}
	return sum, nil
}

func (j *localJob) Tail(_ context.Context, name string, n int64) ([]byte, error) {
	f, err := os.Open(filepath.Join(j.dir, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(max(0, size-n), io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}

func (j *localJob) Kill(ctx context.Context, grace time.Duration) error {
	select {
	case <-j.done: // its process ID can be reused by now
	default:
		_ = syscall.Kill(-j.cmd.Process.Pid, syscall.SIGTERM)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-j.done:
	case <-ctx.Done():
	case <-timer.C:
	}
	// Processes started by the command can outlive it, so they are found by their folder, not by their parent.
	if err := KillBelow(j.dir); err != nil {
		return err
	}
	select {
	case <-j.done:
		return nil
	case <-time.After(5 * time.Second):
		return fmt.Errorf("process %d does not end after SIGKILL; it is likely waiting for a device", j.cmd.Process.Pid)
	}
}

func (j *localJob) Remove(context.Context) error { return os.RemoveAll(j.dir) }

// ClearJob ends whatever a crashed headroom left running under a job's ID, and deletes the job's folder.
func (l *Local) ClearJob(_ context.Context, id string) error {
	folders, err := l.folders(id)
	for _, dir := range folders {
		if err := RemoveFolder(dir); err != nil {
			return err
		}
	}
	return err
}

// JobsBelow lists the IDs, beginning with prefix, of jobs whose folders still exist.
func (l *Local) JobsBelow(_ context.Context, prefix string) ([]string, error) {
	names, err := l.names()
	var ids []string
	for _, name := range names {
		if id := jobOf(name); strings.HasPrefix(id, prefix) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// folders returns the folders of a job.
func (l *Local) folders(id string) ([]string, error) {
	names, err := l.names()
	var all []string
	for _, name := range names {
		if jobOf(name) == id {
			all = append(all, filepath.Join(l.jobs, name))
		}
	}
	return all, err
}

// names returns the names of the folders of all jobs.
func (l *Local) names() ([]string, error) {
	entries, err := os.ReadDir(l.jobs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = PrivateFolder(l.jobs) // another user's processes and files must not be ended or removed
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}
