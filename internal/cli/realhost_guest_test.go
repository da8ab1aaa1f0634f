//go:build system && guests

package cli

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/lab"
)

// hostName is how headroom calls the machine that is started again.
const hostName = "ssh://root@db1"

// hostRamdisk finds the disk with the system. It is small, because GRUB reads it through firmware that is emulated.
const hostRamdisk = `#!/bin/busybox sh
b=/bin/busybox
$b mount -t proc proc /proc; $b mount -t sysfs sysfs /sys; $b mount -t devtmpfs dev /dev
for m in $($b cat /modules/order); do $b insmod /modules/$m.ko; done
n=0; while [ ! -e /dev/vda1 -o ! -e /dev/vdb ] && [ $n -lt 100 ]; do $b sleep 0.2; n=$((n+1)); done
$b mount -t ext4 -o ro /dev/vdb /system
for d in proc sys dev; do $b mount --move /$d /system/$d; done
exec $b switch_root /system /init
`

// hostInit starts the machine. Each boot says on the console how it was started, which no headroom has a part in.
const hostInit = `#!/bin/busybox sh
b=/bin/busybox
$b mkdir -p /dev/pts /dev/shm; $b mount -t devpts devpts /dev/pts; $b mount -t tmpfs -o mode=1777 shm /dev/shm; $b mount -t tmpfs -o mode=1777 tmp /tmp
$b mount -t tmpfs run /run; $b mkdir /run/sshd
$b ip link set lo up; $b ip address add 10.0.2.15/24 dev eth0; $b ip link set eth0 up
$b mount -t ext4 /dev/vda1 /boot
echo "booted with: $($b cat /proc/cmdline)" >/dev/console
SSHD -f /etc/ssh/sshd_config -E /dev/console
exec $b init
`

// host is a machine in QEMU with firmware, GRUB and an sshd, as one that is rented: headroom knows nothing of QEMU
// here.
type hostMachine struct {
	t       *testing.T
	console string
	config  string // of ssh
	ssh     *host.SSH
	monitor string
}

const hostGRUB = "/usr/lib/grub/i386-pc"

func startHost(t *testing.T) *hostMachine {
	t.Helper()
	for _, p := range []string{"qemu-system-x86_64", "busybox", "apt-get", "mke2fs", "grub-mkimage", "grub-editenv",
		"grub-probe", "grub-script-check", "sfdisk",
		"/usr/sbin/sshd", "ssh-keygen", "fio", "dash"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
	if _, err := os.Stat(hostGRUB); err != nil {
		t.Skip("grub-pc-bin is not installed")
	}
	dir := t.TempDir()
	h := &hostMachine{t: t, console: filepath.Join(dir, "console"), config: filepath.Join(dir, "ssh_config"),
		monitor: filepath.Join(dir, "monitor")}
	root := strings.TrimSpace(h.do("../../scripts/guest-kernel", "linux-image-amd64"))
	kernels, err := filepath.Glob(filepath.Join(root, "boot", "vmlinuz-*"))
	if err != nil || len(kernels) != 1 {
		t.Fatalf("kernels in %s: %v, %v", root, kernels, err)
	}
	disk, system := h.disk(dir, kernels[0], h.ramdisk(dir, root)), h.system(dir)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	known := "db1 " + string(read(t, filepath.Join(dir, "host.pub")))
	text := fmt.Sprintf("Host db1\n HostName 127.0.0.1\n Port %d\n HostKeyAlias db1\n IdentityFile %s\n "+
		"IdentitiesOnly yes\n IdentityAgent none\n UserKnownHostsFile %s\n GlobalKnownHostsFile /dev/null\n LogLevel "+
		"ERROR\n",
		port, filepath.Join(dir, "user"), filepath.Join(dir, "known"))
	for name, text := range map[string]string{h.config: text, filepath.Join(dir, "known"): known} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	// With several CPUs, QEMU before 8.1 may hang.
	emulator := exec.CommandContext(ctx, "qemu-system-x86_64", "-accel", "tcg", "-machine", "q35", "-cpu",
		qemu.EmulatedCPU, "-smp", "1", "-m", "1G", "-display", "none",
		"-nodefaults", "-vga", "std", "-serial", "file:"+h.console, "-monitor", "unix:"+h.monitor+",server=on,wait=off",
		"-drive", "file="+disk+",if=virtio,format=raw",
		"-drive", "file="+system+",if=virtio,format=raw,readonly=on",
		"-netdev", fmt.Sprintf("user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", port), "-device",
		"virtio-net-pci,netdev=n,romfile=")
	var printed bytes.Buffer
	emulator.Stdout, emulator.Stderr = &printed, &printed
	if err := emulator.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = emulator.Wait()
		if text, err := os.ReadFile(h.console); t.Failed() && err == nil {
			t.Logf("QEMU said %q; the end of the console:\n%s", printed.String(), tail(string(text), 5000))
		}
	})
	h.ssh = host.NewSSH(host.SSHOptions{Name: hostName, Destination: "root@db1", Args: []string{"-F", h.config},
		Patience: time.Second})
	t.Cleanup(func() { _ = h.ssh.Close() })
	h.await(1)
	return h
}

