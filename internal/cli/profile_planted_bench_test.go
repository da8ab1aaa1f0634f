//go:build bench && system && guests

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

	"github.com/headroom/headroom/internal/profile/difference"
)

// plantedCause is a setting that costs I/O in a guest, and by what a pair of profiles is to name it.
type plantedCause struct {
	name string
	// clean and slow are the two guests, in which the same is measured.
	clean, slow plantedGuest
	plantedLoad
	// layer is the ID of the layer that comes first, and functions those of which one is named in it.
	layer     string
	functions []string
}

// plantedLoad is what is measured in a guest: a job of a suite, at a place.
type plantedLoad struct{ place, job string }

// plantedRun is a profile of a load in a guest with a kernel, under the label that its run gets.
type plantedRun struct {
	plantedGuest
	plantedLoad
	kernel, label string
}

// plantedGuest is a guest with Debian's kernel and one NVMe disk.
type plantedGuest struct {
	arguments string
	iommu     string
	more      string // further lines of its description
}

const (
	plantedReads = "{name: reads, fio: {rw: randread, bs: 4k, iodepth: 32, ioengine: libaio, direct: 1, runtime: 3s, " +
		"time_based: 1}}"
	// Each pass over the file begins with fio dropping it from the page cache, so that pages are freed and allocated
	// all the time.
	plantedWrites = "{name: writes, fio: {rw: randwrite, bs: 16k, ioengine: psync, direct: 0, fsync: 16, runtime: 3s, " +
		"time_based: 1}}"
	plantedDisk = "/dev/disk/by-id/fast"
)

// plantedCauses are ten settings, each against the same guest without it.
func plantedCauses() []plantedCause {
	lazy := plantedGuest{iommu: "intel"}
	onDisk := func(name string, slow plantedGuest, layer string, functions ...string) plantedCause {
		return plantedCause{name, lazy, slow, plantedLoad{plantedDisk, plantedReads}, layer, functions}
	}
	files := mountedGuest("/dev/nvme0n1", "ext4", "mkfs.ext4", "")
	inFiles := func(name string, clean, slow plantedGuest, layer string, functions ...string) plantedCause {
		return plantedCause{name, clean, slow, plantedLoad{"/srv", plantedWrites}, layer, functions}
	}
	// Debian's kernels clear pages that are allocated. init_on_free clears them when they are freed, and then no more,
	// so that it costs nothing beside that.
	keeping, erasing, poisoning := files, files, files
	keeping.arguments, erasing.arguments = "init_on_alloc=0", "init_on_alloc=0, init_on_free=1"
	poisoning.arguments = "page_poison=1"
	return []plantedCause{
		onDisk("iommu-strict", plantedGuest{"iommu.strict=1", "intel", ""}, "dma", "qi_submit_sync"),
		onDisk("slub-debug", plantedGuest{"slub_debug=FZPU", "intel", ""}, "debugging", "check_bytes_and_report"),
		onDisk("queue-depth", plantedGuest{"nvme.io_queue_depth=2", "intel", ""}, "tags", "blk_mq_get_tag"),
		onDisk("scheduler", plantedGuest{"", "intel", "modules: [bfq]\nsetup: |\n" +
			"  echo bfq > /sys/block/nvme0n1/queue/scheduler\n"}, "iosched", "bfq_insert_requests",
			"bfq_dispatch_request"),
		onDisk("audit-rules", plantedGuest{"audit=1", "intel", "programs: [auditctl]\nsetup: |\n  auditctl -e 1\n" +
			"  auditctl -a always,exit -S all -F uid=12345\n"}, "lsm", "audit_filter_syscall", "__audit_syscall_exit",
			"audit_filter_rules"),
		onDisk("threaded-interrupts", plantedGuest{"threadirqs", "intel", ""}, "interrupt", "irq_forced_thread_fn",
			"irq_thread"),
		{"bounce-buffers", plantedGuest{iommu: "none"}, plantedGuest{"swiotlb=force", "none", ""},
			plantedLoad{plantedDisk, plantedReads}, "bounce",
			[]string{"swiotlb_bounce", "swiotlb_tbl_map_single", "swiotlb_map"}},
		inFiles("init-on-free", keeping, erasing, "debugging", "kernel_init_pages", "clear_page_erms",
			"clear_page_rep"),
		inFiles("page-poison", files, poisoning, "debugging", "__kernel_poison_pages", "__kernel_unpoison_pages"),
		inFiles("encryption", files, mountedGuest("/dev/mapper/dark", "ext4, dm-crypt, aesni-intel, xts, ecb",
			"mkfs.ext4, cryptsetup", "  echo 0123456789abcdef0123456789abcdef | cryptsetup open --type plain --cipher "+
				"aes-xts-plain64 --key-size 256 /dev/nvme0n1 dark -\n"), "encryption", "crypt_convert", "crypt_map"),
	}
}

