package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/factstest"
)

func TestLevels(t *testing.T) {
	four := "[/dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1 /dev/nvme3n1]"
	for _, c := range []struct {
		machine, place string
		want           []string
	}{
		{"stacked", "/srv/link", []string{"/dev/sdc disk [/dev/sdc]", "/dev/sdd disk [/dev/sdd]",
			"/dev/sdc1 partition [/dev/sdc]", "/dev/sdd1 partition [/dev/sdd]",
			"/dev/md0 md [/dev/sdc /dev/sdd]", "/dev/mapper/md0_crypt crypt [/dev/sdc /dev/sdd]",
			"/dev/mapper/vg-data lvm [/dev/sdc /dev/sdd]"}},
		{"stacked", "/mnt/my share", nil}, // nobody knows what a server has
		{"storage", "/srv/replicated", []string{"/dev/nvme0n1 disk [/dev/nvme0n1]", "/dev/nvme1n1 disk [/dev/nvme1n1]",
			"/dev/nvme2n1 disk [/dev/nvme2n1]",
			"/dev/nvme3n1 disk [/dev/nvme3n1]", "/dev/nvme0n1p1 partition [/dev/nvme0n1]",
			"/dev/nvme1n1p1 partition [/dev/nvme1n1]",
			"/dev/nvme2n1p1 partition [/dev/nvme2n1]", "/dev/nvme3n1p1 partition [/dev/nvme3n1]",
			"/dev/md127 md " + four,
			"/dev/mapper/md127_crypt crypt " + four, "/dev/mapper/vg0-data lvm " + four, "/dev/drbd0 drbd " + four}},
	} {
		m := factstest.Saved(t, c.machine)
		place, err := ResolvePlace(t.Context(), m, c.place)
		if err != nil {
			t.Fatal(err)
		}
		levels, err := StackLevels(t.Context(), m, place)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, l := range levels {
			lines = append(lines, fmt.Sprintf("%s %s %v", l.Path, l.Kind, l.Disks))
		}
		if got, want := strings.Join(lines, "\n"), strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s of %s:\n%s\nwant\n%s", c.place, c.machine, got, want)
		}
	}
}
