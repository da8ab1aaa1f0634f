//go:build system

package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// killSuite is quick to run and has all that can be left behind: a scratch file, loads, many saved repetitions. Its
// loads end by how much they have read or written: one that ends by the clock can be over, on a busy machine, before it
// has done anything.
const killSuite = `version: 1
name: kill
title: short loads for the tests that kill
place: directory
repetitions: 3
size: 4m
defaults: {ioengine: psync, bs: 4k, io_size: 400k, rate_iops: 500}
jobs:
  - {name: read, fio: {rw: randread}}
  - {name: write, fio: {rw: randwrite}}
`

type fixture struct {
	t                   *testing.T
	suite, place, store string
	// env is what its commands have in their environment besides the test's own.
	env []string
	// mark tells the processes of this victim from those of tests beside it.
	mark string
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	dir := t.TempDir()
	v := fixture{t: t, suite: filepath.Join(dir, "kill.yaml"), place: filepath.Join(dir, "place"),
		store: filepath.Join(dir, "store"),
		mark:  strconv.FormatUint(rand.Uint64(), 10)}
	if err := os.WriteFile(v.suite, []byte(killSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(v.place, 0o755); err != nil {
		t.Fatal(err)
	}
	return v
}

func (v fixture) command(args ...string) *exec.Cmd {
	return v.within("headroom", append(args, "--store", v.store)...)
}

// within is a command of any name in the victim's environment.
func (v fixture) within(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	if len(v.env) > 0 {
		cmd.Env = append(os.Environ(), v.env...)
	}
	return cmd
}

// with adds to the environment of a command.
func with(cmd *exec.Cmd, env ...string) *exec.Cmd {
	cmd.Env = append(cmd.Environ(), env...)
	return cmd
}

// verify holds what must be true after a kill and the next start: what was said to be finished is there and whole, and
// no load, scratch file or job folder is left.
func (v fixture) verify(where, stderr string) {
	v.t.Helper()
	out, err := v.command("restore").CombinedOutput()
	if err != nil {
		v.t.Errorf("%s: restore: %v\n%s", where, err, out)
	}
	if files, err := os.ReadDir(v.place); err != nil || len(files) != 0 {
		v.t.Errorf("%s: left in the directory: %v, %v", where, files, err)
	}
	rows, err := store.Open(v.store).List()
	if err != nil {
		v.t.Errorf("%s: %v", where, err)
	}
	finished := len(regexp.MustCompile(`(?m)^\d+/\d+  rand`).FindAllString(stderr, -1))
	saved := 0
	for _, r := range rows {
		b, err := store.Open(v.store).Find(r.ID)
		if err != nil {
			v.t.Fatalf("%s: %v", where, err)
		}
		if r.Status == lab.Running {
			v.t.Errorf("%s: %s still says it is running", where, r.ID)
		}
		for rep, err := range b.Repetitions() {
			if err != nil || rep.Values["read.iops"]+rep.Values["write.iops"] <= 0 {
				v.t.Errorf("%s: repetition %+v, %v", where, rep, err)
			}
			saved++
		}
		for _, err := range b.Raw() {
			if err != nil {
				v.t.Errorf("%s: %v", where, err)
			}
		}
		if left := processesOf(v.t, r.ID); len(left) != 0 {
			v.t.Errorf("%s: still running: %v", where, left)
		}
	}
	if saved < finished {
		v.t.Errorf("%s: %d repetitions were finished and %d are saved\n%s", where, finished, saved, stderr)
	}
}

// processesOf lists the processes whose working directory is a job folder of a run.
func processesOf(t *testing.T, run string) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		t.Fatal("no process is to be seen", err)
	}
	var found []string
	for _, l := range links {
		if dir, err := os.Readlink(l); err == nil && strings.Contains(dir, run) {
			found = append(found, l)
		}
	}
	return found
}

// TestScriptedRunDiesAtEachStepOfSaving takes all steps, of which a real process really dies at every eighth. They are
// shared out to two that run side by side: most of the time is waiting.
func TestKilledAtStepsOfSavingARun(t *testing.T) {
	t.Parallel()
	const every = 8
	var next, steps atomic.Int64
	t.Run("steps", func(t *testing.T) {
		for i := range 2 {
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				v := newFixture(t)
				for step := next.Add(every); ; step = next.Add(every) {
					var stderr bytes.Buffer
					cmd := with(v.command("run", v.suite, v.place, "--repeat", "1", "--set", "io_size=100k"),
						exitBefore+"="+strconv.FormatInt(step, 10))
					cmd.Stderr = &stderr
					if err := cmd.Run(); err == nil {
						return // it has no such step
					}
					steps.Add(1)
					if step > 300 {
						t.Fatal("it never came to an end")
					}
					if !strings.Contains(stderr.String(), "died before") {
						t.Fatalf("step %d: it failed instead of dying:\n%s", step, stderr.String())
					}
					v.verify(fmt.Sprintf("step %d", step), stderr.String())
					if t.Failed() {
						return
					}
					clearStore(t, v.store)
				}
			})
		}
	})
	if t.Logf("%d steps of saving", steps.Load()); steps.Load() < 5 && !t.Failed() {
		t.Errorf("only %d steps were seen", steps.Load())
	}
}

// The run is the only record of what a killed process left, so deleting it must not come before clearing up.
func TestDeletingAKilledRunClearsUpFirst(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	// so that it is killed in the midst of a load
	cmd := v.command("run", v.suite, v.place, "--set", "time_based=1", "--set", "runtime=1h")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var rows []store.Row
	await(t, "a load of the run goes on", func() bool {
		var err error
		rows, err = store.Open(v.store).List()
		return err == nil && len(rows) == 1 && len(processesOf(t, rows[0].ID)) > 0
	})
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if out, err := v.command("rm", "last").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "was cut off") {
		t.Errorf("%v\n%s", err, out)
	}
	if files, err := os.ReadDir(v.place); err != nil || len(files) != 0 {
		t.Errorf("left in the directory: %v, %v", files, err)
	}
	if left := processesOf(t, rows[0].ID); len(left) != 0 {
		t.Errorf("still running: %v", left)
	}
}

// interrupt sends the signal when a line with the prefix is printed, and expects the command to end in order. Its
// loads must be held (holdLoadsFrom), or it could end before the signal.
func (v fixture) interrupt(cmd *exec.Cmd, prefix string, sig syscall.Signal) {
	v.t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		v.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	printed, sent := "", false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		printed += lines.Text() + "\n"
		if !sent && strings.HasPrefix(lines.Text(), prefix) {
			sent = true
			if err := cmd.Process.Signal(sig); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		v.t.Errorf("%v: %v, want exit code 130\n%s", sig, err, printed)
	}
}

func TestInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "SIGTERM": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newFixture(t)
			loads := v.holdLoadsFrom(3)
			v.interrupt(v.command("run", v.suite, v.place), "2/6  ", sig)
			loads.release()
			if files, err := os.ReadDir(v.place); err != nil || len(files) != 0 {
				t.Errorf("left in the directory: %v, %v", files, err)
			}
			rows, err := store.Open(v.store).List()
			if err != nil || len(rows) != 1 || rows[0].Status != lab.Interrupted || rows[0].Repetitions != 2 {
				t.Fatalf("%+v, %v", rows, err)
			}
			if out, err := v.command("run", "--resume", "last").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			again, err := store.Open(v.store).List()
			if err != nil || len(again) != 1 || again[0].Status != lab.Complete || again[0].Repetitions != 6 ||
				again[0].ID != rows[0].ID {
				t.Errorf("resumed to %+v, %v", again, err)
			}
		})
	}
}

func clearStore(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
}
