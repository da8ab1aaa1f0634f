package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// shellJob is a job on another host.
type shellJob struct {
	s       *Shell
	id, dir string
	start   started
	done    chan struct{}
	// unattended is set if the job is not followed. begin is the uptime at which its command should begin; 0 for at
	// once.
	unattended bool
	begin      float64

	mu sync.Mutex
	// final is the state when the job has ended; failed is why that state will never be known.
	final  *JobState
	failed error
}

func (j *shellJob) ID() string { return j.id }

func (j *shellJob) Dir() string { return j.dir }

func (j *shellJob) Done() <-chan struct{} { return j.done }

// Poll returns the state of the job. For a job that is done, an error explains why its end is unknown.
func (j *shellJob) Poll(ctx context.Context) (JobState, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.final == nil {
		state, err := j.readState(ctx)
		if !state.Done {
			return state, err
		}
		j.final, j.failed = &state, err
		if j.unattended {
			close(j.done)
		}
	}
	return *j.final, j.failed
}

// readState reads the records and looks for the wrapper.
func (j *shellJob) readState(ctx context.Context) (JobState, error) {
	end, process := path.Join(j.dir, endRecord), fmt.Sprintf("/proc/%d/stat", j.start.wrapper)
	before := time.Now()
	files, err := j.s.ReadFiles(ctx, end, process, uptimePath, path.Join(j.dir, startRecord))
	if err != nil {
		return JobState{}, err
	}
	began, now, err := j.clock(before, files[uptimePath])
	if err != nil {
		return JobState{}, err
	}
	switch f := files[end]; {
	case f.Err == nil:
		state, up, err := parseEnd(f.Data)
		state.Done = true
		state.Started, state.Ended = began, now(up)
		return state, err
	case !errors.Is(f.Err, fs.ErrNotExist):
		return JobState{}, f.Err
	}
	running := JobState{Started: began}
	if pid, ticks, ok := processIn(string(files[process].Data)); ok && pid == j.start.wrapper &&
		ticks == j.start.ticks {
		return running, nil
	}
	// The wrapper is gone. It may have written its record since then, and processes that it started may still run.
	switch again, err := j.s.ReadFiles(ctx, end); {
	case err != nil:
		return running, err
	case again[end].Err == nil:
		return j.readState(ctx)
	}
	left, err := j.s.script(ctx, "can't look for the job's processes", foundScript, j.dir)
	if err != nil || left != "" {
		return running, err
	}
	return JobState{Done: true, ExitCode: -1, Started: began, Ended: time.Now()},
		j.explainMissing(ctx, files[path.Join(j.dir, startRecord)].Err)
}

const uptimePath = "/proc/uptime"

// clock converts the machine's uptimes to times of our clock, so that the two clocks need not agree.
func (j *shellJob) clock(before time.Time, f File) (began time.Time, at func(up float64) time.Time, err error) {
	up, middle, err := j.uptime(before, f)
	if err != nil {
		return time.Time{}, nil, err
	}
	at = func(then float64) time.Time { return middle.Add(time.Duration((then - up) * float64(time.Second))) }
	return at(max(j.start.up, j.begin)), at, nil
}

// uptime returns the uptime of the machine, and the time by our clock at which it had that uptime. The uncertainty is
// half of the time since the query began.
func (j *shellJob) uptime(before time.Time, f File) (up float64, middle time.Time, err error) {
	first, _, _ := strings.Cut(string(f.Data), " ")
	up, err = strconv.ParseFloat(first, 64)
	if f.Err != nil || err != nil {
		return 0, time.Time{}, &lab.Error{What: "can't read " + uptimePath, Target: j.s.Name(), Err: f.Err}
	}
	return up, before.Add(time.Since(before) / 2), nil
}

// explainMissing returns the error of a job that left no record of its end: all of its processes were killed, and the
// folder may be gone as well.
func (j *shellJob) explainMissing(ctx context.Context, folder error) error {
	e := &lab.Error{What: "job " + j.id + " was ended from outside, and left no result", Target: j.s.Name()}
	if errors.Is(folder, fs.ErrNotExist) {
		e.Hints = []string{"its folder is gone too: was the machine restarted?"}
		return e
	}
	if hint := j.s.transport.Vanished(ctx); hint != "" {
		e.Hints = []string{hint}
		return e
	}
	e.Hints = []string{"the kernel's log there shows whether memory ran out (dmesg | grep -i 'killed process')"}
	return e
}

// Caveats are warnings about jobs on this machine, for the user before jobs are started.
func (s *Shell) Caveats(ctx context.Context) []string {
	if f, _, err := s.files(ctx); err == nil {
		if _, slow := f.(*shellFiles); slow {
			return []string{"there is no SFTP server, so reading facts takes long; install OpenSSH's " +
				"(openssh-sftp-server), or give them time with --timeout"}
		}
	}
	return nil
}

