//go:build system

package host_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/sshtest"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// opened returns a host that is closed at the end of the test.
func opened(t *testing.T, o host.SSHOptions) *host.SSH {
	t.Helper()
	s := host.NewSSH(o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestSSHPassesTheSuite(t *testing.T) {
	server := sshtest.Start(t)
	targettest.Run(t, func(t *testing.T) host.Target { return opened(t, server.Options("")) })
}

func TestSSHWithoutSFTPPassesTheSuite(t *testing.T) {
	server := sshtest.Start(t)
	targettest.Run(t, func(t *testing.T) host.Target {
		s := opened(t, server.Options(""))
		s.ThroughTheShell()
		return s
	})
}

// Shells with unusual quoting, whose start-up files print and fail.
func TestSSHPassesTheSuiteUnderOtherShells(t *testing.T) {
	for shell, rc := range map[string]struct{ file, text string }{
		"fish": {".config/fish/config.fish", "echo 'Welcome, it'\\''s \"fish\"'\necho complaint >&2\nprintf 'no end " +
			"of line'\n"},
		"tcsh": {".cshrc", "echo 'Welcome to csh \\!'\nset histchars='!^'\necho -n 'no end of line'\n"},
		"bash": {".bashrc", "echo Welcome\necho complaint >&2\nprintf 'no end of line'\nfalse\n"},
	} {
		t.Run(shell, func(t *testing.T) {
			name, home := sshtest.User(t, shell)
			t.Parallel() // each has a separate user
			server := sshtest.Start(t)
			file := filepath.Join(home, rc.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(rc.text), 0o644); err != nil {
				t.Fatal(err)
			}
			targettest.Run(t, func(t *testing.T) host.Target { return opened(t, server.Options(name)) })
			u, err := user.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			nothingOf(t, u)
		})
	}
}

// nothingOf fails the test if a user has left processes, or files where headroom puts some.
func nothingOf(t *testing.T, u *user.User) {
	t.Helper()
	var left []string
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		left = nil
		names, err := filepath.Glob("/proc/[0-9]*")
		if err != nil || len(names) == 0 {
			t.Fatal("no process is to be seen", err)
		}
		for _, n := range names {
			info, err := os.Stat(n)
			if err != nil {
				continue // gone
			}
			if st, ok := info.Sys().(*syscall.Stat_t); ok && fmt.Sprint(st.Uid) == u.Uid {
				line, _ := os.ReadFile(n + "/cmdline")
				left = append(left, fmt.Sprintf("%s %q", n, line))
			}
		}
		if len(left) == 0 {
			break // sshd takes a moment to end a session
		}
	}
	if len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	for _, pattern := range []string{"/dev/shm/headroom-" + u.Uid, "/tmp/headroom-" + u.Uid, "/var/tmp/headroom-" +
		u.Uid, u.HomeDir + "/.headroom*"} {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			t.Errorf("left: %q, %v", found, err)
		}
	}
}

