package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// What an older binary has measured is shown, reported and compared by this one, and gone on with. The bundles are
// those of testdata/older, which are never made again: whatever changes in bundles, what was in them must be read.

// Every kind has its bundles, and there are none of anything else.
func TestOlderBundlesOfEveryKind(t *testing.T) {
	var want []string
	for _, k := range olderKinds() {
		for _, state := range []string{"finished", "interrupted", "killed"} {
			if k.has(state) {
				want = append(want, k.name+"/"+state)
			}
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(readOlder(t))); !slices.Equal(got, want) {
		t.Errorf("there are bundles\n%q\nand not\n%q", got, want)
	}
}

// ofOlder runs a test for each kind that has bundles in a state, with its machines as they were.
func ofOlder(t *testing.T, state string, test func(l *scriptedLab, k olderKind, prints []olderPrint)) {
	found := readOlder(t)
	for _, k := range olderKinds() {
		if !k.has(state) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			inScriptedLab(t, k.machines, func(l *scriptedLab) {
				l.earlier = true
				k.set(l)
				test(l, k, l.place(found[k.name+"/"+state]))
			})
		})
	}
}

// Finished bundles are listed, shown, reported in every format and compared, and their JSON is what it was.
func TestOlderBundlesAreShown(t *testing.T) {
	ofOlder(t, "finished", func(l *scriptedLab, k olderKind, prints []olderPrint) {
		l.printsAsBefore(k, prints)
		ids := l.storedRuns()
		first, last := ids[0], ids[len(ids)-1]
		listed := l.run("list").ends(0)
		for _, id := range ids {
			listed.says(id[:3])
			l.run("show", id).ends(0)
			if _, err := store.Open(l.TempDir()).Imports.Adopt(filepath.Join(l.dir, "store", "runs", id)); err != nil {
				l.Errorf("another store refuses the run: %v", err)
			}
		}
		l.run("show", last, "--cells", "--warnings").ends(0)
		l.run("show", last, "--raw").ends(0)
		l.run("compare", first, last, "--anyway").ends(0)
		for _, f := range results.ReportFormats() {
			file := filepath.Join(l.dir, "report"+f.Suffix)
			l.run(append([]string{"report", "-o", file}, ids...)...).ends(0)
			if text, err := os.ReadFile(file); err != nil || len(text) < 100 {
				l.Errorf("%s: %v, %q", file, err, text)
			}
		}
		l.run("report", last, "-o", filepath.Join(l.dir, "page.html")).ends(0)
		for _, args := range k.prints { // what the kind is about, for people
			args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--json" })
			l.run(args...).ends(0)
			l.run(append(args, "-o", filepath.Join(l.dir, "own.md"))...).ends(0)
		}
		if k.more != nil {
			k.more(l)
		}
	})
}

// Interrupted bundles are gone on with to their end, and nothing that was kept is lost or replaced.
func TestOlderBundlesAreResumed(t *testing.T) {
	ofOlder(t, "interrupted", func(l *scriptedLab, k olderKind, prints []olderPrint) {
		l.printsAsBefore(k, prints)
		l.resumesOlder(k)
	})
}

// What a killed process of an older binary left is put back, and its bundle is gone on with.
func TestOlderBundlesAreRestored(t *testing.T) {
	ofOlder(t, "killed", func(l *scriptedLab, k olderKind, _ []olderPrint) {
		m := l.machine("db1")
		m.Set(k.file, k.leaves)
		l.run("restore").ends(0).says(k.undone)
		if now := m.Get(k.file); now != k.had {
			l.Errorf("%s is %s, and was %s", k.file, now, k.had)
		}
		l.run("restore").ends(0).says("nothing was left behind")
		l.resumesOlder(k)
	})
}

