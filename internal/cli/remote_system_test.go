//go:build system

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// TestRemoteScripts runs the sessions that measure another machine: this one, over an sshd of the test's own.
func TestRemoteScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/remote", config.Variable(config.SSHConfig)+"="+sshtest.Start(t).Config)
}

// remoteSuite has loads that take a while, so that there is time to interfere.
const remoteSuite = `version: 1
name: remote
title: loads for the tests that interfere
place: directory
repetitions: 3
size: 4m
defaults: {ioengine: psync, bs: 4k, runtime: 2s, time_based: 1, rate_iops: 500}
jobs:
  - {name: read, fio: {rw: randread}}
`

func newRemoteFixture(t *testing.T) (fixture, *sshtest.Server) {
	server := sshtest.Start(t)
	v := newFixture(t)
	v.env = []string{config.Variable(config.SSHConfig) + "=" + server.Config}
	if err := os.WriteFile(v.suite, []byte(remoteSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	return v, server
}

// measuring starts a run over ssh and waits until it has come to a line of progress.
func (v fixture) measuring(until string, args ...string) *exec.Cmd {
	v.t.Helper()
	cmd := v.command(append([]string{"run", v.suite, v.place, "--on", "ssh://under-test"}, args...)...)
	name := filepath.Join(v.t.TempDir(), "stderr")
	stderr, err := os.Create(name)
	if err != nil {
		v.t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	v.t.Cleanup(func() {
		if text, err := os.ReadFile(name); err == nil && v.t.Failed() {
			v.t.Logf("it said:\n%s", text)
		}
	})
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	wanted := regexp.MustCompile(until)
	v.t.Cleanup(func() { _ = cmd.Process.Kill() }) // where the test fails
	await(v.t, until, func() bool {
		text, err := os.ReadFile(name)
		return err == nil && wanted.Match(text)
	})
	return cmd
}

// onlyRun is the one run of the store.
func (v fixture) onlyRun() *store.Bundle {
	v.t.Helper()
	rows, err := store.Open(v.store).List()
	if err != nil || len(rows) != 1 {
		v.t.Fatalf("%d runs, %v", len(rows), err)
	}
	b, err := store.Open(v.store).Find(rows[0].ID)
	if err != nil {
		v.t.Fatal(err)
	}
	return b
}

func (v fixture) repetitions() int {
	v.t.Helper()
	n := 0
	for _, err := range v.onlyRun().Repetitions() {
		if err != nil {
			v.t.Error(err)
		}
		n++
	}
	return n
}

// clean says that nothing of a run is left: no scratch file, no process, no folder of a job.
func (v fixture) clean() {
	v.t.Helper()
	if files, err := os.ReadDir(v.place); err != nil || len(files) != 0 {
		v.t.Errorf("left in the directory: %v, %v", files, err)
	}
	id := v.onlyRun().Run.ID
	if left := processesOf(v.t, id); len(left) != 0 {
		v.t.Errorf("still running: %v", left)
	}
	folders, err := filepath.Glob("/dev/shm/headroom-" + strconv.Itoa(os.Getuid()) + "/" + id + "*")
	if err != nil || len(folders) != 0 {
		v.t.Errorf("folders of jobs are left: %v, %v", folders, err)
	}
}

// secondLoad starts a run over ssh whose second load goes on until it is ended or released.
func (v fixture) secondLoad(server *sshtest.Server) (*exec.Cmd, hold) {
	v.t.Helper()
	loads := holdCalls(v.t, server.Programs, "fio", loadsOfFio, 2)
	cmd := v.measuring(`(?m)^1/3  `)
	await(v.t, "the second load", func() bool { return loads.waiting(v.onlyRun().Run.ID) > 0 })
	return cmd, loads
}

func TestARunElsewhereIsInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	v, server := newRemoteFixture(t)
	cmd, loads := v.secondLoad(server)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v", err)
	}
	v.clean()
	if b := v.onlyRun(); b.Run.Status != lab.Interrupted || app.TargetOfRun(b.Run) != "ssh://under-test" {
		t.Errorf("%s on %s", b.Run.Status, app.TargetOfRun(b.Run))
	}
	loads.release()
	if out, err := v.command("run", "--resume", "last").CombinedOutput(); err != nil {
		t.Fatalf("resumed: %v\n%s", err, out)
	}
	if n := v.repetitions(); n != 3 || v.onlyRun().Run.Status != lab.Complete {
		t.Errorf("%d repetitions, %s", n, v.onlyRun().Run.Status)
	}
	v.clean()
}

func TestARunElsewhereIsKilledAndRestored(t *testing.T) {
	t.Parallel()
	v, server := newRemoteFixture(t)
	cmd, loads := v.secondLoad(server)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if loads.waiting(v.onlyRun().Run.ID) == 0 {
		t.Error("the load does not go on without headroom")
	}
	// A run on another target leaves it alone and says so.
	if out, err := v.command("run", v.suite, v.place, "--dry-run").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := v.command("restore").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "was cut off") {
		t.Fatalf("restore: %v\n%s", err, out)
	}
	v.clean()
	loads.release()
	if out, err := v.command("run", "--resume", "last").CombinedOutput(); err != nil {
		t.Fatalf("resumed: %v\n%s", err, out)
	}
	v.clean()
}

