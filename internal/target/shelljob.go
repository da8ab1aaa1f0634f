package target

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"headroom/internal/lab"
)

// jobBases are the folders that can hold those of jobs, the best first: memory, so that nothing that a load prints goes
// to the disk that it loads. They depend on the user alone: the next start must find what a killed one left.
func (s *Shell) jobBases(l *link) []string {
	if s.jobs != "" {
		return []string{s.jobs}
	}
	bases := []string{fmt.Sprintf("/dev/shm/headroom-%d", l.uid), fmt.Sprintf("/run/user/%d/headroom", l.uid),
		fmt.Sprintf("/tmp/headroom-%d", l.uid), fmt.Sprintf("/var/tmp/headroom-%d", l.uid)}
	if strings.HasPrefix(l.home, "/") {
		bases = append(bases, path.Join(l.home, ".headroom-jobs"))
	}
	return bases
}

// makeFolder has one of the scripts make a folder in the first base that will do.
func (s *Shell) makeFolder(ctx context.Context, script, id string) (string, error) {
	l, err := s.connection(ctx)
	if err != nil {
		return "", err
	}
	bases := s.jobBases(l)
	// An interruption meanwhile would leave a folder that nobody knows of. Whoever called hears of the interruption at
	// the next step.
	made, cancel := withGrace(ctx, folderGrace)
	defer cancel()
	out, err := s.script(made, "can't make a folder", script,
		append([]string{strconv.Itoa(l.uid), id, newToken()}, bases...)...)
	if err != nil {
		return "", err
	}
	word, dir, _ := strings.Cut(strings.TrimSuffix(out, "\n"), " ")
	switch word {
	case "made":
		return dir, nil
	case "foreign":
		return "", &lab.Error{Kind: lab.Refused, What: dir + " is not a private folder of this user", Target: s.Name(),
			Hints: []string{"find out who made it, and remove it"}}
	case "exists":
		return "", &lab.Error{What: "there is a job " + id + " already", Target: s.Name(), Err: fs.ErrExist}
	}
	return "", &lab.Error{What: "no folder can be written to for what a command leaves", Target: s.Name(),
		Hints: []string{"tried: " + strings.Join(bases, ", ")}}
}

// tokenBytes is the length of what makes the name of a job's folder one that nobody can know beforehand.
const tokenBytes = 8

func newToken() string { return randomHex(tokenBytes) }

// folderName is that of the folder of a job.
func folderName(id, token string) string { return id + "." + token }

// jobOf is the ID of the job whose folder has a name. Folders of files that were copied there have no token.
//
//	7KQ4M2X9TD-1.5f0c7c1be3d94a26
func jobOf(name string) string {
	at := len(name) - 2*tokenBytes - 1
	if at < 0 || name[at] != '.' {
		return name
	}
	if _, err := hex.DecodeString(name[at+1:]); err != nil {
		return name
	}
	return name[:at]
}

// folderGrace is how long the making of a folder, a round trip, may go on after an interruption.
const folderGrace = 20 * time.Second

// withGrace is a context that ends some time after another.
func withGrace(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-time.After(by):
		case <-longer.Done():
		}
		cancel()
	})
	return longer, func() { stop(); cancel() }
}

