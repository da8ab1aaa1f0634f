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

// Transport is how POSIX shells on another machine are reached: over ssh, or over the API of a cluster.
type Transport interface {
	// Dial makes a connection. It is tried again when one that was there was lost, unless the error is ErrGone.
	Dial(ctx context.Context) (Connection, error)
	// Vanished says what can have ended a job from outside there, and the way out.
	Vanished(ctx context.Context) string
}

// Connection carries shells to a machine.
type Connection interface {
	// User there: the number, and the home folder.
	User() (uid int, home string)
	// Shell starts a POSIX shell in the C locale that reads one line from its input and carries it out.
	Shell(stdout, stderr io.Writer) (*Session, error)
	// SFTP starts the machine's own SFTP subsystem; nil where it has none that is not reached through a shell.
	SFTP(stdout, stderr io.Writer) (*Session, error)
	// Gone is closed when the connection is lost.
	Gone() <-chan struct{}
	// Refused says why a session ended before anything was carried out, from what was said; empty where it is not
	// known.
	Refused(said string) string
	Close() error
}

// Session is a program that was started on a machine over a connection.
type Session struct {
	// Stdin of the program; closing it is its end.
	Stdin io.WriteCloser
	// Ended is closed when the session has ended, and all that was printed has arrived.
	Ended <-chan struct{}
	// Kill ends the session on this side.
	Kill func()
}

// ErrGone is wrapped by the error of a machine that is gone for good, with all that went on there.
var ErrGone = errors.New("it is gone for good")

// Shell is a machine that is reached through POSIX shells. Nothing is installed there. One connection is shared by all
// commands; when it was lost it is made again.
type Shell struct {
	name      string
	transport Transport
	// jobs is the folder there that holds the folders of detached jobs; empty for one that is found there.
	jobs string
	// patience is how long a connection that was lost is tried for again.
	patience time.Duration
	// lock is held while the connection is looked at or made.
	lock chan struct{}
	// link is the connection; nil before the first use. lost is since when it could not be made again.
	link   *link
	lost   time.Time
	closed bool
	// sessions has room for as many commands as may go on at the same time.
	sessions chan struct{}
	// done ends the followers of jobs.
	done chan struct{}
	// uploaded are the folders there that hold received files. Guarded by turn.
	uploaded []string
	// rewrite is the path by which a file of the machine is read; nil where that is its own.
	rewrite func(path string) string
	// plain is set where files are to be read through the shell although there is SFTP; tests do.
	plain bool
}

// link is a connection, and what is kept of it while it lasts.
type link struct {
	Connection
	uid  int
	home string

	mu    sync.Mutex
	files remoteFiles // nil before the first use
	idle  []*worker
}

// errConnectionLost says that the connection ended while a command went on, so that nobody knows what became of it.
var errConnectionLost = errors.New("the connection was lost")

// sessionsAtOnce leaves room for the connection's own session, for SFTP and for ending a command: sshd allows 10 unless
// told otherwise (MaxSessions in sshd_config(5)).
const sessionsAtOnce = 6

const defaultPatience = 2 * time.Minute

// NewShell returns a machine as a target; name is what the user calls it. Nothing is connected before the first use, or
// Connect. A patience of 0 is two minutes.
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

// close gives back what the connection holds.
func (l *link) close() error { return l.closeWithin(closeTimeout) }

// closeWithin is close where programs there have so long to end by themselves.
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

// Relocate has files be read by other paths than they have on the machine that is meant: of a container, by those at
// which it has its host's. Nothing has been read yet.
func (s *Shell) Relocate(where func(path string) string) { s.rewrite = where }

// Disconnect gives the connection back until the next use. What was copied there stays.
func (s *Shell) Disconnect() error {
	s.lock <- struct{}{}
	defer s.release()
	return s.disconnect(stopGrace)
}

// Forget gives the connection back, so that the next command makes another: the machine was started again.
func (s *Shell) Forget() error {
	s.lock <- struct{}{}
	defer s.release()
	s.uploaded = nil
	return s.disconnect(closeTimeout)
}

// disconnect ends the connection. Only who has the turn may.
func (s *Shell) disconnect(patience time.Duration) error {
	if s.link == nil {
		return nil
	}
	l := s.link
	s.link = nil
	return l.closeWithin(patience)
}

// Name is what the user calls the host.
func (s *Shell) Name() string { return s.name }

// Connect makes the shared connection, unless there is one already. A guest that boots can be asked again and again.
func (s *Shell) Connect(ctx context.Context) error {
	_, err := s.connection(ctx)
	return err
}

// connection is the shared one, made again if it was lost. The first is tried for once; one that was there is tried for
// with patience.
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
				_ = s.link.close() // what a lost connection holds here
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

// Run carries out a short command with an empty standard input, in the C locale.
func (s *Shell) Run(ctx context.Context, argv ...string) (Output, error) {
	return s.run(ctx, nil, argv)
}

// run carries out a command; input is nil for none.
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

// script carries out a script of ours with arguments. Its exit status must be 0. It may be carried out twice.
func (s *Shell) script(ctx context.Context, what, text string, args ...string) (string, error) {
	out, err := s.runRetrying(ctx, nil, append([]string{"sh", "-c", text, "sh"}, args...))
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: what, Target: s.Name(), Output: tail(string(out.Stderr), 2000)}
	}
	return string(out.Stdout), err
}

// runRetrying carries out what may be carried out twice, again when the connection was lost meanwhile. input is nil for
// none.
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

// maxAttempts is how often what may be done twice is tried again on a new connection.
const maxAttempts = 3

// FS is the host's file system.
func (s *Shell) FS() fs.FS { return shellFS{s} }

// Close ends the shared connection, and leaves nothing behind there but jobs that were not removed.
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
