//go:build bench && system

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/figure"
)

// quickPairsWanted names the variable that says how many pairs are measured, where it is not the twenty that the docs
// quote.
const quickPairsWanted = "HEADROOM_QUICK_PAIRS"

// TestQuickPairsPrecisely compares runs of the suite quick with their defaults in one directory of this machine, as a
// newcomer does: each with the one before, and with one between them whose reads a control group limits to half of what
// sequential reads reach. Each run is of a minute.
func TestQuickPairsPrecisely(t *testing.T) {
	wanted := 20
	if text := os.Getenv(quickPairsWanted); text != "" {
		var err error
		if wanted, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	q := quickPairs{t: t, headroom: binary(t), dir: t.TempDir()}
	unlimited := func(argv ...string) *exec.Cmd { return exec.Command(argv[0], argv[1:]...) }
	before := q.run(unlimited)
	var incomparable, wrong, probably, reported, covered int
	for range wanted {
		limit := newThrottled(t)
		limit.bytes(q.disk(), int(q.reads(before)/2))
		limited := q.run(limit.command)
		next := q.run(unlimited)

		equal := q.compared(before, next)
		if hasVerdict(equal, compare.Incomparable) {
			incomparable++
		}
		if hasVerdict(equal, compare.Faster) || hasVerdict(equal, compare.Slower) {
			wrong++
		}
		for _, c := range equal.Cells {
			if c.Suggests != nil {
				probably++
				break
			}
		}
		for _, c := range q.compared(before, limited).Cells {
			if c.Job != "read" {
				continue
			}
			slower, interval := c.Verdict == compare.Slower, stat.Bounds{}
			if c.Change != nil {
				interval = c.Change.Bounds
			}
			if s := c.Suggests; s != nil {
				slower, interval = s.Verdict == compare.Slower, s.Bounds
			}
			if slower {
				reported++
			}
			if interval.Known() && *interval.Lo <= 0.5 && *interval.Hi >= 0.5 {
				covered++
			}
			t.Logf("limited to a half: %s, suggests %+v, %s", c.Verdict, c.Suggests, c.Why)
		}
		for _, c := range equal.Cells {
			t.Logf("equal: %s %s: %s, %s %v", c.Job, c.Params["iodepth"], c.Verdict, c.Why, c.Reasons)
		}
		before = next
	}
	share := func(name string, hits int, better, says string) {
		figure.Record(t, figure.Share(figure.Name("quick-pairs", name), hits, wanted,
			better).Saying("two runs of quick with defaults, %s", says))
	}
	share("incomparable", incomparable, figure.Lower, "one after the other: any row incomparable")
	share("wrong", wrong, figure.Lower, "one after the other: any row called faster or slower")
	share("probably", probably, figure.Lower, "one after the other: any of six rows called probably faster or slower")
	share("half-told", reported, figure.Higher,
		"the second limited to half the rate of sequential reads: these called slower or probably slower")
	share("half-covered", covered, figure.Higher,
		"the second limited to half the rate of sequential reads: the interval covers a half")
	if most := wanted / 10; incomparable > most || wrong > 0 || reported < wanted-most || covered < wanted-most {
		t.Errorf("of %d pairs: incomparable %d, wrong %d; limited: told %d, covered %d", wanted, incomparable,
			wrong, reported, covered)
	}
}

// quickPairs are runs of the suite quick in one directory.
type quickPairs struct {
	t             *testing.T
	headroom, dir string
}

// run measures once, and returns the path of the run. Each has a store of its own: nothing is known of other runs of
// the load.
func (q quickPairs) run(command func(...string) *exec.Cmd) string {
	q.t.Helper()
	store := q.t.TempDir()
	if out, err := command(q.headroom, "run", "quick", q.dir, "--store", store).CombinedOutput(); err != nil {
		q.t.Fatalf("%v: %s", err, out)
	}
	runs, err := filepath.Glob(filepath.Join(store, "runs", "*"))
	if err != nil || len(runs) != 1 {
		q.t.Fatalf("%v, %v", runs, err)
	}
	return runs[0]
}

// reads is the rate of sequential reads of a run, in bytes a second.
func (q quickPairs) reads(id string) float64 {
	q.t.Helper()
	var run struct {
		Cells []struct {
			Job     string
			Metrics map[string]struct{ Center float64 }
		}
	}
	q.json(&run, "show", id)
	for _, c := range run.Cells {
		if c.Job == "read" {
			return c.Metrics["read.bandwidth"].Center
		}
	}
	q.t.Fatal("no sequential reads in " + id)
	return 0
}

func (q quickPairs) compared(base, next string) compare.Document {
	q.t.Helper()
	var d compare.Document
	q.json(&d, "compare", base, next)
	return d
}

func (q quickPairs) json(into any, args ...string) {
	q.t.Helper()
	cmd := exec.Command(q.headroom, append(args, "--json", "--store", q.t.TempDir())...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, into)
	}
	if err != nil {
		q.t.Fatalf("%s: %v: %s", strings.Join(args, " "), err, &failed)
	}
}

// disk is the name of the whole disk that stores the directory.
func (q quickPairs) disk() string {
	q.t.Helper()
	var s syscall.Stat_t
	if err := syscall.Stat(q.dir, &s); err != nil {
		q.t.Fatal(err)
	}
	device, err := filepath.EvalSymlinks(fmt.Sprintf("/sys/dev/block/%d:%d", s.Dev>>8&0xfff,
		s.Dev&0xff|s.Dev>>12&0xfff00))
	if err != nil {
		q.t.Skip("no disk stores the directory: " + err.Error())
	}
	if _, err := os.Stat(filepath.Join(device, "partition")); err == nil {
		device = filepath.Dir(device)
	}
	return filepath.Base(device)
}

func hasVerdict(d compare.Document, v compare.Verdict) bool {
	for _, c := range d.Cells {
		if c.Verdict == v {
			return true
		}
	}
	return false
}
