//go:build system && guests

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// What is varied at a boot is proved by what the guest says of itself, each visit is a boot of its own, the disk that
// was made for the guest is filled once and keeps that over boots, with two repetitions a visit the report says what a
// boot takes, and a load in a guest costs CPU time of this machine, too.
func TestAnAblationBootsItsGuestForEachVisit(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	out, err := v.command("ablate", readSuite(t, v), "/dev/nvme0n1", "--on", "qemu:"+guestFile(t), "--setting",
		"cmdline:nvme.io_queue_depth=2", "--alone", "--blocks", "1",
		"--repeat", "2", "--seed", "1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Boots differ by ") {
		t.Fatalf("%v\n%s", err, out)
	}
	boots, fills := map[string]bool{}, 0
	var did []string
	for r, err := range v.onlyRun().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Values[lab.IOPS(lab.Read)] <= 0 || hostSeconds(r) <= 0 {
			t.Errorf("%s: %v, %v\n%s", r.Cell, r.Values, r.Warnings, out)
		}
		boots[r.Boot] = true
		for _, step := range r.Did {
			if strings.HasPrefix(step, "boot") {
				did = append(did, step)
			}
			if strings.HasPrefix(step, "fio --name=fill") {
				fills++
			}
		}
	}
	slices.Sort(did)
	if want := []string{"boot", "boot", "boot with arguments nvme.io_queue_depth=2"}; !slices.Equal(did, want) ||
		len(boots) != 3 || fills != 1 {
		t.Errorf("did %q in %d boots with %d fills\n%s", did, len(boots), fills, out)
	}
	var codes []string
	for _, w := range v.onlyRun().Run.Warnings {
		codes = append(codes, w.Code)
	}
	if !slices.Contains(codes, "emulated-guest") || slices.Contains(codes, "settings-changed") ||
		slices.Contains(codes, "effect-not-verified") {
		t.Errorf("warnings %v", codes)
	}
	shown, err := v.command("ablate", "--show", "last", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d ablation.Document
	if err := json.Unmarshal(shown, &d); err != nil {
		t.Fatal(err)
	}
	p := d.PerVisit
	if p == nil || !p.Boots || p.Visits != 3 || p.Repetitions != 2 || len(p.Metrics) != 1 ||
		p.Metrics[0].Metric != "read.iops" || p.VisitSeconds == nil || *p.VisitSeconds <= 0 ||
		*p.RepetitionSeconds <= 0 {
		t.Errorf("%s", shown)
	}
	if changes, err := filepath.Glob(filepath.Join(v.store, "changes", "*")); err != nil || len(changes) != 0 {
		t.Errorf("left: %v, %v", changes, err)
	}
	if left := guestsOf(t, filepath.Dir(v.suite)); len(left) != 0 {
		t.Errorf("still running: %q", left)
	}
}

// A guest is started with an argument whose effect its kernel shows, with one of which nothing is shown, and with one
// that its description has: what is not verified is so in the store, in the JSON and on the page.
func TestWhatAGuestsKernelDoesNotShowIsNotVerified(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	suite, guest := readSuite(t, v), guestFile(t)
	described, err := os.ReadFile(guest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(guest, append(described, "arguments: [audit=0, norandmaps]\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := v.command("ablate", suite, "/dev/nvme0n1", "--on", "qemu:"+guest, "--setting",
		"cmdline:nvme.io_queue_depth=2", "--setting", "cmdline:threadirqs",
		"--alone", "--blocks", "1", "--seed", "1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	unseen := "no place is known where a kernel shows it"
	run := v.onlyRun().Run
	if want := []lab.Unverified{{Factor: "cmdline:threadirqs", Reason: unseen}}; !slices.Equal(run.NotVerified, want) {
		t.Errorf("of the settings: %+v\n%s", run.NotVerified, out)
	}
	if want := []lab.Unverified{{Factor: "cmdline:norandmaps", Reason: unseen}}; !slices.Equal(
		run.Targets[0].NotVerified, want) {
		t.Errorf("of the guest's own arguments: %+v", run.Targets[0].NotVerified)
	}
	i := slices.IndexFunc(run.Warnings, func(w lab.Warning) bool { return w.Code == "effect-not-verified" })
	if i < 0 || !strings.Contains(run.Warnings[i].Text, "cmdline:norandmaps ("+unseen+"); cmdline:threadirqs (") ||
		strings.Contains(run.Warnings[i].Text, "nvme") {
		t.Errorf("warnings: %+v", run.Warnings)
	}

	shown, err := v.command("ablate", "--show", "last", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d ablation.Document
	if err := json.Unmarshal(shown, &d); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.Settings {
		if want := map[bool]string{true: unseen}[s.Factor == "cmdline:threadirqs"]; s.NotVerified != want ||
			s.Verdict == ablation.Same {
			t.Errorf("%s: %s (%q)", s, s.Verdict, s.NotVerified)
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if out, err := v.command("report", "last", "-o", page).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "undecided, not verified") ||
		!strings.Contains(string(text), "effect-not-verified") {
		t.Errorf("the page says nothing of it: %v", err)
	}
}

// An argument that does nothing ends the run before anything is measured.
func TestAnArgumentWithoutEffectIsRefused(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	suite, guest := readSuite(t, v), guestFile(t)
	described, err := os.ReadFile(guest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(guest, append(described, "arguments: [nvme.io_queue_dept=2]\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := v.command("run", suite, "/dev/nvme0n1", "--on", "qemu:"+guest).CombinedOutput()
	says := "was started with nvme.io_queue_dept=2, which has no effect: the kernel's log says \"nvme: unknown " +
		"parameter 'io_queue_dept' ignored\""
	if err == nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), says) {
		t.Errorf("%v\n%s", err, out)
	}
	if b, err := store.Open(v.store).Find("last"); err == nil {
		t.Errorf("there is a run: %+v", b.Run)
	}
}
