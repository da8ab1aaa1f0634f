package collect

import (
	"testing"
	"testing/fstest"
)

func TestNumbersOfTheSCSILayer(t *testing.T) {
	for text, want := range map[string]string{
		"0x0\n":                "0",
		"0x1f\n":               "31",
		"31\n":                 `not a hexadecimal number: "31"`,
		"0x\n":                 `not a hexadecimal number: "0x"`,
		"0xffffffff80000000\n": `not a hexadecimal number: "0xffffffff80000000"`, // a counter that went over its end
		"":                     "the file is empty",
	} {
		files := Reader{fstest.MapFS{"sys/count": &fstest.MapFile{Data: []byte(text)}}}
		f := files.Hexadecimal("disk.scsi.timeouts", "/sys/count")
		if got := f.Value + f.Unknown; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

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
