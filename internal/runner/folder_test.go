package runner

import (
	"slices"
	"testing"
)

// What is ended must be the run's own, and nobody else's.
func TestProcessesOfAFolder(t *testing.T) {
	text := `lrwxrwxrwx 1 root root 0 Nov 21 22:13 /proc/1/cwd -> /
lrwxrwxrwx 1 postgres postgres 0 Nov 21 22:13 /proc/4711/cwd -> /srv/headroom-7KQ4M2X9TD.work/tpcb/data
lrwxrwxrwx 1 root root 0 Nov 21 22:13 /proc/4713/cwd -> /srv/headroom-7KQ4M2X9TD.work (deleted)
lrwxrwxrwx 1 root root 0 Nov 21 22:13 /proc/4714/cwd -> /srv/headroom-7KQ4M2X9TD.workshop
lrwxrwxrwx 1 root root 0 Nov 21 22:13 /proc/4715/cwd
/proc/4712/environ
/proc/4711/environ
/proc/self/environ
nonsense
`
	if got, want := processesIn(text, "/srv/headroom-7KQ4M2X9TD.work"), []string{"4711", "4713", "4712"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := processesIn(text, ""), []string{"4712", "4711"}; !slices.Equal(got, want) {
		t.Errorf("without a folder %v, want %v", got, want)
	}
}

func FuzzProcessesIn(f *testing.F) {
	f.Add("lrwxrwxrwx 1 a a 0 Nov 21 22:13 /proc/12/cwd -> /srv/w\n/proc/13/environ\n", "/srv/w")
	f.Fuzz(func(t *testing.T, text, folder string) {
		for _, pid := range processesIn(text, folder) {
			for _, c := range pid {
				if c < '0' || c > '9' {
					t.Fatalf("%q is no process", pid)
				}
			}
		}
	})
}

// A folder on which something is mounted is not deleted.
func TestMountedBelow(t *testing.T) {
	const table = `36 35 98:0 / / rw,noatime shared:1 - ext4 /dev/sda1 rw
37 36 98:1 / /srv/a\040b.work/x rw - tmpfs tmpfs rw
38 36 98:2 / /srv/a\040b.workshop rw - tmpfs tmpfs rw
`
	for folder, want := range map[string]string{"/srv/a b.work": "/srv/a b.work/x", "/srv/a b.work/x": "/srv/a b.work/x", "/srv/a b.work/y": "", "/srv/c": ""} {
		if got := mountedBelow(table, folder); got != want {
			t.Errorf("%s: %q, want %q", folder, got, want)
		}
	}
	if got := mountedBelow("short\n\n", "/"); got != "" {
		t.Errorf("from nonsense %q", got)
	}
}