// mountedGuest is one whose disk has a file system on /srv.
func mountedGuest(device, modules, programs, before string) plantedGuest {
	return plantedGuest{"", "intel", fmt.Sprintf("modules: [%s]\nprograms: [%s]\nsetup: |\n%s  mkfs.ext4 -q -F %s\n"+
		"  mkdir -p /srv\n  mount -t ext4 %s /srv\n", modules, programs, before, device, device)}
}

// describe writes the guest's description and returns its path.
func (g plantedGuest) describe(t *testing.T, kernel string) string {
	t.Helper()
	// On a busy host some guests find at some time that their clock is not to be trusted and take another, whose
	// reading costs system calls.
	all := []string{"audit=0", "clocksource=hpet", g.arguments}
	arguments := strings.Join(slices.DeleteFunc(all, func(a string) bool {
		return a == "" || a == "audit=0" && strings.HasPrefix(g.arguments, "audit=")
	}), ", ")
	file := filepath.Join(t.TempDir(), "guest.yaml")
	text := fmt.Sprintf("version: 1\nkernel: %s\narguments: [%s]\niommu: %s\nmemory: 512m\naccelerator: emulation\n"+
		"disks:\n  - {name: fast, kind: nvme, size: 256m}\n%s", kernel, arguments, g.iommu, g.more)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// requirePlanted are the programs that guests with planted causes run.
func requirePlanted(t *testing.T) {
	t.Helper()
	for _, program := range []string{"auditctl", "cryptsetup", "mkfs.ext4"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
}

// profileAll carries out profiles, as many at a time as there are CPUs.
func profileAll(t *testing.T, v fixture, runs []plantedRun) {
	t.Helper()
	if !t.Run("guests", func(t *testing.T) {
		for _, r := range runs {
			t.Run(r.label, func(t *testing.T) {
				t.Parallel()
				r.profile(t, v)
			})
		}
	}) {
		t.FailNow()
	}
}

// profile carries out a profile in a guest.
func (r plantedRun) profile(t *testing.T, v fixture) {
	t.Helper()
	arguments := []string{"profile", r.suite(t), r.place, "--on", "qemu:" + r.describe(t, r.kernel), "--label", r.label,
		"--loads", "3"}
	if out, err := v.command(append(arguments, r.size()...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// suite writes a suite with the job and returns its path.
func (l plantedLoad) suite(t *testing.T) string {
	t.Helper()
	suite := filepath.Join(t.TempDir(), "suite.yaml")
	if err := os.WriteFile(suite, []byte("version: 1\njobs:\n  - "+l.job+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return suite
}

// size returns the flag for the size of the scratch file; none on a disk.
func (l plantedLoad) size() []string {
	if l.place == "/srv" {
		return []string{"--size", "8m"}
	}
	return nil
}

// differences are those of the only cell of two profiles.
func differences(t *testing.T, v fixture, a, b string) difference.Cell {
	t.Helper()
	out, err := v.command("profile", "diff", a, b, "--json").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var d difference.Document
	if err := json.Unmarshal(out, &d); err != nil || len(d.Cells) != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	return d.Cells[0]
}

// named says whether the cause comes first in a difference, with one of its functions.
func (c plantedCause) named(d difference.Cell) bool {
	return len(d.Layers) > 0 && d.Layers[0].ID == c.layer &&
		slices.ContainsFunc(c.functions, func(f string) bool { return slices.Contains(d.Layers[0].Functions, f) })
}