// Start begins a detached job. It survives the connection.
func (s *Shell) Start(ctx context.Context, spec JobSpec) (Job, error) {
	dir, err := s.makeFolder(ctx, makeScript, spec.ID)
	if err != nil {
		return nil, err
	}
	j := &shellJob{s: s, id: spec.ID, dir: dir, done: make(chan struct{})}
	if err := j.startCommand(ctx, spec); err != nil {
		// It may have begun without our hearing of it.
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
	begin := strconv.Itoa(max(0, int(j.begin*100))) // hundredths of a second, as the kernel tells its uptime
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

// write makes a file there, whatever bytes it holds.
func (s *Shell) write(ctx context.Context, name string, data []byte, mode fs.FileMode) error {
	const script = `umask 077; rm -f -- "$1"; cat >"$1" && chmod "$2" "$1" && [ "$(wc -c <"$1")" -eq "$3" ]`
	if data == nil {
		data = []byte{} // a file without a byte has an input, too
	}
	out, err := s.runRetrying(ctx, data,
		[]string{"sh", "-c", script, "sh", name, strconv.FormatUint(uint64(mode.Perm()), 8),
			strconv.Itoa(len(data))})
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't write " + name, Target: s.Name(), Output: string(out.Stderr)}
	}
	return err
}

// Receive copies a file into a folder whose files can be executed. The name's first part, if it has several, is the ID
// of the folder among those of jobs, so that ClearJob finds it after a crash.
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
	// The folder is there, interrupted or not, and Close must know of it.
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

// shellJob is a job on another host.
type shellJob struct {
	s       *Shell
	id, dir string
	start   started
	done    chan struct{}
	// unattended says that nobody follows the job. begin is the uptime at which its command was to begin; 0 for at
	// once.
	unattended bool
	begin      float64

	mu sync.Mutex
	// final is the state when the job has ended, or the reason why it will never be known.
	final  *JobState
	failed error
}

func (j *shellJob) ID() string            { return j.id }
func (j *shellJob) Dir() string           { return j.dir }
func (j *shellJob) Done() <-chan struct{} { return j.done }

// The records in a job's folder.
const (
	startRecord = "headroom.start"
	endRecord   = "headroom.end"
)

// started is the record of a job's beginning.
type started struct {
	up float64 // uptime in seconds
	// wrapper is its process, and ticks when that began: both together name it.
	wrapper int
	ticks   string
}

// parseStart reads the machine's uptime, and the wrapper's line of /proc/PID/stat. The 22nd field is the time when the
// process began, the name in brackets can hold anything. Source: proc_pid_stat(5).
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

// processIn takes the process ID and the time of its beginning from a line of /proc/PID/stat.
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

// parseEnd reads the record of a job's end: exit status and uptime, then what the shell's "times" prints, of itself and
// of its children, user and system. A shell gives a command that was ended by a signal 128 and its number.
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

// minutes reads "1m2.03s"; 0 when it is nothing of the kind.
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

// Poll says how far the job is. An error for a job that is done says why nobody knows how it ended.
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
	// The wrapper is gone. It may have written its record since, and what it started may go on without it.
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

// clock turns the machine's uptimes into times of ours, so that the two clocks need not agree.
func (j *shellJob) clock(before time.Time, f File) (began time.Time, at func(up float64) time.Time, err error) {
	up, middle, err := j.uptime(before, f)
	if err != nil {
		return time.Time{}, nil, err
	}
	at = func(then float64) time.Time { return middle.Add(time.Duration((then - up) * float64(time.Second))) }
	return at(max(j.start.up, j.begin)), at, nil
}

// uptime is that of the machine, and the time by our clock at which it was that, give or take half of the time since it
// was asked for.
func (j *shellJob) uptime(before time.Time, f File) (up float64, middle time.Time, err error) {
	first, _, _ := strings.Cut(string(f.Data), " ")
	up, err = strconv.ParseFloat(first, 64)
	if f.Err != nil || err != nil {
		return 0, time.Time{}, &lab.Error{What: "can't read " + uptimePath, Target: j.s.Name(), Err: f.Err}
	}
	return up, before.Add(time.Since(before) / 2), nil
}

// explainMissing is the error of a job that left no record of its end: all of its processes were killed, and the folder
// may be gone as well.
func (j *shellJob) explainMissing(ctx context.Context, folder error) error {
	e := &lab.Error{What: "job " + j.id + " was ended from outside, and left no result", Target: j.s.Name()}
	if errors.Is(folder, fs.ErrNotExist) {
		e.Hints = []string{"its folder is gone too: was the machine started anew?"}
		return e
	}
	if hint := j.s.transport.Vanished(ctx); hint != "" {
		e.Hints = []string{hint}
		return e
	}
	e.Hints = []string{"the kernel's log there tells whether memory ran out (dmesg | grep -i 'killed process')"}
	return e
}

// Caveats are what there is to know of jobs on this machine before they are started.
func (s *Shell) Caveats(ctx context.Context) []string {
	if f, _, err := s.files(ctx); err == nil {
		if _, slow := f.(*shellFiles); slow {
			return []string{"there is no SFTP server, so reading facts takes long; install OpenSSH's " +
				"(openssh-sftp-server), or give them time with --timeout"}
		}
	}
	return nil
}

// How often a job is asked after: often in its first moments, so that a short one is not kept waiting.
const (
	firstPollInterval = 50 * time.Millisecond
	pollInterval      = 250 * time.Millisecond
)

// follow asks after the job until it has ended. A connection that can't be made again in time is an end, too.
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
			// The target is closed; the job goes on without a follower.
			j.mu.Lock()
			j.final, j.failed = &JobState{Done: true, ExitCode: -1},
				&lab.Error{What: "the target was closed while job " + j.id + " went on", Target: j.s.Name()}
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

// Size is how long files of the job's folder are together.
func (j *shellJob) Size(ctx context.Context, names ...string) (int64, error) {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = path.Join(j.dir, name)
	}
	return reading(ctx, j.s, func(f remoteFiles) (int64, error) { return f.size(paths) })
}