// master finds the ssh process that holds the shared connection of a headroom.
func master(t *testing.T, headroom int) int {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(names) == 0 {
		t.Fatal("no process is to be seen", err)
	}
	for _, n := range names {
		stat, err := os.ReadFile(n)
		line, rerr := os.ReadFile(filepath.Join(filepath.Dir(n), "cmdline"))
		if err != nil || rerr != nil {
			continue // gone
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(headroom) && bytes.Contains(line, []byte("ControlMaster=yes")) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(n)))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("there is no shared connection")
	return 0
}

func TestAConnectionIsCutDuringALoad(t *testing.T) {
	t.Parallel()
	v, server := newRemoteFixture(t)
	cmd, loads := v.secondLoad(server)
	if err := syscall.Kill(master(t, cmd.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	loads.release()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := v.repetitions(); n != 3 {
		t.Errorf("%d repetitions", n)
	}
	for r, err := range v.onlyRun().Repetitions() {
		if err != nil || r.Seconds < 2 || len(r.Warnings) > 0 && r.Warnings[0].Code == "no-result" {
			t.Errorf("repetition %d: %.1f s, %+v, %v", r.Number, r.Seconds, r.Warnings, err)
		}
	}
	v.clean()
}

// A machine that can't be reached any more may go on with the load; what is left there is looked after later.
func TestATargetIsLostForGood(t *testing.T) {
	t.Parallel()
	v, server := newRemoteFixture(t)
	v.env = append(v.env, config.Variable(config.SSHPatience)+"=2s")
	cmd, loads := v.secondLoad(server)
	server.Stop()
	if err := syscall.Kill(master(t, cmd.Process.Pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	if out, err := v.command("restore").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "can't be looked after now") {
		t.Errorf("restore without the target: %v\n%s", err, out)
	}
	server.Restart(t)
	if out, err := v.command("restore").CombinedOutput(); err != nil {
		t.Errorf("restore: %v\n%s", err, out)
	}
	v.clean()
	loads.release()
	if out, err := v.command("run", "--resume", "last").CombinedOutput(); err != nil {
		t.Fatalf("resumed: %v\n%s", err, out)
	}
	if n := v.repetitions(); n != 3 {
		t.Errorf("%d repetitions", n)
	}
	v.clean()
}

// standInForStaticFio is a static program that becomes the installed fio: static builds of fio are not packaged.
const standInForStaticFio = `package main

import (
	"os"
	"syscall"
)

func main() { panic(syscall.Exec("FIO", os.Args, os.Environ())) }
`

func TestFioIsBroughtAlong(t *testing.T) {
	t.Parallel()
	v, _ := newRemoteFixture(t)
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Skip("fio is not installed")
	}
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "fio")
	if err := os.WriteFile(source, []byte(strings.Replace(standInForStaticFio, "FIO", fio, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", binary, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args := []string{"run", v.suite, v.place, "--on", "ssh://under-test", "--repeat", "1", "--set", "runtime=300ms",
		"--bring-fio"}
	if out, err := v.command(append(args, binary)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for r, err := range v.onlyRun().Repetitions() {
		if err != nil || !strings.HasSuffix(r.Command[0], "-brought/fio") || r.Values["read.iops"] <= 0 {
			t.Errorf("%+v, %v", r.Command, err)
		}
	}
	v.clean()
	for _, no := range []string{fio, source, filepath.Join(dir, "missing")} {
		if out, err := v.command(append(args, no)...).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), "--bring-fio "+no) {
			t.Errorf("%s: %v\n%s", no, err, out)
		}
	}
}