func TestLongPathsOfTheControlSocket(t *testing.T) {
	server := sshtest.Start(t)
	long := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	t.Setenv("HOME", long)
	s := opened(t, server.Options(""))
	if out, err := s.Run(t.Context(), "echo", "there"); err != nil || string(out.Stdout) != "there\n" {
		t.Errorf("%+v, %v", out, err)
	}
	short := filepath.Join(t.TempDir(), "100%d")
	if err := os.Mkdir(short, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", short) // ssh would expand it
	s = opened(t, server.Options(""))
	if out, err := s.Run(t.Context(), "echo", "there"); err != nil || string(out.Stdout) != "there\n" {
		t.Errorf("%+v, %v", out, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(short); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func sleeper(t *testing.T, s *host.SSH, id string) host.Job {
	t.Helper()
	job, err := s.Start(t.Context(), host.JobSpec{ID: fmt.Sprintf("%s-%d", id, os.Getpid()),
		Argv: []string{"sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended; exit 9"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.ClearJob(ctx, job.ID()); err != nil {
			t.Error(err)
		}
	})
	return job
}

// An interruption at any moment of a job's start leaves no folder of the job: the resumed run starts it again.
func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	server := sshtest.Start(t)
	o := server.Options("")
	memory, err := os.MkdirTemp("/dev/shm", "headroom-test-") // in memory, so that no disk delays the end
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(memory) })
	o.Jobs = filepath.Join(memory, "jobs")
	s := opened(t, o)
	if _, err := s.ReadFiles(t.Context(), "/proc/version"); err != nil { // connected
		t.Fatal(err)
	}
	// The moments are spread over the time that a start takes here, as far as is known.
	whole, interrupted := 150*time.Millisecond, 0
	for i, end := 0, time.Now().Add(10*time.Minute); i < 100 || interrupted < 30 && time.Now().Before(end); i++ {
		after, begun := whole*time.Duration(i%100)/100, time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), after)
		job, err := s.Start(ctx, host.JobSpec{ID: "CUT", Argv: []string{"sleep", "60"}})
		cancel()
		switch {
		case err == nil:
			whole = min(whole, time.Since(begun))
			if err := s.ClearJob(t.Context(), job.ID()); err != nil {
				t.Fatal(err)
			}
		case errors.Is(err, context.DeadlineExceeded):
			interrupted++
		default:
			t.Fatalf("after %s: %v", after, err)
		}
		// Operations in progress on the host end first.
		for late := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			left, err := os.ReadDir(o.Jobs)
			if len(left) == 0 && (err == nil || errors.Is(err, fs.ErrNotExist)) {
				break
			}
			if time.Now().After(late) {
				t.Fatalf("after %s: left %v, %v", after, left, err)
			}
		}
	}
	if interrupted < 30 {
		t.Errorf("interrupted %d times only", interrupted)
	}
}

