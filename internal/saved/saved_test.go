package saved

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// value is a fact of a document: "?" and the reason where it is unknown, empty where it is not there.
func value(d facts.Document, key, about string) string {
	for _, f := range d.Facts {
		if f.Key == key && f.About == about {
			if f.Unknown != "" {
				return "? " + f.Unknown
			}
			return f.Value
		}
	}
	return ""
}

func factsOf(t testing.TB, m *Machine) facts.Document {
	t.Helper()
	d, err := m.Facts(t.Context(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// check compares facts, "key about = value" a line, with the about left out for the machine.
func check(t *testing.T, d facts.Document, want string) {
	t.Helper()
	for line := range strings.Lines(want) {
		left, right, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if !ok {
			continue
		}
		key, about, _ := strings.Cut(left, " ")
		got := value(d, key, about)
		if right == "unknown" && strings.HasPrefix(got, "? ") || right == "absent" && got == "" {
			continue
		}
		if got != right {
			t.Errorf("%s is %q, not %q", left, got, right)
		}
	}
}

// pasteCase is a text, and facts that it says.
type pasteCase struct{ name, text, want string }

func TestPaste(t *testing.T) {
	for _, c := range append(diskPastes(), []pasteCase{
		{"sysctl", "sysctl: permission denied on key 'fs.protected_fifos'\nnet.ipv4.tcp_window_scaling = 0\n" +
			"vm.zone_reclaim_mode=1\nnet.ipv4.tcp_rmem = 4096\t131072\t6291456\n" +
			"net.ipv4.conf.eth0/100.forwarding = 0\n",
			`net.window_scaling = 0
			memory.zone_reclaim = 1
			net.tcp_rmem_max = 6291456
			disk.name = unknown
			net.irqbalance = absent`},
		{"iostat", "# iostat -x 1\nLinux 6.8.12-4-pve (pve1) \t11/30/2026 \t_x86_64_\t(32 CPU)\n\n" +
			"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n" +
			"           5.99    0.00    1.79    0.59    3.10   88.53\n\n" +
			"Device            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz  %util\nnvme0n1  251.34  18949.65  0.22" +
			"   0.09    0.17    75.40   2.50\n\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n" +
			"           0.00    0.00    0.00    0.00   90.00   10.00\n", `kernel.release = 6.8.12-4-pve
			kernel.arch = x86_64
			load.steal = 0.031`},
		{"iostat in German", "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n" +
			"           5,99    0,00    1,79    0,59    0,50   91,13\n", `load.steal = 0.005
			kernel.release = absent`},
		{"mpstat", "Linux 6.1.0-30-arm64 (pi) \t11/30/2026 \t_aarch64_\t(4 CPU)\n\n11:20:44 AM  CPU    %usr   %nice" +
			"    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle\n", `kernel.arch = aarch64
			load.steal = absent`},
		{"iostat as JSON", `{"sysstat": {"hosts": [{"nodename": "vm", "sysname": "Linux", "release": "6.18.4", "machine": "x86_64",
			"number-of-cpus": 2, "date": "11/30/26", "statistics": [{"avg-cpu":  {"user": 55.99, "nice": 6.86, "system": 21.79,
			"iowait": 0.59, "steal": 0.10, "idle": 14.67}, "disk": []}]}]}}`, `kernel.release = 6.18.4
			load.steal = 0.001`},
		{"arguments", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet iommu.strict=1\n",
			`kernel.cmdline = BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet iommu.strict=1`},
		{"one processor of many", "processor\t: 0\nvendor_id\t: GenuineIntel\n" +
			"model name\t: Intel(R) Xeon(R) CPU E5-2699 v4 @ 2.20GHz\n" +
			"siblings\t: 44\nflags\t\t: fpu pti\n", `cpu.vendor = GenuineIntel
			cpu.threads = absent
			cpu.pti = on
			vm.hypervisor = none`},
		{"all processors", "processor\t: 0\nmodel name\t: M\nsiblings\t: 2\n\nprocessor\t: 1\nmodel name\t: M\n" +
			"siblings\t: 2\n",
			`cpu.threads = 2`},
		{"lscpu", "Architecture:            x86_64\n  CPU op-mode(s):        32-bit, 64-bit\n" +
			"CPU(s):                  16\n" +
			"  On-line CPU(s) list:   0-13\nVendor ID:               AuthenticAMD\n" +
			"  Model name:            AMD EPYC 7443P\n" +
			"    Thread(s) per core:  2\n    Core(s) per socket:  4\n    Socket(s):           2\nNUMA:\n" +
			"  NUMA node(s):          2\n" +
			"  NUMA node0 CPU(s):     0-7\n  NUMA node1 CPU(s):     8-15\nVulnerabilities:\n" +
			"  Spec rstack overflow:  Mitigation; Safe RET\n", `cpu.threads = 14
			cpu.cores = 8
			cpu.sockets = 2
			cpu.vendor = AuthenticAMD
			numa.nodes = 2
			node.cpus node1 = 8-15
			cpu.vulnerability.spec_rstack_overflow = Mitigation: Safe RET`},
		{"lscpu in a pipe", "Architecture: x86_64\nVulnerability Spec store bypass: Vulnerable\n" +
			"Hypervisor vendor: KVM\n",
			`cpu.vulnerability.spec_store_bypass = Vulnerable
			vm.hypervisor = kvm`},
		{"numactl", "available: 2 nodes (0-1)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 128833 MB\nnode 0 free: 1 MB\n" +
			"node 1 cpus: 4-5, 7 (3)\n" +
			"node 1 size: 1024 MB\nnode distances:\nnode   0   1 \n  0:  10  21 \n  1:  21  10 \n", `numa.nodes = 2
			node.cpus node0 = 0-3
			node.cpus node1 = 4-5,7
			node.memory node0 = 135091191808
			node.distances node1 = 21 10`},
		{"lspci", "03:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] [15b3:101d] (rev 01)\n" +
			"\tNUMA node: 1\n\tCapabilities: [60] Express (v2) Endpoint, MSI 00\n" +
			"\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n" +
			"\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n" +
			"\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n" +
			"\t\tLnkCtl:\tASPM Disabled; RCB 64 bytes, Disabled- CommClk+\n" +
			"\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)\n\tKernel driver in use: mlx5_core\n",
			`pci.class 0000:03:00.0 = ethernet
			pci.id 0000:03:00.0 = 15b3:101d
			pci.link.speed 0000:03:00.0 = 8.0 GT/s PCIe
			pci.link.width 0000:03:00.0 = 8
			pci.link.max_speed 0000:03:00.0 = 16.0 GT/s PCIe
			pci.link.max_width 0000:03:00.0 = 16
			pci.driver 0000:03:00.0 = mlx5_core
			pci.payload 0000:03:00.0 = 256
			pci.payload.max 0000:03:00.0 = 512
			pci.aspm 0000:03:00.0 = none
			pci.parent 0000:03:00.0 = unknown
			pci.numa_node 0000:03:00.0 = 1`},
		{"lspci with the bridge", "00:00.0 Host bridge: Intel Corporation Device 0d57\n" +
			"00:03.0 PCI bridge: Intel Corporation Device 6f08\n" +
			"\tBus: primary=00, secondary=03, subordinate=03, sec-latency=0\n" +
			"\t\tLnkSta:\tSpeed 2.5GT/s (ok), Width x4 (ok)\n" +
			"03:00.0 Non-Volatile memory controller: Samsung Device a80a (prog-if 02 [NVM Express])\n\tNUMA node: 0\n" +
			"\tCapabilities: <access denied>\n", `pci.parent 0000:03:00.0 = 0000:00:03.0
			pci.path 0000:03:00.0 = 0000:00:03.0, 0000:03:00.0
			pci.class 0000:03:00.0 = nvme
			pci.driver 0000:03:00.0 = absent
			pci.link.width 0000:03:00.0 = absent
			pci.link.speed 0000:00:03.0 = 2.5 GT/s PCIe`},
		{"ethtool", "Settings for eno1:\n\tSupported ports: [ TP ]\n\tSupported link modes:   10baseT/Half\n" +
			"\t                        1000baseT/Full\n" +
			"\tSpeed: 100Mb/s\n\tDuplex: Full\n\tLink detected: yes\nFeatures for eno1:\nrx-checksumming: on\n" +
			"tcp-segmentation-offload: off\nRing parameters for eno1:\nPre-set maximums:\nRX:\t\t4096\n" +
			"Current hardware settings:\nRX:\t\t512\n",
			`nic.speed eno1 = 100000000
			nic.speed.supported eno1 = 1000000000
			nic.carrier eno1 = 1
			nic.offload.tso eno1 = off
			nic.ring.rx eno1 = 512
			nic.ring.rx.max eno1 = 4096
			nic.kind eno1 = physical`},
		{"ethtool of a VLAN, which shows the adapter's ports", "Settings for eno1.30:\n\tSupported ports: [ TP ]\n\tSpeed: 1000Mb/s\n",
			`nic.speed eno1.30 = 1000000000
			nic.kind eno1.30 = unknown`},
		{"ethtool of an adapter without link modes", "Settings for ens5:\n\tSupported ports: [  ]\n\tSupported link modes:   Not reported\n" +
			"\tSpeed: Unknown!\n\tLink detected: yes\n",
			`nic.speed.supported ens5 = 0
			nic.kind ens5 = unknown`},
		{"mount", "/dev/sda1 on / type ext4 (rw,noatime,errors=remount-ro)\n" +
			"/dev/sdb1 on /srv type xfs (rw,relatime)\n" +
			"10.0.0.1:/export on /srv/my share type nfs4 (rw,relatime,vers=4.2,rsize=1048576,nconnect=4,proto=tcp,addr=10.0.0.1)\n",
			`mount.type / = ext4
			mount.type /srv = xfs
			mount.nfs.version /srv/my share = 4.2
			mount.nfs.nconnect /srv/my share = 4
			mount.nfs.rsize /srv/my share = 1048576`},
		{"nfsstat", "/mnt/nfs from 10.0.0.1:/export\n" +
			" Flags:\trw,relatime,vers=3,rsize=32768,wsize=65536,hard,proto=tcp,addr=10.0.0.1\n\n",
			`mount.nfs.version /mnt/nfs = 3
			mount.nfs.wsize /mnt/nfs = 65536
			mount.type /mnt/nfs = nfs`},
		{"a log of the kernel", "[    0.000000] Linux version 5.10.0-34-amd64 (debian-kernel@lists.debian.org) (gcc-10) #1 SMP Debian 5.10.234-1\n" +
			"[    0.000000] Command line: BOOT_IMAGE=/vmlinuz ro quiet intel_iommu=on\n" +
			"[    0.5] clocksource: Switched to clocksource tsc-early\n" +
			"[335323.813890] clocksource: Switched to clocksource hpet\n", `kernel.release = 5.10.0-34-amd64
			kernel.cmdline = BOOT_IMAGE=/vmlinuz ro quiet intel_iommu=on
			clock.source = hpet`},
		{"Talos' log", "kern:  notice: [2026-01-02T03:04:05Z]: Linux version 6.12.9-talos (@buildkitsandbox) (gcc) #1 SMP\n" +
			"kern:    info: [2026-01-02T03:04:05Z]: Command line: BOOT_IMAGE=/A/vmlinuz talos.platform=metal\n",
			`kernel.release = 6.12.9-talos
			kernel.cmdline = BOOT_IMAGE=/A/vmlinuz talos.platform=metal`},
		{"qm config", "agent: 1\ncores: 4\nmemory: 16384\nname: db1\n" +
			"net0: e1000=02:00:00:00:00:01,bridge=vmbr0,firewall=1\n" +
			"ide2: none,media=cdrom\nscsi0: local-zfs:vm-100-disk-0,cache=writethrough,size=64G\n" +
			"scsi1: local:100/vm-100-disk-1.qcow2,iothread=1,aio=native\nscsihw: lsi\nsockets: 2\n[old]\nscsi0: none\n",
			`guest.cpus db1 = 8
			guest.memory db1 = 17179869184
			guest.manager db1 = proxmox
			guest.nics db1 = e1000/tap
			drive.bus db1/scsi0 = lsi
			drive.cache db1/scsi0 = writethrough
			drive.aio db1/scsi0 = unknown
			drive.backend db1/scsi0 = unknown
			drive.cache db1/scsi1 = unknown
			drive.aio db1/scsi1 = native
			drive.backend db1/scsi1 = qcow2
			drive.iothread db1/scsi1 = none
			drive.bus db1/ide2 = absent`},
		{"qm config with a controller a disk", "name: db2\nscsihw: virtio-scsi-single\n" +
			"scsi0: fast:vm-1-disk-0,iothread=1,discard=on\nvirtio1: fast:vm-1-disk-1\n",
			`drive.bus db2/scsi0 = virtio-scsi
			drive.iothread db2/scsi0 = iothread-scsi0
			drive.discard db2/scsi0 = unmap
			drive.bus db2/virtio1 = virtio-blk
			drive.iothread db2/virtio1 = none`},
		{"libvirt", `<domain type='kvm'><name>db1</name><memory unit='MiB'>2048</memory><vcpu placement='static'>8</vcpu>
<iothreads>1</iothreads><os><type arch='x86_64' machine='pc-q35-9.2'>hvm</type></os>
<cpu mode='host-passthrough'/><devices>
<disk type='file' device='disk'><driver name='qemu' type='qcow2' cache='writethrough' io='threads'/>
<source file='/srv/a,b.qcow2'/><target dev='sda' bus='sata'/></disk>
<disk type='block' device='disk'><driver name='qemu' type='raw' cache='none' io='native' iothread='1'/>
<source dev='/dev/vg/a'/><target dev='vda'/></disk>
<disk type='file' device='cdrom'><target dev='sdb' bus='sata'/></disk>
<interface type='bridge'><source bridge='br0'/><model type='virtio'/></interface></devices></domain>`,
			`guest.cpus db1 = 8
			guest.cpu db1 = host
			guest.memory db1 = 2147483648
			guest.machine db1 = pc-q35-9.2
			guest.manager db1 = libvirt
			guest.nics db1 = virtio-net-pci/tap
			guest.vhost db1 = unknown
			drive.bus db1/sda = ahci
			drive.cache db1/sda = writethrough
			drive.source db1/sda = /srv/a,b.qcow2
			drive.aio db1/vda = native
			drive.iothread db1/vda = iothread1
			drive.backend db1/vda = block device
			drive.bus db1/sdb = absent`},
		{"QEMU", "/usr/bin/kvm -id 100 -name 'db 1,debug-threads=on' -device lsi,id=scsihw0 -drive file=/dev/pve/vm,if=none,id=drive-scsi0,cache=writethrough " +
			"-device scsi-hd,bus=scsihw0.0,drive=drive-scsi0,id=scsi0\n", `drive.bus db 1/scsi0 = lsi
			drive.cache db 1/scsi0 = writethrough`},
		{"a tuned profile", "[main]\nsummary=General\n[cpu]\ngovernor=powersave|ondemand\n[sysctl]\n" +
			"vm.zone_reclaim_mode=1\n",
			`cpu.governor = powersave
			memory.zone_reclaim = 1`},
		{"Talos' configuration", "version: v1alpha1\nmachine:\n  sysctls:\n" +
			"    net.ipv4.tcp_window_scaling: \"0\"\n  install:\n    extraKernelArgs: [iommu.strict=1]\n",
			`net.window_scaling = 0
			kernel.cmdline = absent`},
		{"several with prompts", "root@db1:~# cat /proc/cmdline\nro quiet\n" +
			"[root@db1 ~]# cat /sys/kernel/mm/transparent_hugepage/enabled\n[always] madvise never\n" +
			"$ sudo ethtool -k eth0 | grep seg\ntcp-segmentation-offload: off\n# sysctl vm.swappiness\n" +
			"vm.swappiness = 10\n==> /proc/uptime <==\n35.47 2.90\n",
			`kernel.cmdline = ro quiet
			memory.transparent_hugepage = always
			memory.swappiness = 10
			boot.uptime = 35.47`},
		{"grep of files", "/sys/bus/pci/devices/0000:03:00.0/class:0x010802\n" +
			"/sys/bus/pci/devices/0000:03:00.0/current_link_width:2\n/proc/sys/vm/swappiness:1\n",
			`pci.link.width 0000:03:00.0 = 2
			memory.swappiness = 1`},
		{"files and links in a list", "-- files --\n/sys/devices/pci0000:00/0000:00:03.0/0000:03:00.0/class = 0x020000\n" +
			"/sys/devices/pci0000:00/0000:00:03.0/0000:03:00.0/current_link_width = 8\n" +
			"/sys/devices/pci0000:00/0000:00:03.0/0000:03:00.0/net/ens1f0/mtu: 9000\n-- links --\n" +
			"/sys/bus/pci/devices/0000:03:00.0 -> ../../../devices/pci0000:00/0000:00:03.0/0000:03:00.0\n" +
			"lrwxrwxrwx 1 root root 0 Nov  3 10:00 /sys/class/net/ens1f0 -> " +
			"../../devices/pci0000:00/0000:00:03.0/0000:03:00.0/net/ens1f0\n", `pci.link.width 0000:03:00.0 = 8
			pci.path 0000:03:00.0 = 0000:00:03.0, 0000:03:00.0
			nic.mtu ens1f0 = 9000
			numa.pci_roots = unknown
			nic.pci.address ens1f0 = 0000:03:00.0`},
		{"prose between the parts", "Hello,\n\n$ cat /proc/sys/vm/swappiness\n60\n\nand the arguments:\nBOOT_IMAGE=/vmlinuz ro\n" +
			"Why is it slow?\n$ cat /sys/kernel/mm/ksm/run\ncat: /sys/kernel/mm/ksm/run: Permission denied\n", `memory.swappiness = 60
			kernel.cmdline = BOOT_IMAGE=/vmlinuz ro
			memory.ksm = absent`},
		{"uname", "Linux db1 6.12.9-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.12.9-1 (2025-01-10) x86_64 GNU/Linux\n",
			`kernel.release = 6.12.9-amd64
			kernel.arch = x86_64`},
	}...) {
		t.Run(c.name, func(t *testing.T) {
			m, err := Paste(c.name, c.text)
			if err != nil {
				t.Fatal(err)
			}
			check(t, factsOf(t, m), c.want)
			for as, text := range map[string]string{
				"the ends of lines of Windows":   "\ufeff" + strings.ReplaceAll(c.text, "\n", "\r\n"),
				"the no-break spaces of a page":  strings.ReplaceAll(c.text, " ", "\u00a0"),
				"a terminal's colours":           strings.ReplaceAll("\x1b[1m"+c.text, "\n", "\x1b[0m\n\x1b[1m"),
				"the name of a host, as of pdsh": "node7: " + strings.ReplaceAll(c.text, "\n", "\nnode7: "),
				"a container's log": "2026-11-29T10:00:00.123456789Z stdout F " +
					strings.ReplaceAll(c.text, "\n", "\n2026-11-29T10:00:00.123456789Z stdout F "),
			} {
				if few := strings.Count(c.text, "\n") < 3; few && strings.Contains(text, "node7: ") ||
					(few || strings.Contains(text, "[    ")) && strings.Contains(text, "stdout F") {
					continue // two lines begin alike by chance, and a kernel's log has times of its own
				}
				if m, err = Paste(c.name, text); err != nil {
					t.Fatalf("with %s: %v", as, err)
				}
				check(t, factsOf(t, m), c.want)
			}
		})
	}
}

func TestPasteRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                "holds no facts",
		"hello = world\n": "holds no facts",
		"n1: Architecture: x86_64\nn1: CPU(s): 8\nn1: Vendor ID: AuthenticAMD\n" +
			"n2: Architecture: x86_64\nn2: CPU(s): 16\nn2: Vendor ID: AuthenticAMD\n": "lines of several machines: n1 and n2",
		"Provisioner: linstor.csi.linbit.com\nParameters: a=b\n":                                "kube:pod?class=",
		"mpatha (36001405) dm-2 LIO-ORG,disk\nsize=1.0G features='0'\n":                         "multipath -ll, of which too little",
		"[ 9123.4] usb 1-1: new device\n[ 9124.4] usb 1-1: gone\n":                              "journalctl -k -b",
		"03:00.0 Ethernet controller: Mellanox Technologies MT2892 Family\n":                    "sudo lspci -nnvv",
		"<domain type='kvm'><name>db1</name><devices>":                                          "virsh dumpxml",
		"Settings for veth0:\n\tSupported ports: [ ]\n\tSupported link modes:   Not reported\n": "ethtool",
	} {
		_, err := Paste("F", text)
		var e *lab.Error
		if !errors.As(err, &e) || e.Kind != lab.Usage || len(e.Hints) == 0 || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestPasteOfSeveral checks outputs of one kind after each other. Their keys stand before as many lines as the names of
// machines would.
func TestPasteOfSeveral(t *testing.T) {
	var classes, guests strings.Builder
	for i, name := range []string{"fast", "slow", "third", "fourth"} {
		fmt.Fprintf(&classes, "Name:                  %s\nIsDefaultClass:        No\nProvisioner:           x\n"+
			"Parameters:            pool=p\nAllowVolumeExpansion:  True\nReclaimPolicy:         Delete\n"+
			"VolumeBindingMode:     Immediate\n", name)
		fmt.Fprintf(&guests, "agent: 1\nboot: order=scsi0\ncores: 8\nmemory: 16384\nname: %s\n"+
			"scsi0: local-lvm:vm-%d-disk-0,size=32G\nscsihw: lsi\n", name, i)
	}
	for text, want := range map[string]string{
		classes.String(): "claim.provisioner fast = x\nclaim.provisioner fourth = x",
		guests.String():  "guest.cpus fast = 8\nguest.cpus fourth = 8\ndrive.bus fast/scsi0 = lsi",
		// The third has a snapshot, as the files of /etc/pve/qemu-server do.
		"cores: 2\nname: a\nscsi0: s:a\nscsihw: lsi\ncores: 4\nname: b\nscsi1: s:b\nscsihw: pvscsi\n" +
			"cores: 6\nname: c\n[old]\ncores: 8\nname: c\ncores: 10\nname: d\nvirtio0: s:d\n": `guest.cpus a = 2
			guest.cpus b = 4
			guest.cpus c = 6
			guest.cpus d = 10
			drive.bus a/scsi0 = lsi
			drive.bus b/scsi0 = absent
			drive.bus b/scsi1 = pvscsi
			drive.bus d/virtio0 = virtio-blk`,
		"<domain type='kvm'>\n<name>a</name>\n<vcpu>2</vcpu>\n</domain>\n\n" +
			"<domain type='kvm'>\n<name>b</name>\n<vcpu>4</vcpu>\n</domain>\n": "guest.cpus a = 2\nguest.cpus b = 4"} {
		m, err := Paste("F", text)
		if err != nil {
			t.Fatal(err)
		}
		check(t, factsOf(t, m), want)
	}
}

// A number in brackets begins the lines of iperf, and no time of dmesg.
func TestPasteOfIperf(t *testing.T) {
	_, err := Paste("F", "[  3]  0.0-10.0 sec   755 MBytes   633 Mbits/sec\n")
	if err == nil || strings.Contains(err.Error(), "dmesg") {
		t.Error(err)
	}
}

// report is a small sosreport, with what must not be read: a link out of it, and a log.
func report() map[string]string {
	const top, eth0 = "sosreport-db1-2026/", "pci0000:00/0000:00:03.0/virtio2/net/eth0"
	const virtio, disk = "pci0000:00/0000:00:04.0", "/virtio3/block/vda"
	const nvme = "pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1"
	return map[string]string{
		top + "proc/cmdline": "ro quiet\n",
		top + "proc/cpuinfo": "processor\t: 0\n" +
			"vendor_id\t: GenuineIntel\nmodel name\t: X\nflags\t\t: fpu\n",
		top + "sos_commands/kernel/sysctl_-a": "vm.zone_reclaim_mode = 1\n" +
			"kernel.osrelease = 6.1.0\n",
		top + "sos_commands/networking/ethtool_-k_eth0": "Features for eth0:\n" +
			"tcp-segmentation-offload: off\n",
		top + "sos_commands/networking/ethtool_-i_eth0": "driver: virtio_net\nversion: 1.0.0\n",
		top + "sos_commands/block/fdisk_-l":             "Disk /dev/vda\n",
		top + "sys/devices/" + eth0 + "/flags":          "0x1003\n",
		top + "sys/class/net/eth0":                      "-> ../../devices/" + eth0,
		top + "proc/partitions": "major minor  #blocks  name\n\n 259        0  976762584 nvme0n1\n" +
			" 259        1     524288 nvme0n1p1\n   8        0  1000 vda\n",
		top + "proc/self/mountinfo":                                "20 1 259:1 / / rw - ext4 /dev/root rw\n",
		top + "sys/devices/" + nvme + "/queue/scheduler":           "[none] mq-deadline\n",
		top + "sys/devices/" + virtio + "/driver":                  "-> ../../../bus/pci/drivers/virtio-pci",
		top + "sys/devices/" + virtio + disk + "/queue/rotational": "1\n",
		top + "sys/block/vda":                                      "-> ../devices/" + virtio + disk,
		top + "sys/block/nvme0n1":                                  "-> ../devices/" + nvme,
		top + "etc/os-release":                                     "-> /usr/lib/os-release",
		top + "usr/lib/os-release":                                 "ID=debian\n",
		top + "etc/passwd":                                         "-> ../../../../../../../etc/passwd",
		top + "var/log/messages":                                   strings.Repeat("x", 4096),
	}
}

const reportFacts = `kernel.cmdline = ro quiet
	kernel.release = 6.1.0
	memory.zone_reclaim = 1
	os.id = debian
	os.pve = unknown
	rdma.modules = unknown
	vm.hypervisor = none
	nic.kind eth0 = virtio
	nic.driver.version eth0 = 1.0.0
	nic.offload.tso eth0 = off
	nic.master eth0 = unknown
	disk.size nvme0n1 = 1000204886016
	disk.queue.scheduler nvme0n1 = none
	disk.pci.address nvme0n1 = 0000:01:00.0
	disk.driver nvme0n1 = unknown
	disk.driver vda = virtio_blk
	mount.disks / = nvme0n1
	iscsi.state = unknown
	net.window_scaling = unknown`

func tarOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for name, text := range files {
		h := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), Typeflag: tar.TypeReg}
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, to, 0
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			io.WriteString(w, text)
		}
	}
	w.Close()
	return out.Bytes()
}

