package target

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"headroom/internal/lab"
)

// SSHOptions say which host is meant and how it is reached.
type SSHOptions struct {
	// Name is what the user calls the target: "ssh://db1".
	Name string
	// Destination as ssh takes it: "host", "user@host", a name of the user's own configuration.
	Destination string
	// Args are further arguments for ssh, before the destination: "-p", "2222", "-F", "/dev/null", "-i", KEY.
	Args []string
	// Jobs is the folder there that holds the folders of detached jobs; empty for one that is found there, in memory if possible.
	Jobs string
	// Patience is how long a connection that was lost is tried for again; 0 for two minutes.
	Patience time.Duration
}

// SSH is a host that is reached with the user's own OpenSSH client: with their configuration, keys, agent and jump hosts, none of
// which is read here. Nothing is installed there. One connection is shared by all commands (ControlMaster); when it was lost
// it is made again.
type SSH struct {
	options SSHOptions
	// turn is held while the connection is looked at or made.
	turn chan struct{}
	// link is the connection; nil before the first use. lost is since when it could not be made again.
	link   *link
	lost   time.Time
	closed bool
	// sessions has room for as many commands as may go on at the same time.
	sessions chan struct{}
	// done ends the followers of jobs.
	done chan struct{}
	// brought are the folders there that hold received files. Guarded by turn.
	brought []string
	// plain is set where files are to be read through the shell although there is SFTP; tests do.
	plain bool
}

// sessionsAtOnce leaves room for the connection's own session, for SFTP and for ending a command: sshd allows 10 unless told otherwise
// (MaxSessions in sshd_config(5)).
const sessionsAtOnce = 6

const defaultPatience = 2 * time.Minute

// NewSSH returns a host as a target. Nothing is connected before the first use, or Connect.
func NewSSH(o SSHOptions) *SSH {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	return &SSH{options: o, turn: make(chan struct{}, 1), sessions: make(chan struct{}, sessionsAtOnce), done: make(chan struct{})}
}

// ParseSSH reads "ssh://[user@]host[:port]".
func ParseSSH(name string) (SSHOptions, error) {
	wrong := func(what string) (SSHOptions, error) {
		return SSHOptions{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("%q is no target: %s", name, what),
			Hints: []string{"write ssh://host, ssh://user@host:port, or ssh://NAME for a Host of your ssh configuration"}}
	}
	u, err := url.Parse(name)
	switch {
	case err != nil:
		return wrong("it can't be read as an address")
	case u.Scheme != "ssh":
		return wrong("it does not begin with ssh://")
	case u.Hostname() == "":
		return wrong("the host is missing")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return wrong("nothing can follow the host")
	case strings.HasPrefix(u.Hostname(), "-") || strings.HasPrefix(u.User.Username(), "-"):
		return wrong("a name can't begin with a hyphen") // ssh would read an option
	}
	if _, has := u.User.Password(); has {
		return wrong("a password is never given on the command line; ssh-copy-id puts a key there")
	}
	o := SSHOptions{Name: strings.TrimSuffix(name, "/"), Destination: u.Hostname()}
	if user := u.User.Username(); user != "" {
		o.Destination = user + "@" + o.Destination
	}
	if port := u.Port(); port != "" {
		o.Args = []string{"-p", port}
	}
	return o, nil
}

// Name is what the user calls the host.
func (s *SSH) Name() string { return s.options.Name }

// Connect makes the shared connection, unless there is one already. A guest that boots can be asked again and again.
func (s *SSH) Connect(ctx context.Context) error {
	_, err := s.connection(ctx)
	return err
}

// connection is the shared one, made anew if it was lost. The first is tried for once; one that was there is tried for with patience.
func (s *SSH) connection(ctx context.Context) (*link, error) {
	if err := s.take(ctx); err != nil {
		return nil, err
	}
	defer s.give()
	if s.closed {
		return nil, &lab.Error{What: "the target is closed", Target: s.Name(), Err: errors.ErrUnsupported}
	}
	if s.link != nil && s.link.alive() {
		return s.link, nil
	}
	for {
		l, err := dial(ctx, s.options)
		if err == nil {
			if s.link != nil {
				s.link.forget()
			}
			s.link, s.lost = l, time.Time{}
			return l, nil
		}
		if s.link == nil || ctx.Err() != nil {
			return nil, err
		}
		if s.lost.IsZero() {
			s.lost = time.Now()
		}
		if time.Since(s.lost) > s.options.Patience {
			return nil, &lab.Error{What: fmt.Sprintf("the connection was lost, and could not be made again in %s", s.options.Patience), Target: s.Name(), Err: err}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.done:
			return nil, err
		case <-time.After(min(time.Second, s.options.Patience/4)):
		}
	}
}

func (s *SSH) take(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *SSH) give() { <-s.turn }

// Run carries out a short command with an empty standard input, in the C locale.
func (s *SSH) Run(ctx context.Context, argv ...string) (Output, error) {
	return s.run(ctx, nil, argv)
}

// run carries out a command; input is nil for none.
func (s *SSH) run(ctx context.Context, input io.Reader, argv []string) (Output, error) {
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
func (s *SSH) script(ctx context.Context, what, text string, args ...string) (string, error) {
	out, err := s.again(ctx, nil, append([]string{"sh", "-c", text, "sh"}, args...))
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: what, Target: s.Name(), Output: tail(string(out.Stderr), 2000)}
	}
	return string(out.Stdout), err
}

// again carries out what may be carried out twice, anew when the connection was lost meanwhile. input is nil for none.
func (s *SSH) again(ctx context.Context, input []byte, argv []string) (Output, error) {
	for attempt := 0; ; attempt++ {
		var from io.Reader
		if input != nil {
			from = bytes.NewReader(input)
		}
		out, err := s.run(ctx, from, argv)
		if !errors.Is(err, errConnectionLost) || attempt == attempts {
			return out, err
		}
	}
}

// attempts is how often what may be done twice is tried again on a new connection.
const attempts = 3

// FS is the host's file system.
func (s *SSH) FS() fs.FS { return sshFS{s} }

// Close ends the shared connection, and leaves nothing behind there but jobs that were not removed.
func (s *SSH) Close() error {
	s.turn <- struct{}{}
	if s.closed {
		s.give()
		return nil
	}
	brought := s.brought
	s.brought = nil
	used := s.link != nil
	s.give()
	var err error
	if used && len(brought) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		_, err = s.script(ctx, "can't remove what was copied there", removeScript, brought...)
		cancel()
	}
	s.turn <- struct{}{}
	defer s.give()
	s.closed = true
	close(s.done)
	if s.link == nil {
		return err
	}
	return errors.Join(err, s.link.close())
}
