package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// sshConnection is one shared connection: an ssh process that is the master of a control socket, over which other ssh
// processes have their sessions.
//
// The master has a session too, which waits on the host for the end of its input. Its answer shows that the connection
// is established. When headroom is killed, the pipe closes, that session ends, and the master ends with it: nothing is
// left.
type sshConnection struct {
	socket string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Closer
	stderr *tailBuffer
	gone   chan struct{} // closed when the master has ended
	// uid and home folder of the user on the host.
	uid  int
	home string
}

// connectLimit is how long making a connection can take in all: an emulated guest takes seconds for the key exchange.
const connectLimit = time.Minute

// masterGrace is how long ssh can take to end when it has nothing more to do.
const masterGrace = 5 * time.Second

// A peer that does not answer is given up after aliveSeconds times aliveCount. Under a heavy load sshd can be late.
const (
	aliveSeconds   = 10
	aliveCount     = 6
	connectSeconds = 20
)

func dial(ctx context.Context, o SSHOptions) (*sshConnection, error) {
	folder, err := socketFolder(socketBases())
	if err != nil {
		return nil, err
	}
	l := &sshConnection{socket: filepath.Join(folder, "socket"), stderr: &tailBuffer{}, gone: make(chan struct{})}
	mark := randomHex(16)
	// The first value of an option counts: required options come first, then the caller's, then defaults. -T, -x and -a
	// mean no terminal, no X11, no agent on the host. A RemoteCommand and forwardings of the user's configuration are
	// meant for the user's own sessions.
	args := slices.Concat(
		[]string{"-T", "-x", "-a", "-o", "BatchMode=yes", "-o", "ControlMaster=yes", "-o", "ControlPersist=no", "-o",
			"ControlPath=" + percent(l.socket),
			"-o", "RemoteCommand=none", "-o", "RequestTTY=no", "-o", "ClearAllForwardings=yes", "-o",
			"PermitLocalCommand=no", "-e", "none"},
		o.Args,
		[]string{"-o", fmt.Sprintf("ConnectTimeout=%d", connectSeconds), "-o",
			fmt.Sprintf("ServerAliveInterval=%d", aliveSeconds),
			"-o", fmt.Sprintf("ServerAliveCountMax=%d", aliveCount), "--", o.Destination, loginShellCommand})
	l.cmd = exec.Command("ssh", args...)
	// In a new session, so that a Ctrl-C at the terminal reaches only headroom, which still needs the connection to end
	// the processes on the host.
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	l.cmd.Stderr = l.stderr
	l.cmd.WaitDelay = closeTimeout // a child of ssh, such as a ProxyCommand, can outlive it and hold its output open
	if l.stdin, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.stdout = stdout
	failed := func(what string, err error) error {
		e := &lab.Error{What: what, Target: o.Name,
			Command: slices.Concat([]string{"ssh"}, o.Args, []string{o.Destination, "true"}),
			Output:  tail(l.stderr.String(), 2000), Err: err}
		e.Hints = connectHints(l.stderr.String(), err)
		return e
	}
	if err := l.cmd.Start(); err != nil {
		return nil, errors.Join(failed("can't start ssh", err), os.Remove(folder))
	}
	ready := make(chan string, 1)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(ready)
		waitForMark(stdout, mark, ready)
		_, _ = io.Copy(io.Discard, stdout)
	})
	go func() {
		reading.Wait()
		_ = l.cmd.Wait() // its messages are in stderr
		close(l.gone)
	}()
	_, _ = io.WriteString(l.stdin, "m="+mark+`;printf '\n%s %s %s\n' $m "$(id -u)" "$HOME";exec cat >/dev/null`+"\n")
	limit := cmp.Or(o.limit, connectLimit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case text, ok := <-ready:
		if ok {
			return l, l.parseHello(text)
		}
		err = l.outputEnded(ctx, timer.C, failed)
	case <-timer.C:
		err = failed("can't connect", fmt.Errorf("no answer within %s", limit))
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, errors.Join(err, l.Close())
}

// outputEnded returns the error of a host whose output ended before it answered. Either ssh ends, with a message, or
// the host has closed its output but keeps the connection.
func (l *sshConnection) outputEnded(ctx context.Context, late <-chan time.Time,
	failed func(string, error) error) error {
	grace := time.NewTimer(masterGrace)
	defer grace.Stop()
	select {
	case <-l.gone:
		return failed("can't connect", nil)
	case <-ctx.Done():
		return ctx.Err()
	case <-late:
	case <-grace.C:
	}
	return failed("can't connect", errors.New("the host has closed its output before it answered"))
}

// parseHello parses the user's number and home folder.
//
//	1000 /home/ann
func (l *sshConnection) parseHello(text string) error {
	uid, home, _ := strings.Cut(text, " ")
	l.home = home
	var err error
	if l.uid, err = strconv.Atoi(uid); err != nil {
		return errors.Join(
			&lab.Error{What: fmt.Sprintf("the host's shell answers %q, where a user's number is due", text)}, l.Close())
	}
	return nil
}

