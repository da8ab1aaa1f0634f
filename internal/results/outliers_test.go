package results

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// By what an outlier differs may be called after somebody: a guest, a folder. That is hidden as it is elsewhere.
func TestDifferencesOfOutliersHideNames(t *testing.T) {
	s := store.Open(t.TempDir())
	run := lab.Run{ID: store.NewID(), Status: lab.Running, Targets: []lab.RunTarget{{Role: "node-1"}, {Role: "node-2"}}}
	w, err := s.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	disk := []lab.Fact{{Key: "disk.model", About: "sda", Value: "PERC"}}
	odd := append([]lab.Fact{{Key: "guest.name", About: "ann-mail", Value: "ann-mail"},
		{Key: "mount.type", About: "/home/ann", Value: "ext4"}}, disk...)
	for role, all := range map[string][]lab.Fact{"node-1": odd,
		"node-2": append([]lab.Fact{{Key: "mount.type", About: "/", Value: "ext4"},
			{Key: "guest.name", About: "web", Value: "web"}}, disk...)} {
		if err := w.Facts(role, store.Before, facts.Document{Schema: facts.DocumentSchema, Target: "local",
			Facts: all}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	b, err := s.Find(run.ID)
	if err != nil {
		t.Fatal(err)
	}
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, serials := range []bool{false, true} {
		found, err := differencesOf(knowledge, b, "node-1", "node-2", serials)
		if err != nil || len(found) == 0 {
			t.Fatalf("%+v, %v", found, err)
		}
		text := fmt.Sprintf("%+v", found)
		if strings.Contains(text, "ann") != serials || strings.Contains(text, "web") != serials ||
			strings.Contains(text, "hidden-") == serials {
			t.Errorf("serials %v: %s", serials, text)
		}
	}
}
