//go:build system

package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"headroom/internal/facts"
	"headroom/internal/rule"
	"headroom/internal/target/initramfs"
)

// guest is a Debian kernel in QEMU with an initramfs that holds busybox, this headroom and a few of the kernel's modules. It is
// emulated, not virtualised: what is read from it is true of a machine, how fast it is says nothing.
type guest struct {
	kernel  string   // meta-package, for scripts/guest-kernel
	cpu     string   // QEMU's -cpu
	devices []string // QEMU's -device, IOMMU included
	args    string   // boot arguments

	disks    int           // further empty disks, d1, d2, … for devices
	drive    string        // options of every disk: "throttling.iops-total=200"
	modules  []string      // of the kernel, besides nvme
	programs []string      // of this machine, with the libraries that they need
	setup    string        // shell commands before the command under test
	limit    time.Duration // until it must have ended; 0 is four minutes
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
	argv := []string{"-accel", "tcg", "-machine", "q35", "-cpu", g.cpu, "-smp", "2", "-m", "1G", "-nographic", "-no-reboot",
		"-kernel", kernels[0], "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1 no_timer_check " + g.args}
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
	ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(g.limit, 4*time.Minute))
	defer cancel()
	qemu := exec.CommandContext(ctx, "qemu-system-x86_64", append(argv, "-device", "nvme,serial=headroom-test,drive=d0")...)
	printed, err := qemu.CombinedOutput()
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