func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range files {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		h.SetMode(0o600)
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			h.SetMode(os.ModeSymlink | 0o777)
			text = to
		}
		f, err := w.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(f, text)
	}
	w.Close()
	return out.Bytes()
}

func packed(t testing.TB, data []byte, with func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := with(&out)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	w.Close()
	return out.Bytes()
}

func TestArchives(t *testing.T) {
	plain := tarOf(t, report())
	for name, data := range map[string][]byte{
		"tar": plain,
		"gz":  packed(t, plain, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		"xz":  packed(t, plain, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }),
		"zst": packed(t, plain, func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
		"zip": zipOf(t, report()),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "report")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			m, err := Open(Scheme + file)
			if err != nil {
				t.Fatal(err)
			}
			check(t, factsOf(t, m), reportFacts)
			if text, err := m.files.ReadFile("etc/passwd"); err == nil {
				t.Errorf("a link out of the archive was followed: %q", text)
			}
			if m, err = Open(file + "/sosreport-db1-2026"); err != nil {
				t.Error(err)
			}
			if _, err := Open(file + "/nothing"); err == nil {
				t.Error("a folder that is not there was opened")
			}
			if !slices.ContainsFunc(m.Unread, func(u string) bool { return strings.Contains(u, "other text") }) {
				t.Errorf("%q", m.Unread)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range report() {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(to, file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), reportFacts)
	if text, err := m.files.ReadFile("etc/passwd"); err == nil {
		t.Errorf("a link out of the folder was followed: %q", text)
	}
}

func TestSeveralMachines(t *testing.T) {
	file := filepath.Join(t.TempDir(), "support.zip")
	const line = "kern: info: [2026-01-02T03:04:05Z]: Linux version "
	if err := os.WriteFile(file, zipOf(t, map[string]string{"10.0.0.2/dmesg.log": line + "6.12.9-talos (x)\n",
		"10.0.0.3/talosResources/kernelparamstatuses.runtime.talos.dev.yaml": "metadata:\n    id: proc.sys.vm.swappiness\n" +
			"spec:\n    current: \"10\"\n    unsupported: false\n---\nmetadata:\n    id: proc.sys.vm.zone_reclaim_mode\n" +
			"spec:\n    current: 1\n",
		"10.0.0.3/dmesg.log": line + "6.12.8-talos (x)\n"}), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(file)
	var e *lab.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "2 machines") ||
		!strings.Contains(strings.Join(e.Hints, " "), Scheme+file+"/10.0.0.2, "+Scheme+file+"/10.0.0.3") {
		t.Fatalf("%v %+v", err, e)
	}
	m, err := Open(Scheme + file + "/10.0.0.3")
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), "kernel.release = 6.12.8-talos\nmemory.swappiness = 10\nmemory.zone_reclaim = 1")
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.tar.gz")
	whole := packed(t, tarOf(t, report()), func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil })
	if err := os.WriteFile(cut, whole[:len(whole)/3], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		dir: "no files of a machine", dir + "/none": "there is no",
		text:        "neither a folder nor an archive",
		text + "/x": "neither a folder nor an archive"} {
		_, err := Open(Scheme + name)
		var e *lab.Error
		if !errors.As(err, &e) || e.Kind != lab.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	said := func(u string) bool { return strings.Contains(u, "cut off") }
	if m, err := Open(cut); err == nil && !slices.ContainsFunc(m.Unread, said) {
		t.Errorf("an archive that is cut off: %q", m.Unread)
	}
}

