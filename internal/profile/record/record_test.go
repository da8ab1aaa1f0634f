package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

func TestBursts(t *testing.T) {
	for _, c := range []struct {
		last time.Duration
		fill float64
		lost bool
		want time.Duration
	}{
		{20 * time.Millisecond, 0.01, false, 40 * time.Millisecond},
		{80 * time.Millisecond, 0, false, longestBurst},
		{20 * time.Millisecond, 0.4, false, 20 * time.Millisecond},
		{20 * time.Millisecond, 0.8, false, 10 * time.Millisecond},
		{20 * time.Millisecond, 1, true, 5 * time.Millisecond},
		{2 * time.Millisecond, 1, true, shortestBurst},
	} {
		if got := nextBurst(c.last, c.fill, c.lost, longestBurst); got != c.want {
			t.Errorf("after %v, %v full, lost %v: %v", c.last, c.fill, c.lost, got)
		}
	}
}

func TestBufferSizes(t *testing.T) {
	for _, c := range []struct {
		cpus      int
		available int64
		want      int
	}{{2, 64 << 30, largestBuffer}, {64, 64 << 30, 4 << 10}, {2, 512 << 20, 32 << 10}, {4, 64 << 20, 2 << 10},
		{512, 64 << 20, smallestBuffer}, {0, 0, smallestBuffer}} {
		if got := bufferKiB(c.cpus, 256<<10, c.available); got != c.want {
			t.Errorf("%d CPUs, %d bytes: %d KiB", c.cpus, c.available, got)
		}
	}
}

func TestLostEvents(t *testing.T) {
	const stats = "entries: 129\noverrun: 3\ncommit overrun: 1\nbytes: 4711\noldest event ts:     0.000000\n" +
		"now ts: 52204.896967\ndropped events: 7\nread events: 9\n"
	if got := lostEvents(stats); got != 11 {
		t.Errorf("%d", got)
	}
}

func TestThreads(t *testing.T) {
	for stat, want := range map[string]thread{
		"12 (kworker/0:1-events) I 2 0 0 0 -1 69238880 0 0":    {"kworker/0:1-events", true},
		"4711 (fio) S 4700 4711 4711 0 -1 4194304 98 0 0 0":    {"fio", false},
		"4711 (a) S 1 (b)) S 4700 4711 4711 0 -1 4194304 98 0": {"a) S 1 (b)", false},
		"": {}, "4711": {}, "4711 )(": {}, "4711 (fio": {}, "4711 (fio)": {"fio", false},
	} {
		if got := parseThread(stat); got != want {
			t.Errorf("%q is %+v", stat, got)
		}
	}
}

func TestLoadsThreads(t *testing.T) {
	l := newLoad("nobody-works-in-such-")
	if l.look() {
		t.Errorf("threads in an empty folder: %v", l.threads)
	}
	if err := l.wait(t.Context(), 0, time.Hour); !errors.Is(err, errNoLoad) {
		t.Errorf("waiting: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	refused := &fs.PathError{Op: "write", Path: "current_tracer", Err: syscall.EPERM}
	mount := fmt.Errorf("can't mount tracefs: %w", syscall.EPERM)
	none, able := []string{"blk", "nop"}, []string{"function", "nop"}
	for _, c := range []struct {
		miss profile.Missing
		want string
	}{
		{machine{root: true}.noTracefs("it", syscall.ENODEV),
			"the kernel has no tracefs → use a kernel with CONFIG_FTRACE"},
		{machine{}.noTracefs("it", mount), "can't mount tracefs: operation not permitted → run as root"},
		{machine{root: true}.noTracefs("it", mount),
			"can't mount tracefs: operation not permitted → give the container"},
		{machine{root: true, lockdown: "confidentiality"}.noTracefs("it", mount),
			"can't mount tracefs: operation not permitted; the kernel is locked down (confidentiality) → boot without"},
		{withoutFunctions(t, machine{tracers: none, configured: "n"}),
			"the kernel has no function tracer (CONFIG_FUNCTION_TRACER is not set) → use a kernel with"},
		{withoutFunctions(t, machine{tracers: none}), "the kernel has no function tracer → use a kernel with"},
		{withoutFunctions(t, machine{tracers: able, ftrace: "0"}),
			"kernel.ftrace_enabled is 0 → sysctl kernel.ftrace_enabled=1"},
		{machine{lockdown: "integrity"}.refusedFunctions(refused),
			"the kernel refused the function tracer (operation not permitted); it is locked down (integrity) → boot"},
		{machine{lockdown: "none"}.refusedFunctions(syscall.EBUSY),
			"the kernel refused the function tracer (device or resource busy) → end what traces"},
		{broken("it", fmt.Errorf("can't make it: %w", syscall.EROFS)),
			"can't make it: read-only file system → run as root on the machine itself"},
		{broken("it", syscall.ENOMEM), "cannot allocate memory → free memory"},
	} {
		if got := c.miss.Why + " → " + c.miss.Hint; !strings.HasPrefix(got, c.want) || c.miss.What == "" {
			t.Errorf("%q: %s\nwant %s", c.miss.What, got, c.want)
		}
	}
	if miss, refused := (machine{tracers: able, ftrace: "1"}).withoutFunctions(); refused {
		t.Errorf("refused: %+v", miss)
	}
}

func withoutFunctions(t *testing.T, m machine) profile.Missing {
	t.Helper()
	miss, refused := m.withoutFunctions()
	if !refused {
		t.Errorf("%+v is able to", m)
	}
	return miss
}

func TestLockdownLevels(t *testing.T) {
	for text, want := range map[string]string{"none [integrity] confidentiality\n": "integrity",
		"[none] integrity confidentiality\n": "none", "": ""} {
		if got := lockdownLevel(text); got != want {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// TestNamesOfOthers checks that headroom can't be made to remove instances of others.
func TestNamesOfOthers(t *testing.T) {
	for _, name := range []string{"", "other", "headroom-/../other", "../headroom-1", "headroom-a/b", "headroom"} {
		if err := RemoveInstances(name); err == nil {
			t.Errorf("removed %q", name)
		}
		if err := Guard(new(bytes.Buffer), name); err == nil {
			t.Errorf("guarded %q", name)
		}
		request := profile.Request{Owner: name, Part: profile.Calls, Folder: os.TempDir()}
		if err := Run(context.Background(), request, new(bytes.Buffer), new(bytes.Buffer)); err == nil {
			t.Errorf("recorded for %q", name)
		}
	}
}

func TestTransferred(t *testing.T) {
	start := ioCounts{calls: 1, callBytes: 4096}
	for _, c := range []struct {
		now             ioCounts
		started, beyond bool
	}{
		{start, true, false},
		{ioCounts{calls: 2, callBytes: 8192}, false, false}, // a program that reads its libraries
		{ioCounts{calls: 2, callBytes: 8192}, true, true},
		{ioCounts{calls: 1, callBytes: 4096, deviceBytes: 512}, false, true},
		{ioCounts{calls: 9, callBytes: 5000}, true, false}, // fio reads counters of disks
		{ioCounts{calls: 1, callBytes: 4096, completions: 1}, false, true},
	} {
		if got := c.now.beyond(start, c.started); got != c.beyond {
			t.Errorf("%+v, started %v: %v", c.now, c.started, got)
		}
	}
}
