package host

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sleeping starts a process that does nothing, in a folder, and ends it with the test.
func sleeping(t *testing.T, dir string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// both finds the started processes, here in Go and there by a script; none is signalled.
func both(t *testing.T, of Started, all []*exec.Cmd) (here, there []int) {
	t.Helper()
	var asked []string
	for _, cmd := range all {
		asked = append(asked, strconv.Itoa(cmd.Process.Pid))
	}
	for _, c := range []struct {
		target Target
		found  *[]int
	}{{newLocal(t), &here}, {struct{ Target }{newLocal(t)}, &there}} {
		found, err := SignalStarted(t.Context(), c.target, of, syscall.SIGTERM, asked)
		if err != nil {
			t.Fatal(err)
		}
		for i, cmd := range all {
			if slices.Contains(found, asked[i]) {
				*c.found = append(*c.found, i)
			}
			if err := cmd.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		}
	}
	return here, there
}

// Processes of a run are those that have exactly its variable, or work in exactly its folder or below.
func TestWhatARunHasStarted(t *testing.T) {
	mark := fmt.Sprintf("HEADROOM_RUN=TEST%d", os.Getpid()) // another run of the tests has processes like these
	base := t.TempDir()
	folder := filepath.Join(base, "it's *[work]")
	below, beside, cut := filepath.Join(folder, "a\nb"), folder+"shop", filepath.Join(base, "x\n", folder)
	for _, dir := range []string{below, beside, cut} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all := []*exec.Cmd{
		sleeping(t, base, mark), sleeping(t, folder), sleeping(t, below),
		sleeping(t, base, mark+"X"), sleeping(t, base, "X"+mark), sleeping(t, base, "X="+mark),
		sleeping(t, base, "X=a\n"+mark+"\nb"),
		sleeping(t, base, "X=\n"+mark), sleeping(t, beside), sleeping(t, cut), sleeping(t, base),
	}
	here, there := both(t, Started{Mark: mark, Folder: folder}, all)
	if want := []int{0, 1, 2}; !slices.Equal(here, want) || !slices.Equal(there, want) {
		t.Errorf("%v here and %v there, want %v", here, there, want)
	}
	here, there = both(t, Started{Mark: mark}, all)
	if want := []int{0}; !slices.Equal(here, want) || !slices.Equal(there, want) {
		t.Errorf("without a folder %v here and %v there, want %v", here, there, want)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	here, there = both(t, Started{Mark: mark, Folder: folder}, all)
	if want := []int{0, 1, 2}; !slices.Equal(here, want) || !slices.Equal(there, want) {
		t.Errorf("when the folder is gone %v here and %v there, want %v", here, there, want)
	}
}

// Exactly the started processes get the signal, and they get it once.
func TestWhatWasStartedIsAskedOnce(t *testing.T) {
	folder := t.TempDir()
	for name, tg := range map[string]Target{"here": newLocal(t), "there": struct{ Target }{newLocal(t)}} {
		cmd := exec.Command("sh", "-c", "trap 'echo asked >>said' TERM; touch ready; while :; do sleep 0.05; done")
		cmd.Dir = folder
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		waitFor(t, func() bool { _, err := os.Stat(filepath.Join(folder, "ready")); return err == nil })
		of, own := Started{Mark: "HEADROOM_RUN=ASKED", Folder: folder}, strconv.Itoa(cmd.Process.Pid)
		asked := []string{}
		for range 3 {
			found, err := SignalStarted(t.Context(), tg, of, syscall.SIGTERM, asked)
			if err != nil || !slices.Contains(found, own) {
				t.Fatalf("%s: found %v, %v", name, found, err)
			}
			asked = []string{own} // the sleeps come and go
		}
		waitFor(t, func() bool { _, err := os.Stat(filepath.Join(folder, "said")); return err == nil })
		for {
			found, err := SignalStarted(t.Context(), tg, of, syscall.SIGKILL, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				break
			}
			if slices.Contains(found, own) {
				_ = cmd.Wait()
			}
		}
		printed, err := os.ReadFile(filepath.Join(folder, "said"))
		if err != nil || string(printed) != "asked\n" {
			t.Errorf("%s: it was asked %q, %v", name, printed, err)
		}
		for _, file := range []string{"said", "ready"} {
			if err := os.Remove(filepath.Join(folder, file)); err != nil {
				t.Error(err)
			}
		}
	}
}

const olderIn = "HEADROOM_TEST_OLDER_IN"

// Processes older than headroom were not started by it, and neither were headroom's ancestors.
func TestWhatIsOlderWasNotStarted(t *testing.T) {
	if folder := os.Getenv(olderIn); folder != "" { // in the younger process
		for own, want := range map[bool]int{false: 1, true: 0} {
			found, err := SignalStarted(t.Context(), newLocal(t), Started{Mark: "HEADROOM_RUN=NONE", Folder: folder,
				OwnedByJob: own}, syscall.Signal(0), nil)
			if err != nil || len(found) != want {
				t.Errorf("own %v: of those that work in %s, %v were found, %v", own, folder, found, err)
			}
		}
		return
	}
	folder := t.TempDir()
	sleeping(t, folder)
	time.Sleep(20 * time.Millisecond) // the kernel counts ages in ticks of 10 ms
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	younger := exec.Command(self, "-test.run", "^TestWhatIsOlderWasNotStarted$", "-test.v")
	younger.Env = append(os.Environ(), olderIn+"="+folder)
	if out, err := younger.CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "--- PASS: TestWhatIsOlderWasNotStarted") {
		t.Errorf("in the younger process: %v\n%s", err, out)
	}
	kin := ancestors()
	if len(kin) < 2 || kin[0] != os.Getpid() || kin[1] != os.Getppid() {
		t.Errorf("descends from %v", kin)
	}
	parent, err := readProcess(kin[1])
	if err != nil {
		t.Fatal(err)
	}
	if own, err := readProcess(kin[0]); err != nil || own.began < parent.began || own.parent != kin[1] {
		t.Errorf("%+v of %+v, %v", own, parent, err)
	}
	if got := realUser(os.Getpid()); got != strconv.Itoa(os.Getuid()) {
		t.Errorf("it was started by %q", got)
	}
}

// The name of a job's folder is unpredictable, and contains the job's ID.
func TestNamesOfJobFolders(t *testing.T) {
	l := newLocal(t)
	first, second := start(t, l, "R-1", "true"), start(t, l, "R-1.5f0c7c1be3d94a26", "true")
	if a, b := filepath.Base(first.Dir()), filepath.Base(second.Dir()); !strings.HasPrefix(a, "R-1.") ||
		len(a) != len("R-1.5f0c7c1be3d94a26") || a == b {
		t.Errorf("%s and %s", a, b)
	}
	for name, want := range map[string]string{"R-1.5f0c7c1be3d94a26": "R-1", "R-1": "R-1",
		"guest-5f0c7c1b": "guest-5f0c7c1b", "R.5f0c7c1be3d94a2": "R.5f0c7c1be3d94a2",
		".5f0c7c1be3d94a26": "", "R-1.5f0c7c1be3d94a2x": "R-1.5f0c7c1be3d94a2x", "": ""} {
		if got := jobOf(name); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
	await(t, first)
	await(t, second)
	if err := l.ClearJob(t.Context(), "R-1"); err != nil {
		t.Fatal(err)
	}
	if ids, err := l.JobsBelow(t.Context(), ""); err != nil || !slices.Equal(ids, []string{"R-1.5f0c7c1be3d94a26"}) {
		t.Errorf("%v, %v", ids, err)
	}
}
