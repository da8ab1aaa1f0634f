//go:build system

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// stubborn leaves all behind that a command can: a process that does not heed SIGTERM, one in a session of its own that
// works elsewhere, one that has forgotten its environment, and a file. Each is distinguished from the others by how
// long it sleeps, which ends with the victim's mark.
const stubborn = `version: 1
name: stubborn
title: a command that does not want to end
place: directory
repetitions: 3
jobs:
  - name: quick
    exec: [sleep, "0.2"]
    cleanup: [sh, -c, "echo cleaned >> ../../../cleaned"]
  - name: stubborn
    exec:
      - sh
      - -c
      - |
        trap '' TERM
        echo data > data
        setsid sh -c 'cd / && exec sleep 77701.MARK' &
        setsid env -i PATH="$PATH" sleep 77702.MARK &
        sleep 77703.MARK &
        test -e ../../../stop || exit 0
        while :; do sleep 77704.MARK; done
`

func newStubborn(t *testing.T) fixture {
	t.Helper()
	v := newFixture(t)
	if err := os.WriteFile(v.suite, []byte(strings.ReplaceAll(stubborn, "MARK", v.mark)), 0o644); err != nil {
		t.Fatal(err)
	}
	v.stop()
	return v
}

// stop has the command not end by itself, go that it does.
func (v fixture) stop() {
	v.t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(v.place), "stop"), nil, 0o644); err != nil {
		v.t.Fatal(err)
	}
}

func (v fixture) releaseJobs() {
	v.t.Helper()
	if err := os.Remove(filepath.Join(filepath.Dir(v.place), "stop")); err != nil {
		v.t.Fatal(err)
	}
}

// sleepers are the processes of the stubborn command that are there.
func (v fixture) sleepers() string {
	v.t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		v.t.Fatal("no process is to be seen", err)
	}
	var found []string
	for _, l := range lines {
		if data, err := os.ReadFile(l); err == nil && bytes.HasPrefix(data, []byte("sleep\x007770")) &&
			bytes.Contains(data, []byte("."+v.mark+"\x00")) {
			found = append(found, strings.ReplaceAll(string(data), "\x00", " "))
		}
	}
	return strings.Join(found, ", ")
}

// waitUntilAsleep waits until all of the stubborn command's processes are there.
func (v fixture) waitUntilAsleep() {
	v.t.Helper()
	await(v.t, "the stubborn command was started", func() bool { return strings.Count(v.sleepers(), ",") == 3 })
}

func (v fixture) checkNothingLeft(where string) {
	v.t.Helper()
	if left := v.sleepers(); left != "" {
		v.t.Errorf("%s: still running: %s", where, left)
	}
	if files, err := os.ReadDir(v.place); err != nil || len(files) != 0 {
		v.t.Errorf("%s: left in the directory: %v, %v", where, files, err)
	}
}

func TestCommandInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	v := newStubborn(t)
	cmd := v.command("run", v.suite, v.place)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.waitUntilAsleep()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v, want exit code 130\n%s", err, stderr.String())
	}
	v.checkNothingLeft("after Ctrl-C")
	v.releaseJobs()
	if out, err := v.command("run", "--resume", "last").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	v.checkNothingLeft("after the end")
	rows, err := store.Open(v.store).List()
	if err != nil || len(rows) != 1 || rows[0].Status != lab.Complete || rows[0].Repetitions != 6 {
		t.Errorf("resumed to %+v, %v", rows, err)
	}
	if cleaned, err := os.ReadFile(filepath.Join(filepath.Dir(v.place), "cleaned")); err != nil ||
		strings.Count(string(cleaned), "cleaned") != 3 {
		t.Errorf("cleaned up %q, %v; want three times", cleaned, err)
	}
}

func TestCommandOfAKilledRunIsEnded(t *testing.T) {
	t.Parallel()
	v := newStubborn(t)
	cmd := v.command("run", v.suite, v.place)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	v.waitUntilAsleep()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if left := v.sleepers(); left == "" {
		t.Error("the command ended with headroom, so that there is nothing to test")
	}
	if out, err := v.command("restore").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "removed "+v.place) {
		t.Errorf("%v\n%s", err, out)
	}
	v.checkNothingLeft("after restore")
}

// open is a directory that every user may enter, which those of tests are not; its path is short enough for a socket.
func open(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hr")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestSuitePgbench(t *testing.T) {
	t.Parallel()
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err != nil || len(found) == 0 {
		t.Skip("postgresql is not installed")
	}
	v := newFixture(t)
	place := open(t)
	out, err := v.command("run", "pgbench", place, "--set", "seconds=10", "--set", "scale=1", "--set", "clients=2",
		"--repeat", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := store.Open(v.store).Find("last")
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]bool{}
	for rep, err := range b.Repetitions() {
		cells[rep.Cell] = true
		// Ten seconds leave a machine that stalls time for a transaction.
		if v := rep.Values; err != nil || v["transactions"] <= 0 || v["latency"] <= 0 || v["elapsed"] <= 0 {
			t.Errorf("%s: %v, %v, %v", rep.Cell, rep.Values, rep.Warnings, err)
		}
	}
	if len(cells) != 2 {
		t.Errorf("measured %v", cells)
	}
	if left := processesOf(t, b.Run.ID); len(left) != 0 {
		t.Errorf("still running: %v", left)
	}
	if files, err := os.ReadDir(place); err != nil || len(files) != 0 {
		t.Errorf("left in the directory: %v, %v", files, err)
	}
}

// A server that nobody may enter the folder of says so before anything is made.
func TestSuitePgbenchNeedsAnOpenDirectory(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, which PostgreSQL refuses to run as")
	}
	if found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); err != nil || len(found) == 0 {
		t.Skip("postgresql is not installed")
	}
	v := newFixture(t)
	place := open(t)
	if err := os.Chmod(place, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := v.command("run", "pgbench", place, "--set", "seconds=1").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the user postgres can't get to "+place) {
		t.Errorf("%v\n%s", err, out)
	}
}

// The suite build makes a tree out of place. This one is a stand-in for a kernel's: a makefile that takes O= as a
// kernel's does.
func TestSuiteBuild(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"make", "cc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	v := newFixture(t)
	tree := t.TempDir()
	makefile := "defconfig:\n\techo configured > $(O)/.config\nvmlinux:\n\tgrep -q configured $(O)/.config\n\t$(CC) " +
		"-c -o $(O)/vmlinux.o main.c\n"
	for name, text := range map[string]string{"Makefile": makefile, "main.c": "int main(void) { return 0; }\n"} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := v.command("run", "build", v.place, "--set", "source="+tree, "--repeat", "2").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "build: elapsed") {
		t.Errorf("%v\n%s", err, out)
	}
	if files, err := os.ReadDir(tree); err != nil || len(files) != 2 {
		t.Errorf("the tree was written to: %v, %v", files, err)
	}
	v.checkNothingLeft("after the build")
}
