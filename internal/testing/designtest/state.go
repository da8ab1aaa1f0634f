package designtest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// ends fails the test if the command ended with another code.
func (l *Lab) ends(o outcome, code int) outcome {
	l.Helper()
	if o.code != code {
		l.Fatalf("headroom %s: exit code %d, want %d\n%s%s", strings.Join(o.args, " "), o.code, code, o.stdout,
			o.stderr)
	}
	return o
}

// bootID is a file that differs after each boot.
const bootID = "/proc/sys/kernel/random/boot_id"

// contents returns the contents of all machines, by the machine's name and the path, without files that each boot
// changes.
func (l *Lab) contents() map[string]string {
	all := map[string]string{}
	for _, m := range l.Machines {
		for path, text := range m.Contents() {
			if path == bootID {
				continue
			}
			all[m.Name+":"+path] = text
		}
	}
	return all
}

// asFound fails the test unless all machines have their original state, and nothing runs there.
func (l *Lab) asFound() {
	l.Helper()
	now := l.contents()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch was, there := l.found[path]; {
		case !there && !strings.HasSuffix(path, ":/dev/shm/headroom-0/"): // exists once there has been a job
			l.Errorf("left: %s %.80s", path, now[path])
		case there && was != now[path]:
			l.Errorf("%s is %.80q, and was %.80q", path, now[path], was)
		}
	}
	for path := range l.found {
		if _, there := now[path]; !there {
			l.Errorf("gone: %s", path)
		}
	}
	for _, m := range l.Machines {
		if left := m.Running(); len(left) > 0 {
			l.Errorf("still running on %s: %v", m.Name, left)
		}
	}
	if l.Failed() {
		l.FailNow()
	}
}

// bundles returns the runs of a store, the last first.
func (l *Lab) bundles(dir string) []*store.Bundle {
	l.Helper()
	s := store.Open(dir)
	rows, err := s.List()
	if err != nil {
		l.Fatal(err)
	}
	var all []*store.Bundle
	for _, row := range rows {
		b, err := s.Find(row.ID)
		if err != nil {
			l.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// runs returns the headers of the runs.
func (l *Lab) runs(dir string) []lab.Run {
	var all []lab.Run
	for _, b := range l.bundles(dir) {
		all = append(all, b.Run)
	}
	return all
}

// failedSuffix is the suffix of the names of failed repetitions.
const failedSuffix = ", failed"

// measured counts the repetitions of all runs in a store, by their cell and block and whether they failed.
func (l *Lab) measured(dir string) map[string]int {
	l.Helper()
	count := map[string]int{}
	for _, b := range l.bundles(dir) {
		for r, err := range b.Repetitions() {
			if err != nil {
				l.Fatal(err)
			}
			key := fmt.Sprintf("%s in block %d", r.Cell, r.Block)
			if r.Failed() {
				key += failedSuffix
			}
			count[key]++
		}
	}
	return count
}

// saved counts the segments of all runs, each of which is a repetition.
func (l *Lab) saved() int {
	segments, err := filepath.Glob(filepath.Join(l.store(), "runs", "*", "repetitions", "*.jsonl"))
	if err != nil {
		l.Fatal(err)
	}
	return len(segments)
}

// same fails the test unless as much was measured as without an interruption.
func (l *Lab) same(dir string, w whole) {
	l.Helper()
	if got := l.measured(dir); !maps.Equal(got, w.measured) {
		l.Fatalf("measured:\n%swithout an interruption:\n%s", listed(got), listed(w.measured))
	}
}

// profiled fails the test unless the requested number of loads of each cell was profiled: at most as many if an
// interrupted one was not repeated.
func (l *Lab) profiled(all bool) {
	l.Helper()
	for _, b := range l.bundles(l.store()) {
		if b.Run.Profile == nil {
			continue
		}
		count := map[string]int{}
		for p, err := range b.Profiles() {
			if err != nil || p.Failed != "" || len(p.Values) == 0 || p.Sampled == nil && p.Traced == nil {
				l.Errorf("a profiled load: %v, %+v", err, p)
			}
			count[p.Cell+" "+string(p.Part)]++
		}
		for of, n := range count {
			if n > b.Run.Profile.Loads || all && n < b.Run.Profile.Loads {
				l.Errorf("%d loads were profiled of %s, not %d", n, of, b.Run.Profile.Loads)
			}
		}
		if all && len(count) != 2*len(b.Run.Cells) {
			l.Errorf("profiled were only %v", count)
		}
	}
}

// count adds up how often cells were measured.
func count(measured map[string]int) int {
	all := 0
	for _, n := range measured {
		all += n
	}
	return all
}

func listed(count map[string]int) string {
	text := ""
	for _, k := range slices.Sorted(maps.Keys(count)) {
		text += fmt.Sprintf("  %d times %s\n", count[k], k)
	}
	return text
}