// SIGKILL does not end a process that waits for a device until the device answers. Kill waits for that. If it takes too
// long, the error has the state of the process, and another try after the device has answered ends all.
func TestAJobThatWaitsForADeviceIsEnded(t *testing.T) {
	for name, long := range map[string]bool{"soon": false, "too long": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, thaw := frozen(t)
			s := opened(t, sshtest.Start(t).Options(""))
			job, err := s.Start(t.Context(), host.JobSpec{ID: fmt.Sprintf("WAITS-%v-%d", long, os.Getpid()),
				Argv: []string{"dd", "if=/dev/zero", "of=" + folder + "/file", "count=1"}})
			if err != nil {
				t.Fatal(err)
			}
			process := ""
			for end := time.Now().Add(5 * time.Minute); process == ""; time.Sleep(50 * time.Millisecond) {
				lines, err := exec.Command("ps", "-eo", "state,pid,args").Output()
				if m := regexp.MustCompile(`(?m)^D +(\d+) dd if=/dev/zero of=` + regexp.QuoteMeta(folder)).FindSubmatch(
					lines); err == nil && m != nil {
					process = string(m[1])
				}
				if time.Now().After(end) {
					t.Fatal("it does not wait")
				}
			}
			if !long {
				go func() {
					defer thaw()
					for end := time.Now().Add(5 * time.Minute); !killed(process); time.Sleep(50 * time.Millisecond) {
						if time.Now().After(end) {
							t.Error("nobody has killed it")
							return
						}
					}
				}()
			}
			err = job.Kill(t.Context(), 0)
			if long {
				if err == nil || !regexp.MustCompile(`do not end after SIGKILL: \d+ \(D in `).MatchString(err.Error()) {
					t.Errorf("%v", err)
				}
				thaw()
				err = job.Kill(t.Context(), 0)
			}
			if err != nil {
				t.Error(err)
			}
			if err := job.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// killed reports whether SIGKILL was sent to a process, which may wait for a device. Source: proc_pid_status(5).
func killed(process string) bool {
	text, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		return true // it has ended
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:SigPnd|ShdPnd):\s+([0-9a-f]+)$`).FindAllSubmatch(text, -1) {
		if pending, err := strconv.ParseUint(string(m[1]), 16, 64); err == nil && pending>>(syscall.SIGKILL-1)&1 == 1 {
			return true
		}
	}
	return false
}

// frozen returns a folder in a file system that blocks writes until it is thawed.
func frozen(t *testing.T) (folder string, thaw func()) {
	t.Helper()
	folder = t.TempDir()
	image := filepath.Join(t.TempDir(), "image")
	run := func(argv ...string) error {
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", argv[0], err, out)
		}
		return nil
	}
	for _, argv := range [][]string{{"truncate", "-s", "64M", image}, {"mkfs.ext4", "-q", image},
		{"mount", "-o", "loop", image, folder}} {
		if err := run(argv...); err != nil {
			t.Skip(err)
		}
	}
	t.Cleanup(func() {
		if err := run("umount", folder); err != nil {
			t.Error(err)
		}
	})
	if err := run("fsfreeze", "--freeze", folder); err != nil {
		t.Fatal(err)
	}
	thaw = sync.OnceFunc(func() {
		if err := run("fsfreeze", "--unfreeze", folder); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(thaw)
	return folder, thaw
}

func TestAJobIsFollowedOverALostConnection(t *testing.T) {
	server := sshtest.Start(t)
	s := opened(t, server.Options(""))
	job := sleeper(t, s, "LOST")
	first := s.Master()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadFiles(t.Context(), "/proc/version"); err != nil {
		t.Errorf("reading goes on over a new connection: %v", err)
	}
	if out, err := s.Run(t.Context(), "touch", job.Dir()+"/go"); err != nil || out.ExitCode != 0 {
		t.Fatalf("%+v, %v", out, err)
	}
	if state := targettest.Await(t, job); state.ExitCode != 9 {
		t.Errorf("%+v", state)
	}
	if s.Master() == first {
		t.Error("the connection was not made again")
	}
	if out, err := job.Fetch(t.Context(), "stdout"); err != nil || string(out) != "begun\nended\n" {
		t.Errorf("%q, %v", out, err)
	}
	if err := job.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestALostHostIsGivenUp(t *testing.T) {
	server := sshtest.Start(t)
	o := server.Options("")
	o.Patience = time.Second
	s := opened(t, o)
	job := sleeper(t, s, "GONE")
	server.Stop()
	if err := syscall.Kill(s.Master(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-job.Done():
	case <-time.After(5 * time.Minute):
		t.Fatal("it waits on and on")
	}
	state, err := job.Poll(t.Context())
	if !state.Done || err == nil || !strings.Contains(err.Error(), "could not be made again") {
		t.Errorf("%+v, %v", state, err)
	}
	server.Restart(t)
	if ids, err := s.JobsBelow(t.Context(), job.ID()); err != nil || len(ids) != 1 {
		t.Errorf("the job is found again: %v, %v", ids, err)
	}
}

// processesIn returns the processes that work in a folder.
func processesIn(t *testing.T, folder string) []int {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		t.Fatal("no process is to be seen", err)
	}
	var found []int
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && to == folder {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(l)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

// This is what logind does at the end of a session, and the kernel when memory runs out: all processes of the job end
// at once.
func TestAJobWhoseProcessesWereKilled(t *testing.T) {
	server := sshtest.Start(t)
	s := opened(t, server.Options(""))
	job := sleeper(t, s, "KILLED")
	var processes []int // a wrapper and a shell, which a busy machine begins late
	for end := time.Now().Add(2 * time.Minute); len(processes) < 2; time.Sleep(50 * time.Millisecond) {
		if processes = processesIn(t, job.Dir()); time.Now().After(end) {
			t.Fatalf("%d processes of the job are to be seen", len(processes))
		}
	}
	for ; len(processes) > 0; processes = processesIn(t, job.Dir()) { // one may have started another meanwhile
		for _, pid := range processes {
			_ = syscall.Kill(pid, syscall.SIGKILL) // the first one's death may end the second
		}
	}
	select {
	case <-job.Done():
	case <-time.After(5 * time.Minute):
		t.Fatal("it waits on and on")
	}
	state, err := job.Poll(t.Context())
	if !state.Done || err == nil || !strings.Contains(err.Error(), "ended from outside") {
		t.Errorf("%+v, %v", state, err)
	}
}

// Only the wrapper is killed: the command continues, and its end is awaited.
func TestAJobWhoseWrapperWasKilled(t *testing.T) {
	server := sshtest.Start(t)
	s := opened(t, server.Options(""))
	job := sleeper(t, s, "ORPHAN")
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if said, err := job.Fetch(t.Context(), "stdout"); err == nil && string(said) == "begun\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command does not begin")
		}
	}
	record, err := job.Fetch(t.Context(), "headroom.start")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.Fields(string(record))[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if state, err := job.Poll(t.Context()); err != nil || state.Done {
			t.Fatalf("%+v, %v", state, err)
		}
	}
	if err := job.Kill(t.Context(), 0); err != nil {
		t.Error(err)
	}
}

// Memory is read-only, and files in /tmp can't be executed.
func TestFoldersThatAreReadOnlyOrNotForPrograms(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	mounts := `mount -t tmpfs -o ro none /dev/shm && mount --bind /tmp /tmp && mount -o remount,bind,noexec /tmp && exec "$@"`
	server := sshtest.StartWithin(t, []string{sshtest.Tool(t, "unshare"), "--mount", "--propagation", "private", "sh",
		"-c", mounts, "sh"})
	s := opened(t, server.Options(""))
	job, err := s.Start(t.Context(), host.JobSpec{ID: fmt.Sprintf("NOEXEC-%d", os.Getpid()),
		Argv: []string{"echo", "here"}})
	if err != nil {
		t.Fatal(err)
	}
	if state := targettest.Await(t, job); state.ExitCode != 0 || strings.HasPrefix(job.Dir(), "/dev/shm") {
		t.Errorf("%+v in %s", state, job.Dir())
	}
	if err := job.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	name, err := s.Receive(t.Context(), "program", []byte("#!/bin/sh\necho works\n"), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Run(t.Context(), name); err != nil || string(out.Stdout) != "works\n" {
		t.Errorf("%s: %+v, %v", name, out, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", name, err)
	}
}

func TestHostsThatCanNotBeReached(t *testing.T) {
	server := sshtest.Start(t)
	for name, o := range map[string]host.SSHOptions{
		"ssh can't ask for a password": {Name: "ssh://x", Destination: "headroom-no-such-user@127.0.0.1",
			Args: server.Args},
		"compare the key's fingerprint": {Name: "ssh://x", Destination: server.Options("").Destination,
			Args: append([]string{"-o", "UserKnownHostsFile=/dev/null"}, server.Args...)},
		"check the name": {Name: "ssh://x", Destination: "no-such-host.invalid", Args: server.Args},
		"does sshd listen there": {Name: "ssh://x", Destination: "127.0.0.1",
			Args: append([]string{"-p", "1"}, server.Args...)},
	} {
		err := opened(t, o).Connect(t.Context())
		if err == nil {
			t.Fatalf("%s: it connects", name)
		}
		if e, ok := errors.AsType[*lab.Error](err); !ok || !strings.Contains(strings.Join(e.Details(), "\n"), name) {
			t.Errorf("%s is not said: %v", name, err)
		}
	}
}

// The control socket, its folder and the processes are gone when the target is closed, and when headroom is killed.
func TestNothingIsLeftHere(t *testing.T) {
	server := sshtest.Start(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := host.NewSSH(server.Options(""))
	if _, err := s.ReadFiles(t.Context(), "/proc/version"); err != nil {
		t.Fatal(err)
	}
	pid := s.Master()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the master is still there: %v", err)
	}
	if _, err := s.Run(t.Context(), "true"); err == nil {
		t.Error("a closed target carries out a command")
	}
}

// A host can accept the login and then not answer, with its output open or closed, or print too much. Making the
// connection ends at its limit, and at once if the caller gives up; the host's own end is later than both.
func TestHostsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	const closed, late = "closed its output before it answered", "no answer within 5s"
	for command, want := range map[string]string{"exec >&- 2>&-; exec sleep 60": closed,
		"exec >&-; exec sleep 60": closed, "exec sleep 60": late, "exec timeout 60 yes": late} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			server := sshtest.Start(t, "ForceCommand "+command)
			err := opened(t, server.Options("").Within(5*time.Second)).Connect(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), late) {
				t.Errorf("%v, want %q in it", err, want)
			}
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(3*time.Second, cancel)
			if err := opened(t, server.Options("")).Connect(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("given up: %v", err)
			}
		})
	}
}
