package store

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// A process that saves a run is killed with SIGKILL before each step of saving in turn. Whatever it had said to be
// committed must be there afterwards, whole, and one look by the next process must leave nothing else behind.

const (
	crashStore = "HEADROOM_TEST_CRASH_STORE"
	crashStep  = "HEADROOM_TEST_CRASH_STEP"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashStore); dir != "" {
		step, _ := strconv.Atoi(os.Getenv(crashStep))
		saveAndDie(dir, step)
		return
	}
	os.Exit(m.Run())
}

// saveAndDie saves a run of three repetitions and kills its own process before step number n. What is safe is printed.
func saveAndDie(dir string, n int) {
	s := Open(dir)
	steps := 0
	s.AtStep(func(step string) {
		if steps++; steps == n {
			fmt.Println("died before", step)
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
	w, err := s.Create(exampleRun("ABCDEFGH01"))
	check(err)
	fmt.Println("created")
	check(w.AnnounceLeftovers(lab.Leftovers{Target: "local", Jobs: "ABCDEFGH01",
		Scratch: []string{"/srv/headroom-ABCDEFGH01.scratch"}}))
	fmt.Println("leaving")
	check(w.AnnounceLeftovers(lab.Leftovers{Target: "ssh://db1", Jobs: "ABCDEFGH01",
		Scratch: []string{"/data/headroom-ABCDEFGH01.scratch"}}))
	fmt.Println("leaving there")
	for i := 1; i <= 3; i++ {
		check(add(w, i))
		fmt.Println("committed", i)
		check(w.Profile(exampleProfile(i)))
		fmt.Println("profiled", i)
	}
	check(w.Close(func(r *lab.Run) { r.Status = lab.Complete }))
	fmt.Println("closed")
}

func check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func TestKilledAtEachStepOfSaving(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const most = 200
	for step := 1; step <= most; step++ {
		dir := t.TempDir()
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), crashStore+"="+dir, crashStep+"="+strconv.Itoa(step))
		out, err := cmd.Output()
		printed := string(out)
		if err == nil {
			if !strings.Contains(printed, "closed") {
				t.Fatalf("step %d: %s", step, printed)
			}
			t.Logf("%d steps", step-1)
			if step < 30 {
				t.Errorf("only %d steps were seen; are the steps still announced?", step-1)
			}
			return
		}
		verifyAfterCrash(t, step, dir, printed)
	}
	t.Fatalf("more than %d steps", most)
}

func verifyAfterCrash(t *testing.T, step int, dir, printed string) {
	t.Helper()
	where := fmt.Sprintf("step %d (%s)", step, printed[strings.LastIndex(strings.TrimSpace(printed), "\n")+1:])
	s := Open(dir)
	// The rest of a bundle that never came to be is cleared by the clock; here the clock is put forward.
	if half, err := filepath.Glob(filepath.Join(s.Folder.runs(), ".new-*")); err == nil && len(half) != 0 {
		longAgo := time.Now().Add(-time.Hour)
		check(os.Chtimes(half[0], longAgo, longAgo))
	}
	found, err := s.Abandoned()
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	for _, a := range found {
		if strings.Contains(printed, "leaving") && len(a.Leftovers.Scratch) != 1 {
			t.Errorf("%s: what it would leave is not known: %+v", where, a.Leftovers)
		}
		if strings.Contains(printed, "leaving there") && (len(a.Leftovers.Others) != 1 ||
			a.Leftovers.Others[0].Target != "ssh://db1") {
			t.Errorf("%s: what it would leave elsewhere is not known: %+v", where, a.Leftovers)
		}
		if err := s.Clear(a); err != nil {
			t.Errorf("%s: %v", where, err)
		}
	}
	rows, err := s.List()
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	if !strings.Contains(printed, "created") {
		return
	}
	if len(rows) != 1 || rows[0].Status != lab.Interrupted && rows[0].Status != lab.Complete {
		t.Fatalf("%s: listed %+v", where, rows)
	}
	b, err := s.Find("ABCDEFGH01")
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	numbers := numbersOf(t, b)
	for i := range strings.Count(printed, "committed") {
		if i >= len(numbers) || numbers[i] != i+1 {
			t.Errorf("%s: committed repetition %d is lost: %v", where, i+1, numbers)
		}
	}
	if got := profilesIn(t, b); len(got) < strings.Count(printed, "profiled") {
		t.Errorf("%s: of the profiled loads are left %+v", where, got)
	}
	raw := 0
	for _, err := range b.Raw() {
		if err != nil {
			t.Errorf("%s: %v", where, err)
		}
		raw++
	}
	if raw != 2*len(numbers) {
		t.Errorf("%s: %d repetitions and %d raw files", where, len(numbers), raw)
	}
	for name := range tree(t, dir) {
		if strings.HasSuffix(name, ".tmp") || strings.HasSuffix(name, activeName) {
			t.Errorf("%s: %s is left", where, name)
		}
	}
	resumeAndFinish(t, where, s, b, numbers)
}

// resumeAndFinish goes on where the crash cut the run off: it must end like one that never crashed.
func resumeAndFinish(t *testing.T, where string, s *Store, b *Bundle, have []int) {
	t.Helper()
	w, err := s.Resume(b)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	for i := len(have) + 1; i <= 3; i++ {
		if err := add(w, i); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	b, err = s.Find("ABCDEFGH01")
	if err != nil || b.Run.Status != lab.Complete {
		t.Fatalf("%s: %v, %v", where, b, err)
	}
	if numbers := numbersOf(t, b); fmt.Sprint(numbers) != "[1 2 3]" {
		t.Errorf("%s: resumed to %v", where, numbers)
	}
	var archive bytes.Buffer
	if err := b.Export(&archive); err != nil {
		t.Errorf("%s: %v", where, err)
	}
}
