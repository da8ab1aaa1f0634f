//go:build system

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// experimentSuite has a load of fio's, and a command with a parameter and something to do before and after it. The load
// ends by how much it has read: a short time may be over before a busy machine has read anything.
const experimentSuite = `version: 1
name: varied
title: a load and a command
place: directory
repetitions: 1
size: 1m
parameters: {count: 3}
jobs:
  - {name: read, fio: {rw: randread, bs: 4k, ioengine: psync, io_size: 100k, rate_iops: 500}}
  - name: says
    exec: [sh, -c, 'cat prepared; echo rate $((100 * {count} + ${LEVEL:-0}))']
    prepare: [sh, -c, 'echo done > prepared']
    cleanup: [rm, prepared]
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`

// mountedDisk makes an ext4 on a loop device in memory, so that there is a disk whose queue can be changed.
func mountedDisk(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"mkfs.ext4", "losetup", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := inMemory(t)
	image, place := filepath.Join(dir, "image"), filepath.Join(dir, "mounted")
	do := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, 256<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(place, 0o755); err != nil {
		t.Fatal(err)
	}
	disk := do("losetup", "--find", "--show", image)
	t.Cleanup(func() { do("losetup", "-d", disk) })
	do("mkfs.ext4", "-q", disk)
	do("mount", disk, place)
	t.Cleanup(func() { do("umount", place) })
	return place
}

