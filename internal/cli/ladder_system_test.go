//go:build system

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

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/figure"
)

// ladderSuite is a load that the kernel holds to rates which take no time of any processor.
const ladderSuite = `version: 1
name: rungs
title: Two loads that only read
source: a test
repetitions: 3
defaults: {ioengine: libaio, direct: 1, runtime: 500ms, time_based: 1, randrepeat: 0}
jobs:
  - name: read
    fio: {rw: read, bs: 256k, iodepth: 4}
`

// ladderFixture is loop devices in memory, whose reads the kernel throttles.
type ladderFixture struct {
	comparisonFixture
	throttled throttled
	suite     string
}

func newLadderFixture(t *testing.T) ladderFixture {
	t.Helper()
	r := ladderFixture{comparisonFixture: newComparisonFixture(t), throttled: newThrottled(t)}
	r.suite = filepath.Join(t.TempDir(), "rungs.yaml")
	if err := os.WriteFile(r.suite, []byte(ladderSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

// drive is a loop device of a file in memory, which is a disk to the kernel.
func (r ladderFixture) drive() string {
	r.t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "headroom-test-")
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	image := filepath.Join(dir, "image")
	if err := os.WriteFile(image, make([]byte, 64<<20), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return r.loop(image)
}

func (r ladderFixture) loop(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("losetup", append([]string{"--find", "--show"}, args...)...).CombinedOutput()
	if err != nil {
		r.t.Skipf("no loop device to be had: %s", out)
	}
	device := strings.TrimSpace(string(out))
	r.t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			r.t.Errorf("%v\n%s", err, out)
		}
	})
	return device
}

