package store

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestLabelsThatCouldBeAnotherRunsNameAreRefused(t *testing.T) {
	for _, label := range []string{"last", "LAST", "Last", "last:base", "19PP", "ABCDEFGH01", "2026", "NVME", "19PP7",
		"19PP:new", "ABCDEFGH01:new"} {
		s := Open(t.TempDir())
		b := save(t, s, "ABCDEFGH02", 1)
		run := exampleRun("ABCDEFGH03")
		run.Label = label
		_, made := s.Create(run)
		for what, err := range map[string]error{"checked": CheckLabel(label), "set": s.SetLabel(b, label),
			"of a new run": made, "of an imported run": importLabelled(t, label, false)} {
			if lab.KindOf(err) != lab.Usage || !strings.Contains(err.Error(), "the label ") {
				t.Errorf("the label %q, %s: %v", label, what, err)
			}
		}
		if err := importLabelled(t, label, true); err != nil {
			t.Errorf("a run with the label %q that gets another one: %v", label, err)
		}
	}
	for _, label := range []string{"", "after", "base", "new", "DB", "19P", "19PP tuned", "19pp", "v6.12", "last week",
		"LOOP", "ABCDEFGH012", "mtu:9000"} {
		if err := CheckLabel(label); err != nil {
			t.Error(err)
		}
	}
}

// importLabelled imports a run with a label, as an older headroom may have made it.
func importLabelled(t *testing.T, label string, relabels bool) error {
	t.Helper()
	from, to := Open(t.TempDir()), Open(t.TempDir())
	b := save(t, from, "ABCDEFGH01", 1)
	setOld(t, from, b, label)
	var archive bytes.Buffer
	if err := b.Export(&archive); err != nil {
		t.Fatal(err)
	}
	if relabels {
		to.Imports.Relabel()
	}
	_, err := to.Imports.Read(&archive)
	return err
}

// setOld gives a run a label as older versions took it.
func setOld(t *testing.T, s *Store, b *Bundle, label string) {
	t.Helper()
	if err := s.change(b, func(r *lab.Run) { r.Label = label }); err != nil {
		t.Fatal(err)
	}
}

// Of runs that older versions labelled, none takes the name of another one.
func TestAnIDWinsOverALabel(t *testing.T) {
	s := Open(t.TempDir())
	save(t, s, "19PPAAAAAA", 1)
	saveArms(t, s, "7KQ4M2X9TD")
	taker := save(t, s, "ABCDEFGH01", 1)
	for label, want := range map[string]string{"19PP": "19PPAAAAAA", "19pp": "19PPAAAAAA", "19PPAAAAAA": "19PPAAAAAA",
		"7KQ4:new": "7KQ4M2X9TD:new", "7KQ4M2X9TD:new": "7KQ4M2X9TD:new", "19P": "ABCDEFGH01",
		"NVME": "ABCDEFGH01", "NVME:new": "ABCDEFGH01"} {
		setOld(t, s, taker, label)
		b, err := s.Find(label)
		if err != nil || b.Run.ID != want {
			t.Errorf("Find(%q) = %+v, %v; want %s", label, b, err, want)
		}
		if b, err := s.Find("ABCDEFGH01"); err != nil || b.Run.Label != label {
			t.Errorf("the run with the label %q by its id: %v", label, err)
		}
	}
	save(t, s, "19PPBBBBBB", 1)
	setOld(t, s, taker, "19PP")
	if _, err := s.Find("19PP"); err == nil || !strings.Contains(err.Error(), "names 2 runs") {
		t.Errorf("the start of two ids: %v", err)
	}
}

// Where only ids are names, a label is none, however short.
func TestFindIDKnowsNoLabels(t *testing.T) {
	s := Open(t.TempDir())
	saveArms(t, s, "7KQ4M2X9TD")
	setOld(t, s, save(t, s, "ABCDEFGH01", 1), "7K")
	for ref, want := range map[string]string{"7K": "7KQ4M2X9TD", "7kq4:base": "7KQ4M2X9TD:base", "AB": "ABCDEFGH01"} {
		if b, err := s.FindID(ref); err != nil || b.Run.ID != want {
			t.Errorf("FindID(%q) = %+v, %v; want %s", ref, b, err, want)
		}
	}
	for _, ref := range []string{"", "last", "7KQ4:else", "AB:new", ".", "../runs", "ZZ"} {
		if b, err := s.FindID(ref); b != nil || lab.KindOf(err) != lab.Usage || errors.Is(err, nil) {
			t.Errorf("FindID(%q) = %+v, %v", ref, b, err)
		}
	}
}
