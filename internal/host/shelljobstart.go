package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Start starts a detached job. It survives the connection.
func (s *Shell) Start(ctx context.Context, spec JobSpec) (Job, error) {
	dir, err := s.makeFolder(ctx, makeScript, spec.ID)
	if err != nil {
		return nil, err
	}
	j := &shellJob{s: s, id: spec.ID, dir: dir, done: make(chan struct{})}
	if err := j.startCommand(ctx, spec); err != nil {
		// It may have begun although its answer was lost.
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		return nil, errors.Join(err, s.ClearJob(after, spec.ID))
	}
	if j.unattended = spec.Unattended != nil; !j.unattended {
		go j.follow()
	}
	return j, nil
}

func (j *shellJob) startCommand(ctx context.Context, spec JobSpec) error {
	for name, data := range spec.Files {
		if err := j.s.write(ctx, path.Join(j.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	if spec.Stdin != nil {
		if err := j.s.write(ctx, path.Join(j.dir, "headroom.stdin"), spec.Stdin, 0o600); err != nil {
			return err
		}
	}
	if spec.Unattended != nil && !spec.Unattended.Begin.IsZero() {
		before := time.Now()
		files, err := j.s.ReadFiles(ctx, uptimePath)
		if err != nil {
			return err
		}
		now, middle, err := j.uptime(before, files[uptimePath])
		if err != nil {
			return err
		}
		j.begin = now + spec.Unattended.Begin.Sub(middle).Seconds()
	}
	begin := strconv.Itoa(max(0, int(j.begin*100))) // hundredths of a second, the precision of the kernel's uptime
	argv := slices.Concat([]string{"sh", "-c", launchScript, "sh", j.dir, wrapperScript, spec.Argv[0], begin},
		spec.Env, spec.Argv)
	out, err := j.s.runRetrying(ctx, nil, argv)
	fail := func(err error) error {
		return &lab.Error{What: "can't start " + spec.Argv[0], Target: j.s.Name(), Command: spec.Argv,
			Output: tail(string(out.Stderr), 2000), Err: err}
	}
	switch printed := string(out.Stdout); {
	case err != nil:
		return err
	case printed == "missing\n":
		return fail(fs.ErrNotExist)
	case out.ExitCode != 0:
		return fail(nil)
	default:
		if j.start, err = parseStart([]byte(printed)); err != nil {
			return fail(err)
		}
	}
	return nil
}

// write writes a file on the machine. The data can contain any bytes.
func (s *Shell) write(ctx context.Context, name string, data []byte, mode fs.FileMode) error {
	const script = `umask 077; rm -f -- "$1"; cat >"$1" && chmod "$2" "$1" && [ "$(wc -c <"$1")" -eq "$3" ]`
	if data == nil {
		data = []byte{} // an empty file has an input, too
	}
	out, err := s.runRetrying(ctx, data,
		[]string{"sh", "-c", script, "sh", name, strconv.FormatUint(uint64(mode.Perm()), 8),
			strconv.Itoa(len(data))})
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't write " + name, Target: s.Name(), Output: string(out.Stderr)}
	}
	return err
}

// Receive copies a file into a folder whose files can be executed. If the name has two parts, the first is the ID of a
// folder next to the folders of jobs, so that ClearJob finds it after a crash.
func (s *Shell) Receive(ctx context.Context, name string, data []byte, mode fs.FileMode) (string, error) {
	id, file, ok := strings.Cut(name, "/")
	if !ok {
		id, file = "received-"+randomHex(4), name
	}
	if !fs.ValidPath(name) || file == "." || strings.Contains(file, "/") {
		return "", &lab.Error{What: fmt.Sprintf("%q is no name for a file to be copied to a target", name)}
	}
	dir, err := s.makeFolder(ctx, uploadScript, id)
	if err != nil {
		return "", err
	}
	// The folder exists, interrupted or not, and Close must know of it.
	held, cancel := withGrace(ctx, folderGrace)
	defer cancel()
	if err := s.acquire(held); err != nil {
		return "", err
	}
	if !slices.Contains(s.uploaded, dir) {
		s.uploaded = append(s.uploaded, dir)
	}
	s.release()
	full := path.Join(dir, file)
	return full, s.write(ctx, full, data, mode)
}

// The records in a job's folder.
const (
	startRecord = "headroom.start"
	endRecord   = "headroom.end"
)

// started is the record of a job's beginning.
type started struct {
	up float64 // uptime in seconds
	// wrapper is the ID of its process, and ticks when that process began: both together identify it.
	wrapper int
	ticks   string
}

// parseStart parses the machine's uptime, and the wrapper's line of /proc/PID/stat. The 22nd field is the start time of
// the process; the name in brackets can contain any characters. Source: proc_pid_stat(5).
//
//	8342.71
//	4711 (sh) S 1 4711 4711 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 834271 2629632 …
func parseStart(record []byte) (started, error) {
	first, second, _ := strings.Cut(string(record), "\n")
	up, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return started{}, fmt.Errorf("the job's record of its beginning is damaged: %q", shorten(record))
	}
	pid, ticks, ok := processIn(second)
	if !ok {
		return started{}, fmt.Errorf("the job's record of its process is damaged: %q", shorten(record))
	}
	return started{up: up, wrapper: pid, ticks: ticks}, nil
}

// processIn returns the process ID and start time from a line of /proc/PID/stat.
func processIn(line string) (pid int, ticks string, ok bool) {
	number, _, _ := strings.Cut(line, " ")
	pid, err := strconv.Atoi(number)
	end := strings.LastIndex(line, ") ")
	if err != nil || pid < 1 || end < 0 {
		return 0, "", false
	}
	fields := strings.Fields(line[end+2:])
	if len(fields) < 20 {
		return 0, "", false
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return 0, "", false
	}
	return pid, fields[19], true
}

// parseEnd parses the record of a job's end: exit status and uptime, then the output of the shell's "times": user and
// system time of the shell, then of its children. The exit status of a command ended by a signal is 128 plus its
// number.
//
//	0 8343.90
//	0m0.00s 0m0.00s
//	0m1.02s 0m0.11s
func parseEnd(record []byte) (state JobState, up float64, err error) {
	lines := strings.Split(string(record), "\n")
	status, uptime, _ := strings.Cut(lines[0], " ")
	code, err1 := strconv.Atoi(status)
	up, err2 := strconv.ParseFloat(uptime, 64)
	if errors.Join(err1, err2) != nil {
		return JobState{}, 0, fmt.Errorf("the job's record of its end is damaged: %q", shorten(record))
	}
	state = JobState{Done: true, ExitCode: code}
	const lastSignal = 64
	if signal := code - 128; signal > 0 && signal <= lastSignal {
		state.ExitCode, state.Signal = -1, syscall.Signal(signal).String()
	}
	if len(lines) > 2 {
		if user, system, ok := strings.Cut(lines[2], " "); ok {
			state.UserSeconds, state.SystemSeconds = minutes(user), minutes(system)
		}
	}
	return state, up, nil
}

// minutes parses "1m2.03s"; it returns 0 for other text.
func minutes(text string) float64 {
	m, rest, ok := strings.Cut(strings.TrimSpace(text), "m")
	whole, err1 := strconv.ParseFloat(m, 64)
	seconds, err2 := strconv.ParseFloat(strings.TrimSuffix(strings.Replace(rest, ",", ".", 1), "s"), 64)
	if !ok || err1 != nil || err2 != nil {
		return 0
	}
	return 60*whole + seconds
}

func shorten(record []byte) string { return tail(string(record), 200) }