// ladder runs ladder with --json in the control group.
func (r ladderFixture) ladder(args ...string) ladder.Document {
	r.t.Helper()
	cmd := r.throttled.command(append([]string{"headroom", "ladder", "--json", "--store", r.store}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v\n%s", err, stderr.String())
	}
	var d ladder.Document
	if err := json.Unmarshal(out, &d); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	for i, rung := range d.Rungs {
		for _, c := range rung.Cells {
			if c.Center != nil && c.Reached != nil && c.Reached.Lo != nil {
				figure.Record(r.t, figure.Figure{Name: figure.Name("ladder", r.t.Name(), i+1), Unit: "share",
					Center: c.Reached.Value, Lo: *c.Reached.Lo, Hi: *c.Reached.Hi,
					Confidence: 0.95, N: c.N, Text: fmt.Sprintf("%s: %.1f MB/s, of %s: %s", rung.Name, *c.Center/1e6,
						c.Expected.From, c.Verdict)})
			}
		}
	}
	r.t.Log(d.Answer.Text)
	return d
}

const megabytes = 1 << 20

// measured holds what is true of a ladder on any machine: each rung was measured so often, none does more than the
// kernel lets it, each verdict is what its interval says, and the answer is the first rung that falls short. Which one
// that is, tests with the tag bench ask, and tests of machines that follow a script.
func (r ladderFixture) measured(d ladder.Document, passes int, most map[string]int) {
	r.t.Helper()
	first := -1
	for i, rung := range d.Rungs {
		c := rung.Cells[0]
		if c.N != passes || c.Center == nil || *c.Center <= 0 {
			r.t.Errorf("%s was measured %d times: %+v", rung.Name, c.N, c)
			continue
		}
		if limit, ok := most[rung.Name]; ok && *c.Center > 1.5*float64(limit) { // what is in a bucket comes on top
			r.t.Errorf("%s does %.0f B/s, and may do %d", rung.Name, *c.Center, limit)
		}
		if c.Reached == nil || c.Reached.Hi == nil {
			continue
		}
		if short := c.Verdict == ladder.Short || c.Verdict == ladder.AtCeiling; short != (*c.Reached.Hi < 1-d.Margin) {
			r.t.Errorf("%s is %q, of %+v", rung.Name, c.Verdict, c.Reached)
		} else if short && first < 0 {
			first = i
		}
	}
	if answered := d.Answer.Rung; answered == nil && first >= 0 || answered != nil && *answered != first {
		r.t.Errorf("the first rung that falls short is %d, and the answer %+v", first, d.Answer)
	}
}

// slowDrive is a ladder of three drives that the kernel lets read 16 MiB a second, of which the last gets a quarter of
// that.
func slowDrive(t *testing.T) (r ladderFixture, d ladder.Document, drives []string) {
	t.Helper()
	r = newLadderFixture(t)
	for i := range 3 {
		drives = append(drives, r.drive())
		r.throttled.bytes(drives[i], 16*megabytes)
	}
	r.throttled.bytes(drives[2], 4*megabytes)
	return r, r.ladder("--suite", r.suite, "--passes", "3", "--margin", "50%", strings.Join(drives, ",")), drives
}

func TestLadderOfDrives(t *testing.T) {
	t.Parallel()
	r, d, drives := slowDrive(t)
	r.measured(d, 3, map[string]int{drives[0]: 16 * megabytes, drives[1]: 16 * megabytes, drives[2]: 4 * megabytes})
	var kinds []ladder.Kind
	for _, rung := range d.Rungs {
		kinds = append(kinds, rung.Kind)
	}
	if want := []ladder.Kind{ladder.Memory, ladder.Null, ladder.Null, ladder.Drive, ladder.Drive, ladder.Drive,
		ladder.DriveGroup, ladder.DriveGroup}; !slices.Equal(kinds, want) {
		t.Errorf("climbed %v, want %v", kinds, want)
	}
}

// sharedDrive is a ladder of six parts of one device, which get 16 MiB a second each, and the device that they share
// 17: each alone is as fast as it should be, and together they are not.
func sharedDrive(t *testing.T) (r ladderFixture, d ladder.Document, shared string, parts []string) {
	t.Helper()
	r = newLadderFixture(t)
	shared = r.drive()
	for i := range 6 {
		part := r.loop("--direct-io=on", "--offset", fmt.Sprint(i*10*megabytes), "--sizelimit",
			fmt.Sprint(10*megabytes), shared)
		r.throttled.bytes(part, 16*megabytes)
		parts = append(parts, part)
	}
	r.throttled.bytes(shared, 17*megabytes)
	return r, r.ladder(append([]string{"--suite", r.suite, "--passes", "3", "--margin", "40%", "--set", "runtime=1s"},
		append(slices.Clone(parts), strings.Join(parts, ","))...)...), shared, parts
}

func TestLadderOfPartsOfADrive(t *testing.T) {
	t.Parallel()
	r, d, _, parts := sharedDrive(t)
	most := map[string]int{}
	for _, part := range parts {
		most[part] = 16 * megabytes
	}
	r.measured(d, 3, most)
	if i := slices.IndexFunc(d.Rungs, func(rung ladder.Rung) bool {
		return rung.Kind == ladder.DriveGroup && len(rung.Places) == 6
	}); i < 0 || d.Rungs[i].Cells[0].Expected == nil {
		t.Errorf("no rung of all six that is promised anything: %+v", d.Rungs)
	}
}

// volume is a ladder of a device over another, of which the upper has a limit.
func volume(t *testing.T, limit int) (r ladderFixture, d ladder.Document, drive, upper string) {
	t.Helper()
	r = newLadderFixture(t)
	drive = r.drive()
	upper = r.loop("--direct-io=on", drive)
	r.throttled.bytes(drive, 16*megabytes)
	r.throttled.bytes(upper, limit*megabytes)
	before := contents(t, drive)
	d = r.ladder("--suite", r.suite, "--passes", "3", "--margin", "50%", drive, upper)
	if after := contents(t, drive); before != after {
		t.Error("the device was written to")
	}
	return r, d, drive, upper
}

// A device over another is measured, neither is written to, and what was found can be shown again.
func TestLadderOfAVolume(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"slowed": 4, "not slowed": 16} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, d, drive, upper := volume(t, limit)
			r.measured(d, 3, map[string]int{drive: 16 * megabytes, upper: limit * megabytes})
			i := slices.IndexFunc(d.Rungs, func(rung ladder.Rung) bool { return rung.Name == upper })
			if i < 0 || d.Rungs[i].Kind != ladder.Volume || d.Rungs[i].Cells[0].Expected == nil ||
				d.Rungs[i].Cells[0].Expected.From != drive {
				t.Errorf("%s is not held against %s: %+v", upper, drive, d.Rungs)
			}
			again := r.ladder("--resume", d.Rungs[0].Run)
			a, _ := json.Marshal([]any{d.Rungs, d.Answer})
			b, _ := json.Marshal([]any{again.Rungs, again.Answer})
			if string(a) != string(b) {
				t.Errorf("shown again it says something else:\n%s\n%s", a, b)
			}
		})
	}
}