// How often a job is polled: often at first, so that a short one is not delayed.
const (
	firstPollInterval = 50 * time.Millisecond
	pollInterval      = 250 * time.Millisecond
)

// follow polls the job until it has ended. A connection that can't be made again in time also ends the job.
func (j *shellJob) follow() {
	defer close(j.done)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-j.s.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	begun := time.Now()
	for {
		state, err := j.Poll(ctx)
		if state.Done {
			return
		}
		if err != nil {
			j.mu.Lock()
			j.final, j.failed = &JobState{Done: true, ExitCode: -1}, err
			j.mu.Unlock()
			return
		}
		pause := pollInterval
		if time.Since(begun) < 2*time.Second {
			pause = firstPollInterval
		}
		select {
		case <-time.After(pause):
		case <-j.s.done:
			// The target is closed; the job continues without a follower.
			j.mu.Lock()
			j.final, j.failed = &JobState{Done: true, ExitCode: -1},
				&lab.Error{What: "the target was closed while job " + j.id + " was running", Target: j.s.Name()}
			j.mu.Unlock()
			return
		}
	}
}

// Fetch reads a file of the job's folder.
func (j *shellJob) Fetch(ctx context.Context, name string) ([]byte, error) {
	name = path.Join(j.dir, name)
	data, err := reading(ctx, j.s, func(f remoteFiles) ([]byte, error) { return f.fetch(name) })
	if _, cut := errors.AsType[*Cut](err); err != nil && !cut {
		err = &fs.PathError{Op: "open", Path: name, Err: unwrapPathError(err)}
	}
	return data, err
}

// Size returns the total size of files of the job's folder.
func (j *shellJob) Size(ctx context.Context, names ...string) (int64, error) {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = path.Join(j.dir, name)
	}
	return reading(ctx, j.s, func(f remoteFiles) (int64, error) { return f.size(paths) })
}

// Tail reads the end of a file of the job's folder.
func (j *shellJob) Tail(ctx context.Context, name string, n int64) ([]byte, error) {
	return reading(ctx, j.s, func(f remoteFiles) ([]byte, error) { return f.tail(path.Join(j.dir, name), n) })
}

// Kill ends the job and everything that it started.
func (j *shellJob) Kill(ctx context.Context, grace time.Duration) error {
	if err := j.s.kill(ctx, j.dir, j.start.wrapper, grace); err != nil {
		return err
	}
	select {
	case <-j.done:
		return nil
	case <-time.After(10 * time.Second):
		return fmt.Errorf("job %s was killed, and is not known to have ended", j.id)
	}
}

func (s *Shell) kill(ctx context.Context, dir string, wrapper int, grace time.Duration) error {
	tenths := int64((grace + 99*time.Millisecond) / (100 * time.Millisecond))
	left, err := s.script(ctx, "can't end what works in "+dir, killScript, dir, strconv.Itoa(wrapper),
		strconv.FormatInt(tenths, 10))
	if err == nil && left != "" {
		err = &lab.Error{What: fmt.Sprintf("processes working in %s do not end after SIGKILL: %s", dir,
			parseLeft(left)), Target: s.Name(),
			Hints: []string{"those in state D wait for a device, and end when it answers",
				"look at them there: ps -o pid,stat,wchan:32,args -p PID"}}
	}
	return err
}

// parseLeft describes the remaining processes that killScript prints: the ID, the state (proc_pid_stat(5)), and the
// kernel function that the process waits in, 0 if that can't be read.
//
//	5223 D jbd2_log_wait_commit
//	5224 R 0
func parseLeft(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 {
			all = append(all, strings.TrimSpace(line))
			continue
		}
		one := f[0] + " (" + f[1]
		if f[2] != "0" {
			one += " in " + f[2]
		}
		all = append(all, one+")")
	}
	return strings.Join(all, ", ")
}

// Remove deletes the job's folder, and the folder of all jobs if it is then empty.
func (j *shellJob) Remove(ctx context.Context) error {
	_, err := j.s.script(ctx, "can't remove the folder of job "+j.id, removeScript, j.dir)
	return err
}

var (
	_ Leftovers     = (*Shell)(nil)
	_ Receiver      = (*Shell)(nil)
	_ Closer        = (*Shell)(nil)
	_ Clock         = (*Shell)(nil)
	_ Caveats       = (*Shell)(nil)
	_ FleetMember   = (*Shell)(nil)
	_ fs.ReadLinkFS = shellFS{}
)