// resumesOlder goes on with what a store holds.
func (l *scriptedLab) resumesOlder(k olderKind) {
	l.Helper()
	ids := l.storedRuns()
	kept := map[string]summary.Run{}
	complete := 0
	for _, id := range ids {
		l.run("show", id).ends(0)
		if kept[id] = l.saved(id); kept[id].Status == lab.Complete {
			complete++
		}
	}
	if complete == len(ids) {
		l.Error("there is nothing to go on with")
	}
	l.run(slices.Insert(slices.Clone(k.resume), len(k.resume), "--resume", ids[0])...).ends(0)
	repetitions := 0
	for _, id := range ids {
		now := l.saved(id)
		if now.Status != lab.Complete {
			l.Errorf("run %s is %s", id, now.Status)
		}
		repetitions += l.keeps(kept[id], now)
	}
	if repetitions == 0 {
		l.Error("there was nothing to keep")
	}
	for _, args := range k.prints {
		l.run(args...).ends(0)
	}
	l.noJournals(filepath.Join(l.dir, "store"))
	for name, m := range l.machines {
		if left := m.Running(); len(left) > 0 {
			l.Errorf("still running on %s: %v", name, left)
		}
	}
}

// keeps fails the test when a value of a run is not there any more, and returns how many there were.
func (l *scriptedLab) keeps(before, now summary.Run) int {
	l.Helper()
	kept := 0
	for _, c := range before.Cells {
		i := slices.IndexFunc(now.Cells, func(n summary.Cell) bool { return n.ID == c.ID })
		if i < 0 {
			l.Errorf("the cell %s is lost", c.ID)
			continue
		}
		for name, metric := range c.Metrics {
			for _, v := range metric.Values {
				kept++
				if !slices.Contains(now.Cells[i].Metrics[name].Values, v) {
					l.Errorf("%s of %s: %+v is lost", name, c.ID, v)
				}
			}
		}
	}
	return kept
}

// printsAsBefore fails the test when the JSON of a command lacks something that the older binary printed, or has it
// otherwise, but for what the kind withholds today. Fields may be added; sentences for people may be written again.
func (l *scriptedLab) printsAsBefore(k olderKind, prints []olderPrint) {
	l.Helper()
	if len(prints) == 0 {
		l.Error("nothing is known of what the older binary printed")
	}
	for _, p := range prints {
		var before, now any
		out := l.run(p.Args...).ends(p.Code)
		if err := json.Unmarshal(p.Stdout, &before); err != nil {
			l.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out.stdout), &now); err != nil {
			l.Fatalf("%v in %s", err, out.stdout)
		}
		for _, difference := range lacks("", before, now) {
			if slices.ContainsFunc(k.withheld, func(path string) bool { return strings.HasPrefix(difference, path) }) {
				continue
			}
			l.Errorf("headroom %s: %s", strings.Join(p.Args, " "), difference)
		}
	}
}

// sentences are the fields whose texts are for people.
func sentences() []string { return []string{"text", "why", "notes", "note", "reason", "derivation"} }

// lacks are the differences of a document from what it was before, but for what was added to it.
func lacks(at string, before, now any) []string {
	switch b := before.(type) {
	case map[string]any:
		n, same := now.(map[string]any)
		if !same {
			break
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(b)) {
			value, there := n[name]
			if slices.Contains(sentences(), name) && there && reflect.TypeOf(value) == reflect.TypeOf(b[name]) {
				continue
			}
			all = append(all, lacks(at+"."+name, b[name], value)...)
		}
		return all
	case []any:
		n, same := now.([]any)
		if !same || len(n) != len(b) {
			break
		}
		var all []string
		for i := range b {
			all = append(all, lacks(fmt.Sprintf("%s[%d]", at, i), b[i], n[i])...)
		}
		return all
	case float64:
		// What is computed from a bundle has other last digits where the processor fuses a product with a sum, as on
		// arm64.
		if n, same := now.(float64); same && math.Abs(n-b) <= 1e-9*math.Abs(b) {
			return nil
		}
	case nil:
		if n, list := now.([]any); list && len(n) == 0 { // an empty list was null in some documents
			return nil
		}
	}
	if reflect.DeepEqual(before, now) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %.300v, and was %.300v", at, now, before)}
}