// What --dry-run=full prints is what is then carried out: the same commands, but for the names of scratch files, in the
// same order.
func TestLadderDoesWhatItSaid(t *testing.T) {
	t.Parallel()
	r := newLadderFixture(t)
	drives := r.drive() + "," + r.drive()
	args := []string{"--suite", r.suite, "--passes", "2", "--seed", "7", "--set", "runtime=200ms", drives}
	out, err := exec.Command("headroom", append([]string{"ladder", "--dry-run=full", "--store", r.store},
		args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := store.Open(r.store).List(); err != nil || len(rows) != 0 {
		t.Fatalf("a dry run left %+v, %v", rows, err)
	}
	planned, plannedOrder := map[string]bool{}, []string{}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "fio --name="); ok && !strings.HasPrefix(command, "layout") {
			planned[asSaid("fio --name="+command)] = true
		}
		if order, ok := strings.CutPrefix(line, "pass "); ok {
			_, numbers, _ := strings.Cut(order, ": ")
			plannedOrder = append(plannedOrder, strings.Fields(numbers)...)
		}
	}
	d := r.ladder(args...)
	done := map[string]bool{}
	began := map[string]lab.Repetition{}
	var starts []string
	for i, rung := range d.Rungs {
		b, err := store.Open(r.store).Find(rung.Run)
		if err != nil {
			t.Fatal(err)
		}
		for rep, err := range b.Repetitions() {
			if err != nil {
				t.Fatal(err)
			}
			done[asSaid(lab.ShellQuote(rep.Command))] = true
			key := rep.Start.Format("20060102150405.000000000")
			began[key], starts = rep, append(starts, key+" "+fmt.Sprint(i+1))
		}
	}
	slices.Sort(starts)
	var order []string
	for _, s := range starts {
		_, rung, _ := strings.Cut(s, " ")
		order = append(order, rung)
	}
	if len(order) == 0 || !slices.Equal(order, plannedOrder) {
		t.Errorf("carried out in the order %v, said %v", order, plannedOrder)
	}
	for command := range done {
		if !planned[command] {
			t.Errorf("not said: %s\nsaid: %v", command, planned)
		}
	}
	for command := range planned {
		if !done[command] {
			t.Errorf("not done: %s", command)
		}
	}
}

// asSaid is a command without what is drawn again for each run, or says where fio's output goes.
func asSaid(command string) string {
	var kept []string
	for _, word := range strings.Fields(command) {
		switch {
		case strings.HasSuffix(word, ".scratch"):
			word = "scratch"
		case strings.HasPrefix(word, "--write_"), strings.HasPrefix(word, "--log_avg"),
			strings.HasPrefix(word, "--per_job_logs"),
			strings.HasPrefix(word, "--output="), strings.HasPrefix(word, "--eta"):
			continue
		}
		kept = append(kept, word)
	}
	return strings.Join(kept, " ")
}

func TestLadderInterruptedAndResumed(t *testing.T) {
	t.Parallel()
	r := newLadderFixture(t)
	code, stderr := r.interrupt(syscall.SIGINT, "ladder", "--suite", r.suite, "--passes", "3", "--set", "runtime=300ms",
		r.drive()+","+r.drive())
	if code != 130 || !strings.Contains(stderr, "headroom ladder --resume") {
		t.Errorf("exit code %d, want 130\n%s", code, stderr)
	}
	d := r.ladder("--resume", "last")
	if len(d.Rungs) != 6 {
		t.Fatalf("%d rungs", len(d.Rungs))
	}
	for _, rung := range d.Rungs {
		if c := rung.Cells[0]; c.N != 3 {
			t.Errorf("%s was measured %d times", rung.Name, c.N)
		}
	}
}

