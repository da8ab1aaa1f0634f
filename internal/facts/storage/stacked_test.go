package storage

import (
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestStacked(t *testing.T) {
	machine := factstest.Saved(t, "stacked")
	place := func(path string) lab.Place {
		p, err := ResolvePlace(t.Context(), machine, path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, c := range []struct {
		lower, upper string
		on, known    bool
	}{
		{"/dev/mapper/vg-data", "/srv/link", true, true}, // a volume and the file system on it
		{"/srv/link", "/dev/loop3", true, true},          // a file system and a loop device of a file in it
		{"/dev/mapper/vg-data", "/dev/loop3", true, true},
		{"/dev/loop3", "/dev/mapper/vg-data", false, true}, // the wrong way round
		{"/dev/disk/by-label/archive", "/srv/link", false, true},
		{"/dev/mapper/vg-data", "/dev/mapper/vg-data", false, true}, // nothing is stored on itself
		{"/dev/mapper/vg-data", "/mnt/my share", false, false},      // nobody knows what a server has
	} {
		on, known, err := Stacked(t.Context(), machine, place(c.lower), place(c.upper))
		if err != nil || on != c.on || known != c.known {
			t.Errorf("%s on %s: %v, known %v, %v", c.upper, c.lower, on, known, err)
		}
	}
}