// Tail reads the end of such a file.
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

// parseLeft puts into words what killScript says of processes that are left: the number, the state (proc_pid_stat(5)),
// and the kernel's function that it waits in, 0 where that may not be read.
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

// Remove deletes the job's folder, and the folder of all jobs when it was the last.
func (j *shellJob) Remove(ctx context.Context) error {
	_, err := j.s.script(ctx, "can't remove the folder of job "+j.id, removeScript, j.dir)
	return err
}

// JobsBelow lists the IDs of the jobs whose folders are still there and begin with prefix.
func (s *Shell) JobsBelow(ctx context.Context, prefix string) ([]string, error) {
	folders, err := s.jobFolders(ctx)
	var ids []string
	for _, dir := range folders {
		if id := jobOf(path.Base(dir)); strings.HasPrefix(id, prefix) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// jobFolders are the folders of jobs in all places where there can be some.
func (s *Shell) jobFolders(ctx context.Context) ([]string, error) {
	l, err := s.connection(ctx)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, base := range s.jobBases(l) {
		entries, err := reading(ctx, s, func(f remoteFiles) ([]fs.DirEntry, error) { return f.list(base) })
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, &lab.Error{What: "can't look for jobs in " + base, Target: s.Name(), Err: err}
		}
		for _, e := range entries {
			if e.IsDir() {
				folders = append(folders, path.Join(base, e.Name()))
			}
		}
	}
	return folders, nil
}

// ClearJob ends whatever a crashed headroom left running under a job's ID, and deletes its folder.
func (s *Shell) ClearJob(ctx context.Context, id string) error {
	folders, err := s.jobFolders(ctx)
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if jobOf(path.Base(dir)) != id {
			continue
		}
		if err := s.kill(ctx, dir, 0, 0); err != nil {
			return err
		}
		if _, err := s.script(ctx, "can't remove "+dir, removeScript, dir); err != nil {
			return err
		}
	}
	return nil
}

// ClockOffset estimates how far the host's clock is ahead of ours: from the quickest of several questions, the middle
// between asking and hearing, and off by half of the time between at most.
func (s *Shell) ClockOffset(ctx context.Context) (offset, uncertainty time.Duration, err error) {
	argv := []string{"date", "+%s.%N"}
	for i := range 5 {
		before := time.Now()
		out, err := s.Run(ctx, argv...)
		took := time.Since(before)
		if err != nil {
			return 0, 0, err
		}
		there, step, err := parseDate(string(out.Stdout))
		if err != nil && i > 0 {
			break // it has no such stat: the seconds of its date are all that is known
		}
		if err != nil {
			return 0, 0, err
		}
		if step == time.Second {
			argv = processTime()
		}
		if off := took/2 + step; i == 0 || off < uncertainty {
			offset, uncertainty = there.Add(step/2).Sub(before.Add(took/2)), off
		}
	}
	return offset, uncertainty, nil
}

// processTime asks for the time at which the process that answers was first looked at, which is now: the kernel gives
// its folder that time. It is for the date of a BusyBox that tells seconds only, whose stat tells more. Source:
// new_inode of fs/proc/base.c, proc_pid_make_inode.
func processTime() []string { return []string{"stat", "-L", "-c", "%y", "/proc/self"} }

// tickStep is the longest step of the clock that inodes have their times from: a tick of a kernel with CONFIG_HZ=100.
const tickStep = 10 * time.Millisecond

// parseDate reads seconds since 1970 and the nanoseconds, which some a BusyBox does not know, or the time of a file.
//
//	1763763960.123456789
//	1763763960.%N
//	2025-11-21 22:26:00.123456789 +0000
func parseDate(text string) (at time.Time, step time.Duration, err error) {
	if at, err := time.Parse("2006-01-02 15:04:05 -0700", strings.TrimSpace(text)); err == nil {
		return at, tickStep, nil
	}
	whole, fraction, _ := strings.Cut(strings.TrimSpace(text), ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("date printed %q, where seconds are due", text)
	}
	if ns, err := strconv.ParseInt(fraction, 10, 64); err == nil && len(fraction) == 9 {
		return time.Unix(seconds, ns), 0, nil
	}
	return time.Unix(seconds, 0), time.Second, nil
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
