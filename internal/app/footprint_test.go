package app

import (
	"runtime/debug"
	"testing"
)

func TestOnlyWhatNobodyCanWriteIsGivenBack(t *testing.T) {
	const program = "/usr/local/bin/headroom"
	for line, want := range map[string][2]uintptr{
		"00400000-01374000 r-xp 00000000 fe:00 1573018                            /usr/local/bin/headroom": {0x400000,
			0xf74000},
		"01374000-0233e000 r--p 00f74000 fe:00 1573018                            /usr/local/bin/headroom": {0x1374000,
			0xfca000},
		"0233e000-0244b000 rw-p 01f3e000 fe:00 1573018                            /usr/local/bin/headroom": {},
		"0233e000-0244b000 r--p 01f3e000 fe:00 1573018                            /lib/libc.so.6":          {},
		"c000000000-c000400000 rw-p 00000000 00:00 0":                                                      {},
		"7ffc6b1f5000-7ffc6b1f9000 r--p 00000000 00:00 0                          [vvar]":                  {},
		"": {}, "garbage": {},
	} {
		from, size, ok := readOnlyPart(line, program)
		if ok != (want != [2]uintptr{}) || ok && (from != want[0] || size != want[1]) {
			t.Errorf("%q: %x, %x, %v", line, from, size, ok)
		}
	}
	new(Footprint).ReleaseMemory() // and go on
}

// Targets are looked at side by side, and the first is not the last to end.
func TestFrugalOnesThatOverlap(t *testing.T) {
	usual := debug.SetGCPercent(100)
	defer debug.SetGCPercent(usual)
	var f Footprint
	first := f.WithLowMemory()
	second := f.WithLowMemory()
	first()
	if now := debug.SetGCPercent(10); now != 10 {
		t.Errorf("one is at work still, and garbage grows to %d%%", now)
	}
	second()
	if now := debug.SetGCPercent(100); now != 100 {
		t.Errorf("all have ended, and garbage grows to %d%%", now)
	}
}

// A program that a linker has written into must keep those pages.
func TestOnlyAStaticProgramIsGivenBack(t *testing.T) {
	for _, program := range []string{"/bin/ls", "/nowhere"} {
		if static(program) {
			t.Errorf("%s is taken for one that stands alone", program)
		}
	}
}