// What is too large is named, and nothing is read of it.
func TestLargeFiles(t *testing.T) {
	m, err := Bytes("A", tarOf(t, map[string]string{"proc/cmdline": strings.Repeat("a", maxFile+1),
		"proc/uptime": "35.47 2.9\n"}))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Unread) != 1 || !strings.Contains(m.Unread[0], "proc/cmdline: too large") {
		t.Errorf("%q", m.Unread)
	}
	d := factsOf(t, m)
	check(t, d, "boot.uptime = 35.47\nkernel.cmdline = unknown")
}

func TestNothingRuns(t *testing.T) {
	m := newMachine("dir:x")
	if _, err := m.Start(t.Context(), targetJob()); err == nil {
		t.Error("a job was started")
	}
	if _, err := m.Run(t.Context(), "true"); err == nil {
		t.Error("a command was run")
	}
}

func TestMangled(t *testing.T) {
	for command, want := range map[string]string{"ethtool -k eth0": "ethtool_-k_eth0",
		"/usr/sbin/dumpe2fs -h /dev/vda": "dumpe2fs_-h_.dev.vda", "ip -json route show": "ip_-json_route_show"} {
		if got := mangled(command); got != want {
			t.Errorf("%s: %s", command, got)
		}
	}
}

// TestSourcesOfGuests checks that facts about a machine name the text, not the file that was made of it.
func TestSourcesOfGuests(t *testing.T) {
	m, err := Paste("F", "scsi0: local:vm-1-disk-0,size=64G\nscsihw: lsi\nname: db1\n")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range factsOf(t, m).Facts {
		if f.About == "db1" || strings.HasPrefix(f.About, "db1/") {
			found++
			if f.Source != "qm config" {
				t.Errorf("%s %s is from %q", f.Key, f.About, f.Source)
			}
		}
	}
	if found == 0 {
		t.Error("no facts about the machine")
	}
}

