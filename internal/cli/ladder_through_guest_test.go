//go:build system && guests

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/figure"
)

// guestLadderFixture is a directory with a guest over it: a disk with nothing behind it, one on an image that is made
// there, and one on a file of the user's.
type guestLadderFixture struct {
	comparisonFixture
	suite, file, kept string
}

func newGuestLadderFixture(t *testing.T) guestLadderFixture {
	t.Helper()
	g := guestLadderFixture{file: guestFile(t), comparisonFixture: newComparisonFixture(t)}
	g.suite, g.kept = filepath.Join(t.TempDir(), "one.yaml"), filepath.Join(g.place, "kept")
	text, err := os.ReadFile(g.file)
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ := strings.Cut(string(text), "disks:")
	fio, err := exec.LookPath("fio") // which comes first on the path is one that holds loads
	if err != nil {
		t.Skip("fio is not installed")
	}
	for path, content := range map[string]string{
		g.suite: "version: 1\nname: one\ntitle: Random reads\nsource: a test\njobs:\n" +
			"  - {name: randread, fio: {rw: randread, bs: 4k, iodepth: 4, ioengine: libaio, direct: 1, runtime: 1s, " +
			"time_based: 1, randrepeat: 0}}\n",
		g.kept: strings.Repeat("kept data of the user's\n", 1<<20),
		g.file: base + "programs: [" + fio + "]\ndisks:\n  - {name: data, kind: virtio-blk, size: 32m}\n" +
			"  - {name: users, kind: nvme, file: " + g.kept + "}\n" +
			"  - {name: none, kind: virtio-blk, size: 32m, backing: \"null\"}\n",
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// ladder takes up or begins a ladder.
func (g guestLadderFixture) ladder(args ...string) (d ladder.Document, stderr string) {
	g.t.Helper()
	cmd := g.command(append([]string{"ladder", "--json"}, args...)...)
	var printed strings.Builder
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("%v\n%s", err, printed.String())
	}
	if err := json.Unmarshal(out, &d); err != nil {
		g.t.Fatalf("%v\n%s", err, out)
	}
	return d, printed.String()
}

func (g guestLadderFixture) checkNothingLeft(when string) {
	g.t.Helper()
	// Other guests may run on the machine; this one has a disk of its own.
	if left := guestsOf(g.t, g.kept); len(left) != 0 {
		g.t.Errorf("%s: the guest still runs: %q", when, left)
	}
	if left, err := filepath.Glob(filepath.Join(g.place, "*.scratch")); err != nil || len(left) != 0 {
		g.t.Errorf("%s: left: %v, %v", when, left, err)
	}
}

// A ladder through a guest is stopped, goes on with the guest started again, and says of the guest's disks what its own
// intervals say.
func TestLadderClimbsThroughAGuest(t *testing.T) {
	t.Parallel()
	g := newGuestLadderFixture(t)
	before := contents(t, g.kept)
	code, stderr := g.interruptAt(3, syscall.SIGINT, "ladder", "null", g.place, "--guest", "qemu:"+g.file, "--suite",
		g.suite,
		"--passes", "4", "--size", "8m", "--margin", "30%")
	if code != 130 || !strings.Contains(stderr, "headroom ladder --resume") {
		t.Errorf("exit code %d, want 130\n%s", code, stderr)
	}
	g.checkNothingLeft("stopped")
	d, printed := g.ladder("--resume", "last")
	g.checkNothingLeft("at the end")
	if strings.Count(printed, "starting the guest") != 1 {
		t.Errorf("the guest was not started once:\n%s", printed)
	}
	var kinds, backings []string
	for i, r := range d.Rungs {
		kinds, backings = append(kinds, string(r.Kind)), append(backings, r.Backing)
		if c := r.Cells[0]; c.Center == nil || c.N != 4 {
			t.Errorf("%s: %+v", r.Name, c)
		}
		if of := "qemu:" + g.file; (r.Kind == ladder.Guest) != (r.Target == of) {
			t.Errorf("%s was measured on %q", r.Name, r.Target)
		}
		if r.Kind == ladder.Guest && (r.Cells[0].Expected == nil || r.Cells[0].Expected.From != g.place) {
			t.Errorf("rung %d: %s is held against %+v", i+1, r.Name, r.Cells[0].Expected)
		}
	}
	if want := []string{"null", "filesystem", "guest", "guest", "guest"}; !slices.Equal(kinds, want) {
		t.Fatalf("climbed %v, want %v", kinds, want)
	}
	if want := []string{"", "", "null", "image", "file"}; !slices.Equal(backings, want) {
		t.Fatalf("backings %v, want %v", backings, want)
	}
	g.agrees(d)
	if contents(t, g.kept) != before {
		t.Error("the file of the user's was written to")
	}
	g.filled(d.Rungs)
	if !slices.ContainsFunc(d.Warnings, func(w ladder.RungWarning) bool {
		return w.Code == "emulated-guest" && d.Rungs[w.Rung].Kind == ladder.Guest
	}) {
		t.Errorf("nothing says that the guest is emulated: %+v", d.Warnings)
	}
	again, printed := g.ladder("--resume", d.Rungs[0].Run)
	a, _ := json.Marshal([]any{d.Rungs, d.Answer, d.Guests})
	b, _ := json.Marshal([]any{again.Rungs, again.Answer, again.Guests})
	if string(a) != string(b) || printed != "" {
		t.Errorf("shown again it says something else, or starts the guest: %s\n%s\n%s", printed, a, b)
	}
}

// agrees holds that the verdicts and causes are those of the intervals that are printed.
func (g guestLadderFixture) agrees(d ladder.Document) {
	g.t.Helper()
	none, data, users := d.Rungs[2].Cells[0], d.Rungs[3].Cells[0], d.Rungs[4].Cells[0]
	least := 1 - d.Margin
	for _, r := range d.Rungs[2:] {
		c := r.Cells[0]
		if c.Reached == nil || c.Reached.Lo == nil || c.Reached.Hi == nil {
			g.t.Fatalf("nothing is said of how much %s reaches: %+v", r.Name, c)
		}
		figure.Record(g.t, figure.Figure{Name: figure.Name("ladder/guest", r.Backing), Unit: "share",
			Center: c.Reached.Value, Lo: *c.Reached.Lo, Hi: *c.Reached.Hi, Confidence: 0.95, N: c.N,
			Text: fmt.Sprintf("%.0f reads a second in an emulated guest, of those of the host's file system: %s %s",
				*c.Center, c.Verdict, c.Cause)})
		if short := *c.Reached.Hi < least; short != (c.Verdict == ladder.Short) || short != (c.Cause != "") {
			g.t.Errorf("%s: %s of %q", r.Name, c.Verdict, c.Cause)
		}
	}
	g.t.Log(d.Answer.Text)
	want, says := ladder.Unclear, "is undecided"
	switch {
	case *none.Reached.Hi < least && *data.Reached.Hi < *none.Reached.Lo*least:
		want, says = ladder.Both, "takes more"
	case *none.Reached.Hi < least:
		want, says = ladder.Emulation, "it is virtio-blk itself"
	case *none.Reached.Lo >= least:
		want, says = ladder.Storage, "it is the storage behind it"
	}
	for _, reported := range d.Guests {
		g.t.Log(reported.Text)
		if reported.Rung == 3 && reported.Verdict == ladder.Short && !strings.Contains(reported.Text, says) {
			g.t.Errorf("nothing of %q in %q", says, reported.Text)
		}
	}
	if data.Verdict == ladder.Short && data.Cause != want {
		g.t.Errorf("the cause is %q, want %q", data.Cause, want)
	}
	// No disk in the guest is NVMe with nothing behind it.
	if users.Verdict == ladder.Short && users.Cause != ladder.Unclear {
		g.t.Errorf("the cause of an NVMe disk is %q", users.Cause)
	}
	if data.Ceiling == nil || data.Ceiling.Limiter != d.Rungs[2].Name || users.Ceiling != nil {
		g.t.Errorf("ceilings %+v and %+v", data.Ceiling, users.Ceiling)
	}
}

// filled holds that the image that was made for the guest was written before it was read, once for each guest that was
// started, and nothing else.
func (g guestLadderFixture) filled(rungs []ladder.Rung) {
	g.t.Helper()
	for _, r := range rungs[2:] {
		b, err := store.Open(g.store).Find(r.Run)
		if err != nil {
			g.t.Fatal(err)
		}
		fills := 0
		for rep, err := range b.Repetitions() {
			if err != nil {
				g.t.Fatal(err)
			}
			for _, step := range rep.Did {
				if strings.HasPrefix(step, "fio --name=fill") {
					fills++
				}
			}
			if r.Backing == "image" && rep.Layout.Kind != "fill" {
				g.t.Errorf("%s was read as %+v", r.Name, rep.Layout)
			}
		}
		if wrong := fills > 0; wrong != (r.Backing == "image") || fills > 2 {
			g.t.Errorf("%s was filled %d times", r.Name, fills)
		}
	}
}
