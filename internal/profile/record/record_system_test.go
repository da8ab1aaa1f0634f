//go:build system

package record

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

// TestMain lets the test program act as a recorder, and as its guard, like headroom.
func TestMain(m *testing.M) {
	i := slices.Index(os.Args, "record")
	if i < 0 {
		os.Exit(m.Run())
	}
	if rest := os.Args[i+1:]; len(rest) == 2 && rest[0] == "--guard" {
		exit(Guard(os.Stdin, rest[1]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var request profile.Request
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		exit(err)
	}
	exit(Run(ctx, request, os.Stdout, os.Stderr))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// recorder is a recorder that runs next to a load, both in separate folders.
type recorder struct {
	*exec.Cmd
	request profile.Request
	folder  string // of the load
	stdout  bytes.Buffer
	stderr  *bufio.Scanner
}

// newRecorder returns a recorder that is not started.
func newRecorder(t *testing.T, change func(*profile.Request)) *recorder {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("tracing takes root")
	}
	// Any process in a folder with that name is the load, and another run of the tests has some.
	name := fmt.Sprintf("load-of-test-%d.", os.Getpid())
	folder, err := os.MkdirTemp(t.TempDir(), name+"*")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{folder: folder, request: profile.Request{Owner: fmt.Sprintf("headroom-TEST-%d", os.Getpid()),
		Part: profile.Calls, Folder: name, WaitFor: 5 * time.Minute, Delay: 50 * time.Millisecond,
		Trace: 200 * time.Millisecond}}
	change(&r.request)
	text, err := json.Marshal(r.request)
	if err != nil {
		t.Fatal(err)
	}
	r.Cmd = exec.Command("/proc/self/exe", "record")
	r.Dir, r.Stdin, r.Stdout = t.TempDir(), bytes.NewReader(text), &r.stdout
	r.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return r
}

func startRecorder(t *testing.T, change func(*profile.Request)) *recorder {
	t.Helper()
	r := newRecorder(t, change)
	stderr, err := r.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.stderr = bufio.NewScanner(stderr)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Process.Kill() })
	return r
}

// said waits for a line, and fails if another one comes.
func (r *recorder) said(t *testing.T, line string) {
	t.Helper()
	if !r.stderr.Scan() || r.stderr.Text() != line {
		t.Fatalf("it said %q, not %q", r.stderr.Text(), line)
	}
}

// startLoad starts processes that read and write, as many as a load of fio has.
func (r *recorder) startLoad(t *testing.T) {
	t.Helper()
	for range jobThreads {
		load := exec.Command("dd", "if=/dev/zero", "of=/dev/null", "bs=4k")
		load.Dir = r.folder
		if err := load.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = load.Process.Kill()
			_ = load.Wait()
		})
	}
}

// nothingLeft waits until everything created by the recorder is gone.
func (r *recorder) nothingLeft(t *testing.T) {
	t.Helper()
	tracefs, err := openTracefs()
	if err != nil {
		t.Fatal(err)
	}
	defer tracefs.Close()
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := tracefs.Stat("instances/" + r.request.Owner)
		guards := guardsOf(t, r.request.Owner)
		if err != nil && len(guards) == 0 {
			return
		}
		if time.Since(begun) > 5*time.Minute {
			t.Fatalf("an instance (%v) or its guards are left: %v", err, guards)
		}
	}
}

// guardsOf returns the processes that guard instances of an owner.
func guardsOf(t *testing.T, owner string) (found []string) {
	t.Helper()
	processes, err := os.ReadDir("/proc")
	if err != nil || len(processes) == 0 {
		t.Fatalf("processes: %v, %v", processes, err)
	}
	for _, p := range processes {
		text, err := os.ReadFile("/proc/" + p.Name() + "/cmdline")
		if err == nil && strings.Contains(string(text), "\x00--guard\x00"+owner+"\x00") {
			found = append(found, p.Name())
		}
	}
	return found
}

// mounts returns the mounts used for tracing. Others come and go with other processes on the machine.
func mounts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	var own strings.Builder
	for line := range strings.Lines(string(text)) {
		if kind := strings.Fields(line)[2]; kind == "tracefs" || kind == "debugfs" {
			own.WriteString(line)
		}
	}
	return own.String()
}

