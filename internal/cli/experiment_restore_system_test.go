//go:build system

package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// What is varied at a boot is proved by what the guest says of itself, each visit is a boot of its own, and the disk that was made for the
// guest is filled once and keeps that over boots.
func TestAnAblationBootsItsGuestForEachVisit(t *testing.T) {
	v := newVictim(t)
	suite := filepath.Join(filepath.Dir(v.suite), "read.yaml")
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, iodepth: 8, ioengine: libaio, direct: 1, runtime: 2s, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := v.command("ablate", suite, "/dev/nvme0n1", "--on", "qemu:"+guestFile(t), "--setting", "cmdline:slub_debug=FZPU", "--alone", "--blocks", "1", "--seed", "1")
	out, err := cmd.CombinedOutput()
	if err != nil {
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
		did = append(did, r.Did[0])
		for _, step := range r.Did {
			if strings.HasPrefix(step, "fio --name=fill") {
				fills++
			}
		}
	}
	slices.Sort(did)
	if want := []string{"boot", "boot", "boot with arguments slub_debug=FZPU"}; !slices.Equal(did, want) || len(boots) != 3 || fills != 1 {
		t.Errorf("did %q in %d boots with %d fills\n%s", did, len(boots), fills, out)
	}
	var codes []string
	for _, w := range v.only().Run.Warnings {
		codes = append(codes, w.Code)
	}
	if !slices.Contains(codes, "emulated-guest") || slices.Contains(codes, "settings-changed") {
		t.Errorf("warnings %v", codes)
	}
	if changes, err := filepath.Glob(filepath.Join(v.store, "changes", "*")); err != nil || len(changes) != 0 {
		t.Errorf("left: %v, %v", changes, err)
	}
	if left, err := filepath.Glob("/dev/shm/headroom-*/guest-*"); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// An experiment that is killed leaves settings changed; restore puts them back, whatever moment it was.
func TestAKilledAblationIsPutBack(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("settings are changed by root")
	}
	v := newVictim(t)
	suite := filepath.Join(filepath.Dir(v.suite), "null.yaml")
	text := "version: 1\njobs:\n  - {name: idle, fio: {rw: randread, bs: 4k, ioengine: \"null\", size: 1g, runtime: 200ms, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	files := []string{"/proc/sys/vm/dirty_ratio", "/proc/sys/vm/dirty_background_ratio", "/proc/sys/vm/swappiness", "/proc/sys/kernel/numa_balancing", "/proc/sys/vm/vfs_cache_pressure"}
	read := func() string {
		var all string
		for _, f := range files {
			data, err := os.ReadFile(f)
			if err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			all += f + "=" + string(data)
		}
		return all
	}
	before, changed := read(), 0
	random := rand.New(rand.NewPCG(5, 5))
	const kills = 12
	for range kills {
		cmd := v.command("ablate", suite, "--setting", "sysctl:vm.dirty_ratio=5", "--setting", "sysctl:vm.swappiness=7", "--setting", "sysctl:vm.vfs_cache_pressure=90")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500*time.Millisecond + time.Duration(random.IntN(2500))*time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if read() != before {
			changed++
		}
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if after := read(); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
	}
	t.Logf("figure: ablations killed at random moments and restored: %d, of which %d had left a setting changed", kills, changed)
	if changed == 0 {
		t.Error("no kill came while a setting was changed")
	}
	v.nothingLeft("after all kills")
}

// A sweep that is killed leaves nothing on its reference, whichever of the two was measured.
func TestAKilledSweepLeavesNothingOnItsReference(t *testing.T) {
	v := newVictim(t)
	reference := t.TempDir()
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, ioengine: psync, size: 4m, runtime: 200ms, time_based: 1}}\n"
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(6, 6))
	const kills = 8
	found := 0
	for range kills {
		cmd := v.command("sweep", v.suite, v.place, "--factor", "job:iodepth=1,2", "--reference", reference, "--size", "4m")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1500*time.Millisecond + time.Duration(random.IntN(2500))*time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if left, err := os.ReadDir(reference); err == nil && len(left) > 0 {
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
	t.Logf("figure: sweeps killed at random moments and restored: %d, of which %d had left a file on the reference", kills, found)
	if found == 0 {
		t.Error("no kill came while the reference had a file")
	}
}

// A budget ends an experiment before the next block; the first is always finished.
func TestAnExperimentEndsOnItsBudget(t *testing.T) {
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
