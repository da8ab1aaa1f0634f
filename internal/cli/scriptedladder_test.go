package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// rungsSuite is one load that only reads, for ten seconds.
const rungsSuite = `version: 1
name: rungs
title: one load that only reads
repetitions: 3
defaults: {ioengine: libaio, direct: 1, bs: 256k, runtime: 10s, time_based: 1, randrepeat: 0}
jobs:
  - {name: read, fio: {rw: read, iodepth: 4}}
`

// documentIn is what a command printed with --json.
func documentIn[D any](o scriptedOutcome) (d D) {
	o.Helper()
	if err := json.Unmarshal([]byte(o.stdout), &d); err != nil {
		o.Fatalf("%v in\n%s%s", err, o.stdout, o.stderr)
	}
	return d
}

// reads has fio read at so many operations a second from each place, from several places at once no more than all of
// them have together; elsewhere, as in memory, it is 100,000.
func reads(m *scripted.Machine, each map[string]float64, together float64) {
	m.Noise = 0.01
	m.Fio = func(load *scripted.Load) scripted.IO {
		sum := 0.0
		for _, j := range load.Jobs {
			rate := 100_000.0
			for place, r := range each {
				if j["filename"] == place || strings.HasPrefix(j["filename"], place+"/") {
					rate = r
				}
			}
			sum += rate
		}
		if len(load.Jobs) > 1 {
			sum = min(sum, together)
		}
		if strings.Contains(load.Params["rw"], "write") {
			return scripted.IO{Write: sum}
		}
		return scripted.IO{Read: sum}
	}
}

// addVolume makes a striped volume of drives, with a file system on it.
func addVolume(m *scripted.Machine, point string, drives ...int) {
	text := `
-- files --
/sys/devices/virtual/block/md0/dev = 9:0
/sys/devices/virtual/block/md0/size = 3906750464
/sys/devices/virtual/block/md0/md/level = raid0
/sys/devices/virtual/block/md0/md/raid_disks = 2
/sys/devices/virtual/block/md0/md/chunk_size = 524288
/sys/devices/virtual/block/md0/queue/logical_block_size = 512
/sys/devices/virtual/block/md0/queue/rotational = 0
/sys/devices/virtual/block/md0/queue/scheduler = none
-- folders --
` + point + `
-- devices --
/dev/md0 9:0
-- links --
/sys/block/md0 -> ../devices/virtual/block/md0
/sys/class/block/md0 -> ../../devices/virtual/block/md0
/sys/dev/block/9:0 -> ../../devices/virtual/block/md0
`
	for _, n := range drives {
		text += fmt.Sprintf("/sys/devices/virtual/block/md0/slaves/nvme%[1]dn1 -> /sys/class/block/nvme%[1]dn1\n", n)
		text += fmt.Sprintf("/sys/class/block/nvme%[1]dn1/holders/md0 -> /sys/devices/virtual/block/md0\n", n)
	}
	m.Adds(text)
	m.Set("/proc/self/mountinfo", m.Get("/proc/self/mountinfo")+"\n28 22 9:0 / "+point+" rw,relatime shared:3 - xfs "+
		"/dev/md0 rw")
}

// climbed are the rungs of a ladder by their names.
func rungsByName(d ladder.Document) map[string]ladder.Rung {
	all := map[string]ladder.Rung{}
	for _, r := range d.Rungs {
		all[r.Name] = r
	}
	return all
}

// answered is the name of the rung that the answer names; empty where it names none.
func answered(d ladder.Document) string {
	if d.Answer.Rung == nil {
		return ""
	}
	return d.Rungs[*d.Answer.Rung].Name
}

// reached is how much of what it is promised a rung reaches, in percent; -1 where nothing is.
func reached(r ladder.Rung) int {
	if len(r.Cells) == 0 || r.Cells[0].Reached == nil {
		return -1
	}
	return int(100*r.Cells[0].Reached.Value + 0.5)
}

const scriptedDrives = "/dev/nvme0n1,/dev/nvme1n1,/dev/nvme2n1"

