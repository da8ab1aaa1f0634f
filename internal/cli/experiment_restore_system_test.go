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
	"testing"

	"headroom/internal/ablation"
	"headroom/internal/lab"
)

// guestFile describes a guest with a Debian kernel and one small disk.
func guestFile(t *testing.T) string {
	t.Helper()
	kernel := kernelOfGuests(t)
	file := filepath.Join(t.TempDir(), "guest.yaml")
	text := fmt.Sprintf("version: 1\nkernel: %s\nmemory: 512m\naccelerator: emulation\ndisks:\n  - {name: fast, kind: nvme, size: 32m, backing: memory}\n", kernel)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// kernelOfGuests is Debian's own, where there is all that guests are made of.
func kernelOfGuests(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"qemu-system-x86_64", "busybox", "apt-get", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	kernel, err := exec.Command("../../scripts/guest-kernel", "linux-image-amd64").Output()
	if err != nil {
		t.Fatalf("no kernel for the guest: %v", err)
	}
	return strings.TrimSpace(string(kernel))
}

// readSuite is a suite with one short load.
func readSuite(t *testing.T, v victim) string {
	t.Helper()
	suite := filepath.Join(filepath.Dir(v.suite), "read.yaml")
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, iodepth: 8, ioengine: libaio, direct: 1, runtime: 300ms, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return suite
}

// What is varied at a boot is proved by what the guest says of itself, each visit is a boot of its own, the disk that was made for the guest is filled once and
// keeps that over boots, and with two repetitions a visit the report says what a boot takes.
func TestAnAblationBootsItsGuestForEachVisit(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	out, err := v.command("ablate", readSuite(t, v), "/dev/nvme0n1", "--on", "qemu:"+guestFile(t), "--setting", "cmdline:nvme.io_queue_depth=2", "--alone", "--blocks", "1",
		"--repeat", "2", "--seed", "1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Boots differ by ") {
		t.Fatalf("%v\n%s", err, out)
	}
	boots, fills := map[string]bool{}, 0
	var did []string
	for r, err := range v.only().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Values[lab.IOPS(lab.Read)] <= 0 {
			t.Errorf("%s: %v\n%s", r.Cell, r.Warnings, out)
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
	if want := []string{"boot", "boot", "boot with arguments nvme.io_queue_depth=2"}; !slices.Equal(did, want) || len(boots) != 3 || fills != 1 {
		t.Errorf("did %q in %d boots with %d fills\n%s", did, len(boots), fills, out)
	}
	var codes []string
	for _, w := range v.only().Run.Warnings {
		codes = append(codes, w.Code)
	}
	if !slices.Contains(codes, "emulated-guest") || slices.Contains(codes, "settings-changed") || slices.Contains(codes, "effect-not-verified") {
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
	if p == nil || !p.Boots || p.Visits != 3 || p.Repetitions != 2 || len(p.Numbers) != 1 || p.Numbers[0].Metric != "read.iops" || p.VisitSeconds == nil || *p.VisitSeconds <= 0 ||
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

// guestsOf are the command lines of QEMUs that name a folder, or work in one that is named.
func guestsOf(t *testing.T, folder string) (running []string) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(processes) == 0 {
		t.Fatal("no process is to be seen", err)
	}
	for _, p := range processes {
		if command, err := os.ReadFile(p); err == nil && strings.Contains(string(command), "qemu-system") && strings.Contains(string(command), folder) {
			running = append(running, string(command))
		}
	}
	return running
}

// An experiment that is killed while a setting is changed leaves it so; restore puts it back. Each step of the way is killed elsewhere (internal/factor, and
// TestKilledOverAndOver).
func TestAKilledAblationIsPutBack(t *testing.T) {
	t.Parallel()
	ownNetwork(t)
	v := newVictim(t)
	suite := v.suiteOf(nullLoad)
	names := []string{"tcp_keepalive_time", "tcp_keepalive_intvl", "tcp_fin_timeout"}
	state := func() string {
		var all string
		for _, name := range names {
			all += name + "=" + contentOf(t, netSetting(name))
		}
		return all
	}
	before, changed := state(), 0
	for changed < 3 {
		cmd := v.command("ablate", suite, "--setting", "sysctl:net.ipv4.tcp_keepalive_time=7000", "--setting", "sysctl:net.ipv4.tcp_keepalive_intvl=70",
			"--setting", "sysctl:net.ipv4.tcp_fin_timeout=50", "--seed", fmt.Sprint(changed))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "a setting is changed", func() bool { return state() != before })
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if state() != before {
			changed++
		}
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if after := state(); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
	}
	v.nothingLeft("after all kills")
}

// A sweep that is killed leaves nothing on its reference, whichever of the two was measured.
func TestAKilledSweepLeavesNothingOnItsReference(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	reference := t.TempDir()
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, ioengine: psync, size: 4m, runtime: 200ms, time_based: 1}}\n"
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	on := func(dir string) bool {
		files, err := os.ReadDir(dir)
		return err == nil && len(files) > 0
	}
	for found := 0; found < 3; {
		cmd := v.command("sweep", v.suite, v.place, "--factor", "job:iodepth=1,2", "--reference", reference, "--size", "4m")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the reference has a file", func() bool { return on(reference) })
		if found == 1 {
			await(t, "the place has one, too", func() bool { return on(v.place) })
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if on(reference) {
			found++
		}
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if left, err := os.ReadDir(reference); err != nil || len(left) != 0 {
			t.Fatalf("left on the reference: %v, %v", left, err)
		}
		v.nothingLeft("after a kill")
	}
}

// A budget ends an experiment before the next block; the first is always finished.
func TestAnExperimentEndsOnItsBudget(t *testing.T) {
	t.Parallel()
	v := newVictim(t)
	suite := filepath.Join(filepath.Dir(v.suite), "idle.yaml")
	text := "version: 1\njobs:\n  - {name: idle, fio: {rw: randread, bs: 4k, ioengine: \"null\", size: 1g, runtime: 200ms, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := v.command("sweep", suite, "--factor", "job:iodepth=1,2", "--blocks", "5", "--budget", "1ms").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	blocks := map[int]int{}
	for r, err := range v.only().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		blocks[r.Block]++
	}
	if len(blocks) != 1 || blocks[1] != 2 {
		t.Errorf("repetitions by block: %v", blocks)
	}
}