// seen repeats a recording until it has data: a busy machine may not let the load run meanwhile.
func seen(t *testing.T, what string, record func(t *testing.T) bool) {
	t.Helper()
	for range 20 {
		there := false
		t.Run("a recording", func(t *testing.T) { there = record(t) }) // which ends its load
		if there || t.Failed() {
			return
		}
	}
	t.Errorf("%s: in none of twenty recordings", what)
}

func TestRecordedCalls(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracing needs root")
	}
	seen(t, "switches of the load", recordedCalls)
}

func recordedCalls(t *testing.T) bool {
	before := mounts(t)
	r := startRecorder(t, func(*profile.Request) {})
	r.said(t, profile.Ready)
	r.startLoad(t)
	r.said(t, profile.Done)
	if r.stderr.Scan() {
		t.Errorf("it said %q", r.stderr.Text())
	}
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	r.nothingLeft(t)
	if after := mounts(t); after != before {
		t.Errorf("mounted before:\n%s\nand after:\n%s", before, after)
	}
	got := r.recording(t)
	if got.Traced == nil || got.Kernel == "" || got.CPUs == 0 {
		t.Fatalf("%s", r.stdout.String())
	}
	if got.Traced.Functions == slices.ContainsFunc(got.Missing, func(m profile.Missing) bool {
		return m.What == functionCalls && m.Why != "" && m.Hint != ""
	}) {
		t.Errorf("functions %v, missing %+v", got.Traced.Functions, got.Missing)
	}
	return slices.ContainsFunc(got.Traced.Calls, func(c profile.CallCount) bool {
		return c.Function == "sched:sched_switch" && c.Context == profile.InLoad && c.Count > 0
	})
}

func TestTerminatedRecorder(t *testing.T) {
	r := startRecorder(t, func(q *profile.Request) { q.Trace = time.Hour })
	r.said(t, profile.Ready)
	r.startLoad(t)
	time.Sleep(100 * time.Millisecond)
	if err := r.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.said(t, profile.Done)
	if err := r.Wait(); err == nil || r.stdout.Len() > 0 {
		t.Errorf("ended with %v, printed %s", err, r.stdout.String())
	}
	r.nothingLeft(t)
}