func (l *scriptedLab) ladder(args ...string) scriptedOutcome {
	l.Helper()
	return l.run(append([]string{"ladder", "--suite", l.file("rungs.yaml", rungsSuite), "--on", "scripted://db1",
		"--seed", "3"}, args...)...)
}

// Of three drives one is half as fast: it is named, and not what suffers from it.
func TestScriptedLadderNamesASlowDrive(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AddDrive(2)
		reads(m, map[string]float64{"/dev/nvme0n1": 1000, "/dev/nvme1n1": 1000, "/dev/nvme2n1": 500}, 9000)
		d := documentIn[ladder.Document](l.ladder(scriptedDrives, "--passes", "4", "--json").ends(0))
		var kinds []ladder.Kind
		for _, r := range d.Rungs {
			kinds = append(kinds, r.Kind)
		}
		if want := []ladder.Kind{ladder.Memory, ladder.Null, ladder.Null, ladder.Drive, ladder.Drive, ladder.Drive,
			ladder.DriveGroup, ladder.DriveGroup}; !slices.Equal(kinds, want) {
			t.Errorf("climbed %v, want %v", kinds, want)
		}
		rungs := rungsByName(d)
		if got := answered(d); got != "/dev/nvme2n1" || d.Answer.Verdict != ladder.Short || reached(rungs[got]) != 50 {
			t.Errorf("the answer is %+v, of which %d%% are reached", d.Answer, reached(rungs[got]))
		}
		for _, name := range []string{"/dev/nvme0n1", "nvme0n1, nvme1n1", "nvme0n1 … nvme2n1"} {
			if v := rungs[name].Cells[0].Verdict; v == ladder.Short || v == "" {
				t.Errorf("%s is %q", name, v)
			}
		}
		for _, load := range m.Loads() {
			if strings.Contains(load.Params["rw"], "write") && !strings.HasPrefix(load.Params["filename"],
				"/dev/shm/headroom-") {
				t.Errorf("a device is written to: %s", load.Line())
			}
		}
		l.checkNothingLeft("db1")
		again := l.run("ladder", "--resume", "last").ends(0).says("/dev/nvme2n1 reaches 50%", "nvme0n1 … nvme2n1",
			"Measured on scripted://db1.", "null engine, which makes no system call")
		if strings.Contains(again.stderr, "pass") {
			t.Errorf("it was measured again:\n%s", again.stderr)
		}
	})
}

// Each drive is as fast as the others and so are two together, but all three share a way that has less.
func TestScriptedLadderNamesWhatDrivesShare(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AddDrive(2)
		reads(m, map[string]float64{"/dev/nvme0n1": 1000, "/dev/nvme1n1": 1000, "/dev/nvme2n1": 1000}, 2100)
		d := documentIn[ladder.Document](l.ladder(scriptedDrives, "--passes", "4", "--json").ends(0))
		rungs := rungsByName(d)
		if got := answered(d); got != "nvme0n1 … nvme2n1" || reached(rungs[got]) != 70 || rungs[got].Jobs != 3 {
			t.Errorf("the answer is %+v, of which %d%% are reached", d.Answer, reached(rungs[got]))
		}
		if got := reached(rungs["nvme0n1, nvme1n1"]); got != 100 {
			t.Errorf("the pair reaches %d%%", got)
		}
	})
}

