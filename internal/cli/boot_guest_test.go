//go:build system && guests

package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host/qemu"
)

// guest is a Debian kernel in QEMU with an initramfs that holds busybox, this headroom and a few of the kernel's
// modules. It is emulated, not virtualised: what is read from it is true of a machine, how fast it is says nothing.
type guest struct {
	kernel  string   // meta-package, for scripts/guest-kernel
	cpu     string   // QEMU's -cpu; empty means qemu.EmulatedCPU
	devices []string // QEMU's -device, IOMMU included
	args    string   // boot arguments

	cpus int // 0 means 1

	disks    int           // further empty disks, d1, d2, … for devices
	drive    string        // options of every disk: "throttling.iops-total=200"
	modules  []string      // of the kernel, besides nvme
	programs []string      // of this machine, with the libraries that they need
	setup    string        // shell commands before the command under test
	limit    time.Duration // until it must have ended; 0 is half an hour, which says nothing of the machine
}

const (
	guestBegin = "==headroom=="
	guestNext  = "==next=="
	guestEnd   = "==end=="
)

// boot starts the guest, runs one headroom command in it and returns what that printed.
func (g guest) boot(t *testing.T, command string) string {
	t.Helper()
	for _, tool := range []string{"qemu-system-x86_64", "busybox", "apt-get"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	out, err := exec.Command("../../scripts/guest-kernel", g.kernel).Output()
	if err != nil {
		t.Fatalf("no kernel for the guest: %v", err)
	}
	root := strings.TrimSpace(string(out))
	kernels, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		t.Fatalf("kernels in %s: %v, %v", root, kernels, err)
	}
	dir := t.TempDir()
	initrd := filepath.Join(dir, "initrd")
	if err := os.WriteFile(initrd, g.initramfs(t, root, command), 0o600); err != nil {
		t.Fatal(err)
	}
	unpacked, err := qemu.Unpacked(t.Context(), read(t, kernels[0]))
	if err != nil {
		t.Fatal(err)
	}
	kernel := filepath.Join(dir, "vmlinux")
	if err := os.WriteFile(kernel, unpacked, 0o600); err != nil {
		t.Fatal(err)
	}
	// QEMU before 8.1 with a thread for each CPU can hang: it may run code forever that the kernel has replaced.
	argv := []string{"-accel", "tcg,thread=single", "-machine", "q35", "-cpu", cmp.Or(g.cpu, qemu.EmulatedCPU), "-smp",
		strconv.Itoa(max(1, g.cpus)), "-m", "1G", "-nographic", "-no-reboot", "-kernel", kernel, "-initrd", initrd,
		"-append",
		// A kernel that gets too little of a busy machine says so, in the midst of what programs print.
		"console=ttyS0 quiet loglevel=1 rcupdate.rcu_cpu_stall_suppress=1 nosoftlockup panic=-1 no_timer_check " + g.args}
	for i := range g.disks + 1 {
		disk := filepath.Join(dir, fmt.Sprintf("disk%d", i))
		if err := os.WriteFile(disk, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(disk, 64<<20); err != nil {
			t.Fatal(err)
		}
		drive := fmt.Sprintf("file=%s,if=none,id=d%d,format=raw", strings.ReplaceAll(disk, ",", ",,"), i)
		if g.drive != "" {
			drive += "," + g.drive
		}
		argv = append(argv, "-drive", drive)
	}
	for _, d := range g.devices {
		argv = append(argv, "-device", d)
	}
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(g.limit, 30*time.Minute))
	defer cancel()
	printed, err := exec.CommandContext(ctx, "qemu-system-x86_64",
		append(argv, "-device", "nvme,serial=headroom-test,drive=d0")...).CombinedOutput()
	text := strings.ReplaceAll(string(printed), "\r", "")
	setup, text, begun := strings.Cut(text, guestBegin+"\n")
	if g.setup != "" {
		t.Logf("the end of what the setup said:\n%s", tail(setup, 1000))
	}
	text, _, ended := strings.Cut(text, guestEnd+"\n")
	if !begun || !ended {
		t.Fatalf("the guest said nothing (%v); the end of its console:\n%s", err, tail(string(printed), 3000))
	}
	return text
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// initramfs holds what the guest runs. The modules are loaded in the order in which they need each other. It is not
// packed, since an emulated processor unpacks slower than it copies.
func (g guest) initramfs(t *testing.T, root, command string) []byte {
	t.Helper()
	program, err := builtOnce()
	if err != nil {
		t.Fatal(err)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	init := "#!/bin/busybox sh\nb=/bin/busybox\n$b mount -t proc proc /proc\n$b mount -t sysfs sysfs /sys\n$b mount " +
		"-t devtmpfs dev /dev\n$b mount -t debugfs debugfs /sys/kernel/debug\n"
	a := qemu.NewArchive()
	trees, err := filepath.Glob(filepath.Join(root, "lib", "modules", "*"))
	if err != nil || len(trees) != 1 {
		t.Fatalf("modules in %s: %v, %v", root, trees, err)
	}
	all, err := qemu.FindModules(trees[0])
	if err != nil {
		t.Fatal(err)
	}
	modules, err := all.InOrder(t.Context(), append([]string{"nvme"}, g.modules...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		a.File("modules/"+m.Name+".ko", 0o644, m.Data)
		init += "$b insmod /modules/" + m.Name + ".ko\n"
	}
	for _, program := range g.programs {
		if _, err := qemu.FindProgram(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	if err := a.Programs(t.Context(), g.programs...); err != nil {
		t.Fatal(err)
	}
	init += "n=0; while [ ! -e /sys/class/block/nvme0n1 ] && [ $n -lt 3000 ]; do $b sleep 0.2; n=$((n+1)); done\n" +
		g.setup + "\n" +
		"echo " + guestBegin + "\n" + command + "\necho " + guestEnd + "\n$b poweroff -f\n"
	for _, d := range []string{"bin", "proc", "sys", "dev", "tmp"} {
		a.Folder(d)
	}
	a.File("bin/busybox", 0o755, read(t, busybox))
	a.File("bin/headroom", 0o755, program)
	a.File("init", 0o755, []byte(init))
	return a.Bytes()
}