// initramfs holds what the guest runs. The modules are loaded in the order in which they need each other.
func (g guest) initramfs(t *testing.T, root, command string) []byte {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "headroom")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/headroom")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Fatal(err)
	}
	init := "#!/bin/busybox sh\nb=/bin/busybox\n$b mount -t proc proc /proc\n$b mount -t sysfs sysfs /sys\n$b mount -t devtmpfs dev /dev\n" +
		"$b mount -t debugfs debugfs /sys/kernel/debug\n"
	a := initramfs.New()
	trees, err := filepath.Glob(filepath.Join(root, "lib", "modules", "*"))
	if err != nil || len(trees) != 1 {
		t.Fatalf("modules in %s: %v, %v", root, trees, err)
	}
	all, err := initramfs.FindModules(trees[0])
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
		if _, err := initramfs.Find(program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	if err := a.Programs(t.Context(), g.programs...); err != nil {
		t.Fatal(err)
	}
	init += "n=0; while [ ! -e /sys/class/block/nvme0n1 ] && [ $n -lt 50 ]; do $b sleep 0.2; n=$((n+1)); done\n" + g.setup + "\n" +
		"echo " + guestBegin + "\n" + command + "\necho " + guestEnd + "\n$b poweroff -f\n"
	for _, d := range []string{"bin", "proc", "sys", "dev", "tmp"} {
		a.Folder(d)
	}
	a.File("bin/busybox", 0o755, read(t, busybox))
	a.File("bin/headroom", 0o755, read(t, binary))
	a.File("init", 0o755, []byte(init))
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(a.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestGuestsReadTrue boots kernels whose state is known, and reads and diagnoses it from inside by the same headroom that
// users run.
func TestGuestsReadTrue(t *testing.T) {
	const vtd = "intel-iommu"
	for _, c := range []struct {
		name string
		guest
		want  map[string]string // facts, by key
		finds []string
		not   []string // rules that must not find anything
	}{
		{"6.1 strict", guest{kernel: "linux-image-amd64", cpu: "max", devices: []string{vtd}, args: "intel_iommu=on iommu.strict=1"},
			map[string]string{"disk.iommu.group_type": "DMA", "iommu.units": "dmar0", "kernel.arch": "x86_64"}, []string{"iommu-strict"}, nil},
		{"6.1 lazy", guest{kernel: "linux-image-amd64", cpu: "max", devices: []string{vtd}, args: "intel_iommu=on iommu.strict=0"},
			map[string]string{"disk.iommu.group_type": "DMA-FQ"}, nil, []string{"iommu-strict"}},
		{"6.12 passthrough", guest{kernel: "linux-image-6.12-amd64", cpu: "max", devices: []string{vtd}, args: "intel_iommu=on iommu=pt"},
			map[string]string{"disk.iommu.group_type": "identity"}, nil, []string{"iommu-strict", "iommu-argument-ignored"}},
		{"6.12 strict", guest{kernel: "linux-image-6.12-amd64", cpu: "max", devices: []string{vtd}, args: "intel_iommu=on iommu.strict=1"},
			map[string]string{"disk.iommu.group_type": "DMA"}, []string{"iommu-strict"}, nil},
		{"6.1 AMD, PTI forced", guest{kernel: "linux-image-amd64", cpu: "EPYC", args: "pti=on"},
			map[string]string{"cpu.pti": "on", "cpu.vendor": "AuthenticAMD", "disk.iommu.group_type": "none"}, []string{"pti-needless"}, nil},
		{"6.1 AMD", guest{kernel: "linux-image-amd64", cpu: "EPYC"},
			map[string]string{"cpu.pti": "off", "cpu.vendor": "AuthenticAMD"}, nil, []string{"pti-needless", "iommu-strict"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			printed := c.boot(t, "/bin/headroom facts --timeout 60s --json --only disk --only cpu --only iommu --only kernel.release --only kernel.arch\n"+
				"echo "+guestNext+"\n/bin/headroom doctor --timeout 60s --json")
			snapshot, diagnosis, _ := strings.Cut(printed, guestNext+"\n")
			var d facts.Document
			if err := json.Unmarshal([]byte(snapshot), &d); err != nil {
				t.Fatalf("%v:\n%s", err, snapshot)
			}
			seen := map[string]string{}
			for _, f := range d.Facts {
				if f.About == "" || f.About == "nvme0n1" {
					seen[f.Key] = f.Value + f.Unknown
				}
			}
			for key, want := range c.want {
				if seen[key] != want {
					t.Errorf("%s is %q, want %q", key, seen[key], want)
				}
			}
			var r rule.Report
			if err := json.Unmarshal([]byte(diagnosis), &r); err != nil {
				t.Fatalf("%v:\n%s", err, diagnosis)
			}
			var found []string
			for _, f := range r.Findings {
				if f.Verdict == rule.Found {
					found = append(found, f.Rule)
				}
			}
			t.Logf("doctor finds %q", found)
			for _, id := range c.finds {
				if !slices.Contains(found, id) {
					t.Errorf("doctor does not find %s", id)
				}
			}
			for _, id := range c.not {
				if slices.Contains(found, id) {
					t.Errorf("doctor finds %s", id)
				}
			}
			if t.Failed() {
				t.Log(printed)
			}
		})
	}
}

// TestGuestWithVolumes stacks what this machine's own kernel may not have: md over NVMe, a cipher over a stripe, a multipath map
// over two SCSI paths to one disk, a bond. What is read of each is what was made.
func TestGuestWithVolumes(t *testing.T) {
	g := guest{kernel: "linux-image-amd64", cpu: "max", disks: 4,
		devices: []string{"nvme,serial=second,drive=d1", "virtio-scsi-pci,id=scsi", "scsi-hd,bus=scsi.0,drive=d2,serial=path-a,rotation_rate=1",
			"scsi-hd,bus=scsi.0,drive=d3,serial=path-b", "virtio-blk-pci,drive=d4,serial=virtual,num-queues=2", "virtio-net-pci,id=n1", "virtio-net-pci,id=n2"},
		modules:  []string{"virtio_pci", "raid0", "dm_crypt", "dm_multipath", "dm_service_time", "xts", "aesni_intel", "sch_fq", "virtio_scsi", "sd_mod", "virtio_blk", "virtio_net", "bonding"},
		programs: []string{"mdadm", "dmsetup", "ip", "tc", "ethtool"},
		setup: `export PATH=/bin:/sbin:/usr/bin:/usr/sbin; $b mkdir -p /run /tmp; $b ln -s /bin/busybox /bin/stat; $b sleep 2
mdadm --create /dev/md0 --run --level=0 --chunk=64 --raid-devices=2 /dev/nvme0n1 /dev/nvme1n1 >/dev/null 2>&1
dmsetup create striped --table "0 65536 striped 2 128 /dev/sda 0 /dev/sdb 0"
dmsetup create secret --uuid CRYPT-PLAIN-secret --table "0 65536 crypt aes-xts-plain64 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 0 /dev/dm-0 0 2 no_read_workqueue no_write_workqueue"
dmsetup create many --uuid mpath-many --table "0 65536 multipath 0 0 1 1 service-time 0 2 1 /dev/vda 1 /dev/vda 1"
echo 802.3ad > /sys/class/net/bond0/bonding/mode; echo layer3+4 > /sys/class/net/bond0/bonding/xmit_hash_policy
/usr/sbin/ip link set eth0 down; /usr/sbin/ip link set eth1 down; echo +eth0 > /sys/class/net/bond0/bonding/slaves; echo +eth1 > /sys/class/net/bond0/bonding/slaves
/usr/sbin/ip link set bond0 up; /usr/sbin/tc qdisc add dev eth0 root fq; echo none > /sys/block/nvme0n1/queue/scheduler`}
	printed := g.boot(t, "/bin/headroom facts --timeout 60s --json --only volume --only multipath --only nic --only disk --only mount")
	var d facts.Document
	if err := json.Unmarshal([]byte(printed), &d); err != nil {
		t.Fatalf("%v:\n%s", err, printed)
	}
	seen := map[string]string{}
	for _, f := range d.Facts {
		seen[f.Key+" of "+f.About] = f.Value
		if f.Unknown != "" {
			seen[f.Key+" of "+f.About] = "unknown: " + f.Unknown
		}
		if f.Key == "volume.name" || f.Key == "disk.serial" {
			seen[f.Value] = f.About // which of several a name is, the order of discovery decides
		}
	}
	for key, want := range map[string]string{
		"volume.md.level of md0": "raid0", "volume.md.disks of md0": "2", "volume.md.chunk_size of md0": "65536",
		"volume.disks of md0":                      "nvme0n1, nvme1n1",
		"volume.kind of " + seen["secret"]:         "crypt",
		"volume.crypt.cipher of " + seen["secret"]: "aes-xts-plain64",
		"volume.crypt.flags of " + seen["secret"]:  "no_read_workqueue, no_write_workqueue",
		"volume.disks of " + seen["secret"]:        "sda, sdb",
		"volume.dm.table of " + seen["striped"]:    "striped",
		"multipath.policy of " + seen["many"]:      "service-time",
		"nic.bond.mode of bond0":                   "802.3ad", "nic.bond.hash of bond0": "layer3+4", "nic.bond.members of bond0": "eth0, eth1",
		"nic.kind of eth0": "virtio", "nic.qdisc of eth0": "fq", "nic.master of eth0": "bond0",
		"disk.serial of nvme0n1": "second", "disk.driver of sda": "sd", "disk.rotational of " + seen["path-a"]: "0", "disk.rotational of " + seen["path-b"]: "1",
		"disk.host.driver of sda": "virtio_scsi", "disk.driver of vda": "virtio_blk", "disk.queue.hardware of vda": "2",
		"disk.holders of nvme0n1": "md0",
	} {
		if seen[key] != want {
			t.Errorf("%s is %q, want %q", key, seen[key], want)
		}
	}
	if t.Failed() {
		t.Log(printed)
	}
}
