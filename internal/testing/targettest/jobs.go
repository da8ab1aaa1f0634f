package targettest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

func contextWith(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}

// eventually waits until ready returns true.
func eventually(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		if ready() {
			return
		}
	}
	t.Fatalf("%s: not within %s", what, patience)
}

// ownJobs is the prefix of the IDs of this process's jobs: other processes may test on the same machine.
func ownJobs() string { return fmt.Sprintf("TARGETTEST-%d-", os.Getpid()) }

// jobID returns a different ID for each call.
func jobID(name string) string { return fmt.Sprintf("%s%d-%s", ownJobs(), time.Now().UnixNano(), name) }

func start(t *testing.T, tg host.Target, spec host.JobSpec) host.Job {
	t.Helper()
	if spec.ID == "" {
		spec.ID = jobID("1")
	}
	job, err := tg.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// Await waits until a job has ended.
func Await(t *testing.T, job host.Job) host.JobState {
	t.Helper()
	select {
	case <-job.Done():
	case <-time.After(patience):
		t.Fatal("the job does not end")
	}
	state, err := job.Poll(t.Context())
	if err != nil || !state.Done {
		t.Fatalf("%+v, %v", state, err)
	}
	return state
}

func remove(t *testing.T, job host.Job) {
	t.Helper()
	if err := job.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

func fetched(t *testing.T, job host.Job, name string) string {
	t.Helper()
	data, err := job.Fetch(t.Context(), name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(data)
}

func jobInFolder(t *testing.T, tg host.Target) {
	files := map[string][]byte{"given": []byte("in the folder"), "binary": {0, 1, 255, '\n', 0},
		"large": bytes.Repeat([]byte("0123456789abcdef"), 1<<18), "empty": {}}
	job := start(t, tg, host.JobSpec{Files: files, Argv: []string{"sh", "-c",
		"cat given; echo more >&2; head -c 300000 /dev/zero > made; pwd > where; ls -ld . | cut -c1-10 > mode; exit 3"}})
	state := Await(t, job)
	if state.ExitCode != 3 || state.Signal != "" || state.Started.IsZero() || state.Ended.Before(state.Started) {
		t.Errorf("%+v", state)
	}
	for name, want := range map[string]string{"stdout": "in the folder", "stderr": "more\n",
		"made": strings.Repeat("\x00", 300000), "where": job.Dir() + "\n",
		"mode": "drwx------\n", "binary": string(files["binary"]), "large": string(files["large"]), "empty": ""} {
		if got := fetched(t, job, name); got != want {
			t.Errorf("%s: %d bytes, want %d: %.100q", name, len(got), len(want), got)
		}
	}
	for n, want := range map[int64]string{6: "folder", 100: "in the folder"} {
		if tail, err := job.Tail(t.Context(), "stdout", n); err != nil || string(tail) != want {
			t.Errorf("the last %d bytes: %q, %v", n, tail, err)
		}
	}
	if _, err := job.Fetch(t.Context(), "missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if size, err := job.Size(t.Context(), "stdout", "missing", "made"); err != nil ||
		size != int64(len("in the folder")+300000) {
		t.Errorf("the files have %d bytes, %v", size, err)
	}
	dir := job.Dir()
	remove(t, job)
	if _, err := fs.Stat(tg.FS(), dir[1:]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// longFile checks that both ends are fetched of a file that is too long for the memory of this machine.
func longFile(t *testing.T, tg host.Target) {
	job := start(t, tg,
		host.JobSpec{Argv: []string{"sh", "-c",
			"echo first >long; dd if=/dev/null of=long bs=1 seek=209715200 2>/dev/null; echo last >>long"}})
	Await(t, job)
	data, err := job.Fetch(t.Context(), "long")
	cut, ok := errors.AsType[*host.Cut](err)
	if !ok || cut.Name != "long" || cut.Size != 209715200+5 {
		t.Errorf("%v", err)
	}
	if len(data) > 4<<20 || !bytes.HasPrefix(data, []byte("first\n")) || !bytes.HasSuffix(data, []byte("\x00last\n")) ||
		!bytes.Contains(data, []byte("[headroom left out ")) {
		t.Errorf("%d bytes: %.10q … %q", len(data), data, data[max(0, len(data)-10):])
	}
	if size, err := job.Size(t.Context(), "long"); err != nil || size != 209715200+5 {
		t.Errorf("%d bytes, %v", size, err)
	}
	remove(t, job)
}

func jobInput(t *testing.T, tg host.Target) {
	args := specialArguments()
	args = slices.DeleteFunc(args, func(a string) bool { return a == "" })
	job := start(t, tg,
		host.JobSpec{Argv: append([]string{"sh", "-c",
			`cat; printf '%s|' "$PLAIN" "$ODD" "$LC_ALL"; printf '%s\0' "$@" >arguments`, "sh"}, args...),
			Stdin: []byte("line\n\x00\xff"), Env: []string{"PLAIN=value", "ODD=it's\n$HOME \"x\""}})
	Await(t, job)
	if got, want := fetched(t, job, "stdout"), "line\n\x00\xffvalue|it's\n$HOME \"x\"|C|"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := fetched(t, job, "arguments"); got != strings.Join(args, "\x00")+"\x00" {
		t.Errorf("arguments became %q", got)
	}
	remove(t, job)
	job = start(t, tg, host.JobSpec{Argv: []string{"wc", "-c"}})
	Await(t, job)
	if got := strings.TrimSpace(fetched(t, job, "stdout")); got != "0" {
		t.Errorf("a job without input reads %s bytes", got)
	}
	remove(t, job)
}

func jobExits(t *testing.T, tg host.Target) {
	for _, code := range []int{0, 1, 126, 127, 255} {
		job := start(t, tg, host.JobSpec{Argv: []string{"sh", "-c", fmt.Sprintf("exit %d", code)}})
		if state := Await(t, job); state.ExitCode != code || state.Signal != "" {
			t.Errorf("exit %d: %+v", code, state)
		}
		remove(t, job)
	}
	for signal, name := range map[string]string{"TERM": "terminated", "KILL": "killed", "SEGV": "segmentation fault"} {
		job := start(t, tg, host.JobSpec{Argv: []string{"sh", "-c", "kill -" + signal + " $$; sleep 100"}})
		if state := Await(t, job); state.Signal != name || state.ExitCode != -1 {
			t.Errorf("%s: %+v", signal, state)
		}
		remove(t, job)
	}
	// It works until the kernel has counted some time, possibly in whole ticks. Source: proc_pid_stat(5).
	job := start(t, tg, host.JobSpec{Argv: []string{"sh", "-c", "while i=0; set -- $(cat /proc/$$/stat); " +
		"[ ${14} -lt 3 ]; do while [ $i -lt 100000 ]; do i=$((i+1)); done; done"}})
	if state := Await(t, job); state.UserSeconds <= 0 {
		t.Errorf("a job that worked took no processor time: %+v", state)
	}
	remove(t, job)
}

func jobNotStarted(t *testing.T, tg host.Target) {
	for _, argv := range [][]string{{"no-such-command-anywhere", "x"}, {"/no/such/command"}} {
		_, err := tg.Start(t.Context(), host.JobSpec{ID: jobID("no"), Argv: argv})
		if e, ok := errors.AsType[*lab.Error](err); !ok || !slices.Equal(e.Command, argv) {
			t.Errorf("%q: %v", argv, err)
		}
	}
	job := start(t, tg, host.JobSpec{Argv: []string{"sleep", "1000"}})
	if _, err := tg.Start(t.Context(), host.JobSpec{ID: job.ID(), Argv: []string{"true"}}); !errors.Is(err,
		fs.ErrExist) {
		t.Errorf("a second job of one ID: %v", err)
	}
	if state, err := job.Poll(t.Context()); err != nil || state.Done {
		t.Errorf("the first one suffered: %+v, %v", state, err)
	}
	end(t, job)
}

func end(t *testing.T, job host.Job) {
	t.Helper()
	if err := job.Kill(t.Context(), 0); err != nil {
		t.Error(err)
	}
	remove(t, job)
}

func jobFollowed(t *testing.T, tg host.Target) {
	job := start(t, tg,
		host.JobSpec{Argv: []string{"sh", "-c", "echo begun; while [ ! -e go ]; do sleep 0.05; done; echo ended"}})
	eventually(t, "the job prints", func() bool {
		text, err := job.Tail(t.Context(), "stdout", 1024)
		return err == nil && string(text) == "begun\n"
	})
	state, err := job.Poll(t.Context())
	if err != nil || state.Done || state.Started.IsZero() {
		t.Errorf("while it runs: %+v, %v", state, err)
	}
	select {
	case <-job.Done():
		t.Error("it has not ended")
	default:
	}
	run(t, tg, "touch", job.Dir()+"/go")
	if state := Await(t, job); state.ExitCode != 0 || fetched(t, job, "stdout") != "begun\nended\n" {
		t.Errorf("%+v", state)
	}
	remove(t, job)
}

// A load's child processes must be killed with it, even if they ignore the signal or have left its session.
func killAll(t *testing.T, tg host.Target) {
	job := start(t, tg, host.JobSpec{Argv: []string{"sh", "-c",
		"trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$ >away; sleep 1000' & sh -c 'mkdir sub; cd sub; echo $$ " +
			">../below; exec sleep 1000' & echo $$ >own; while [ ! -s away ] || [ ! -s below ]; do sleep 0.05; done; " +
			"echo ready; wait"}})
	eventually(t, "the job is ready", func() bool {
		out, err := job.Fetch(t.Context(), "stdout")
		return err == nil && string(out) == "ready\n"
	})
	var pids []string
	for _, name := range []string{"away", "below", "own"} {
		pids = append(pids, strings.TrimSpace(fetched(t, job, name)))
	}
	if err := job.Kill(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		if !gone(t, tg, pid) {
			t.Errorf("process %s is still there", pid)
		}
	}
	if state := Await(t, job); state.Signal == "" {
		t.Errorf("%+v", state)
	}
	if err := job.Kill(t.Context(), 0); err != nil {
		t.Errorf("killing what has ended: %v", err)
	}
	remove(t, job)
}

// A process that can end cleanly does: SIGTERM comes first.
func killGrace(t *testing.T, tg host.Target) {
	job := start(t, tg,
		host.JobSpec{Argv: []string{"sh", "-c",
			"trap 'echo tidied; exit 7' TERM; echo ready; while :; do sleep 0.05; done"}})
	eventually(t, "the job is ready", func() bool {
		out, err := job.Fetch(t.Context(), "stdout")
		return err == nil && string(out) == "ready\n"
	})
	if err := job.Kill(t.Context(), patience); err != nil {
		t.Fatal(err)
	}
	if state := Await(t, job); state.ExitCode != 7 || fetched(t, job, "stdout") != "ready\ntidied\n" {
		t.Errorf("%+v, it said %q", state, fetched(t, job, "stdout"))
	}
	remove(t, job)
}

func twoJobs(t *testing.T, tg host.Target) {
	prefix := jobID("")
	var both []host.Job
	for i := range 2 {
		both = append(both,
			start(t, tg, host.JobSpec{ID: fmt.Sprint(prefix, i),
				Argv: []string{"sh", "-c", fmt.Sprintf("echo %d; exec sleep 1000", i)}}))
	}
	if ids := jobs(t, tg, prefix); !slices.Equal(ids, []string{prefix + "0", prefix + "1"}) {
		t.Errorf("%q", ids)
	}
	end(t, both[0])
	if state, err := both[1].Poll(t.Context()); err != nil || state.Done {
		t.Errorf("the other one ended: %+v, %v", state, err)
	}
	end(t, both[1])
}

// ClearJob is for the jobs of a killed process: it needs only the ID.
func leftovers(t *testing.T, tg host.Target) {
	l := tg.(host.Leftovers)
	job := start(t, tg, host.JobSpec{Argv: []string{"sh", "-c", "trap '' TERM; echo $$; while :; do sleep 1; done"}})
	eventually(t, "the job is ready", func() bool {
		out, err := job.Fetch(t.Context(), "stdout")
		return err == nil && len(out) > 0
	})
	pid := strings.TrimSpace(fetched(t, job, "stdout"))
	if err := l.ClearJob(t.Context(), job.ID()); err != nil {
		t.Fatal(err)
	}
	if !gone(t, tg, pid) {
		t.Errorf("process %s is still there", pid)
	}
	if ids := jobs(t, tg, job.ID()); len(ids) != 0 {
		t.Errorf("left: %q", ids)
	}
	select {
	case <-job.Done():
	case <-time.After(patience):
		t.Error("who follows it does not hear of its end")
	}
	if err := l.ClearJob(t.Context(), jobID("never")); err != nil {
		t.Errorf("a job that never was: %v", err)
	}
}

func received(t *testing.T, tg host.Target) {
	r, ok := tg.(host.Receiver)
	if !ok {
		t.Skip("files can't be copied to it")
	}
	program := append([]byte("#!/bin/sh\necho \"received $1\"; exit 5\n#"),
		bytes.Repeat([]byte{0, 255, '\n'}, 1<<20)...)
	id := jobID("brought")
	name, err := r.Receive(t.Context(), id+"/program", program, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if path.Base(name) != "program" {
		t.Errorf("it is called %s", name)
	}
	out, err := tg.Run(t.Context(), name, "it's")
	if err != nil || out.ExitCode != 5 || string(out.Stdout) != "received it's\n" {
		t.Errorf("%+v, %v", out, err)
	}
	f, err := tg.ReadFiles(t.Context(), name)
	if err != nil || !bytes.Equal(f[name].Data, program) {
		t.Errorf("%d bytes of %d, %v", len(f[name].Data), len(program), err)
	}
	if _, err := r.Receive(t.Context(), "../program", program, 0o755); err == nil {
		t.Error("a file can be put outside")
	}
	if err := tg.(host.Leftovers).ClearJob(t.Context(), id); err != nil {
		t.Error(err)
	}
}

func clock(t *testing.T, tg host.Target) {
	c, ok := tg.(host.Clock)
	if !ok {
		t.Skip("it has the clock of this machine")
	}
	offset, uncertainty, err := c.ClockOffset(t.Context())
	if err != nil || uncertainty < 0 {
		t.Fatalf("%s ± %s, %v", offset, uncertainty, err)
	}
	t.Logf("the clock is off by %s ± %s", offset, uncertainty)
}
