package app

import (
	"bytes"
	"debug/elf"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Footprint keeps the memory of headroom's process small: what it takes is taken from the machine under test. It is of
// the whole process, and belongs to main; nil, as in tests of which many share a process, leaves the process as it is.
type Footprint struct {
	mu             sync.Mutex
	lowMemoryUsers int // that want little garbage, of targets that are looked at side by side
	defaultPercent int // percent of garbage otherwise
}

// WithLowMemory makes little garbage from here on, until the function it returns is called. Not while loads run: to
// collect so often takes processor time, which they feel more.
func (f *Footprint) WithLowMemory() (restore func()) {
	if f == nil {
		return func() {}
	}
	const percent = 10 // of garbage beside what lives; the default is as much again
	f.mu.Lock()
	if f.lowMemoryUsers == 0 {
		f.defaultPercent = debug.SetGCPercent(percent)
	}
	f.lowMemoryUsers++
	f.mu.Unlock()
	f.ReleaseMemory()
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.lowMemoryUsers--
		if f.lowMemoryUsers == 0 {
			debug.SetGCPercent(f.defaultPercent)
		}
	}
}

// WithRareGC lets garbage grow to three times what lives, though not beyond a limit in bytes in all, until the function
// it returns is called.
func (f *Footprint) WithRareGC(limit int64) (restore func()) {
	if f == nil {
		return func() {}
	}
	percent, before := debug.SetGCPercent(300), debug.SetMemoryLimit(limit)
	return func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(before) }
}

// ReleaseMemory returns to the machine under test the memory that headroom does not need now: garbage, and the pages of
// the program that starting up has mapped. What is still needed of the program is mapped again when it is next touched.
func (f *Footprint) ReleaseMemory() {
	if f != nil {
		debug.FreeOSMemory()
		f.ReleaseProgramPages()
	}
}

// ReleaseProgramPages is giveBack without looking for garbage, which takes memory itself.
func (f *Footprint) ReleaseProgramPages() {
	if f == nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return // it costs memory and nothing else
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil || !static(program) {
		return
	}
	for line := range bytes.Lines(maps) {
		if from, size, ok := readOnlyPart(string(bytes.TrimSpace(line)), program); ok {
			// The pages are of a file, and were not written to: nothing is lost. Source: madvise(2).
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED)
		}
	}
}

// static reports whether a program was linked to stand alone, as headroom is shipped. Into one that is not, a linker
// writes addresses when it starts, and makes those pages read-only only then: they are not what the file holds. Source:
// elf(5), PT_DYNAMIC; ld(1), -z relro.
func static(program string) bool {
	f, err := elf.Open(program)
	if err != nil {
		return false
	}
	defer f.Close()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool {
		return p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_GNU_RELRO
	})
}

// readOnlyPart reads a line of /proc/PID/maps, and reports whether it is a part of the program that can't be written
// to.
//
//	00400000-01374000 r-xp 00000000 fe:00 1573018                            /usr/local/bin/headroom
//	01374000-0233e000 r--p 00f74000 fe:00 1573018                            /usr/local/bin/headroom
//	0233e000-0244b000 rw-p 01f3e000 fe:00 1573018                            /usr/local/bin/headroom
func readOnlyPart(line, program string) (from, size uintptr, ok bool) {
	fields := bytes.Fields([]byte(line))
	if len(fields) != 6 || string(fields[5]) != program || fields[1][0] != 'r' || fields[1][1] != '-' {
		return 0, 0, false
	}
	first, last, _ := bytes.Cut(fields[0], []byte("-"))
	a, err := strconv.ParseUint(string(first), 16, 64)
	if err != nil {
		return 0, 0, false
	}
	b, err := strconv.ParseUint(string(last), 16, 64)
	return uintptr(a), uintptr(b - a), err == nil && b > a
}
