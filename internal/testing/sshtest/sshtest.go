// Package sshtest starts an SSH server for a test: on 127.0.0.1, with its own host key, configuration and keys, for the
// duration of the test.
package sshtest

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Server is an sshd of a test.
type Server struct {
	// Port on 127.0.0.1.
	Port int
	// Args make ssh use the test's key and ignore the user's configuration.
	Args []string
	// Config is an equivalent client configuration, with the host "under-test".
	Config string
	// Programs is a folder that comes first on the PATH of commands that the test's user runs over ssh.
	Programs string

	dir     string
	sshd    *exec.Cmd
	ended   chan struct{} // closed when sshd has ended
	logged  int           // the length of the log of earlier sshd processes
	command []string
}

// programs are the folders in which a user who logs in over ssh finds programs on Debian.
const programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Start starts a server with some lines added to its configuration. The test is skipped if no server is installed.
func Start(t *testing.T, lines ...string) *Server { return StartWithin(t, nil, lines...) }

// StartWithin starts a server as the last arguments of another command, which changes its view of the machine.
func StartWithin(t *testing.T, within []string, lines ...string) *Server {
	t.Helper()
	program := Tool(t, "sshd", "/usr/sbin/sshd")
	keygen := Tool(t, "ssh-keygen", "/usr/bin/ssh-keygen")
	Tool(t, "ssh", "/usr/bin/ssh")
	s := &Server{dir: t.TempDir()}
	s.command = slices.Concat(within, []string{program, "-D", "-e", "-f", s.path("sshd_config")})
	for _, dir := range []string{s.dir, filepath.Dir(s.dir)} { // sshd reads the user's keys as the user
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"host", "user"} {
		if out, err := exec.Command(keygen, "-q", "-t", "ed25519", "-N", "", "-f",
			s.path(name)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %s %v", out, err)
		}
	}
	public, err := os.ReadFile(s.path("user.pub"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "authorized_keys", string(public), 0o644)
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // a server of root's demands it
			t.Fatal(err)
		}
	}
	s.Port = freePort(t)
	config := append([]string{
		fmt.Sprintf("Port %d", s.Port), "ListenAddress 127.0.0.1", "HostKey " + s.path("host"), "PidFile none",
		"AuthorizedKeysFile " + s.path("authorized_keys"),
		"StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"PermitRootLogin prohibit-password", "UseDNS no",
		// the default of OpenSSH takes a tenth of a second more CPU time for each connection
		"KexAlgorithms curve25519-sha256",
	}, lines...)
	// bash reads the user's .bashrc for every command over ssh. Its content, such as a manager of Python versions that
	// starts sixty processes and waits for a lock, must not affect a test. Users that a test creates keep their home.
	home := s.path("home")
	s.Programs = s.path("programs")
	for _, dir := range []string{home, s.Programs} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config = append(config, "Match User "+myself(), fmt.Sprintf(" SetEnv HOME=%s PATH=%s:%s", home, s.Programs,
		programs))
	s.write(t, "sshd_config", strings.Join(config, "\n")+"\n", 0o644)
	hostKey, err := os.ReadFile(s.path("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "known_hosts", fmt.Sprintf("[127.0.0.1]:%d %s", s.Port, hostKey), 0o644)
	s.Args = []string{"-F", "/dev/null", "-p", strconv.Itoa(s.Port), "-i", s.path("user"), "-o", "IdentitiesOnly=yes",
		"-o", "UserKnownHostsFile=" + s.path("known_hosts"),
		"-o", "GlobalKnownHostsFile=/dev/null", "-o", "IdentityAgent=none"}
	s.Config = s.write(t, "client_config",
		fmt.Sprintf("Host under-test\n HostName 127.0.0.1\n Port %d\n IdentityFile %s\n IdentitiesOnly yes\n "+
			"IdentityAgent none\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n", s.Port, s.path("user"),
			s.path("known_hosts")), 0o600)
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			t.Logf("sshd said:\n%s", s.Log())
		}
	})
	s.Restart(t)
	return s
}

