package collect

import "testing"

func TestKernelVersion(t *testing.T) {
	for release, want := range map[string][3]int{
		"6.18.44-fc": {6, 18, 1}, "5.10.0-33-amd64": {5, 10, 1}, "4.4": {4, 4, 1}, "6.9-rc1": {6, 9, 1},
		"linux": {}, "6.": {}, "": {}, "6.x1": {},
	} {
		major, minor, ok := KernelVersion(release)
		if ok != (want[2] == 1) || ok && (major != want[0] || minor != want[1]) {
			t.Errorf("%q: %d.%d, %v", release, major, minor, ok)
		}
	}
}
