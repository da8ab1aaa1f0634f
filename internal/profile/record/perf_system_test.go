//go:build system && linux

package record

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

// shares has how often each function was the executed one. All programs except fio are combined.
type shares map[string]float64

const programs = "other programs"

func (s shares) total() (n float64) {
	for _, of := range s {
		n += of
	}
	return n
}

// added returns the sum of several shares.
func added(each ...shares) shares {
	all := shares{}
	for _, of := range each {
		for name, count := range of {
			all[name] += count
		}
	}
	return all
}

// largest returns the functions with most samples.
func (s shares) largest(n int) []string {
	var names []string
	for name := range s {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if s[a] != s[b] {
			return int(math.Copysign(1, s[b]-s[a]))
		}
		return strings.Compare(a, b)
	})
	return names[:min(n, len(names))]
}

// sharesOf returns the executed functions in our samples.
func sharesOf(s *profile.Sampled) shares {
	out := shares{}
	for _, stack := range s.Stacks {
		name := stack.Frames[len(stack.Frames)-1]
		if program, _, user := strings.Cut(name, ":"); user && program != "fio" && program != "kernel" {
			name = programs
		}
		out[name] += float64(stack.Count)
	}
	return out
}

// both samples all CPUs with our sampler and with perf record, and counts those of perf's samples in our window. perf
// runs for some time before and after it; whole is true if that was enough.
func both(t *testing.T, o SampleOptions, beside time.Duration) (ours, perfs shares, whole bool) {
	t.Helper()
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("no perf (linux-perf)")
	}
	data := filepath.Join(t.TempDir(), "perf.data")
	perf := exec.Command("perf", "record", "--all-cpus", "--event", "cpu-clock", "--freq", strconv.Itoa(o.Hz),
		"--clockid", "CLOCK_MONOTONIC", "--output", data)
	var said bytes.Buffer
	perf.Stdout, perf.Stderr = &said, &said
	if err := perf.Start(); err != nil {
		t.Skip(err)
	}
	time.Sleep(beside) // until it has begun
	from, err := monotonic()
	if err != nil {
		t.Fatal(err)
	}
	got, missing := Sample(t.Context(), o)
	to := from + uint64(o.For) // then names are looked up
	time.Sleep(beside)
	if err := perf.Process.Signal(os.Interrupt); err != nil {
		t.Skipf("perf record: %v: %s", err, said.String())
	}
	_ = perf.Wait() // it was interrupted
	if got == nil {
		t.Fatal(missing)
	}
	perfs, whole = ofPerf(t, data, from, to)
	t.Logf("%d samples, %d lost; perf's %.0f", got.Samples, got.Lost, perfs.total())
	return sharesOf(got), perfs, whole
}

// ofPerf reads the samples of perf record in a time range, and whether it sampled before and after it.
func ofPerf(t *testing.T, data string, from, to uint64) (counted shares, whole bool) {
	t.Helper()
	out, err := exec.Command("perf", "script", "--input", data, "--fields", "time,ip,sym,dso").Output()
	if err != nil {
		t.Fatalf("perf script: %v", err)
	}
	alias := aliases(t)
	before, after := false, false
	counted = shares{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		at, name := perfLine(t, lines.Text())
		before, after = before || at < from, after || at > to
		if at < from || at > to {
			continue
		}
		if first, ok := alias[name]; ok {
			name = first
		}
		counted[name]++
	}
	return counted, before && after
}

// perfLine parses the time of a sample and the name of the function, in our notation.
//
//	53358.061078:  ffffffff81a2d5a4 clear_page_erms ([kernel.kallsyms])
//	53358.057117:            1d09e4 [unknown] (/usr/bin/fio)
//	53358.062141:      7f2d3c0a1cf1 __libc_pread64 (/usr/lib/x86_64-linux-gnu/libc.so.6)
func perfLine(t *testing.T, line string) (at uint64, name string) {
	t.Helper()
	fields := strings.Fields(line)
	if len(fields) < 4 {
		t.Fatalf("perf script says %q", line)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(fields[0], ":"), 64)
	if err != nil {
		t.Fatalf("perf script says %q: %v", line, err)
	}
	at, name = uint64(seconds*1e9), fields[2]
	switch dso := fields[len(fields)-1]; {
	case len(fields[1]) == 16 && strings.HasPrefix(fields[1], "ffff"):
		if name == "[unknown]" {
			name = unknownKernel
		}
	case strings.HasSuffix(dso, "/fio)"):
		name = "fio:" + strings.ReplaceAll(name, "[unknown]", Unknown)
	default:
		name = programs
	}
	return at, name
}

// aliases maps names of the kernel's functions to the first name of the same address, which our sampler uses, if the
// name belongs to one function.
func aliases(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	first, alias, seen := map[string]string{}, map[string]string{}, map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if strings.IndexByte("tTwW", fields[1][0]) < 0 {
			continue
		}
		if _, ok := first[fields[0]]; !ok {
			first[fields[0]] = fields[2]
		}
		seen[fields[2]]++
		alias[fields[2]] = first[fields[0]]
	}
	for name, n := range seen {
		if n > 1 || alias[name] == name {
			delete(alias, name)
		}
	}
	return alias
}

// The shares of the ten largest functions agree with those of perf record at the same time, as far as two samples can
// agree: five standard deviations, and 2% for the effect of each on the other. If the machine stops for a while, one of
// the two may sleep longer: they are compared again, and never agree if one of them is wrong.
func TestSharesAreThoseOfPerf(t *testing.T) {
	pid := busy(t, reads(t)...).pid
	o := options(t, pid)
	o.For = 4 * time.Second
	for beside := 2 * time.Second; beside < 100*time.Second; beside *= 2 {
		ours, perfs, whole := both(t, o, beside)
		if !whole {
			t.Logf("perf had not begun, or had ended")
		} else if agree(t, ours, perfs) {
			return
		}
	}
	t.Error("they differ, or perf never sampled all the time")
}

// agree reports whether the shares of the largest functions agree.
func agree(t *testing.T, ours, perfs shares) bool {
	t.Helper()
	alike := true
	n1, n2 := ours.total(), perfs.total()
	all := added(ours, perfs)
	for _, name := range all.largest(10) {
		p1, p2 := ours[name]/n1, perfs[name]/n2
		p := all[name] / (n1 + n2)
		t.Logf("%-40s %5.1f%% %5.1f%%", name, 100*p1, 100*p2)
		if within := 5*math.Sqrt(p*(1-p)*(1/n1+1/n2)) + 0.02; math.Abs(p1-p2) > within {
			t.Logf("%s is %.1f%% of ours and %.1f%% of perf's, which differ by more than %.1f%%",
				name, 100*p1, 100*p2,
				100*within)
			alike = false
		}
	}
	return alike
}