// Stop ends the server, but not its sessions.
func (s *Server) Stop() {
	_ = s.sshd.Process.Kill()
	<-s.ended
}

// Restart starts the server again with the same port and configuration. The port is free meanwhile: if another program
// takes it, Restart retries until it is free again.
func (s *Server) Restart(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if s.ended == nil || closed(s.ended) {
			s.start(t)
		}
		if s.listens() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("sshd does not listen:\n%s", s.Log())
		}
	}
}

func (s *Server) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	said := len(s.Log())
	sshd := exec.Command(s.command[0], s.command[1:]...)
	sshd.Stderr = log
	sshd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := sshd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = sshd.Wait()
	}()
	s.sshd, s.ended, s.logged = sshd, ended, said
}

// listens reports whether the server has its port. Without it, the server ends at once.
func (s *Server) listens() bool { return strings.Contains(s.Log()[s.logged:], "Server listening on ") }

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Through returns a client configuration of a host that is reached through a command: a separate server, which uses the
// command's standard streams and does not listen. The command must run its last arguments: "ip netns exec NAME".
func (s *Server) Through(host string, within ...string) string {
	argv := slices.Concat(within, []string{s.command[len(s.command)-5], "-i", "-f", s.path("sshd_config")})
	return fmt.Sprintf("Host %s\n HostName 127.0.0.1\n Port %d\n ProxyCommand %s\n IdentityFile %s\n IdentitiesOnly "+
		"yes\n IdentityAgent none\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n",
		host, s.Port, strings.Join(argv, " "), s.path("user"), s.path("known_hosts"))
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return s.path(name)
}

// Log returns the server's log.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Options returns the options to log in as a user; an empty name means the user who runs the test.
func (s *Server) Options(name string) host.SSHOptions {
	if name == "" {
		name = myself()
	}
	return host.SSHOptions{Name: "ssh://under-test", Destination: name + "@127.0.0.1", Args: s.Args}
}

// myself returns the user who runs the test.
func myself() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "root"
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// Tool finds a program, or skips the test.
func Tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			if p, err = filepath.Abs(p); err == nil { // sshd must be started by its absolute path
				return p
			}
		}
	}
	t.Skipf("%s is not installed", names[0])
	return ""
}

// User creates a user with a login shell for the duration of the test, which must run as root, and returns the name and
// the home folder. The name is unique to this process, since another run of the tests may be in progress. Users left by
// killed tests are removed first.
func User(t *testing.T, shell string) (name, home string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("making users needs root")
	}
	program := Tool(t, shell, "/usr/bin/"+shell, "/bin/"+shell)
	useradd, userdel := Tool(t, "useradd", "/usr/sbin/useradd"), Tool(t, "userdel", "/usr/sbin/userdel")
	pkill := Tool(t, "pkill", "/usr/bin/pkill")
	prefix := "headroom-" + shell + "-"
	remove := func(name string) {
		_ = exec.Command(pkill, "-KILL", "-u", name).Run() // only this user's processes: the name is unique
		_ = changeUsers(userdel, "-r", name)
	}
	passwd, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(passwd)) {
		old, _, _ := strings.Cut(line, ":")
		if process, ours := strings.CutPrefix(old, prefix); ours {
			if _, err := os.Stat("/proc/" + process); errors.Is(err, fs.ErrNotExist) {
				remove(old)
			}
		}
	}
	name = prefix + strconv.Itoa(os.Getpid())
	home = filepath.Join("/tmp", name)
	if err := changeUsers(useradd, "-m", "-d", home, "-s", program, "-p", "*", name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(name) })
	return name, home
}

// changeUsers runs a program that changes /etc/passwd. If another one is running, the program waits for only a few
// seconds, and exits with 1 or 10: "can't update password file", "can't update group file". Source: useradd(8).
func changeUsers(argv ...string) error {
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(time.Second) {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err == nil {
			return nil
		}
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.ExitCode() != 1 && exit.ExitCode() != 10 || time.Now().After(end) {
			return fmt.Errorf("%s: %w: %s", lab.ShellQuote(argv), err, out)
		}
	}
}
