//go:build guests

package bootloader

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

const grubModules = "/usr/lib/grub/i386-pc"

// guestTimeout limits one boot under emulation on a busy machine.
const guestTimeout = 10 * time.Minute

// guestInit is the first program of the guest. It needs no order of modules: it retries until each has its
// dependencies.
const guestInit = `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
for pass in 1 2 3 4 5 6; do for m in /modules/*; do insmod $m 2>/dev/null; done; done
while [ ! -e /dev/vda1 ]; do sleep 0.2; done
mount -t ext4 /dev/vda1 /boot
` + guestAgent

// grubGuest is a machine in QEMU whose firmware starts GRUB from a disk, with a Debian kernel and the grub.cfg of the
// fixture, which Debian's grub-mkconfig made. powerCycle is a reset without warning, like a technician's.
type grubGuest struct {
	*serial
	release string
	monitor net.Conn
}

func (g *grubGuest) powerCycle(t *testing.T) {
	t.Helper()
	if _, err := g.monitor.Write([]byte("system_reset\n")); err != nil {
		t.Fatal(err)
	}
}

func startGRUBGuest(t *testing.T) *grubGuest {
	t.Helper()
	needs(t, "qemu-system-x86_64", "busybox", "apt-get", "mke2fs", "grub-mkimage", "grub-editenv", "grub-probe",
		"grub-script-check", "kexec", "sfdisk")
	if _, err := os.Stat(grubModules); err != nil {
		t.Skip("grub-pc-bin is not installed")
	}
	root := strings.TrimSpace(run(t, "../../../scripts/guest-kernel", "linux-image-amd64"))
	kernels, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		t.Fatalf("kernels in %s: %v, %v", root, kernels, err)
	}
	g := &grubGuest{release: strings.TrimPrefix(filepath.Base(kernels[0]), "vmlinuz-")}
	dir := t.TempDir()
	disk := grubDisk(t, dir, g.release, kernels[0], guestInitramfs(t, dir, root))
	line, monitor, console := filepath.Join(dir, "line"), filepath.Join(dir, "monitor"), filepath.Join(dir, "console")
	ctx, cancel := context.WithCancel(context.Background())
	// With several CPUs, QEMU before 8.1 can hang; it is slow at copying memory byte by byte.
	qemu := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg", "-machine", "q35", "-cpu",
		"max,erms=off,fsrm=off", "-smp", "1", "-m", "1G", "-display", "none",
		"-nodefaults", "-vga", "std", "-serial", "file:"+console, "-serial", "unix:"+line+",server=on,wait=off",
		"-monitor", "unix:"+monitor+",server=on,wait=off",
		"-drive", "file="+disk+",if=virtio,format=raw")
	var printed strings.Builder
	qemu.Stdout, qemu.Stderr = &printed, &printed
	if err := qemu.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = qemu.Wait()
		if text, err := os.ReadFile(console); t.Failed() && err == nil {
			t.Logf("QEMU said %q; the end of the console:\n%s", printed.String(), text[max(0, len(text)-6000):])
		}
	})
	g.serial = newSerial(t, dial(t, line))
	g.monitor = dial(t, monitor)
	t.Cleanup(func() { _ = g.monitor.Close() })
	g.await(t, guestReady)
	return g
}

func dial(t *testing.T, socket string) net.Conn {
	t.Helper()
	for end := time.Now().Add(guestTimeout); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			return c
		}
	}
	t.Fatalf("QEMU does not listen on %s", socket)
	return nil
}

// await waits until the guest prints a word.
func (g *grubGuest) await(t *testing.T, word string) {
	t.Helper()
	late := time.After(guestTimeout)
	for {
		select {
		case text, ok := <-g.said:
			if !ok {
				t.Fatal("the guest is gone")
			}
			if text == word {
				return
			}
		case <-late:
			t.Fatalf("the guest does not say that it is %s", word)
		}
	}
}