// A volume and the file system on it: each is compared with what lies below it.
func TestScriptedLadderNamesASlowVolume(t *testing.T) {
	for _, c := range []struct {
		name          string
		volume, files float64
		named         string
	}{
		{"volume", 1400, 1400, "/dev/md0"},
		{"files", 2000, 1000, "/data"},
		{"none", 2000, 2000, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				m := l.machine("db1")
				m.AddDrive(2)
				addVolume(m, "/data", 1, 2)
				reads(m, map[string]float64{"/dev/nvme1n1": 1000, "/dev/nvme2n1": 1000, "/dev/md0": c.volume,
					"/data": c.files}, 9000)
				d := documentIn[ladder.Document](l.ladder("/data", "--passes", "4", "--size", "64m", "--label",
					"stack", "--json").ends(0))
				var names []string
				for _, r := range d.Rungs {
					names = append(names, r.Name)
				}
				want := []string{"/dev/shm", "fio's null engine", "fio's null engine x2", "/dev/nvme1n1",
					"/dev/nvme2n1", "nvme1n1, nvme2n1", "/dev/md0", "/data"}
				if !slices.Equal(names, want) {
					t.Errorf("climbed %q, want %q", names, want)
				}
				if got := answered(d); got != c.named {
					t.Errorf("%q is named: %+v", got, d.Answer)
				}
				for _, load := range m.Loads() {
					if load.Params["filename"] == "/dev/md0" && (load.Params["numjobs"] != "2" ||
						load.Params["size"] != strconv.Itoa(64<<20)) {
						t.Errorf("of a volume of two drives: %s", load.Line())
					}
				}
				if left := m.Names("/data"); len(left) > 0 {
					t.Errorf("left in /data: %v", left)
				}
				if got := l.saved(d.Rungs[7].Run); got.Label != "stack 8" {
					t.Errorf("the label is %q", got.Label)
				}
				l.checkNothingLeft("db1")
			})
		})
	}
}

// What --dry-run prints is what is done then, in the same order; and it does nothing.
func TestScriptedLadderDoesWhatItSaid(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		args := []string{"/dev/nvme0n1,/dev/nvme1n1", "--passes", "2"}
		printed := l.ladder(append(args, "--dry-run=full")...).ends(0).says(
			"1 cell in 2 passes over 6 rungs; about 2m 05s",
			"layout, once", "with --seed 3")
		if got := l.loaded("db1"); len(got) > 0 {
			t.Fatalf("loads were started: %v", got)
		}
		l.run("show", "last").ends(2)
		var order, commands []string
		for line := range strings.Lines(printed.stdout) {
			line = strings.TrimSpace(line)
			if _, arms, ok := strings.Cut(line, "read: "); ok && strings.HasPrefix(line, "pass ") {
				order = append(order, strings.Fields(arms)...)
			}
			if strings.HasPrefix(line, "fio ") && !strings.Contains(line, "--name=layout") {
				commands = append(commands, withoutQuotes(line))
			}
		}
		l.ladder(args...).ends(0)
		var done []string
		for _, load := range m.Loads() {
			if load.Params["name"] == "layout" {
				continue
			}
			i := slices.Index(commands, withoutQuotes(load.Line()))
			if i < 0 {
				t.Errorf("not said: %s", load.Line())
			}
			done = append(done, strconv.Itoa(i+1))
		}
		if len(done) != 12 || !slices.Equal(done, order) {
			t.Errorf("carried out in the order %v, said %v", done, order)
		}
	})
}

// withoutQuotes is a command without what is drawn again for each run, and without where fio's output goes.
func withoutQuotes(command string) string {
	var kept []string
	for _, word := range strings.Fields(command) {
		switch {
		case strings.HasSuffix(word, ".scratch"):
			word = "scratch"
		case strings.HasPrefix(word, "--write_"), strings.HasPrefix(word, "--log_avg"), strings.HasPrefix(word,
			"--per_job_logs"), strings.HasPrefix(word, "--output="), strings.HasPrefix(word, "--eta"):
			continue
		}
		kept = append(kept, word)
	}
	return strings.Join(kept, " ")
}

func TestScriptedLadderLoadFails(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").AtLoad("--filename=/dev/nvme1n1", 1, func(e *scripted.Event) {
			e.Fail(1, "fio: io_u error: Remote I/O error\n")
		})
		o := l.ladder("/dev/nvme0n1", "/dev/nvme1n1", "--passes", "3", "--json").ends(1).says("Remote I/O error",
			"1 of 6 loads failed")
		l.checkNothingLeft("db1")
		d := documentIn[ladder.Document](l.run("ladder", "--resume", "last", "--json").ends(0))
		if len(d.Rungs) != 2 || d.Rungs[0].Cells[0].N != 3 || d.Rungs[1].Cells[0].N != 2 {
			t.Errorf("%+v\n%s", d.Rungs, o.stderr)
		}
	})
}