// waitForMark waits for the line with the mark, after any output of start-up files.
func waitForMark(stdout io.Reader, mark string, ready chan<- string) {
	var seen []byte
	buffer := make([]byte, 4096)
	for len(seen) < 1<<20 {
		n, err := stdout.Read(buffer)
		seen = append(seen, buffer[:n]...)
		if line, _, ok := cutMark(append([]byte("\n"), seen...), mark); ok {
			ready <- line
			return
		}
		if err != nil {
			return
		}
	}
}

// connectHints returns hints for fixing the errors that ssh prints.
func connectHints(printed string, err error) []string {
	has := func(text string) bool { return strings.Contains(printed, text) }
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return []string{"install the OpenSSH client: the package openssh-client, or openssh-clients"}
	case has("Host key verification failed"):
		return []string{"connect once by hand, and compare the key's fingerprint: the command above"}
	case has("Permission denied"):
		return []string{"ssh can't ask for a password here: put a key there with ssh-copy-id, or load it with ssh-add"}
	case has("Could not resolve hostname"):
		return []string{"check the name; ssh -G HOST shows what your configuration makes of it"}
	case has("Connection refused"), has("timed out"), has("No route to host"):
		return []string{"is the machine up, and does sshd listen there? ssh://host:port names another port"}
	}
	return []string{"try by hand: the command above"}
}

func (l *sshConnection) User() (uid int, home string) { return l.uid, l.home }
func (l *sshConnection) Gone() <-chan struct{}        { return l.gone }

// Refused recognises sshd's limit of sessions.
func (l *sshConnection) Refused(printed string) string {
	if strings.Contains(printed, "Session open refused") || strings.Contains(printed, "disabling multiplexing") {
		return "sshd there allows too few sessions over one connection: MaxSessions in its sshd_config should be 10, " +
			"the default"
	}
	return ""
}

// Shell starts a shell through the user's login shell.
func (l *sshConnection) Shell(stdout, stderr io.Writer) (*Session, error) {
	return l.start(stdout, stderr, "--", "shared", loginShellCommand)
}

// SFTP starts the subsystem, which can be built into sshd.
func (l *sshConnection) SFTP(stdout, stderr io.Writer) (*Session, error) {
	return l.start(stdout, stderr, "-s", "--", "shared", "sftp")
}

func (l *sshConnection) start(stdout, stderr io.Writer, arguments ...string) (*Session, error) {
	cmd := l.session(arguments...)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, &lab.Error{What: "can't start ssh", Err: err}
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // its messages were printed
		close(ended)
	}()
	return &Session{Stdin: stdin, Ended: ended, Kill: func() { _ = cmd.Process.Kill() }}, nil
}

// session returns an ssh process that has a session over the shared connection. Without the socket it must fail: it
// must never make another connection.
func (l *sshConnection) session(arguments ...string) *exec.Cmd {
	args := append([]string{"-F", "/dev/null", "-T", "-x", "-a", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o",
		"ControlPath=" + percent(l.socket),
		"-o", "ProxyCommand=false", "-e", "none"}, arguments...)
	cmd := exec.Command("ssh", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// Close ends the connection and removes the socket.
func (l *sshConnection) Close() error {
	_ = l.stdin.Close()
	timer := time.NewTimer(masterGrace)
	defer timer.Stop()
	select {
	case <-l.gone:
	case <-timer.C:
		_ = l.cmd.Process.Kill()
		_ = l.stdout.Close() // its reader waits for the end, but another program can hold the output open
		<-l.gone
	}
	return os.RemoveAll(filepath.Dir(l.socket)) // ssh removes its socket, unless it was killed
}

// The path of a socket has at most 108 bytes with its terminator (unix(7)), and ssh appends 17 bytes while it creates
// one.
const maxSocketPath = 108 - 1 - 17

func socketBases() []string { return []string{os.TempDir(), "/tmp", "/dev/shm", "/var/tmp"} }

// socketFolders is the prefix of the names of folders for control sockets.
const socketFolders = "headroom-ssh-"

// socketFolder creates a private folder whose path is short enough.
func socketFolder(bases []string) (string, error) {
	var failed error
	for _, base := range bases {
		if len(base)+len("/"+socketFolders+"4294967295/socket") > maxSocketPath {
			continue
		}
		dir, err := os.MkdirTemp(base, socketFolders)
		if err == nil {
			removeStaleSockets(base)
			return dir, nil
		}
		failed = errors.Join(failed, err)
	}
	return "", &lab.Error{What: "there is no place for ssh's control socket", Err: failed,
		Hints: []string{"/tmp must exist and be writable"}}
}

// removeStaleSockets removes the empty folders that killed headroom processes have left. A new folder is also empty,
// until ssh creates its socket there, so only old ones are removed.
func removeStaleSockets(base string) {
	old, err := filepath.Glob(filepath.Join(base, socketFolders+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > 2*connectLimit {
			_ = os.Remove(dir) // fails for one that is not empty, or not ours
		}
	}
}

// percent escapes the characters that ssh would expand in a ControlPath.
func percent(path string) string { return strings.ReplaceAll(path, "%", "%%") }

// tailBuffer keeps recent output of a long-lived process.
type tailBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *tailBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.b.Len() > 1<<16 {
		w.b.Reset()
	}
	return w.b.Write(p)
}

func (w *tailBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}
