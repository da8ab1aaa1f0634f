package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// Transport reaches POSIX shells on another machine: over ssh, or over the API of a cluster.
type Transport interface {
	// Dial makes a connection. After a connection was lost it is retried, unless the error is ErrGone.
	Dial(ctx context.Context) (Connection, error)
	// Vanished returns a hint about what can have ended a job from outside, and how to prevent that.
	Vanished(ctx context.Context) string
}

// Connection runs shells on a machine.
type Connection interface {
	// User returns the numeric ID and the home folder of the user on the machine.
	User() (uid int, home string)
	// Shell starts a POSIX shell in the C locale that reads one line from its input and runs it.
	Shell(stdout, stderr io.Writer) (*Session, error)
	// SFTP starts the machine's SFTP subsystem; nil if it has none that is reached without a shell.
	SFTP(stdout, stderr io.Writer) (*Session, error)
	// Gone is closed when the connection is lost.
	Gone() <-chan struct{}
	// Refused explains, from the session's output, why it ended before it ran anything; empty if unknown.
	Refused(said string) string
	Close() error
}

// Session is a program that was started on a machine over a connection.
type Session struct {
	// Stdin of the program; closing it is end of file.
	Stdin io.WriteCloser
	// Ended is closed when the session has ended, and all its output has arrived.
	Ended <-chan struct{}
	// Kill ends the session on this side.
	Kill func()
}

// ErrGone is wrapped by the error of a machine that is gone for good, with all its processes.
var ErrGone = errors.New("it is gone for good")

// Shell is a machine that is reached through POSIX shells. Nothing is installed on it. All commands share one
// connection, which is made again after it was lost.
type Shell struct {
	name      string
	transport Transport
	// jobs is the folder on the machine that holds the folders of detached jobs; empty to choose one there.
	jobs string
	// patience is how long a lost connection is retried.
	patience time.Duration
	// lock is held while the connection is examined or made.
	lock chan struct{}
	// link is the connection; nil before the first use. lost is the time since which reconnecting has failed.
	link   *link
	lost   time.Time
	closed bool
	// sessions limits how many commands run at the same time.
	sessions chan struct{}
	// done ends the followers of jobs.
	done chan struct{}
	// uploaded are the folders on the machine that hold received files. Guarded by lock.
	uploaded []string
	// rewrite returns the path from which a file of the machine is read; nil if its paths are used unchanged.
	rewrite func(path string) string
	// plain is set if files are read through the shell although there is SFTP. Tests set it.
	plain bool
}

// link is a connection, with the state that lasts as long as the connection.
type link struct {
	Connection
	uid  int
	home string

	mu    sync.Mutex
	files remoteFiles // nil before the first use
	idle  []*worker
}

// errConnectionLost means that the connection ended while a command was running, so that its result is unknown.
var errConnectionLost = errors.New("the connection was lost")

// sessionsAtOnce leaves room for the connection's own session, for SFTP and for ending a command: sshd allows 10 by
// default (MaxSessions in sshd_config(5)).
const sessionsAtOnce = 6

const defaultPatience = 2 * time.Minute

// NewShell returns a machine as a target; name is the user's name for it. Nothing is connected before the first use, or
// Connect. A patience of 0 means two minutes.
func NewShell(name string, transport Transport, patience time.Duration) *Shell {
	if patience == 0 {
		patience = defaultPatience
	}
	return &Shell{name: name, transport: transport, patience: patience, lock: make(chan struct{}, 1),
		sessions: make(chan struct{}, sessionsAtOnce), done: make(chan struct{})}
}

func (l *link) alive() bool {
	select {
	case <-l.Gone():
		return false
	default:
		return true
	}
}

// close closes the connection and releases its resources.
func (l *link) close() error { return l.closeWithin(closeTimeout) }

// closeWithin is close with a limit on how long programs on the machine have to end without being killed.
func (l *link) closeWithin(patience time.Duration) error {
	l.mu.Lock()
	if l.files != nil {
		l.files.close(patience)
	}
	for _, w := range l.idle {
		w.stop(patience)
	}
	l.idle = nil
	l.mu.Unlock()
	return l.Close()
}

// Relocate makes files be read from other paths than the requested ones: the files of a container, from the paths of
// its host's files. It must be called before anything is read.
func (s *Shell) Relocate(where func(path string) string) { s.rewrite = where }

// Disconnect closes the connection until the next use. Files that were copied to the machine stay.
func (s *Shell) Disconnect() error {
	s.lock <- struct{}{}
	defer s.release()
	return s.disconnect(stopGrace)
}

