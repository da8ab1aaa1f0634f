package journal

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// What was announced is undone once by whoever announced it, and by the next process where that was killed.
func TestAnnouncedIsUndone(t *testing.T) {
	b := newBench(t)
	b.put("link", "up")
	undo := []string{"sh", "-c", `echo "up again" > "$1"`, "sh", filepath.Join(b.dir, "link")}
	j := b.journal()
	if err := j.Announce("event: cut", undo); err != nil {
		t.Fatal(err)
	}
	b.put("link", "down")
	pending := filepath.Join(b.dir, "changes")
	if left, err := Pending(pending, anyFile); err != nil || len(left) != 0 {
		t.Errorf("a journal in use is pending: %v, %v", left, err)
	}
	if err := j.UndoOf(t.Context(), "event: another"); err != nil {
		t.Error(err)
	}
	b.holds("link", "down")
	if err := j.UndoOf(t.Context(), "event: cut"); err != nil {
		t.Error(err)
	}
	b.holds("link", "up again")
	b.put("link", "down by somebody else")
	if err := j.Announce("event: cut", undo); err != nil {
		t.Fatal(err)
	}
	if err := j.Withdraw("event: cut"); err != nil {
		t.Error(err)
	}
	if err := j.Undo(t.Context()); err != nil || len(j.Open()) != 0 {
		t.Errorf("%v, %v", err, j.Open())
	}
	b.holds("link", "down by somebody else")
	// One that is left open is undone by another process.
	if err := j.Announce("event: cut", undo); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	left, err := Pending(pending, anyFile)
	if err != nil || len(left) != 1 || len(left[0].Factors) != 1 || left[0].Factors[0] != "event: cut" {
		t.Fatalf("%+v, %v", left, err)
	}
	again, err := Load(left[0].Path, b.target)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Undo(t.Context()); err != nil {
		t.Error(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	b.holds("link", "up again")
	if left, err := Pending(pending, anyFile); err != nil || len(left) != 0 {
		t.Errorf("still pending: %v, %v", left, err)
	}
}

// What can't be undone is said, and stays in the journal until it is undone or given up.
func TestAnnouncedThatIsNotUndone(t *testing.T) {
	b := newBench(t)
	j := b.journal()
	if err := j.Announce("event: x", nil); lab.KindOf(err) != lab.Usage {
		t.Errorf("%v", err)
	}
	if err := j.Announce("event: cut", []string{"sh", "-c", "echo no such link >&2; exit 3"}); err != nil {
		t.Fatal(err)
	}
	err := j.Undo(t.Context())
	if err == nil || !strings.Contains(err.Error(), "event: cut was not undone") || len(j.Open()) != 1 {
		t.Errorf("%v, %v", err, j.Open())
	}
	j.OnExternalChange(Accept)
	if err := j.Undo(t.Context()); err != nil || len(j.Open()) != 0 {
		t.Errorf("%v, %v", err, j.Open())
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
