//go:build system && guests

package qemu

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/targettest"
)

func boot(t *testing.T, g *Guest, spec host.BootSpec) {
	t.Helper()
	began := time.Now()
	if err := g.Boot(t.Context(), spec); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(details(err), "\n"))
	}
	t.Logf("booted under %s in %.1f s", g.Accelerator(), time.Since(began).Seconds())
}

// A guest is booted with several settings, and the guest itself shows that each is in effect.
func TestBoots(t *testing.T) {
	t.Parallel()
	g := open(t, describe(t, "arguments: [audit=0]\ndisks:\n  - {name: fast, kind: nvme, size: 64m}\n  - {name: "+
		"slow, kind: virtio-blk, size: 32m, backing: memory}\n  - {name: scsi, kind: virtio-scsi, size: 16m, "+
		"backing: 'null'}\n  - {name: sata, kind: sata, size: 8m}\n"))
	if got, want := said(t, g, "cat", "/proc/cmdline"), "console=ttyS0 panic=-1 no_timer_check quiet audit=0"; got !=
		want {
		t.Errorf("by itself the guest starts with %q, want %q", got, want)
	}
	for name, size := range map[string]int{"fast": 64, "slow": 32, "scsi": 16, "sata": 8} {
		disk := filepath.Base(said(t, g, "readlink", "/dev/disk/by-id/"+name))
		if got := said(t, g, "cat", "/sys/block/"+disk+"/size"); got != strconv.Itoa(size<<11) {
			t.Errorf("disk %s (%s) has %s sectors, want %d", name, disk, got, size<<11)
		}
	}
	first := said(t, g, "cat", "/proc/sys/kernel/random/boot_id")
	said(t, g, "sh", "-c", "echo kept | dd of=/dev/disk/by-id/fast conv=fsync 2>/dev/null; echo kept | dd "+
		"of=/dev/disk/by-id/slow conv=fsync 2>/dev/null")

	boot(t, g, host.BootSpec{Arguments: []string{"slub_debug=FZPU", `note="two words"`, "nvme.io_queue_depth=2",
		"virtio-blk.queue_depth=8", "nvme.unknown=1"}, Without: []string{"audit"}, Machine: map[string]string{
		"cpus": "1", "iommu": "intel", "queues": "1"}})
	if got, want := said(t, g, "cat", "/proc/cmdline"),
		`console=ttyS0 panic=-1 no_timer_check quiet intel_iommu=on slub_debug=FZPU note="two words" nvme.io_queue_depth=2 virtio-blk.queue_depth=8 nvme.unknown=1`; got != want {
		t.Errorf("the guest was started with %q, want %q", got, want)
	}
	if said(t, g, "cat", "/proc/sys/kernel/random/boot_id") == first {
		t.Error("it is the same boot as before")
	}
	// Options of modules are in effect, both in the module's parameters and in the kernel. A queue of two has room for
	// one. A scheduler, which a disk with one queue has, takes twice as many (blk_mq_init_sched of the kernel's
	// block/blk-mq-sched.c).
	for file, want := range map[string]string{
		"/sys/module/nvme/parameters/io_queue_depth": "2", "/sys/module/virtio_blk/parameters/queue_depth": "8",
	} {
		if got := said(t, g, "cat", file); got != want {
			t.Errorf("%s is %s, want %s", file, got, want)
		}
	}
	for disk, want := range map[string]string{"fast": "1", "slow": "8"} {
		name := filepath.Base(said(t, g, "readlink", "/dev/disk/by-id/"+disk))
		t.Logf("the scheduler of %s was %s", disk, said(t, g, "cat", "/sys/block/"+name+"/queue/scheduler"))
		said(t, g, "sh", "-c", "echo none >/sys/block/"+name+"/queue/scheduler")
		if got := said(t, g, "cat", "/sys/block/"+name+"/queue/nr_requests"); got != want {
			t.Errorf("the queue of disk %s takes %s requests, want %s", disk, got, want)
		}
	}
	if got := said(t, g, "nproc"); got != "1" {
		t.Errorf("it has %s CPUs, want 1", got)
	}
	if got := said(t, g, "ls", "/sys/class/iommu"); got != "dmar0" {
		t.Errorf("its IOMMUs are %q, want dmar0", got)
	}
	if got := g.Levels(); got["cpus"] != "1" || got["iommu"] != "intel" || got["queues"] != "1" ||
		got["iothreads"] != "0" {
		t.Errorf("its levels are said to be %v", got)
	}
	for _, name := range []string{"fast", "slow"} {
		if got := said(t, g, "head", "-c", "4", "/dev/disk/by-id/"+name); got != "kept" {
			t.Errorf("disk %s holds %q after the boot", name, got)
		}
	}
	boot(t, g, host.BootSpec{})
	if got := said(t, g, "cat", "/proc/cmdline"); strings.Contains(got, "slub_debug") ||
		!strings.Contains(got, "audit=0") {
		t.Errorf("the zero spec starts it with %q", got)
	}

	// Impossible settings are reported before the running guest is changed.
	id := said(t, g, "cat", "/proc/sys/kernel/random/boot_id")
	for what, spec := range map[string]host.BootSpec{
		"cpus can't be many: write a whole number from 1 to 255": {
			Machine: map[string]string{"cpus": "many"}},
		"a guest has no setting colour; iothreads can't be -1: write a whole number fr": {
			Machine: map[string]string{"iothreads": "-1", "colour": "red"}},
		"console is headroom's own argument": {Arguments: []string{"console=tty0"}},
		"panic is headroom's own argument":   {Without: []string{"panic"}},
		"the kernel's command line would be": {Arguments: []string{"x=" + strings.Repeat("y", 3000)}},
		"no kernel 1.2.3-none is installed":  {Kernel: "1.2.3-none"},
		"no kernel /nowhere/bzImage":         {Kernel: "/nowhere/bzImage"},
	} {
		if err := g.Boot(t.Context(), spec); err == nil || !strings.HasPrefix(err.Error(), what) ||
			lab.KindOf(err) != lab.Usage {
			t.Errorf("%+v: %v, want %q", spec, err, what)
		}
	}
	if said(t, g, "cat", "/proc/sys/kernel/random/boot_id") != id {
		t.Error("a spec that can't be carried out started the guest again")
	}

	// Jobs, after all these boots, on the emulated NVMe disk.
	job, err := g.Start(t.Context(),
		host.JobSpec{ID: "randread", Argv: []string{"fio", "--name=r", "--filename=/dev/disk/by-id/fast",
			"--rw=randread", "--bs=4k", "--ioengine=libaio",
			"--iodepth=16", "--direct=1", "--size=4m", "--output-format=json",
			"--output=result.json"}})
	if err != nil {
		t.Fatal(err)
	}
	state := targettest.Await(t, job)
	result, err := job.Fetch(t.Context(), "result.json")
	if err != nil || state.ExitCode != 0 {
		complaint, _ := job.Fetch(t.Context(), "stderr")
		t.Fatalf("fio: %+v, %v, %s", state, err, complaint)
	}
	var document struct {
		Jobs []struct {
			Read struct {
				IOs int `json:"total_ios"`
			}
		}
	}
	if err := json.Unmarshal(result, &document); err != nil || len(document.Jobs) != 1 ||
		document.Jobs[0].Read.IOs != 1024 {
		t.Errorf("%v: %s", err, result)
	}
	if err := job.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

// The example of the documentation describes a guest that boots, with another kernel's name.
func TestExampleBoots(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(example(t), "\nkernel: ")
	_, rest, found := strings.Cut(rest, "\n")
	if !found {
		t.Fatal("the example has no kernel")
	}
	g := open(t, describe(t, rest))
	said(t, g, "mkfs.ext4", "-q", "/dev/disk/by-id/virtual")
	said(t, g, "mount", "/dev/disk/by-id/virtual", "/mnt")
	if got := said(t, g, "stat", "-f", "-c", "%T", "/mnt"); got != "ext2/ext3" {
		t.Errorf("the file system that was made is %q", got)
	}
	if got := said(t, g, "ls", "/sys/block"); !strings.Contains(got, "nvme0n1") || !strings.Contains(got, "sda") ||
		!strings.Contains(got, "vda") {
		t.Errorf("its disks are %q", got)
	}
	if got := said(t, g, "find", "/sys/block/vda/mq", "-mindepth", "1", "-maxdepth", "1"); len(strings.Fields(got)) !=
		2 {
		t.Errorf("the queues of the virtio disk are %q", got)
	}
}

// For a kernel that panics and one that never answers, the error has the guest's last output; the next boot succeeds.
func TestBootsThatFail(t *testing.T) {
	t.Parallel()
	began := time.Now()
	g := open(t, describe(t, ""))
	limit := max(30*time.Second, time.Since(began).Round(time.Second)) // a kernel that starts prints something sooner
	passed := limit.String() + " have passed (limit: in the guest's file)"
	began = time.Now()
	err := g.Boot(t.Context(), host.BootSpec{Arguments: []string{"rdinit=/nowhere"}})
	if err == nil || !strings.Contains(err.Error(), "its kernel panicked: VFS: Unable to mount root fs") ||
		!strings.Contains(strings.Join(details(err), "\n"), "Call Trace") {
		t.Errorf("a kernel without an init: %v\n%s", err, strings.Join(details(err), "\n"))
	}
	if _, ok := errors.AsType[*host.NotStarted](err); !ok {
		t.Errorf("%v does not say that the guest did not come up", err)
	}
	t.Logf("the panic is seen after %.1f s", time.Since(began).Seconds())
	own := g.file.Limit
	g.file.Limit = limit
	err = g.Boot(t.Context(), host.BootSpec{Arguments: []string{"rdinit=/bin/cat"}, Without: []string{"quiet"}})
	if err == nil || !strings.Contains(err.Error(), passed) ||
		!strings.Contains(strings.Join(details(err), "\n"), "output:  [") {
		t.Errorf("a guest that says nothing: %v\n%s", err, strings.Join(details(err), "\n"))
	}
	if _, ok := errors.AsType[*host.NotStarted](err); !ok {
		t.Errorf("%v does not say that the guest did not come up", err)
	}
	// A kernel that has printed nothing after half of the time may hang in the emulator, and is started once more.
	var reported []string
	g.say = func(text string) { reported = append(reported, text) }
	err = g.Boot(t.Context(), host.BootSpec{Arguments: []string{"rdinit=/bin/cat"}})
	if err == nil || !strings.Contains(err.Error(), passed) ||
		len(reported) != 1 || !strings.Contains(reported[0], "hung in the emulator while its kernel started") {
		t.Errorf("a kernel that says nothing: %v; the user was told %q", err, reported)
	}
	if n := qemus(t, g.dir); n != 0 {
		t.Errorf("%d processes run after boots that failed", n)
	}
	g.file.Limit = own
	boot(t, g, host.BootSpec{})
	// Missing arguments are noticed, whatever removed them.
	s := start{arguments: ownArguments + " never=given"}
	if err := g.checkArguments(t.Context(), s, nil); err == nil ||
		!strings.Contains(err.Error(), "the guest runs without never=given") {
		t.Errorf("an argument that is not in effect: %v", err)
	}
}

// A QEMU that maps queues to IOThreads has the requested number, and each serves its queues.
func TestIOThreads(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("../../../scripts/guest-qemu").Output()
	if err != nil {
		t.Skip("no newer QEMU is to be had here: scripts/guest-qemu")
	}
	root := strings.TrimSpace(string(out))
	g := open(t, describe(t,
		fmt.Sprintf("qemu: %s/usr/bin/qemu-system-x86_64\nfirmware: [%s/usr/share/qemu, %s/usr/share/seabios]\n", root,
			root, root)+
			"cpus: 4\ndisks:\n  - {name: real, kind: virtio-blk, size: 64m, queues: 4}\n  - {name: none, kind: "+
			"virtio-scsi, size: 64m, queues: 4, backing: 'null'}\n"))
	for _, threads := range []int{0, 1, 4} {
		if threads > 0 {
			boot(t, g, host.BootSpec{Machine: map[string]string{"iothreads": strconv.Itoa(threads)}})
		}
		for _, disk := range []string{"real", "none"} {
			for cpu := range 4 { // each CPU has a separate queue
				said(t, g, "taskset", "-c", strconv.Itoa(cpu), "dd", "if=/dev/disk/by-id/"+disk, "of=/dev/null",
					"bs=1M", "iflag=direct")
			}
			if n := busyThreads(t, g.process.cmd.Process.Pid, "IO io-"+disk); n != threads {
				t.Errorf("%d IOThreads of %s worked, want %d", n, disk, threads)
			}
		}
	}
}

// busyThreads counts the threads of a process, by the prefix of their name, that have waited for work more than a few
// times: their processor time is less than a tick. Source: proc_pid_status(5), voluntary_ctxt_switches.
func busyThreads(t *testing.T, pid int, name string) int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("threads of %d: %q, %v", pid, files, err)
	}
	n := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(data), "voluntary_ctxt_switches:")
		switches, _, _ := strings.Cut(rest, "\n")
		if count, err := strconv.Atoi(strings.TrimSpace(switches)); strings.HasPrefix(string(data), "Name:\t"+name) &&
			err == nil && count > 10 {
			n++
		}
	}
	return n
}