// A ladder stands on a machine that is reached over ssh, which is this one: two drives together, and it goes on there.
func TestLadderStandsOnAnotherMachine(t *testing.T) {
	t.Parallel()
	v, server := newRemoteFixture(t)
	r := ladderFixture{comparisonFixture: comparisonFixture{fixture: v, programs: server.Programs},
		suite: filepath.Join(t.TempDir(), "rungs.yaml")}
	if err := os.WriteFile(r.suite, []byte(ladderSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() != 0 {
		t.Skip("loop devices are made by root")
	}
	first, second := r.drive(), r.drive()
	const on = "ssh://under-test"
	code, stderr := r.interrupt(syscall.SIGINT, "ladder", first+","+second, "--on", on, "--suite", r.suite, "--passes",
		"2", "--set", "runtime=300ms", "--size", "8m")
	if code != 130 || !strings.Contains(stderr, "headroom ladder --resume") {
		t.Errorf("exit code %d, want 130\n%s", code, stderr)
	}
	out, err := r.command("ladder", "--resume", "last", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d ladder.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Rungs) != 6 || d.Rungs[5].Kind != ladder.DriveGroup ||
		!slices.Equal(d.Rungs[5].Places, []string{first, second}) {
		t.Fatalf("%+v", d.Rungs)
	}
	for _, rung := range d.Rungs {
		if rung.Target != on || rung.Cells[0].N != 2 {
			t.Errorf("%s on %s was measured %d times", rung.Name, rung.Target, rung.Cells[0].N)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--on", on}, "climb to what on " + on},
		{[]string{"srv", "--on", on}, "srv is on " + on},
		{[]string{"/srv", "--on", on, "--guest", "qemu:x"}, "guests are started on this machine"},
		{[]string{"/srv", "--on", "qemu:x"}, "with --guest qemu:x"},
		{[]string{"--resume", "last", "--on", on}, "--on can't be changed"},
	} {
		if out, err := r.command(append([]string{"ladder"}, c.args...)...).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), c.want) {
			t.Errorf("%v: %v, nothing of %q in\n%s", c.args, err, c.want, out)
		}
	}
}

// What can't be done is refused before anything is started or written.
func TestLadderRefusesGuests(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"none.yaml":  "version: 1\nkernel: 6.1.0-1-amd64\n",
		"image.yaml": "version: 1\nimage: " + v.suite + "\nssh: {user: root}\ndisks:\n  - {name: a, size: 32m}\n",
		"large.yaml": "version: 1\nkernel: 6.1.0-1-amd64\ndisks:\n  - {name: a, size: 1000000g}\n",
		"odd.yaml":   "version: 1\nkernel: 6.1.0-1-amd64\ndisks:\n  - {name: a, kind: floppy, size: 32m}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for guest, want := range map[string]string{
		"ssh://db1":                   "is no guest that could be started",
		"qemu:" + dir + "/absent":     "can't read the guest's description",
		"qemu:" + dir + "/none.yaml":  "has no disks",
		"qemu:" + dir + "/image.yaml": "starts from an image",
		"qemu:" + dir + "/large.yaml": "are free",
		"qemu:" + dir + "/odd.yaml":   "floppy",
	} {
		out, err := v.command("ladder", "null", v.place, "--guest", guest).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "starting the guest") {
			t.Errorf("%s: %v, nothing of %q in\n%s", guest, err, want, out)
		}
	}
	if out, err := v.command("ladder", "--resume", "last", "--guest", "qemu:x").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "--guest can't be changed") {
		t.Errorf("%v\n%s", err, out)
	}
	if rows, err := store.Open(v.store).List(); err != nil || len(rows) != 0 {
		t.Errorf("left %+v, %v", rows, err)
	}
	if files, err := os.ReadDir(v.place); err != nil || len(files) != 0 {
		t.Errorf("left %v, %v", files, err)
	}
}