// experimentFixture is a victim with the suite of experiments, on a disk of its own.
func experimentFixture(t *testing.T) fixture {
	t.Helper()
	v := newFixture(t)
	v.place = mountedDisk(t)
	if err := os.WriteFile(v.suite, []byte(experimentSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	return v
}

// headroomsOwn are the arguments by which headroom has fio write for it, which no dry run shows.
func headroomsOwn() []string {
	return []string{"--output=fio.json", "--write_iops_log=series", "--write_bw_log=series", "--log_avg_msec=1000",
		"--per_job_logs=0",
		"--eta=always", "--eta-newline=1"}
}

// done is what was, or would be, done for one repetition, without the ID of its run.
type done struct {
	Block   int
	Cell    string
	Did     []string
	Command string
}

func withoutRunID(text string) string {
	return regexp.MustCompile(`headroom-[0-9A-Z]{10}`).ReplaceAllString(text, "headroom-RUN")
}

func doneOf(block int, cell string, did []string, command string) done {
	d := done{Block: block, Cell: cell, Command: withoutRunID(command)}
	for _, text := range did {
		d.Did = append(d.Did, withoutRunID(text))
	}
	return d
}

// What a dry run lists is what is then done: every setting, every command, in the same order.
func TestDryRunListsWhatIsDone(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"fio's parameter": {"sweep", "--factor", "job:bs=4k,8k"},
		"suite parameter": {"sweep", "--factor", "job:count=2,5"},
		"environment":     {"sweep", "--factor", "env:LEVEL=1,7"},
		"sysctl":          {"sweep", "--factor", "sysctl:net.ipv4.tcp_keepalive_time=7000,found,7100"},
		"queue":           {"sweep", "--factor", "queue:read_ahead_kb=64,256", "--repeat", "2"},
		"reference": {"sweep", "--factor", "sysctl:net.ipv4.tcp_keepalive_time=7000,7100", "--reference",
			t.TempDir()},
		"ablation": {"ablate", "--setting", "sysctl:net.ipv4.tcp_keepalive_time=7000", "--setting",
			"queue:read_ahead_kb=64", "--setting", "env:LEVEL=7",
			"--blocks", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ownNetwork(t)
			sysctl := netSetting("tcp_keepalive_time")
			before := contentOf(t, sysctl)
			v := experimentFixture(t)
			args := slices.Concat([]string{args[0], v.suite, v.place, "--seed", "5", "--blocks", "2"}, args[1:])
			out, err := v.command(append(args, "--dry-run", "--json")...).Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, err.(*exec.ExitError).Stderr)
			}
			var listed vary.Steps
			if err := json.Unmarshal(out, &listed); err != nil {
				t.Fatal(err)
			}
			var planned []done
			for _, visit := range listed.Visits {
				for _, l := range visit.Loads {
					planned = append(planned, doneOf(visit.Block, l.Cell, l.Did, l.Command))
				}
			}
			if rows, err := store.Open(v.store).List(); err != nil || len(rows) != 0 {
				t.Fatalf("a dry run has left %v, %v", rows, err)
			}

			if out, err := v.command(args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			b, err := store.Open(v.store).Find("last")
			if err != nil {
				t.Fatal(err)
			}
			var real []done
			for r, err := range b.Repetitions() {
				if err != nil {
					t.Fatal(err)
				}
				if len(r.Values) == 0 {
					t.Errorf("%s has measured nothing: %v", r.Cell, r.Warnings)
				}
				argv := slices.DeleteFunc(r.Command, func(a string) bool { return slices.Contains(headroomsOwn(), a) })
				real = append(real, doneOf(r.Block, r.Cell, r.Did, lab.ShellQuote(argv)))
			}
			if len(planned) == 0 || len(planned) != len(real) {
				t.Fatalf("%d loads were listed and %d carried out", len(planned), len(real))
			}
			for i := range planned {
				if !reflect.DeepEqual(planned[i], real[i]) {
					t.Errorf("load %d\nlisted %+v\ndone   %+v", i+1, planned[i], real[i])
				}
			}
			if after := contentOf(t, sysctl); after != before {
				t.Errorf("%s was %q and is %q", sysctl, before, after)
			}
		})
	}
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// An experiment that was interrupted has put its settings back, and goes on where it was; no other command takes it up.
func TestInterruptedAndResumedExperiments(t *testing.T) {
	t.Parallel()
	reference := t.TempDir()
	for name, settings := range map[string][]string{
		"sweep":     {"sweep", "--factor", "sysctl:net.ipv4.tcp_keepalive_time=7000,7100"},
		"reference": {"sweep", "--factor", "sysctl:net.ipv4.tcp_keepalive_time=7000,7100", "--reference", reference},
		"ablation":  {"ablate", "--setting", "sysctl:net.ipv4.tcp_keepalive_time=7000", "--setting", "env:LEVEL=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ownNetwork(t)
			sysctl := netSetting("tcp_keepalive_time")
			before := contentOf(t, sysctl)
			v := experimentFixture(t)
			verb, settings := settings[0], settings[1:]
			loads := v.holdLoadsFrom(2)
			v.interrupt(v.command(append([]string{verb, v.suite, v.place, "--blocks", "2"}, settings...)...),
				"block 1 of 2, ", syscall.SIGINT)
			loads.release()
			if after := contentOf(t, sysctl); after != before {
				t.Errorf("%s was %q and is %q", sysctl, before, after)
			}
			rows, err := store.Open(v.store).List()
			if err != nil || len(rows) != 1 || rows[0].Status != lab.Interrupted || rows[0].Repetitions == 0 {
				t.Fatalf("%+v, %v", rows, err)
			}
			id := store.Open(v.store).ShortID(rows[0].ID)
			again := "headroom " + verb + " --resume "
			if out, err := v.command("show", "last").CombinedOutput(); err != nil ||
				!strings.Contains(string(out), "continue: "+again+id) {
				t.Errorf("%v\n%s", err, out)
			}
			if out, err := v.command("run", "--resume", id).CombinedOutput(); err == nil ||
				!strings.Contains(string(out), again+id) {
				t.Errorf("%v\n%s", err, out)
			}
			if out, err := v.command(verb, "--resume", id).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			b, err := store.Open(v.store).Find("last")
			if err != nil || b.Run.Status != lab.Complete || b.Run.ID != rows[0].ID {
				t.Fatalf("%+v, %v", b.Run, err)
			}
			counts := map[string]int{}
			for r, err := range b.Repetitions() {
				if err != nil {
					t.Fatal(err)
				}
				counts[r.Cell]++
			}
			for _, c := range b.Run.Cells {
				if counts[c.ID] != 2 {
					t.Errorf("%s was measured %d times and not once in each of 2 blocks", c.ID, counts[c.ID])
				}
			}
			if after := contentOf(t, sysctl); after != before {
				t.Errorf("%s was %q and is %q", sysctl, before, after)
			}
			if left, err := os.ReadDir(reference); name == "reference" && (err != nil || len(left) != 0) {
				t.Errorf("left on the reference: %v, %v", left, err)
			}
		})
	}
}