func (h *hostMachine) do(argv ...string) string {
	h.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	var printed bytes.Buffer
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("%s: %v\n%s%s", lab.ShellQuote(argv), err, out, printed.String())
	}
	return string(out)
}

// ramdisk holds the modules that it takes to find the system.
func (h *hostMachine) ramdisk(dir, root string) string {
	t := h.t
	t.Helper()
	a := qemu.NewArchive()
	for _, d := range []string{"bin", "proc", "sys", "dev", "system", "modules"} {
		a.Folder(d)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	a.File("bin/busybox", 0o755, read(t, busybox))
	trees, err := filepath.Glob(filepath.Join(root, "lib", "modules", "*"))
	if err != nil || len(trees) != 1 {
		t.Fatalf("modules in %s: %v, %v", root, trees, err)
	}
	all, err := qemu.FindModules(trees[0])
	if err != nil {
		t.Fatal(err)
	}
	modules, err := all.InOrder(t.Context(), "virtio_pci", "virtio_net", "virtio_blk", "ext4", "crc32c_generic")
	if err != nil {
		t.Fatal(err)
	}
	order := ""
	for _, m := range modules {
		a.File("modules/"+m.Name+".ko", 0o644, m.Data)
		order += m.Name + "\n"
	}
	a.File("modules/order", 0o644, []byte(order))
	a.File("init", 0o755, []byte(hostRamdisk))
	name := filepath.Join(dir, "initrd")
	if err := os.WriteFile(name, gzipped(t, a.Bytes()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// system is a disk with what a host needs for loads and for its own boots, and the keys.
func (h *hostMachine) system(dir string) string {
	t := h.t
	t.Helper()
	a := qemu.NewArchive()
	for _, d := range []string{"proc", "sys", "dev", "tmp", "root", "boot", "run", "var/tmp", "var/log"} {
		a.Folder(d)
	}
	// busybox's shell, env and setsid take its own dd before any other, and that can't refuse to replace a file.
	programs := []string{"fio", "dash", "env", "setsid", "dd", "grub-editenv", "grub-probe", "grub-script-check",
		"/usr/sbin/sshd"}
	for _, p := range []string{"/usr/lib/openssh/sshd-session", "/usr/lib/openssh/sshd-auth"} {
		if _, err := os.Stat(p); err == nil {
			programs = append(programs, p)
		}
	}
	if err := a.Programs(t.Context(), programs...); err != nil {
		t.Fatal(err)
	}
	dash, err := exec.LookPath("dash")
	if err != nil {
		t.Fatal(err)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	a.File("bin/busybox", 0o755, read(t, busybox))
	for applet := range strings.FieldsSeq(h.do("busybox", "--list")) {
		switch applet {
		case "dd", "env", "setsid", "busybox":
		case "sh":
			a.Link("bin/sh", dash)
		default:
			a.Link("bin/"+applet, "/bin/busybox")
		}
	}
	for _, key := range []string{"host", "user"} {
		h.do("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key))
	}
	for name, text := range map[string]string{
		"etc/passwd": "root:*:0:0:root:/root:/bin/sh\nsshd:*:100:65534::/run/sshd:/bin/false\n" +
			"nobody:*:65534:65534::/:/bin/false\n",
		"etc/group":               "root:x:0:\nnogroup:x:65534:\n",
		"etc/nsswitch.conf":       "hosts: files\n",
		"etc/machine-id":          fmt.Sprintf("%016x%016x\n", rand.Uint64(), rand.Uint64()),
		"etc/inittab":             "::ctrlaltdel:/bin/true\n::shutdown:/bin/umount /boot\n",
		"etc/ssh/authorized_keys": string(read(t, filepath.Join(dir, "user.pub"))),
		"etc/ssh/sshd_config": "HostKey /etc/ssh/host_key\nAuthorizedKeysFile /etc/ssh/authorized_keys\nStrictModes " +
			"no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\nUseDNS no\nPidFile none\n" +
			"PrintMotd no\nLogLevel ERROR\nSubsystem sftp internal-sftp\n",
	} {
		a.File(name, 0o644, []byte(text))
	}
	a.File("etc/ssh/host_key", 0o600, read(t, filepath.Join(dir, "host")))
	a.File("init", 0o755, []byte(strings.Replace(hostInit, "SSHD", "/usr/sbin/sshd", 1)))
	packed, tree, disk := filepath.Join(dir, "system.cpio"), filepath.Join(dir, "tree"), filepath.Join(dir, "system")
	if err := os.WriteFile(packed, a.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	h.do("sh", "-c", `mkdir "$2" && cd "$2" && busybox cpio -id <"$1" 2>/dev/null`, "sh", packed, tree)
	h.do("truncate", "-s", "400M", disk)
	h.do("mke2fs", "-q", "-t", "ext4", "-d", tree, disk)
	return disk
}

// disk is one that firmware can start: GRUB in its first sectors, as grub-install puts it there, with the grub.cfg that
// Debian's grub-mkconfig made, and one file system that is /boot.
func (h *hostMachine) disk(dir, kernel, initrd string) string {
	t := h.t
	t.Helper()
	archive, err := txtar.ParseFile("../host/bootloader/testdata/debian-12.txtar")
	if err != nil || len(archive.Files) == 0 {
		t.Fatalf("%d files: %v", len(archive.Files), err)
	}
	release := strings.TrimPrefix(filepath.Base(kernel), "vmlinuz-")
	cfg := string(archive.Files[0].Data)
	for _, change := range [][2]string{{"6.1.0-56-amd64", release}, {"/boot/vmlinuz", "/vmlinuz"},
		{"/boot/initrd", "/initrd"}, {"timeout=5", "timeout=0"},
		{"root=/dev/vda1 ro  quiet", "root=/dev/vda1 ro  quiet console=ttyS0 panic=-1 no_timer_check"}} {
		if !strings.Contains(cfg, change[0]) {
			t.Fatalf("the fixture has no %s", change[0])
		}
		cfg = strings.ReplaceAll(cfg, change[0], change[1])
	}
	boot, disk, core := filepath.Join(dir, "boot"), filepath.Join(dir, "disk"), filepath.Join(dir, "core.img")
	for _, d := range []string{"grub", "place"} {
		if err := os.MkdirAll(filepath.Join(boot, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.do("cp", "-r", hostGRUB, filepath.Join(boot, "grub"))
	h.do("cp", kernel, filepath.Join(boot, "vmlinuz-"+release))
	h.do("cp", initrd, filepath.Join(boot, "initrd.img-"+release))
	h.do("grub-editenv", filepath.Join(boot, "grub", "grubenv"), "create")
	if err := os.WriteFile(filepath.Join(boot, "grub", "grub.cfg"), []byte(cfg), 0o600); err != nil {
		t.Fatal(err)
	}
	h.do("truncate", "-s", "300M", disk)
	h.do("sh", "-c", `echo "start=2048,type=83,bootable" | sfdisk -q --no-reread --no-tell-kernel "$1"`, "sh", disk)
	// GRUB 2.06 does not know these two features, and later mke2fs turns them on.
	h.do("mke2fs", "-q", "-t", "ext4", "-O", "^metadata_csum_seed,^orphan_file", "-E", "offset=1048576",
		"-d", boot, disk, "299M")
	h.do("grub-mkimage", "-O", "i386-pc", "-o", core, "-p", "(hd0,msdos1)/grub", "biosdisk", "part_msdos", "ext2")
	h.do("dd", "if="+filepath.Join(hostGRUB, "boot.img"), "of="+disk, "bs=440", "count=1", "conv=notrunc",
		"status=none")
	h.do("dd", "if="+core, "of="+disk, "bs=512", "seek=1", "conv=notrunc", "status=none")
	return disk
}

// boots are the arguments of all boots until now, by what the machine itself said.
func (h *hostMachine) boots() []string {
	h.t.Helper()
	var list []string
	for line := range strings.Lines(string(read(h.t, h.console))) {
		if _, args, ok := strings.Cut(strings.TrimSpace(line), "booted with: "); ok {
			list = append(list, args)
		}
	}
	return list
}

// await waits until the machine has booted this often, and listens.
func (h *hostMachine) await(boots int) {
	h.t.Helper()
	for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
		if data, err := os.ReadFile(h.console); err == nil && strings.Count(string(data), "booted with: ") >= boots {
			if _, err := h.ssh.Run(h.t.Context(), "true"); err == nil {
				return
			}
		}
	}
	h.t.Fatalf("the host does not come to its boot %d", boots)
}

// untouched proves that the machine runs with its own arguments, and that nothing of headroom's is on it. GRUB itself
// leaves next_entry there, empty.
func (h *hostMachine) untouched(v fixture, own, when string) {
	h.t.Helper()
	var out host.Output
	for err := errors.New("not asked"); err != nil; { // a machine that goes down after all comes up again
		h.await(1)
		out, err = h.ssh.Run(h.t.Context(), "sh", "-c", "cat /proc/cmdline; ls /boot/grub/custom.cfg /boot/place "+
			"/dev/shm/headroom-0 2>/dev/null; grub-editenv /boot/grub/grubenv list | grep next_entry=.")
		if h.t.Context().Err() != nil {
			h.t.Fatal(when, err)
		}
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out.Stdout)), "\n"), func(l string) bool {
		return l == "" || strings.HasSuffix(l, ":")
	})
	if !slices.Equal(lines, []string{own}) {
		h.t.Errorf("%s: the host has %q, want only %s", when, lines, own)
	}
	if left, err := filepath.Glob(filepath.Join(v.store, "changes", "*")); err != nil || len(left) != 0 {
		h.t.Errorf("%s: kept: %v, %v", when, left, err)
	}
}

func (h *hostMachine) experiment(v fixture, more ...string) *exec.Cmd {
	return v.command(append([]string{"ablate", v.suite, "/boot/place", "--on", hostName, "--setting",
		"cmdline:init_on_alloc=1", "--setting", "cmdline:quiet=absent",
		"--alone", "--blocks", "1", "--seed", "2"}, more...)...)
}

// measured is a started host, an experiment for it, and the host's own arguments.
func measured(t *testing.T) (h *hostMachine, v fixture, own string) {
	t.Helper()
	h = startHost(t)
	v = newFixture(t)
	v.env = []string{config.Variable(config.SSHConfig) + "=" + h.config,
		config.Variable(config.SSHPatience) + "=5s"} // less than a boot takes, which is not left to the connection
	if err := os.WriteFile(v.suite, []byte(strings.Replace(remoteSuite, "runtime: 3s", "runtime: 1s", 1)),
		0o644); err != nil {
		t.Fatal(err)
	}
	own = h.boots()[0]
	if !strings.Contains(own, " quiet") {
		t.Fatalf("the host was started with %s", own)
	}
	return h, v, own
}

// An experiment starts a machine again over ssh and its own GRUB for each visit, and leaves it as it was.
func TestAnAblationBootsARealHost(t *testing.T) {
	t.Parallel()
	h, v, own := measured(t)
	out, err := h.experiment(v).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--reboot "+hostName) || len(h.boots()) != 1 {
		t.Fatalf("not allowed: %v, %d boots\n%s", err, len(h.boots()), out)
	}
	if out, err = h.experiment(v, "--reboot", hostName, "--dry-run=full").CombinedOutput(); err != nil ||
		len(h.boots()) != 1 ||
		!strings.Contains(string(out), "boot without quiet\n") || !strings.Contains(string(out),
		"boot "+hostName+" with its own arguments") || !strings.Contains(string(out), " by grub") {
		t.Fatalf("dry run: %v, %d boots\n%s", err, len(h.boots()), out)
	}
	h.untouched(v, own, "before the experiment")

	began := time.Now()
	if out, err = h.experiment(v, "--reboot", hostName).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	expected := map[string]string{"boot": own, "boot without quiet": strings.Replace(own, " quiet", "", 1),
		"boot with arguments init_on_alloc=1": own + " init_on_alloc=1"}
	boots, ids, scratch := h.boots()[1:], map[string]bool{}, 0
	var did []string
	for r, err := range v.onlyRun().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Values[lab.IOPS(lab.Read)] <= 0 {
			t.Errorf("%s: %v\n%s", r.Cell, r.Warnings, out)
		}
		if want, ok := expected[r.Did[0]]; !ok || len(boots) <= len(did) || boots[len(did)] != want {
			t.Errorf("visit %d did %q; the host's boots were %q", len(did), r.Did[0], boots)
		}
		ids[r.Boot] = true
		did = append(did, r.Did[0])
		for _, step := range r.Did {
			if strings.Contains(step, "layout") {
				scratch++
			}
		}
	}
	t.Logf("%d visits in %s, each a boot through GRUB in an emulated machine", len(did),
		time.Since(began).Round(time.Second))
	if len(ids) != 4 || len(did) != 4 || scratch != 1 {
		t.Errorf("%d visits in %d boots with %d layouts: %q\n%s", len(did), len(ids), scratch, did, out)
	}
	if boots[len(boots)-1] != own {
		t.Errorf("the last boot was with %s", boots[len(boots)-1])
	}
	h.untouched(v, own, "at the end")
}

// An experiment is killed a moment after a boot begins, while the machine is down, and when it has come up with other
// arguments.
func TestAKilledAblationOfARealHostIsPutBack(t *testing.T) {
	t.Parallel()
	h, v, own := measured(t)
	random := rand.New(rand.NewPCG(7, 7))
	for _, c := range []struct {
		when  string
		after time.Duration
		up    bool
	}{{"before it goes down", time.Duration(random.IntN(2000)) * time.Millisecond, false},
		{"on the way", 6 * time.Second, false}, {"when it is up", 0, true}} {
		before := len(h.boots())
		cmd := h.experiment(v, "--reboot", hostName)
		printed := filepath.Join(t.TempDir(), "said")
		f, err := os.Create(printed)
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = f
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		other := func() bool {
			return slices.ContainsFunc(h.boots()[before:], func(b string) bool { return b != own })
		}
		for end := time.Now().Add(30 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
			text := string(read(t, printed))
			if (strings.Contains(text, "boot with") || strings.Contains(text, "boot without")) && (!c.up || other()) {
				break
			}
			if time.Now().After(end) {
				_ = cmd.Process.Kill()
				t.Fatalf("%s: no boot begins\n%s", c.when, text)
			}
		}
		time.Sleep(c.after)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		kept, err := filepath.Glob(filepath.Join(v.store, "changes", "*.boots"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range kept {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
		}
		t.Logf("killed %s: kept %d", c.when, len(kept))
		if c.up {
			h.await(before + 1)
			at := len(h.boots())
			out, err := v.command("restore").CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 4 ||
				!strings.Contains(string(out), "headroom restore --reboot "+hostName) || len(h.boots()) != at {
				t.Errorf("%s: restore that may not boot: %v\n%s", c.when, err, out)
			}
			if out, err := h.experiment(v).CombinedOutput(); err == nil ||
				!strings.Contains(string(out), "that was not allowed") {
				t.Errorf("%s: the next experiment without --reboot: %v\n%s", c.when, err, out)
			}
		}
		var out []byte
		for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); time.Sleep(2 * time.Second) {
			if out, err = v.command("restore", "--reboot", hostName).CombinedOutput(); err == nil {
				break
			}
			if !strings.Contains(string(out), "headroom restore") {
				t.Errorf("%s: restore: %v\n%s", c.when, err, out)
			}
		}
		if err != nil {
			t.Errorf("%s: restore: %v\n%s", c.when, err, out)
		}
		t.Logf("killed %s: %s", c.when, out)
		// A machine that was on its way down when it was mended still comes up, as it starts by itself: ten seconds
		// pass without another boot.
		for at := -1; at != len(h.boots()); time.Sleep(10 * time.Second) {
			at = len(h.boots())
		}
		h.untouched(v, own, "killed "+c.when)
	}
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
