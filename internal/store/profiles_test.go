package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
)

func exampleProfile(number int) profile.Load {
	return profile.Load{
		Cell: "randread-1", Arm: "only", Number: number, Part: profile.Calls,
		Start: time.Date(2026, 11, 20, 12, number, 0, 0, time.UTC), Seconds: 3,
		Values: map[string]float64{"read.iops": 900},
		Recording: profile.Recording{Kernel: "6.12.1", Architecture: "x86_64", CPUs: 2,
			Traced: &profile.Traced{Seconds: 0.6, Bursts: 12, Functions: true,
				Calls: []profile.CallCount{{Function: "vfs_read", Context: profile.InLoad, Count: 12}}}},
	}
}

// profilesIn are the profiled loads of a bundle.
func profilesIn(t *testing.T, b *Bundle) []profile.Load {
	t.Helper()
	var all []profile.Load
	for l, err := range b.Profiles() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

func TestProfiledLoadsAreKept(t *testing.T) {
	s := Open(t.TempDir())
	w, err := s.Create(exampleRun("ABCDEFGH01"))
	if err != nil {
		t.Fatal(err)
	}
	want := []profile.Load{exampleProfile(1), exampleProfile(2), exampleProfile(3)}
	if err := errors.Join(add(w, 1), w.Profile(want[0]), w.Profile(want[1])); err != nil {
		t.Fatal(err)
	}
	if err := w.Abandon(func(r *lab.Run) { r.Status = lab.Interrupted }); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find("ABCDEFGH01")
	if err != nil {
		t.Fatal(err)
	}
	if w, err = s.Resume(b); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Profile(want[2]), w.Close(func(r *lab.Run) { r.Status = lab.Complete })); err != nil {
		t.Fatal(err)
	}
	if got := profilesIn(t, b); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if b, err = s.Find("ABCDEFGH01"); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := b.Export(&archive); err != nil {
		t.Fatal(err)
	}
	elsewhere := Open(t.TempDir())
	copied, err := elsewhere.Imports.Read(&archive)
	if err != nil {
		t.Fatal(err)
	}
	if got := profilesIn(t, copied); !reflect.DeepEqual(got, want) {
		t.Errorf("imported\n%+v\nwant\n%+v", got, want)
	}
}