func FuzzPaste(f *testing.F) {
	f.Add("root@db1:~# cat /proc/cmdline\nro quiet\nvm.swappiness = 10\nSettings for eno1:\n\tSpeed: 100Mb/s\n")
	f.Add("/dev/sda1 on / type ext4 (rw)\n/mnt from a:/b\n Flags:\trw,vers=4\nname: a\nscsi0: b:c,cache=none\n" +
		"net0: virtio=1\n")
	f.Add("03:00.0 PCI bridge: x\n\tBus: primary=03, secondary=03\n\t\tLnkSta:\tSpeed 8GT/s, Width x8\n" +
		"available: 1 nodes (0)\nnode 0 cpus: 0\nnode 0 size: 1 MB\n")
	f.Add("<domain type='kvm'><name>a</name><devices><disk><target dev='v'/></disk></devices></domain>\n")
	f.Add("/usr/bin/kvm -name a -drive file=x\nversion: v1alpha1\nmachine:\n  sysctls:\n    a.b: c\n" +
		"==> /proc/x <==\n/sys/a/b:c\n")
	for _, c := range diskPastes() {
		f.Add(c.text)
	}
	f.Add(kubeMachine)
	f.Add(kubeList)
	f.Add(kubeVolumes)
	f.Add("Name: a\nProvisioner: linstor.csi.linbit.com\nParameters: a=b,c=d\nVolumeBindingMode: Immediate\n" +
		"NAME   PROVISIONER   RECLAIMPOLICY   VOLUMEBINDINGMODE\nb (default)   x   Delete   Immediate\n")
	f.Add("Linux 6.8.12 (a) \t11/30/26 \t_x86_64_\t(2 CPU)\navg-cpu:  %user   %nice %system %iowait  %steal   %idle\n" +
		"           1.00    0.00    1.00    9.00   12.00   77.00\nDevice            r/s\n")
	f.Add(hardwareText)
	f.Add("##### Run \"lspci\" #####\n" + lscpuTable + "Platform: Linux\nKernel release: 6.4\n/sys/block/sda/queue/scheduler:bfq\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := Paste("F", text)
		if err != nil {
			return
		}
		for _, fact := range factsOf(t, m).Facts {
			if fact.Key == "" || fact.Value == "" && fact.Unknown == "" {
				t.Errorf("%+v", fact)
			}
		}
	})
}

func FuzzArchive(f *testing.F) {
	plain := tarOf(f, report())
	f.Add(plain)
	f.Add(packed(f, plain, func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }))
	f.Add(zipOf(f, map[string]string{"../proc/cmdline": "ro\n", "proc/cmdline/x": "a",
		"sys": "-> ..", "/sos_commands/x/dmesg": "a"}))
	f.Add(tarOf(f, crmReport()))
	f.Add(tarOf(f, map[string]string{"n/sysinfo.tgz": mustGather(f)["must-gather.local.1/quay-io-openshift-sha256-1/nodes/worker-1/sysinfo.tgz"]}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !IsArchive(bytes.NewReader(data)) {
			return
		}
		if m, err := Bytes("A", data); err == nil {
			factsOf(t, m)
		}
	})
}

func targetJob() host.JobSpec { return host.JobSpec{ID: "x", Argv: []string{"true"}} }
