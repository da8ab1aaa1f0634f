package saved

import (
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// hardwareText is a text of supportconfig. Files of /etc are no machine's state.
const hardwareText = `=============================================================================
                     Support Utilities - Supportconfig

#==[ Command ]======================================#
# /usr/bin/lscpu
Architecture:        x86_64
CPU(s):              2
On-line CPU(s) list: 0,1
Model name:          M

#==[ Configuration File ]===========================#
# /proc/cpuinfo
processor	: 0
microcode	: 0x42
model name	: M
siblings	: 2
processor	: 1
model name	: M
siblings	: 2

#==[ Configuration File ]===========================#
# /etc/sysctl.d/99-mine.conf
vm.swappiness = 1
$ sysctl -a
vm.swappiness = 2

#==[ Configuration File ]===========================#
# /proc/cmdline
BOOT_IMAGE=/boot/vmlinuz quiet

#==[ Configuration File ]===========================#
# /proc/ioports - File not found

#==[ Command ]======================================#
# /sbin/lspci -nn
03:00.0 Non-Volatile memory controller [0108]: Samsung [144d:a80a]

#==[ Command ]======================================#
# /usr/sbin/hwinfo --all
vm.swappiness = 3

#==[ Command ]======================================#
# /sbin/lspci -vvv
00:00.0 Host bridge: Intel
00:03.0 PCI bridge: Intel
	Bus: primary=00, secondary=03, subordinate=03
03:00.0 Non-Volatile memory controller: Samsung
		LnkSta:	Speed 8GT/s (ok), Width x2 (downgraded)

#==[ Command ]======================================#
# /usr/bin/grep '' /sys/block/nvme0n1/queue/scheduler
/sys/block/nvme0n1/queue/scheduler:[bfq] none

#==[ Configuration File ]===========================#
# /proc/partitions
major minor  #blocks  name
 259        0  976762584 nvme0n1
 259        1     524288 nvme0n1p1

#==[ Command ]======================================#
# /sbin/sysctl -a 2>/dev/null | grep ^vm
vm.swappiness = 60

`

const hardwareSays = `cpu.microcode = 0x42
	cpu.threads = 2
	kernel.cmdline = BOOT_IMAGE=/boot/vmlinuz quiet
	memory.swappiness = 60
	pci.link.width 0000:03:00.0 = 2
	pci.parent 0000:03:00.0 = 0000:00:03.0
	disk.size nvme0n1 = 1000204886016
	disk.queue.scheduler nvme0n1 = bfq`

func TestSupportconfig(t *testing.T) {
	m, err := Bytes("A", tarOf(t, map[string]string{"scc_db1_1/hardware.txt": hardwareText,
		"scc_db1_1/basic-environment.txt": "#==[ Command ]====#\n# /usr/bin/uname -a\n" +
			"Linux db1 6.4.0-150600.23-default #1 SMP x x86_64 GNU/Linux\n#==[ Configuration File ]==#\n" +
			"# /etc/os-release\nID=\"sles\"\nVERSION_ID=\"15.6\"\n",
		"scc_db1_1/network-ns1.txt": "#==[ Command ]====#\n# /sbin/ethtool -k eth7\nFeatures for eth7:\n" +
			"tcp-segmentation-offload: off\n",
		"scc_db1_1/rpm.txt": "x\n"}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), hardwareSays+"\nkernel.release = 6.4.0-150600.23-default\nos.id = sles\n"+
		"nic.offload.tso eth7 = absent\nmachine.vendor = unknown\ndisk.pci.address nvme0n1 = unknown\n"+
		"disk.transport nvme0n1 = unknown")
	if m, err = Paste("hardware.txt", hardwareText); err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), hardwareSays+"\nmachine.vendor = absent\ndisk.pci.address nvme0n1 = absent\n"+
		"disk.transport nvme0n1 = absent")
}