// Two guests reach only each other over their links; one that reboots is reached again, and has run its setup.
func TestGuestsReachEachOther(t *testing.T) {
	t.Parallel()
	links, folder := &Links{}, guests(t)
	opened := func(number string) *Guest {
		file := describe(t,
			"cpus: 1\nmemory: 512m\nfiles: [/etc/services]\nnetworks:\n  - {link: a, address: 10.0.11."+number+"/24, mtu: 9000, speed: 100}\n  - {link: b, address: 10.0.12."+number+"/24}\n"+
				"setup: |\n  echo of "+number+" > /run/said\n")
		g, err := Open(t.Context(), "qemu:"+file, file, Host{Folder: folder, Images: t.TempDir(), Links: links})
		if err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(details(err), "\n"))
		}
		t.Cleanup(func() {
			if err := g.Close(); err != nil || exists(g.dir) {
				t.Errorf("closed: %v; the folder is there: %v", err, exists(g.dir))
			}
		})
		return g
	}
	one, two := opened("1"), opened("2")
	for range 2 {
		for _, address := range []string{"10.0.11.1", "10.0.12.1"} {
			// The first may find the other guest too busy to answer.
			said(t, two, "timeout", "600", "sh", "-c", `until ping -c 1 -W 20 "$1"; do sleep 1; done`, "sh", address)
		}
		if got := said(t, one, "cat", "/run/said"); got != "of 1" {
			t.Errorf("the setup has left %q", got)
		}
		// The card of the largest frames belongs to the first link: cards are named in their order.
		if got := said(t, one, "sh", "-c", "cat /sys/class/net/eth1/mtu /sys/class/net/eth1/speed; wc -l < "+
			"/etc/services") + "."; !strings.HasPrefix(got, "9000\n100\n") || strings.HasSuffix(got, "\n0.") {
			t.Errorf("the card and the file are %q", got)
		}
		boot(t, one, host.BootSpec{})
	}
	one.file.Setup = "echo all is well\necho nothing is well >&2\nfalse\necho not reached\n"
	one.ready = map[string]bootable{}
	err := one.Boot(t.Context(), host.BootSpec{})
	if text := strings.Join(details(err), "\n"); err == nil ||
		!strings.Contains(err.Error(), "the commands of setup: failed") || !strings.Contains(text, "nothing is well") ||
		strings.Contains(text, "not reached") {
		t.Errorf("a setup that fails: %v\n%s", err, text)
	}
}