// Forget closes the connection after the machine was rebooted, so that the next command makes another.
func (s *Shell) Forget() error {
	s.lock <- struct{}{}
	defer s.release()
	s.uploaded = nil
	return s.disconnect(closeTimeout)
}

// disconnect ends the connection. The caller holds the lock.
func (s *Shell) disconnect(patience time.Duration) error {
	if s.link == nil {
		return nil
	}
	l := s.link
	s.link = nil
	return l.closeWithin(patience)
}

// Name is the user's name for the host.
func (s *Shell) Name() string { return s.name }

// Connect makes the shared connection, unless there is one already. It can be called repeatedly while a guest boots.
func (s *Shell) Connect(ctx context.Context) error {
	_, err := s.connection(ctx)
	return err
}

// connection returns the shared connection, made again if it was lost. The first connection is tried once; one that was
// lost is retried for as long as patience.
func (s *Shell) connection(ctx context.Context) (*link, error) {
	if err := s.acquire(ctx); err != nil {
		return nil, err
	}
	defer s.release()
	if s.closed {
		return nil, &lab.Error{What: "the target is closed", Target: s.Name(), Err: errors.ErrUnsupported}
	}
	if s.link != nil && s.link.alive() {
		return s.link, nil
	}
	for {
		c, err := s.transport.Dial(ctx)
		if err == nil {
			if s.link != nil {
				_ = s.link.close() // releases what a lost connection holds on this side
			}
			l := &link{Connection: c}
			l.uid, l.home = c.User()
			s.link, s.lost = l, time.Time{}
			return l, nil
		}
		if s.link == nil || ctx.Err() != nil || errors.Is(err, ErrGone) {
			return nil, err
		}
		if s.lost.IsZero() {
			s.lost = time.Now()
		}
		if time.Since(s.lost) > s.patience {
			return nil, &lab.Error{What: fmt.Sprintf("the connection was lost, and could not be made again in %s",
				s.patience), Target: s.Name(), Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.done:
			return nil, err
		case <-time.After(min(time.Second, s.patience/4)):
		}
	}
}

func (s *Shell) acquire(ctx context.Context) error {
	select {
	case s.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Shell) release() { <-s.lock }

// Run runs a short command with an empty standard input, in the C locale.
func (s *Shell) Run(ctx context.Context, argv ...string) (Output, error) {
	return s.run(ctx, nil, argv)
}

// run runs a command; input is nil for none.
func (s *Shell) run(ctx context.Context, input io.Reader, argv []string) (Output, error) {
	l, err := s.connection(ctx)
	if err != nil {
		return Output{}, err
	}
	select {
	case s.sessions <- struct{}{}:
		defer func() { <-s.sessions }()
	case <-ctx.Done():
		return Output{}, ctx.Err()
	}
	out, err := l.run(ctx, input, argv)
	if e, ok := errors.AsType[*lab.Error](err); ok {
		e.Target = s.Name()
	}
	return out, err
}

// script runs one of headroom's scripts with arguments. Its exit status must be 0. A script must be safe to run twice.
func (s *Shell) script(ctx context.Context, what, text string, args ...string) (string, error) {
	out, err := s.runRetrying(ctx, nil, append([]string{"sh", "-c", text, "sh"}, args...))
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: what, Target: s.Name(), Output: tail(string(out.Stderr), 2000)}
	}
	return string(out.Stdout), err
}

// runRetrying runs a command that is safe to run twice, and repeats it if the connection was lost meanwhile. input is
// nil for none.
func (s *Shell) runRetrying(ctx context.Context, input []byte, argv []string) (Output, error) {
	for attempt := 0; ; attempt++ {
		var from io.Reader
		if input != nil {
			from = bytes.NewReader(input)
		}
		out, err := s.run(ctx, from, argv)
		if !errors.Is(err, errConnectionLost) || attempt == maxAttempts {
			return out, err
		}
	}
}

// maxAttempts is how often an operation that is safe to repeat is retried on a new connection.
const maxAttempts = 3

// FS is the host's file system.
func (s *Shell) FS() fs.FS { return shellFS{s} }

// Close ends the shared connection. It leaves nothing on the machine but jobs that were not removed.
func (s *Shell) Close() error {
	s.lock <- struct{}{}
	if s.closed {
		s.release()
		return nil
	}
	brought := s.uploaded
	s.uploaded = nil
	used := s.link != nil
	s.release()
	var err error
	if used && len(brought) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		_, err = s.script(ctx, "can't remove what was copied there", removeScript, brought...)
		cancel()
	}
	s.lock <- struct{}{}
	defer s.release()
	s.closed = true
	close(s.done)
	if s.link == nil {
		return err
	}
	return errors.Join(err, s.link.close())
}
