package store

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
)

// saveArms makes a run of two arms, each with what a run by itself has.
func saveArms(t *testing.T, s *Store, id string) {
	t.Helper()
	part := exampleRun(id)
	w, err := s.Create(lab.Join([]lab.Run{part, part}, []string{"base", "new"}))
	if err != nil {
		t.Fatal(err)
	}
	for i, arm := range []string{"base", "new", "new"} {
		p, rep := w.Part(arm), exampleRepetition(i+1)
		rep.After = rep.Cell
		d := facts.Document{Schema: facts.DocumentSchema, Facts: []lab.Fact{{Key: "arm", Value: arm}}}
		if err := errors.Join(p.Facts(lab.StorageRole, Before, d), p.Raw(rep.Raw[0], []byte(arm)),
			p.Raw(rep.Raw[1], nil), p.Repetition(rep), p.Commit()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
}

func TestAnArmIsReadAsARunByItself(t *testing.T) {
	s := Open(t.TempDir())
	saveArms(t, s, "7KQ4M2X9TD")
	b, err := s.Find("7KQ4:new")
	if err != nil {
		t.Fatal(err)
	}
	if !s.Has(b.Run.ID) || s.ShortID(b.Run.ID) != "7KQ4:new" {
		t.Errorf("the store has %s, called %s: %v", b.Run.ID, s.ShortID(b.Run.ID), s.Has(b.Run.ID))
	}
	if got := numbersOf(t, b); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("its repetitions are %v", got)
	}
	for rep := range b.Repetitions() {
		want := exampleRepetition(rep.Number)
		if rep.Cell != want.Cell || rep.After != want.Cell || !slices.Equal(rep.Raw, want.Raw) {
			t.Errorf("a repetition of %s after %s has printed %q", rep.Cell, rep.After, rep.Raw)
		}
	}
	var raw []string
	for f := range b.Raw() {
		raw = append(raw, f.Name+"="+string(f.Data))
	}
	if want := []string{"randread-1/2/fio.json=new", "randread-1/2/empty=", "randread-1/3/fio.json=new",
		"randread-1/3/empty="}; !slices.Equal(raw, want) {
		t.Errorf("what was printed is %q", raw)
	}
	d, ok, err := b.Facts(b.Known(Before)[0], Before)
	if want := []lab.Fact{{Key: "arm", Value: "new"}}; !ok || err != nil || !reflect.DeepEqual(d.Facts, want) {
		t.Errorf("its facts are %v: %v, %v", d.Facts, ok, err)
	}
	parts, err := s.Parts(b)
	if err != nil || len(parts) != 2 || parts[0].Arm() != "base" || parts[0].Whole().Run.ID != "7KQ4M2X9TD" {
		t.Errorf("the parts are %v: %v", parts, err)
	}
}

func TestWhatNamesNoArmIsRefused(t *testing.T) {
	s := Open(t.TempDir())
	saveArms(t, s, "7KQ4M2X9TD")
	save(t, s, "8KQ4M2X9TD", 1)
	for ref, want := range map[string]string{"7KQ4:old": "it has base, new", "8KQ4:only": "has no arms",
		"nothing:base": "no run is called"} {
		_, err := s.Find(ref)
		if err == nil || !strings.Contains(errorText(err), want) {
			t.Errorf("%s: %v", ref, err)
		}
	}
	if _, err := s.FindBundle("7KQ4:new"); err == nil || !strings.Contains(errorText(err), "name the run: 7KQ4M2X9TD") {
		t.Errorf("of an arm: %v", err)
	}
	if b, err := s.FindWhole("7KQ4:new"); err != nil || b.Run.ID != "7KQ4M2X9TD" {
		t.Errorf("the whole of an arm: %v", err)
	}
}

// errorText is an error with its hints.
func errorText(err error) string {
	text := err.Error()
	if e, ok := errors.AsType[*lab.Error](err); ok {
		text += "\n" + strings.Join(e.Hints, "\n")
	}
	return text
}