// crmReport is a report of two nodes, the second of an older version.
func crmReport() map[string]string {
	const top = "crm_report-Sun-30-Nov-2026/"
	files := map[string]string{top + "analysis.txt": "x\n", top + "description.txt": "Dear list,\n"}
	for node, run := range map[string]string{"node1": `##### Run "%" #####`, "node2": `##### run "%" on node2`} {
		head := func(command string) string { return strings.Replace(run, "%", command, 1) + "\n" }
		files[top+node+"/sysstats.txt"] = head("hostname") + node + "\n\n" +
			head("top -b -n 1") + "vm.swappiness = 3\n\n" +
			head("lspci") + "00:00.0 Host bridge: Intel\n\n" +
			head("mount") + "10.0.0.1:/x on /srv type nfs4 (rw,vers=4.1,nconnect=4,addr=10.0.0.1)\n\n" +
			head("cat /proc/cpuinfo") + "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: X\n" +
			"flags\t\t: fpu pti\n\n" + head("df")
		files[top+node+"/sysinfo.txt"] = "##### System info #####\nPlatform: Linux\nKernel release: 6.4.0-" + node +
			"\nArchitecture: x86_64\nDistribution: SUSE Linux Enterprise Server 15 SP6\n"
		files[top+node+"/gfs2.txt"] = "Dump D-state process stack: 0\n\n\n" + strings.Repeat("=", 50) +
			"\n# dmesg\n[    0.000000] Command line: BOOT_IMAGE=/boot/vmlinuz quiet\n"
		files[top+node+"/corosync.conf"] = "totem {\n}\n"
	}
	return files
}

func TestCrmReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.tar")
	if err := os.WriteFile(file, tarOf(t, crmReport()), 0o600); err != nil {
		t.Fatal(err)
	}
	const top = "/crm_report-Sun-30-Nov-2026/"
	two(t, file, top+"node1", top+"node2")
	for _, node := range []string{"node1", "node2"} {
		m, err := Open(file + top + node)
		if err != nil {
			t.Fatal(err)
		}
		check(t, factsOf(t, m), "kernel.release = 6.4.0-"+node+`
			kernel.arch = x86_64
			kernel.cmdline = BOOT_IMAGE=/boot/vmlinuz quiet
			memory.swappiness = unknown
			cpu.vendor = GenuineIntel
			cpu.pti = on
			mount.nfs.nconnect /srv = 4`)
	}
}

// two checks that an archive or a folder is refused for its two machines, which are named.
func two(t *testing.T, name, first, second string) {
	t.Helper()
	_, err := Open(Scheme + name)
	var e *lab.Error
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "2 machines") ||
		!strings.Contains(strings.Join(e.Hints, " "), Scheme+name+first+", "+Scheme+name+second) {
		t.Fatalf("%v %+v", err, e)
	}
}

// mustGather is what must-gather has of two nodes, of the second in a packed snapshot only.
func mustGather(t testing.TB) map[string]string {
	const top = "must-gather.local.1/quay-io-openshift-sha256-1/"
	snapshot := func(arguments string) string {
		return string(packed(t, tarOf(t, map[string]string{"proc/cmdline": arguments + "\n",
			"proc/self/mounts":                           "10.0.0.1:/x /srv nfs4 rw,vers=4.1 0 0\n",
			"sys/devices/system/node/node0/cpulist":      "0-1\n",
			"sys/devices/pci0000:00/0000:00:03.0/class":  "0x020000\n",
			"sys/devices/pci0000:00/0000:00:03.0/vendor": "0x15b3\n",
			"sys/bus/pci/devices/0000:00:03.0":           "-> ../../../devices/pci0000:00/0000:00:03.0",
		}), func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }))
	}
	return map[string]string{
		top + "version":                         "x\n",
		top + "nodes/worker-0/lspci":            "00:03.0 0200: 15b3:101d (rev 01)\n\t\tLnkSta:\tSpeed 8GT/s (ok), Width x8 (ok)\n",
		top + "nodes/worker-0/lscpu":            lscpuTable,
		top + "nodes/worker-0/dmesg":            "[    0.000000] Linux version 5.14.0-427.el9 (x) (gcc) #1 SMP y\n",
		top + "nodes/worker-0/sys.log":          "x\n",
		top + "nodes/worker-0/ethtool_features": "Features for eth0:\ntcp-segmentation-offload: off\n",
		top + "nodes/worker-0/ethtool_channels": "Channel parameters for eth0:\nCurrent hardware settings:\nCombined:\t1\n",
		top + "nodes/worker-0/proc_cmdline":     "BOOT_IMAGE=/vmlinuz ro\n",
		top + "nodes/worker-0/sysinfo.tgz":      snapshot("BOOT_IMAGE=/vmlinuz ro"),
		top + "nodes/worker-1/sysinfo.tgz":      snapshot("ro quiet"),
		top + "nodes/worker-1/sysinfo.log":      "collecting\n",
		top + "namespaces/openshift-sriov-network-operator/pods/sriov-network-config-daemon-1/dmesg": "x\n",
		top + "cluster-scoped-resources/core/nodes/worker-0.yaml":                                    "kind: Node\n",
	}
}

