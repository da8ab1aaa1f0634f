package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// worker is a shell on the host that runs one command after the other.
type worker struct {
	*Session
	stdout, stderr *stream
}

// worker returns an idle worker, or starts one.
func (l *link) worker() (*worker, error) {
	l.mu.Lock()
	for len(l.idle) > 0 {
		w := l.idle[len(l.idle)-1]
		l.idle = l.idle[:len(l.idle)-1]
		select {
		case <-w.Ended:
			continue
		default:
			l.mu.Unlock()
			return w, nil
		}
	}
	l.mu.Unlock()
	w := &worker{stdout: &stream{}, stderr: &stream{}}
	var err error
	if w.Session, err = l.Shell(w.stdout, w.stderr); err != nil {
		return nil, err
	}
	_, err = io.WriteString(w.Stdin, loop)
	return w, err
}

// closeTimeout is how long a program on the host can take to end when its input has ended. stopGrace is the same if
// there is little time: the program still ends then, but later.
const (
	closeTimeout = 2 * time.Second
	stopGrace    = 50 * time.Millisecond
)

// stop closes the worker's input, and kills the worker if it does not end in time.
func (w *worker) stop(patience time.Duration) {
	_ = w.Stdin.Close()
	select {
	case <-w.Ended:
	case <-time.After(patience):
		w.discard()
	}
}

func (w *worker) discard() {
	w.Kill()
	<-w.Ended
}

// run runs a command. One with input gets a worker that is not used again, because only the end of the session ends its
// input.
func (l *link) run(ctx context.Context, input io.Reader, argv []string) (Output, error) {
	if err := ctx.Err(); err != nil {
		return Output{}, err
	}
	if slices.ContainsFunc(argv, func(a string) bool { return strings.ContainsRune(a, 0) }) {
		return Output{}, &lab.Error{What: "an argument can't hold a zero byte", Command: argv[:1]}
	}
	w, err := l.worker()
	if err != nil {
		return Output{}, err
	}
	mark := randomHex(16)
	whole := w.listen(mark)
	go func() {
		// A worker that ends meanwhile is noticed below.
		_, _ = io.WriteString(w.Stdin, commandLine(mark, argv, input != nil))
		if input != nil {
			_, _ = io.Copy(w.Stdin, input)
			_ = w.Stdin.Close()
		}
	}()
	select {
	case <-whole:
	case <-w.Ended:
	case <-ctx.Done():
		// Closing the session would leave the command running on the host. sshd makes each session's shell the leader
		// of a process group, and the worker is that process.
		if line, _, ok := cutMark(w.stdout.bytes(), mark); ok {
			l.end(line)
		}
		w.discard()
		return Output{}, &lab.Error{What: "can't run " + argv[0], Command: argv, Err: ctx.Err()}
	}
	out, begun, ended := w.answer(mark)
	if !ended {
		w.discard()
		return out, l.unfinished(w, begun, argv)
	}
	if input != nil {
		w.stop(closeTimeout)
	} else {
		l.mu.Lock()
		l.idle = append(l.idle, w)
		l.mu.Unlock()
	}
	if (out.ExitCode == 126 || out.ExitCode == 127) && len(out.Stdout) == 0 &&
		bytes.HasPrefix(out.Stderr, []byte("env: ")) {
		e := &lab.Error{What: "can't run " + argv[0], Command: argv, Output: tail(string(out.Stderr), 2000),
			Err: fs.ErrNotExist}
		if out.ExitCode == 126 {
			e.Err = fs.ErrPermission
		}
		return out, e
	}
	return out, nil
}

// listen discards earlier output. The channel is closed when an answer with this mark is complete.
func (w *worker) listen(mark string) <-chan struct{} {
	whole := make(chan struct{})
	stdout := w.stdout.expect("\n" + mark + " ")
	stderr := w.stderr.expect("\n" + mark)
	go func() {
		for _, half := range []<-chan struct{}{stdout, stderr} {
			select {
			case <-half:
			case <-w.Ended:
				return
			}
		}
		close(whole)
	}()
	return whole
}

// answer extracts the output of the command from what arrived. begun is true if the host started the command, and ended
// if its exit status arrived.
func (w *worker) answer(mark string) (out Output, begun, ended bool) {
	return readAnswer(mark, w.stdout.bytes(), w.stderr.bytes())
}

func readAnswer(mark string, stdout, stderr []byte) (out Output, begun, ended bool) {
	_, rest, begun := cutMark(stdout, mark)
	if !begun {
		return out, false, false
	}
	if end := bytes.LastIndex(rest, []byte("\n"+mark+" ")); end >= 0 {
		status, _, whole := bytes.Cut(rest[end+len(mark)+2:], []byte("\n"))
		code, err := strconv.Atoi(string(status))
		if ended = whole && err == nil; ended {
			out.ExitCode, rest = code, rest[:end]
		}
	}
	out.Stdout = bytes.Clone(rest)
	if _, rest, ok := cutMark(stderr, mark); ok {
		if end := bytes.LastIndex(rest, []byte("\n"+mark+"\n")); end >= 0 {
			rest = rest[:end]
		}
		out.Stderr = bytes.Clone(rest)
	}
	return out, begun, ended
}

// unfinished returns the error of a command without an exit status.
func (l *link) unfinished(w *worker, begun bool, argv []string) error {
	select {
	case <-l.Gone():
	case <-time.After(200 * time.Millisecond): // the master may be a little later than its sessions
	}
	printed := string(w.stderr.bytes())
	e := &lab.Error{What: "can't run " + argv[0], Command: argv, Output: tail(printed, 2000)}
	switch {
	case !l.alive():
		e.Err = errConnectionLost
	case l.Refused(printed) != "":
		e.Hints = []string{l.Refused(printed)}
	case !begun:
		e.Hints = []string{"the login shell there must be able to carry out: exec /bin/sh -c '…'; a restricted shell " +
			"can't"}
	default:
		e.Err = fmt.Errorf("%s and the shell that ran it were ended from outside", argv[0])
	}
	return e
}

// endScript ends a process group: ID.
const endScript = `kill -TERM "-$1" 2>/dev/null
n=40; while kill -0 "-$1" 2>/dev/null && [ $n -gt 0 ]; do sleep 0.05; n=$((n-1)); done
kill -KILL "-$1" 2>/dev/null`

// end ends a command by its process group.
func (l *link) end(pid string) {
	if n, err := strconv.Atoi(pid); err != nil || n < 2 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	// The caller has already given up the command; whether this succeeds changes nothing for the caller.
	_, _ = l.run(ctx, nil, []string{"sh", "-c", endScript, "sh", pid})
}

// stream collects the output of a worker.
type stream struct {
	mu sync.Mutex
	b  []byte
	// last is the beginning of the line before and after an answer; whole is closed when the second one arrives.
	last  string
	whole chan struct{}
}

// expect discards earlier output and waits for the second line that begins with line.
func (s *stream) expect(line string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b, s.last, s.whole = nil, line, make(chan struct{})
	return s.whole
}

func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.b = append(s.b, p...)
	if s.whole == nil || !bytes.HasSuffix(s.b, []byte("\n")) {
		return len(p), nil
	}
	// The line with the mark is the last, and short.
	end := s.b[max(0, len(s.b)-len(s.last)-16):]
	if bytes.Contains(end, []byte(s.last)) && bytes.Index(s.b, []byte(s.last)) < bytes.LastIndex(s.b, []byte(s.last)) {
		close(s.whole)
		s.whole = nil
	}
	return len(p), nil
}

func (s *stream) bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.b)
}