// guestInitramfs packs busybox, the programs that a boot needs on its host, and a program that hangs instead of
// starting anything.
func guestInitramfs(t *testing.T, dir, root string) string {
	t.Helper()
	tree := filepath.Join(dir, "tree")
	for _, d := range []string{"bin", "sbin", "proc", "sys", "dev", "tmp", "boot", "modules"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	install := func(from, to string) {
		t.Helper()
		to = filepath.Join(tree, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		run(t, "cp", "-L", from, to)
	}
	// dd must be able to refuse to replace a file; busybox's can't.
	for _, program := range []string{"busybox", "dd", "grub-editenv", "grub-probe", "grub-script-check", "kexec"} {
		file, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		install(file, "/bin/"+program)
		out, _ := exec.Command("ldd", file).Output() // it fails for a static program
		for field := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(field, "/") {
				install(field, field)
			}
		}
	}
	wanted := regexp.MustCompile(
		`^(crc16|mbcache|crc32c_generic|jbd2|ext4|virtio|virtio_ring|virtio_pci|virtio_pci_legacy_dev|virtio_pci_modern_dev|virtio_blk)\.ko(\.xz)?$`)
	err := filepath.WalkDir(filepath.Join(root, "lib", "modules"), func(p string, d fs.DirEntry, err error) error {
		if err == nil && wanted.MatchString(d.Name()) {
			install(p, "/modules/"+d.Name())
			if strings.HasSuffix(p, ".xz") {
				run(t, "xz", "-d", filepath.Join(tree, "modules", d.Name()))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"init": guestInit,
		"bin/hang": "#!/bin/busybox sh\n/bin/busybox mount -t devtmpfs dev /dev\n(echo; echo " + guestHangs +
			") >/dev/ttyS1\nwhile :; do /bin/busybox sleep 1000; done\n",
		"sbin/reboot": "#!/bin/busybox sh\nsync; umount /boot; /bin/busybox reboot -f\n",
	} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	packed := filepath.Join(dir, "initrd")
	run(t, "sh", "-c", `cd "$1" && find . | busybox cpio -o -H newc 2>/dev/null | gzip -1 >"$2"`, "sh", tree, packed)
	return packed
}

// grubDisk makes a disk that firmware can boot: GRUB in its first sectors, where grub-install puts it, and one file
// system that is /boot. It needs no block device.
func grubDisk(t *testing.T, dir, release, kernel, initrd string) string {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/debian-12.txtar")
	if err != nil || len(archive.Files) == 0 {
		t.Fatalf("%d files: %v", len(archive.Files), err)
	}
	cfg := string(archive.Files[0].Data)
	for from, to := range map[string]string{
		"6.1.0-56-amd64": release, "/boot/vmlinuz": "/vmlinuz", "/boot/initrd": "/initrd", "timeout=5": "timeout=0",
		"root=/dev/vda1 ro  quiet": "root=/dev/vda1 ro  quiet console=ttyS0 panic=-1 no_timer_check",
	} {
		if !strings.Contains(cfg, from) {
			t.Fatalf("the fixture has no %s", from)
		}
		cfg = strings.ReplaceAll(cfg, from, to)
	}
	boot, disk, core := filepath.Join(dir, "boot"), filepath.Join(dir, "disk"), filepath.Join(dir, "core.img")
	if err := os.MkdirAll(filepath.Join(boot, "grub"), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "cp", "-r", grubModules, filepath.Join(boot, "grub"))
	run(t, "cp", kernel, filepath.Join(boot, "vmlinuz-"+release))
	run(t, "cp", initrd, filepath.Join(boot, "initrd.img-"+release))
	run(t, "grub-editenv", filepath.Join(boot, "grub", "grubenv"), "create")
	if err := os.WriteFile(filepath.Join(boot, "grub", "grub.cfg"), []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "truncate", "-s", "200M", disk)
	run(t, "sh", "-c", `echo "start=2048,type=83,bootable" | sfdisk -q --no-reread --no-tell-kernel "$1"`, "sh", disk)
	// GRUB 2.06 does not know these two features, which later versions of mke2fs enable.
	run(t, "mke2fs", "-q", "-t", "ext4", "-O", "^metadata_csum_seed,^orphan_file", "-E", "offset=1048576",
		"-d", boot, disk, "199M")
	run(t, "grub-mkimage", "-O", "i386-pc", "-o", core, "-p", "(hd0,msdos1)/grub", "biosdisk", "part_msdos", "ext2")
	run(t, "dd", "if="+filepath.Join(grubModules, "boot.img"), "of="+disk, "bs=440", "count=1", "conv=notrunc",
		"status=none")
	run(t, "dd", "if="+core, "of="+disk, "bs=512", "seek=1", "conv=notrunc", "status=none")
	return disk
}

// mustRead reads a file of the guest.
func (g *grubGuest) mustRead(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), guestTimeout)
	defer cancel()
	text, err := machine{g}.read(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(text[name])
}

// clean fails the test if files of headroom are on the guest's disk.
func (g *grubGuest) clean(t *testing.T, when string) {
	t.Helper()
	if (machine{g}).exists("/boot/grub/custom.cfg") {
		t.Errorf("%s: custom.cfg is there", when)
	}
	if set := parseEnvironment(g.mustRead(t, "/boot/grub/grubenv")); set["next_entry"] != "" {
		t.Errorf("%s: next_entry is %s", when, set["next_entry"])
	}
}

// TestGuestReturnsToItsOwnArguments boots a machine once with other arguments through a real GRUB, then with arguments
// that make it hang, and power cycles it; then through kexec.
func TestGuestReturnsToItsOwnArguments(t *testing.T) {
	g := startGRUBGuest(t)
	own := g.mustRead(t, cmdlinePath)
	if !strings.Contains(own, "BOOT_IMAGE=/vmlinuz-"+g.release) || !strings.Contains(own, "quiet") {
		t.Fatalf("GRUB started the guest with %s", own)
	}
	var kept Record
	o := Options{Limit: guestTimeout, Pause: time.Second, Before: func(r Record) error { kept = r; return nil }}
	h, err := New(t.Context(), g, o)
	if err != nil {
		t.Fatal(err, detailsOf(err))
	}
	if h.Method() != grubName {
		t.Errorf("booted by %s", h.Method())
	}
	first := g.mustRead(t, host.BootIDFile)
	spec := host.BootSpec{Arguments: []string{"slub_debug=FZPU", `dyndbg="module virtio +p; $x"`},
		Without: []string{"quiet"}}
	if err := h.Boot(t.Context(), spec); err != nil {
		t.Fatal(err, detailsOf(err))
	}
	now := g.mustRead(t, cmdlinePath)
	t.Logf("through GRUB: %s", now)
	if want := strings.Replace(own, " quiet", "", 1) + ` slub_debug=FZPU "dyndbg=module virtio +p; $x"`; now != want {
		t.Errorf("booted with %s, want %s", now, want)
	}
	if g.mustRead(t, host.BootIDFile) == first {
		t.Error("it is the same boot")
	}
	g.clean(t, "after a boot")

	// A machine that hangs is given up by its user, or at the limit; here, as soon as it reports that it hangs.
	futile, giveUp := context.WithCancel(t.Context())
	go func() {
		<-g.hangs
		giveUp()
	}()
	if err := h.Boot(futile, host.BootSpec{Arguments: []string{"rdinit=/bin/hang"}}); !errors.Is(err, errGone) {
		t.Fatalf("a machine that hangs: %v", err)
	}
	t.Log("it hangs, and its power is cycled")
	g.powerCycle(t)
	g.await(t, guestReady)
	if now := g.mustRead(t, cmdlinePath); now != own {
		t.Errorf("after the power cycle: %s, want %s", now, own)
	}
	if running, err := Undo(t.Context(), g, kept); err != nil || running {
		t.Errorf("running %v, %v", running, err)
	}
	g.clean(t, "after the power cycle")

	// Nothing unmounts a file system here before kexec.
	o.Method = kexecName
	if _, err := New(t.Context(), g, o); lab.KindOf(err) != lab.Refused {
		t.Errorf("kexec with a file system that is mounted for writing: %v", err)
	}
	if out, err := g.Run(t.Context(), "mount", "-o", "remount,ro", "/boot"); err != nil || out.ExitCode != 0 {
		t.Fatalf("%v: %s", err, out.Stderr)
	}
	if h, err = New(t.Context(), g, o); err != nil {
		t.Fatal(err, detailsOf(err))
	}
	before := g.mustRead(t, host.BootIDFile)
	if err := h.Boot(t.Context(), spec); err != nil {
		t.Fatal(err, detailsOf(err))
	}
	now = g.mustRead(t, cmdlinePath)
	t.Logf("through kexec: %s", now)
	if want := strings.Replace(strings.TrimPrefix(own, "BOOT_IMAGE=/vmlinuz-"+g.release+" "), " quiet", "", 1) +
		` slub_debug=FZPU dyndbg="module virtio +p; $x"`; now != want {
		t.Errorf("booted with %s, want %s", now, want)
	}
	if g.mustRead(t, host.BootIDFile) == before {
		t.Error("it is the same boot")
	}
	if err := h.Boot(t.Context(), host.BootSpec{}); err != nil {
		t.Fatal(err, detailsOf(err))
	}
	if now := g.mustRead(t, cmdlinePath); now != own {
		t.Errorf("by itself: %s, want %s", now, own)
	}
	g.clean(t, "at the end")
}
