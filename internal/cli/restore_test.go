package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// The command that puts settings back is killed at each of its steps; the one after it does the rest.
func TestRestoreKilledAtEachStep(t *testing.T) {
	dir := t.TempDir()
	changes := store.Open(dir).Folder.Changes()
	if err := os.MkdirAll(changes, 0o755); err != nil {
		t.Fatal(err)
	}
	settings := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for n := 1; n < 100; n++ {
		text := `{"schema":"headroom/changes/v1","id":"RUN1","target":"local"}` + "\n"
		for i, s := range settings {
			text += fmt.Sprintf(
				`{"seq":%d,"factor":"exec:%d","spots":[{"kind":"file","path":%q,"old":"old","new":"new"}]}`+"\n", i+1,
				i, s)
			if err := os.WriteFile(s, []byte("new"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(changes, "RUN1.changes"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		restore := func(env ...string) (string, error) {
			cmd := exec.Command("headroom", "restore", "--store", dir)
			cmd.Env = append(os.Environ(), env...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			err := cmd.Run()
			return stderr.String(), err
		}
		printed, err := restore(exitBefore + "=" + strconv.Itoa(n))
		ended := err == nil
		if !ended && !strings.Contains(printed, "died before") {
			t.Fatalf("step %d: it failed instead of dying:\n%s", n, printed)
		}
		if printed, err := restore(); err != nil {
			t.Errorf("step %d: %v\n%s", n, err, printed)
		}
		for _, s := range settings {
			if got, err := os.ReadFile(s); err != nil || string(got) != "old" {
				t.Errorf("step %d: %s is %q, %v", n, s, got, err)
			}
		}
		if left, err := journal.Pending(changes, store.Trust); err != nil || len(left) != 0 {
			t.Errorf("step %d: %v, %v", n, left, err)
		}
		if ended {
			if n < 10 {
				t.Errorf("only %d steps were seen", n-1)
			}
			return
		}
	}
	t.Fatal("it never came to an end")
}

// What a run left on several targets is removed from each that can be reached; only then does it count as cleared.
func TestRestoreOfSeveralTargets(t *testing.T) {
	for _, c := range []struct {
		third   string
		cleared bool
	}{{app.LocalTarget, true}, {"nowhere", false}} {
		dir := t.TempDir()
		s := store.Open(dir)
		run := lab.Run{ID: "ABCDEFGH01", Status: lab.Running, Source: lab.Measured,
			Targets: []lab.RunTarget{{Role: "a", Target: app.LocalTarget}, {Role: "b", Target: app.LocalTarget},
				{Role: "c", Target: c.third}}}
		w, err := s.Create(run)
		if err != nil {
			t.Fatal(err)
		}
		var scratch []string
		for i, target := range []string{app.LocalTarget, app.LocalTarget, c.third} {
			name := filepath.Join(t.TempDir(), "headroom-ABCDEFGH01.scratch")
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			scratch = append(scratch, name)
			if err := w.AnnounceLeftovers(lab.Leftovers{Target: target, Jobs: "ABCDEFGH01-" + strconv.Itoa(i),
				Scratch: []string{name}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Abandon(func(*lab.Run) {}); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("headroom", "restore", "--store", dir).CombinedOutput()
		if (err == nil) != c.cleared {
			t.Errorf("%s: %v\n%s", c.third, err, out)
		}
		for i, name := range scratch {
			if _, err := os.Stat(name); os.IsNotExist(err) != (i < 2 || c.cleared) {
				t.Errorf("%s: scratch file %d: %v", c.third, i, err)
			}
		}
		if !strings.Contains(string(out), "removed "+scratch[0]+" on local") {
			t.Errorf("%s: it does not say what it removed, and where:\n%s", c.third, out)
		}
		if left, err := s.Abandoned(); err != nil || (len(left) == 0) != c.cleared {
			t.Errorf("%s: still abandoned: %v, %v", c.third, left, err)
		}
	}
}