func TestScriptedLadderTargetLost(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AtLoad("--name=read", 3, func(e *scripted.Event) { e.After(5*time.Second, m.Disconnect) })
		l.ladder("null", "/dev/nvme0n1", "/srv", "--passes", "2").ends(1).says("the connection was lost",
			"headroom ladder --resume")
		m.Reconnect()
		d := documentIn[ladder.Document](l.run("ladder", "--resume", "last", "--json").ends(0))
		for _, r := range d.Rungs {
			if r.Cells[0].N != 2 {
				t.Errorf("%s was measured %d times", r.Name, r.Cells[0].N)
			}
		}
		if rungs := d.Rungs; len(rungs) != 3 || rungs[2].Kind != ladder.Files || rungs[2].Cells[0].Expected == nil ||
			!slices.Equal(rungs[2].Cells[0].Expected.Rungs, []int{1}) {
			t.Errorf("%+v", rungs)
		}
		l.checkNothingLeft("db1")
	})
}

// No pass begins that would end later than the budget says.
func TestScriptedLadderBudget(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.ladder("null", "/dev/nvme0n1", "--passes", "9", "--budget", "65s").ends(0)
		if n := len(l.loaded("db1")); n != 6 {
			t.Errorf("%d loads of ten seconds in 65", n)
		}
		if d := l.saved("last"); d.Status != lab.Complete {
			t.Errorf("it is %s", d.Status)
		}
	})
}

// What is typed wrong is reported with the way out, before anything is started.
func TestScriptedLadderRefusals(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").Free = 1 << 20
		writing := l.file("writing.yaml", strings.ReplaceAll(rungsSuite, "rw: read,", "rw: write,"))
		for _, c := range []struct {
			args, words string
			code        int
		}{
			{"", "no working directory is known there", 2},
			{"srv", "srv is on scripted://db1", 2},
			{"/dev/nvme0n1,/dev/nvme0n1", "names /dev/nvme0n1 twice", 2},
			{"/dev/nvme0n1,/srv", "/srv is no device", 2},
			{"/dev/nvme7n1", "/dev/nvme7n1", 2},
			{"/dev/nvme0n1 /srv", "does not fit into /srv, where 1.00 MiB are free", 1},
			{"null /dev/nvme0n1 --passes 1", "too few", 2},
			{"null /dev/nvme0n1 --margin much", "--margin much", 2},
			{"null /dev/nvme0n1 --alpha 2", "no probability", 2},
			{"null /dev/nvme0n1 --size 3", "is no amount to read", 2},
			{"null /dev/nvme0n1 --suite " + writing, "only reads, and a ladder only reads", 2},
			{"null /dev/nvme0n1 --guest x", "is no guest that could be started", 2},
			{"null /dev/nvme0n1 --guest qemu:x --guest qemu:x", "is given twice", 2},
			{"null /dev/nvme0n1 --guest qemu:x", "guests are started on this machine", 2},
			{"null /dev/nvme0n1 --on qemu:x", "", 2},
		} {
			o := l.ladder(strings.Fields(c.args)...)
			if o.code != c.code {
				t.Errorf("%s: exit code %d\n%s", c.args, o.code, o.stderr)
			}
			o.says(c.words)
		}
		l.run("ladder", "/srv", "--on", "qemu:x").ends(2).says("with --guest qemu:x")
		l.run("ladder", "--resume", "last").ends(2)
		if got := l.machine("db1").Loads(); len(got) > 0 {
			t.Errorf("%d loads were started", len(got))
		}
	})
}

// guestFileText is a guest with a disk that has nothing behind it and one on an image that is made where the ladder
// climbs to.
const guestFileText = `version: 1
cpus: 2
memory: 512m
kernel: vmlinuz
disks:
  - {name: data, kind: virtio-blk, size: 64m}
  - {name: none, kind: virtio-blk, size: 64m, backing: "null"}
`

// blankGuest is a guest whose disks were made for it.
type blankGuest struct{ *scripted.Target }

func (blankGuest) Unseen() bool { return false }

func (blankGuest) MadeBlank(context.Context, string) (bool, error) { return true, nil }