const lscpuTable = `CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ   MINMHZ
  0    0      0    0 0:0:0:0          yes 3700.0000 800.0000
  1    1      1    1 1:1:1:1          yes 3700.0000 800.0000
  2    0      0    0 0:0:0:0          yes 3700.0000 800.0000
  3    -      -    - -                 no         -         -
`

func TestMustGather(t *testing.T) {
	dir := t.TempDir()
	for name, text := range mustGather(t) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dir, "must-gather.tar")
	if err := os.WriteFile(archive, tarOf(t, mustGather(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	const top = "/must-gather.local.1/quay-io-openshift-sha256-1/nodes/"
	for _, at := range []string{dir, archive} {
		two(t, at, top+"worker-0", top+"worker-1")
		m, err := Open(at + top + "worker-0")
		if err != nil {
			t.Fatal(err)
		}
		check(t, factsOf(t, m), `kernel.release = 5.14.0-427.el9
			kernel.cmdline = BOOT_IMAGE=/vmlinuz ro
			cpu.threads = 3
			cpu.sockets = 2
			numa.nodes = 2
			mount.type /srv = nfs4
			pci.class 0000:00:03.0 = ethernet
			pci.link.width 0000:00:03.0 = 8
			nic.offload.tso eth0 = absent`)
		if m, err = Open(at + top + "worker-1"); err != nil {
			t.Fatal(err)
		}
		check(t, factsOf(t, m), "kernel.cmdline = ro quiet\npci.class 0000:00:03.0 = ethernet\nkernel.release = unknown")
	}
	m, err := Bytes("A", tarOf(t, map[string]string{"worker-0/sysinfo.tgz": "", "worker-0/proc_cmdline": "ro\n"}))
	if err != nil || !slices.Contains(m.Unread, "sysinfo.tgz, which is no archive") {
		t.Errorf("%v %+v", err, m)
	}
}

func TestLSCPUTable(t *testing.T) {
	m, err := Paste("F", "$ lscpu -e\n"+lscpuTable)
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), "cpu.threads = 3\ncpu.cores = 2\ncpu.sockets = 2\nnuma.nodes = 2\nnode.cpus node0 = 0,2")
}

func TestTalosLinks(t *testing.T) {
	m, err := Bytes("A", zipOf(t, map[string]string{"10.0.0.3/dmesg.log": "kern: info: [2026-01-02T03:04:05Z]: x\n",
		"10.0.0.3/mounts": "FILESYSTEM SIZE(GB)\n",
		"10.0.0.3/resources/kernelparamstatuses.runtime.talos.dev.yaml": "metadata:\n    id: proc.sys.vm.swappiness\nspec:\n" +
			"    current: \"10\"\n",
		"10.0.0.3/resources/kernelcmdlines.runtime.talos.dev.yaml": "metadata:\n    id: cmdline\nspec:\n" +
			"    cmdline: talos.platform=metal iommu.strict=1\n",
		"10.0.0.3/resources/linkstatuses.net.talos.dev.yaml": "metadata:\n    id: enp3s0\nspec:\n    type: ether\n" +
			"    kind: \"\"\n    mtu: 9000\n    busPath: 0000:03:00.0\n    driver: mlx5_core\n    linkState: true\n" +
			"    speedMbit: 25000\n    duplex: Full\n---\nmetadata:\n    id: bond0\nspec:\n    type: ether\n    kind: bond\n" +
			"    driver: bonding\n    mtu: 1500\n"}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), `memory.swappiness = 10
		kernel.cmdline = talos.platform=metal iommu.strict=1
		nic.speed enp3s0 = 25000000000
		nic.mtu enp3s0 = 9000
		nic.driver enp3s0 = mlx5_core
		nic.pci.address enp3s0 = 0000:03:00.0
		nic.master enp3s0 = unknown
		nic.mtu bond0 = absent`)
}
