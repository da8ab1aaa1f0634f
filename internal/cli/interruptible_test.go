package cli

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// bulky is a store with a run whose raw output fills any pipe, and the run.
func bulky(t *testing.T, warning string) (dir, id string) {
	t.Helper()
	dir, id = t.TempDir(), store.NewID()
	w, err := store.Open(dir).Create(lab.Run{ID: id, Suite: "quick", Status: lab.Running, Created: time.Now(),
		Cells: []lab.Cell{{ID: "a", Job: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	output := make([]byte, 4<<20)
	if _, err := rand.Read(output); err != nil {
		t.Fatal(err)
	}
	rep := lab.Repetition{Cell: "a", Number: 1, Values: map[string]float64{"read.iops": 7},
		Raw: []string{"a/1/fio.json"}}
	if warning != "" {
		rep.Warnings = []lab.Warning{{Code: "no-result", Text: warning, Taints: []string{"*"}}}
	}
	err = errors.Join(w.Raw("a/1/fio.json", output), w.Repetition(rep), w.Commit(), w.Close(func(r *lab.Run) {
		r.Status = lab.Complete
	}))
	if err != nil {
		t.Fatal(err)
	}
	return dir, id
}

// interrupted starts a command, waits until it is in the midst of what it does, sends a signal, and demands that the
// command ends.
func interrupted(t *testing.T, sig syscall.Signal, cmd *exec.Cmd, midst func()) string {
	t.Helper()
	var printed bytes.Buffer
	cmd.Stderr = &printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	midst()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer stuck.Stop()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("%s: %v: %s", strings.Join(cmd.Args, " "), err, printed.String())
	}
	return printed.String()
}

// What writes to somebody who does not read, and reads from somebody who does not write, ends at a signal.
func TestCommandsThatOnlyReadEndAtASignal(t *testing.T) {
	dir, id := bulky(t, "")
	for _, args := range [][]string{
		{"show", id, "--raw"}, {"export", id, "--format", "run"}, {"export", id, "--format", "run", "--serials"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			cmd := exec.Command("headroom", append(args, "--store", dir)...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			interrupted(t, sig, cmd, func() {
				if _, err := io.ReadFull(out, make([]byte, 1000)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestImportInterrupted(t *testing.T) {
	from, id := bulky(t, "")
	b, err := store.Open(from).Find(id)
	if err != nil {
		t.Fatal(err)
	}
	var exported bytes.Buffer
	if err := b.Export(&exported); err != nil {
		t.Fatal(err)
	}
	for name, given := range map[string][]byte{
		"an exported run":  exported.Bytes()[:exported.Len()-1<<20],
		"results of fio's": []byte(`{"fio version" : "fio-3.33", "jobs" : [` + strings.Repeat(" ", 1<<20)),
	} {
		dir := t.TempDir()
		cmd := exec.Command("headroom", "import", "-", "--store", dir)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		interrupted(t, syscall.SIGTERM, cmd, func() {
			if _, err := in.Write(given); err != nil { // returns when all but a pipe's worth has been read
				t.Error(err)
			}
			for end := time.Now().Add(time.Minute); len(inRuns(t, dir)) == 0 &&
				time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			}
		})
		if left := inRuns(t, dir); len(left) != 0 {
			t.Errorf("%s: left in the store: %v", name, left)
		}
	}
}

func inRuns(t *testing.T, dir string) []string {
	t.Helper()
	runs, err := os.Open(filepath.Join(dir, "runs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	defer runs.Close()
	names, err := runs.Readdirnames(-1)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A run of an older version can hold in a warning all that a load generator printed.
func TestRunWithAHugeWarningIsShown(t *testing.T) {
	dir, id := bulky(t, strings.Repeat("x", 8<<20))
	for _, args := range [][]string{{"show", id}, {"report", id}, {"list"}, {"export", id, "--format", "markdown"},
		{"show", id, "--json"}, {"compare", id, id, "--anyway"}} {
		out, err := exec.Command("headroom", append(args, "--store", dir)...).Output()
		if err != nil || len(out) == 0 || len(out) > 1<<20 {
			t.Errorf("%s: %v, %d bytes", args, err, len(out))
		}
	}
}

// A pipe that nobody writes to, and a device that never ends, are no files.
func TestInputsThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.yaml")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"import", pipe}, {"import", "/dev/zero"}, {"suites", "show", pipe}, {"suites", "show", "/dev/zero"},
		{"run", pipe, dir}, {"sweep", pipe}, {"facts", "diff", pipe, pipe},
		{"doctor", "--rules", pipe}, {"rules", "--rules", pipe},
	} {
		cmd := exec.Command("headroom", append(args, "--store", filepath.Join(dir, "store"))...)
		stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		out, _ := cmd.CombinedOutput()
		stuck.Stop()
		if code := cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(string(out), "a pipe") &&
			!strings.Contains(string(out), "a device") {
			t.Errorf("%s: %d, %s", args, code, out)
		}
	}
}

// An archive of a few kilobytes can unpack to anything.
func TestArchivesThatUnpackToTooMuch(t *testing.T) {
	dir := t.TempDir()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: "ABCDEFGH01/run.json", Typeflag: tar.TypeReg, Size: 0, Format: tar.FormatPAX,
		PAXRecords: map[string]string{"HEADROOM.test": "1"}})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	// The writer refuses the keys of a sparse file, so they take the place of one of the same length.
	sparse := bytes.Replace(archive.Bytes(), []byte("HEADROOM.test"), []byte("GNU.sparse.xx"), 1)
	name := filepath.Join(dir, "sparse.headroom")
	if err := os.WriteFile(name, sparse, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("headroom", "import", name, "--store", filepath.Join(dir, "store")).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "sparse") {
		t.Errorf("%v: %s", err, out)
	}
	if left := inRuns(t, filepath.Join(dir, "store")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