func TestProfiledLoadsOfAnArm(t *testing.T) {
	s := Open(t.TempDir())
	part := exampleRun("7KQ4M2X9TD")
	w, err := s.Create(lab.Join([]lab.Run{part, part}, []string{"base", "new"}))
	if err != nil {
		t.Fatal(err)
	}
	for i, arm := range []string{"base", "new", "new"} {
		if err := w.Part(arm).Profile(exampleProfile(i + 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	whole, err := s.Find("7KQ4")
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, l := range profilesIn(t, whole) {
		named = append(named, fmt.Sprint(l.Cell, " of ", l.Arm, " ", l.Number))
	}
	if want := []string{"randread-1@base of base 1", "randread-1@new of new 2",
		"randread-1@new of new 3"}; !slices.Equal(named, want) {
		t.Errorf("the run has %q", named)
	}
	arm := profilesIn(t, whole.Part("new"))
	if len(arm) != 2 || arm[0].Cell != "randread-1" || arm[0].Arm != lab.OnlyArm || arm[1].Number != 3 {
		t.Errorf("the arm has %+v", arm)
	}
}

// TestHostileProfiles reads what headroom did not write.
func TestHostileProfiles(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := encoder.EncodeAll(slices.Concat([]byte(`{"cell":"`), make([]byte, maxProfile), []byte(`"}`)), nil)
	for name, data := range map[string][]byte{"no archive": []byte("{}"), "a bomb": bomb,
		"no JSON": encoder.EncodeAll([]byte("{"), nil)} {
		s := Open(t.TempDir())
		b := save(t, s, "ABCDEFGH01", 1)
		file := profileName(b.Dir(), 1)
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		for l, err := range b.Profiles() {
			if err == nil || !strings.Contains(err.Error(), file) {
				t.Errorf("%s was read as %+v: %v", name, l, err)
			}
		}
		if _, err := Open(t.TempDir()).Imports.Adopt(b.Dir()); err == nil {
			t.Errorf("%s was imported", name)
		}
	}
}

// TestNamesInProfilesAreHidden sends profiled loads away: names of programs and threads are hidden as elsewhere, those
// of functions stay.
func TestNamesInProfilesAreHidden(t *testing.T) {
	s := Open(t.TempDir())
	run := exampleRun("ABCDEFGH01")
	run.Targets[0].Facts = []lab.Fact{{Key: "host.name", Value: "dbprimary"}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	l := exampleProfile(1)
	l.Missing = []profile.Missing{{What: "user stacks", Why: "of dbprimary nobody may see them", Hint: "ask dbprimary"}}
	stack := []string{"dbprimary:main", "dbprimary", "vfs_read"}
	l.Sampled = &profile.Sampled{Stacks: []profile.Stack{{Task: "dbprimary-w1", Frames: stack, Count: 1}}}
	l.Waits = &profile.Waits{Stacks: []profile.WaitStack{{Task: "dbprimary-w1", Frames: stack, Count: 1}}}
	if err := errors.Join(w.Profile(l), w.Close(func(r *lab.Run) { r.Status = lab.Complete })); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := b.ExportRedacted(&archive); err != nil {
		t.Fatal(err)
	}
	sent, err := Open(t.TempDir()).Imports.Read(&archive)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range profilesIn(t, sent) {
		text := fmt.Sprintf("%+v %+v %+v", l, *l.Sampled, *l.Waits)
		// a function that has the name of the host keeps it
		if n := strings.Count(text, "dbprimary"); n != 2 || strings.Count(text, "hidden-") != 6 {
			t.Errorf("the name is there %d times: %s", n, text)
		}
	}
}

func TestAProfileCutOffIsRemoved(t *testing.T) {
	s := Open(t.TempDir())
	b := save(t, s, "ABCDEFGH01", 1)
	half := filepath.Join(b.Dir(), "profiles", ".000001.json.zst.1.tmp")
	if err := os.WriteFile(half, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := profilesIn(t, b); len(got) != 0 {
		t.Errorf("it was read as %+v", got)
	}
	if err := removeUncommitted(b.Dir()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(half); err == nil {
		t.Error("it is still there")
	}
	if err := os.RemoveAll(filepath.Dir(half)); err != nil {
		t.Fatal(err)
	}
	if got := profilesIn(t, b); len(got) != 0 {
		t.Errorf("an older run has %+v", got)
	}
}

// The memory of profiled loads is estimated by what they hold, and no further than it is asked for.
func TestMemoryOfProfiles(t *testing.T) {
	s := Open(t.TempDir())
	w, err := s.Create(exampleRun("ABCDEFGH01"))
	if err != nil {
		t.Fatal(err)
	}
	small, large := exampleProfile(1), exampleProfile(2)
	const stacks, perStack, most = 100_000, 128, 1 << 20
	large.Sampled = &profile.Sampled{Stacks: make([]profile.Stack, stacks)}
	for _, l := range []profile.Load{small, large} {
		if err := w.Profile(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find("ABCDEFGH01")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ most, least, greatest int64 }{
		{1 << 40, stacks * perStack, 4 * stacks * perStack}, {most, most, 8 * most}, {0, 1, most},
	} {
		if got, err := b.ProfileMemory(c.most); err != nil || got < c.least || got > c.greatest {
			t.Errorf("at most %d: %d bytes, %v", c.most, got, err)
		}
	}
	if err := os.WriteFile(profileName(b.Dir(), 1), []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := b.ProfileMemory(most); err == nil {
		t.Errorf("a damaged one takes %d bytes", got)
	}
}
