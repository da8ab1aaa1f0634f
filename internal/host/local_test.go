package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

func newLocal(t *testing.T) *Local {
	t.Helper()
	return NewLocal(filepath.Join(t.TempDir(), "jobs"))
}

func TestArgumentsArriveAsTheyAre(t *testing.T) {
	l := newLocal(t)
	args := []string{"two words", `"quoted"`, "it's", "line\nbreak", "$HOME", "*", "", "ü", `back\slash`}
	out, err := l.Run(t.Context(), append([]string{"printf", "%s|"}, args...)...)
	if err != nil || string(out.Stdout) != strings.Join(args, "|")+"|" {
		t.Errorf("%q, %v", out.Stdout, err)
	}
}

func TestExitStatusIsNoError(t *testing.T) {
	out, err := newLocal(t).Run(t.Context(), "sh", "-c", "echo said; echo complained >&2; exit 255")
	if err != nil || out.ExitCode != 255 || string(out.Stdout) != "said\n" || string(out.Stderr) != "complained\n" {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = newLocal(t).Run(t.Context(), "no-such-command-anywhere", "x")
	if e, ok := errors.AsType[*lab.Error](err); !ok || len(e.Command) != 2 {
		t.Errorf("a command that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newLocal(t).Run(ctx, "true"); err == nil {
		t.Error("a cancelled command says nothing")
	}
}

func TestFilesAreReadOrSayWhyNot(t *testing.T) {
	files, err := newLocal(t).ReadFiles(t.Context(), "/proc/sys/kernel/osrelease", "/nowhere")
	if err != nil || len(files["/proc/sys/kernel/osrelease"].Data) == 0 ||
		!errors.Is(files["/nowhere"].Err, fs.ErrNotExist) {
		t.Errorf("%v, %v", files, err)
	}
}

func start(t *testing.T, l *Local, id string, argv ...string) Job {
	t.Helper()
	job, err := l.Start(t.Context(),
		JobSpec{ID: id, Argv: argv, Files: map[string][]byte{"given": []byte("in the folder")}})
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func await(t *testing.T, job Job) JobState {
	t.Helper()
	select {
	case <-job.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
	state, err := job.Poll(t.Context())
	if err != nil || !state.Done {
		t.Fatalf("%+v, %v", state, err)
	}
	return state
}

func TestAJobRunsInItsFolderAndIsFetched(t *testing.T) {
	l := newLocal(t)
	job := start(t, l, "R-1", "sh", "-c", "cat given; echo more >&2; head -c 300000 /dev/zero > large; exit 3")
	state := await(t, job)
	if state.ExitCode != 3 || state.Signal != "" || state.MaxRSS == 0 {
		t.Errorf("%+v", state)
	}
	for name, want := range map[string]string{"stdout": "in the folder", "stderr": "more\n"} {
		if got, err := job.Fetch(t.Context(), name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if large, err := job.Fetch(t.Context(), "large"); err != nil || len(large) != 300000 {
		t.Errorf("%d bytes, %v", len(large), err)
	}
	if tail, err := job.Tail(t.Context(), "stdout", 6); err != nil || string(tail) != "folder" {
		t.Errorf("tail %q, %v", tail, err)
	}
	if ids, err := l.JobsBelow(t.Context(), "R-"); err != nil || len(ids) != 1 {
		t.Errorf("%v, %v", ids, err)
	}
	if err := job.Remove(t.Context()); err != nil {
		t.Error(err)
	}
	if ids, err := l.JobsBelow(t.Context(), ""); err != nil || len(ids) != 0 {
		t.Errorf("left: %v, %v", ids, err)
	}
}

// A load starts processes, which must end with it, even if they ignore the signal or have left its session.
func TestKillEndsEverythingThatTheJobStarted(t *testing.T) {
	l := newLocal(t)
	job := start(t, l, "R-1", "sh", "-c", "trap '' TERM; setsid sleep 1000 & sleep 1000 & echo ready; wait")
	waitFor(t, func() bool {
		out, err := job.Fetch(t.Context(), "stdout")
		return err == nil && string(out) == "ready\n"
	})
	if err := job.Kill(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if state := await(t, job); state.Signal == "" {
		t.Errorf("%+v", state)
	}
	left, err := signalEach(func(pid int) bool { return worksIn(pid, job.Dir()) }, syscall.SIGKILL, nil)
	if err != nil || len(left) != 0 {
		t.Errorf("still there: %v, %v", left, err)
	}
}

// ClearJob is for the jobs of a killed process: only their IDs are known.
func TestClearJobNeedsOnlyTheID(t *testing.T) {
	l := newLocal(t)
	job := start(t, l, "R-1", "sleep", "1000")
	other := NewLocal(l.jobs)
	if err := other.ClearJob(t.Context(), "R-1"); err != nil {
		t.Fatal(err)
	}
	await(t, job)
	if _, err := os.Stat(job.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
	if err := other.ClearJob(t.Context(), "R-2"); err != nil {
		t.Errorf("a job that never was: %v", err)
	}
}

func TestAFolderOfSomebodyElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	for name, prepare := range map[string]func(path string) error{
		"open to all": func(p string) error { return errors.Join(os.Mkdir(p, 0o700), os.Chmod(p, 0o777)) },
		"a link":      func(p string) error { return os.Symlink(dir, p) },
		"a file":      func(p string) error { return os.WriteFile(p, nil, 0o600) },
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := prepare(path); err != nil {
			t.Fatal(err)
		}
		_, err := NewLocal(path).Start(t.Context(), JobSpec{ID: "R-1", Argv: []string{"true"}})
		if lab.KindOf(err) != lab.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	for range 500 {
		if ready() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it never came")
}