// A ladder through a guest: its disk reaches less than what stores it, and the answer says whether virtio itself does.
func TestScriptedLadderThroughAGuest(t *testing.T) {
	for _, c := range []struct {
		name       string
		data, none float64
		named      bool
	}{{"slow image", 500, 100_000, true}, {"all reach", 1000, 100_000, false}} {
		t.Run(c.name, func(t *testing.T) {
			inScriptedLab(t, []string{"host", "guest"}, func(l *scriptedLab) {
				hostMachine, guest := l.machine("host"), l.machine("guest")
				l.schemes = append(l.schemes, app.LocalTarget, guestScheme)
				l.file("vmlinuz", "")
				file := l.file("guest.yaml", guestFileText)
				l.machines[""], l.machines[file] = hostMachine, guest // local, and qemu:FILE
				l.opened[file] = func(t *scripted.Target) host.Target { return blankGuest{t} }
				guest.Adds("-- links --\n/dev/disk/by-id/data -> ../../nvme0n1\n/dev/disk/by-id/none -> ../../nvme1n1\n")
				reads(hostMachine, map[string]float64{"/dev/nvme0n1": 1000, "/srv": 1000}, 9000)
				reads(guest, map[string]float64{"/dev/nvme0n1": c.data, "/dev/nvme1n1": c.none}, 9000)
				args := []string{"ladder", "null", "/srv", "--guest", guestScheme + file, "--suite",
					l.file("rungs.yaml", rungsSuite), "--passes", "4", "--size", "32m", "--seed", "3"}
				l.run(append(args, "--dry-run=full")...).ends(0).says("fill, once", "none in guest.yaml",
					"data in guest.yaml")
				hostMachine.AtLoad("--name=read", 4, func(e *scripted.Event) { e.After(time.Second, l.interrupt) })
				l.run(args...).ends(130)
				d := documentIn[ladder.Document](l.run("ladder", "--resume", "last", "--json").ends(0))
				rungs := rungsByName(d)
				data, none := rungs["data in guest.yaml"], rungs["none in guest.yaml"]
				if data.Kind != ladder.Guest || data.Backing != "image" || none.Backing != "null" ||
					data.Cells[0].N != 4 || none.Cells[0].N != 4 {
					t.Errorf("%+v, %+v", data, none)
				}
				if got := answered(d); (got == "data in guest.yaml") != c.named || len(d.Guests) == 0 {
					t.Errorf("%q is named: %+v, %+v", got, d.Answer, d.Guests)
				}
				if c.named && reached(data) != 50 {
					t.Errorf("it reaches %d%%", reached(data))
				}
				l.run("ladder", "--resume", "last").ends(0).says("data in guest.yaml", d.Guests[0].Text[:12])
				if left := hostMachine.Names("/srv"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
			})
		})
	}
}

// A guest that can't be rungs is refused before anything is measured.
func TestScriptedLadderRefusesGuests(t *testing.T) {
	inScriptedLab(t, []string{"host", "guest"}, func(l *scriptedLab) {
		host := l.machine("host")
		l.schemes = append(l.schemes, app.LocalTarget, guestScheme)
		l.machines[""] = host
		l.file("vmlinuz", "")
		suite := l.file("rungs.yaml", rungsSuite)
		for name, c := range map[string]struct{ text, words string }{
			"image.yaml": {"version: 1\ncpus: 1\nimage: vmlinuz\nssh: {user: root, key: vmlinuz}\n",
				"starts from an image"},
			"bare.yaml":   {"version: 1\ncpus: 1\nkernel: vmlinuz\n", "has no disks"},
			"broken.yaml": {"cpus: [\n", "broken.yaml"},
			"large.yaml":  {strings.ReplaceAll(guestFileText, "size: 64m", "size: 900g"), "where 800 GiB are free"},
		} {
			o := l.run("ladder", "/srv", "--suite", suite, "--guest", guestScheme+l.file(name, c.text))
			if o.code == 0 {
				t.Errorf("%s was taken", name)
			}
			o.says(c.words)
		}
		l.run("ladder", "/srv", "--suite", suite, "--guest", guestScheme+l.dir+"/none.yaml").ends(2).says(
			"can't read the guest's description")
		if n := len(host.Loads()); n > 0 {
			t.Errorf("%d loads", n)
		}
	})
}
