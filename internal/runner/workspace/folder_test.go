package workspace

import (
	"testing"
)

// A folder on which something is mounted is not deleted.
func TestMountedBelow(t *testing.T) {
	const table = `36 35 98:0 / / rw,noatime shared:1 - ext4 /dev/sda1 rw
37 36 98:1 / /srv/a\040b.work/x rw - tmpfs tmpfs rw
38 36 98:2 / /srv/a\040b.workshop rw - tmpfs tmpfs rw
`
	for folder, want := range map[string]string{"/srv/a b.work": "/srv/a b.work/x",
		"/srv/a b.work/x": "/srv/a b.work/x", "/srv/a b.work/y": "", "/srv/c": ""} {
		if got := mountedBelow([]byte(table), folder); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
	if got := mountedBelow([]byte("short\n\n"), "/"); got != "" {
		t.Errorf("from nonsense %q", got)
	}
}

// What is looked for in environments is no start of another target's mark.
func TestMarksOfTargets(t *testing.T) {
	for _, role := range []string{"", "db", "db-2", "db2", "2"} {
		for _, other := range []string{"db", "db-2", "db2", "2"} {
			mine, theirs := MarkFor(Owner("ABCDEFGH01", role)), MarkFor(Owner("ABCDEFGH01", other))
			if role != other && len(mine) <= len(theirs) && theirs[:len(mine)] == mine {
				t.Errorf("%q is the start of %q", mine, theirs)
			}
		}
	}
}