// TestKilledRecorder kills the recorder while it arms, waits and traces, each time with everything in its session.
func TestKilledRecorder(t *testing.T) {
	for _, ms := range []time.Duration{0, 2, 5, 10, 15, 20, 30, 50, 200, 800} {
		t.Run(fmt.Sprintf("%d ms", ms), func(t *testing.T) {
			r := startRecorder(t, func(q *profile.Request) { q.Trace = time.Hour })
			r.startLoad(t)
			time.Sleep(ms * time.Millisecond)
			if err := syscall.Kill(-r.Process.Pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if err := r.Wait(); err == nil || err.Error() != "signal: killed" {
				t.Errorf("ended with %v", err)
			}
			r.nothingLeft(t)
		})
	}
}

// TestRemoveInstances removes instances that a recorder and its guard left behind, and no others.
func TestRemoveInstances(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracing takes root")
	}
	tracefs, err := openTracefs()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tracefs.Close() }) // after the instances are removed
	owner := fmt.Sprintf("headroom-CLEAN%d", os.Getpid())
	other := "instances/" + owner + "0-1"
	for _, name := range []string{"instances/" + owner + "-1", "instances/" + owner + "-2", other} {
		if err := tracefs.Mkdir(name, 0o750); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := tracefs.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		})
	}
	for range 2 { // the second time nothing is left
		if err := RemoveInstances(owner + "-"); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"instances/" + owner + "-1": false, other: true} {
		if _, err := tracefs.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRemoveInstancesSideBySide removes an instance twice at the same time, like a recorder that ends and the clean-up
// of a killed run.
func TestRemoveInstancesSideBySide(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracing takes root")
	}
	tracefs, err := openTracefs()
	if err != nil {
		t.Fatal(err)
	}
	defer tracefs.Close()
	prefix := fmt.Sprintf("headroom-TWICE%d-", os.Getpid())
	for range 50 {
		if err := tracefs.Mkdir("instances/"+prefix+"1", 0o750); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		for range 2 {
			go func() { ended <- RemoveInstances(prefix) }()
		}
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoLoad(t *testing.T) {
	r := startRecorder(t, func(q *profile.Request) { q.WaitFor = 0 })
	r.said(t, profile.Ready)
	r.said(t, profile.Done)
	if !r.stderr.Scan() || !strings.Contains(r.stderr.Text(), errNoLoad.Error()) {
		t.Errorf("it said %q", r.stderr.Text())
	}
	if err := r.Wait(); err == nil {
		t.Error("no error")
	}
	r.nothingLeft(t)
}

func TestRecordedTimes(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracing needs root")
	}
	seen(t, "samples of the load", recordedTimes)
}

func recordedTimes(t *testing.T) bool {
	r := startRecorder(t, func(q *profile.Request) {
		q.Part, q.Hz, q.Sample, q.Follow = profile.Time, 199, 300*time.Millisecond, 300*time.Millisecond
		q.Devices = []string{"8:0"}
	})
	r.said(t, profile.Ready)
	r.startLoad(t)
	r.said(t, profile.Done)
	if err := r.Wait(); err != nil {
		t.Fatal(err)
	}
	r.nothingLeft(t)
	got := r.recording(t)
	if got.Stages == nil || got.Waits == nil || got.Sampled == nil {
		t.Fatalf("%s", r.stdout.String())
	}
	return slices.ContainsFunc(got.Sampled.Stacks, func(s profile.Stack) bool { return s.Context == profile.InLoad })
}

// loadAndProgram starts a load in a folder, and then a program.
const loadAndProgram = `for i in 1 2 3; do (cd "$1" && exec dd if=/dev/zero of=/dev/null bs=4k 2>/dev/null) & done
exec "$2" record`

// ofContainers are the capabilities that root has in a container by default.
const ofContainers = "-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service," +
	"+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"

// In a container, where root has few rights, each missing part is reported with a hint, and nothing is left.
func TestRecorderInAContainer(t *testing.T) {
	for _, part := range []profile.Part{profile.Calls, profile.Time} {
		r := newRecorder(t, func(q *profile.Request) {
			q.Part, q.Hz, q.Devices = part, 199, []string{"8:0"}
			if part == profile.Time {
				q.Trace, q.Sample, q.Follow = 0, 300*time.Millisecond, 300*time.Millisecond
			}
		})
		itself, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		before := mounts(t)
		var stdout, stderr bytes.Buffer
		inside := exec.Command("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "setpriv",
			"--bounding-set", ofContainers, "sh", "-c", loadAndProgram, "sh", r.folder, itself)
		inside.Stdin, inside.Stdout, inside.Stderr = r.Stdin, &stdout, &stderr
		if err := inside.Run(); err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		if after := mounts(t); after != before {
			t.Errorf("mounted before:\n%s\nand after:\n%s", before, after)
		}
		r.nothingLeft(t)
		var got profile.Recording
		if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
			t.Fatalf("%v\n%s", err, stderr.String())
		}
		want := map[profile.Part]string{profile.Calls: functionCalls, profile.Time: blockTracepoints}[part]
		if !slices.ContainsFunc(got.Missing, func(m profile.Missing) bool {
			return strings.HasPrefix(m.What, want) && strings.Contains(m.Hint, "privileged: true")
		}) {
			t.Errorf("nobody says what %s take: %+v", want, got.Missing)
		}
		for _, m := range got.Missing {
			if m.Why == "" || m.Hint == "" {
				t.Errorf("no reason or no way out: %+v", m)
			}
		}
	}
}

func (r *recorder) recording(t *testing.T) (got profile.Recording) {
	t.Helper()
	if err := json.Unmarshal(r.stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// Processes that a load starts after its first one are found: fio has one for each job.
func TestLoadStartsProcesses(t *testing.T) {
	name := fmt.Sprintf("load-with-children-%d", os.Getpid())
	dir := filepath.Join(t.TempDir(), name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), "sh", "-c",
		"while [ ! -e go ]; do sleep 0.05; done; sleep 1000 & sleep 1000 & sleep 1000 & wait")
	c.Dir = dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
		c.Wait()
	}()
	l := newLoad(name)
	for !l.look() {
		time.Sleep(lookEvery)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(lookEvery) {
		if err := l.wait(t.Context(), 5*time.Minute, 0); err != nil {
			t.Fatal(err)
		}
		if now := l.now(); len(now) == 4 {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%d threads, not those of the shell and the three it started: %v", len(now), now)
		}
	}
}
