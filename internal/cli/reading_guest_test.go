//go:build system && guests

package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/rule"
)

// readGuest is a guest whose state is known, and what is read and diagnosed of it from inside by the same headroom that
// users run.
type readGuest struct {
	name string
	guest
	want  map[string]string // facts, by key
	finds []string
	not   []string // rules that must not find anything
}

func (r readGuest) holds(t *testing.T) {
	t.Helper()
	printed := r.boot(t, "/bin/headroom facts --timeout 10m --json --only disk --only cpu --only iommu --only "+
		"kernel.release --only kernel.arch\necho "+guestNext+"\n/bin/headroom doctor --timeout 10m --json")
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
	for key, want := range r.want {
		if seen[key] != want {
			t.Errorf("%s is %q, want %q", key, seen[key], want)
		}
	}
	var report rule.Report
	if err := json.Unmarshal([]byte(diagnosis), &report); err != nil {
		t.Fatalf("%v:\n%s", err, diagnosis)
	}
	var found []string
	for _, f := range report.Findings {
		if f.Verdict == rule.Found {
			found = append(found, f.Rule)
		}
	}
	t.Logf("doctor finds %q", found)
	for _, id := range r.finds {
		if !slices.Contains(found, id) {
			t.Errorf("doctor does not find %s", id)
		}
	}
	for _, id := range r.not {
		if slices.Contains(found, id) {
			t.Errorf("doctor finds %s", id)
		}
	}
	if t.Failed() {
		t.Log(printed)
	}
}

// TestGuestsReadTrue boots kernels whose state is known, and reads and diagnoses it from inside by the same headroom
// that users run.
func TestGuestsReadTrue(t *testing.T) {
	t.Parallel()
	const vtd = "intel-iommu"
	for _, r := range []readGuest{
		{"6.1 strict", guest{kernel: "linux-image-amd64", devices: []string{vtd},
			args: "intel_iommu=on iommu.strict=1"},
			map[string]string{"disk.iommu.group_type": "DMA", "iommu.units": "dmar0", "kernel.arch": "x86_64"},
			[]string{"iommu-strict"}, nil},
		{"6.1 lazy", guest{kernel: "linux-image-amd64", devices: []string{vtd},
			args: "intel_iommu=on iommu.strict=0"},
			map[string]string{"disk.iommu.group_type": "DMA-FQ"}, nil, []string{"iommu-strict"}},
		{"6.12 passthrough", guest{kernel: "linux-image-6.12-amd64", devices: []string{vtd},
			args: "intel_iommu=on iommu=pt"},
			map[string]string{"disk.iommu.group_type": "identity"}, nil,
			[]string{"iommu-strict", "iommu-argument-ignored"}},
		{"6.12 strict", guest{kernel: "linux-image-6.12-amd64", devices: []string{vtd},
			args: "intel_iommu=on iommu.strict=1"},
			map[string]string{"disk.iommu.group_type": "DMA"}, []string{"iommu-strict"}, nil},
		{"6.1 AMD, PTI forced", guest{kernel: "linux-image-amd64", cpu: "EPYC", args: "pti=on"},
			map[string]string{"cpu.pti": "on", "cpu.vendor": "AuthenticAMD", "disk.iommu.group_type": "none"},
			[]string{"pti-needless"}, nil},
		{"6.1 AMD", guest{kernel: "linux-image-amd64", cpu: "EPYC"},
			map[string]string{"cpu.pti": "off", "cpu.vendor": "AuthenticAMD"}, nil,
			[]string{"pti-needless", "iommu-strict"}},
	} {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.holds(t)
		})
	}
}

// TestGuestWithVolumes stacks what this machine's own kernel may not have: md over NVMe, a cipher over a stripe, a
// multipath map over two SCSI paths to one disk, a bond. What is read of each is what was made.
func TestGuestWithVolumes(t *testing.T) {
	t.Parallel()
	g := guest{kernel: "linux-image-amd64", disks: 4, cpus: 2, // or the disk of virtio has one queue
		devices: []string{"nvme,serial=second,drive=d1", "virtio-scsi-pci,id=scsi",
			"scsi-hd,bus=scsi.0,drive=d2,serial=path-a,rotation_rate=1",
			"scsi-hd,bus=scsi.0,drive=d3,serial=path-b", "virtio-blk-pci,drive=d4,serial=virtual,num-queues=2",
			"virtio-net-pci,id=n1", "virtio-net-pci,id=n2"},
		modules: []string{"virtio_pci", "raid0", "dm_crypt", "dm_multipath", "dm_service_time", "xts", "aesni_intel",
			"sch_fq", "virtio_scsi", "sd_mod", "virtio_blk", "virtio_net", "bonding"},
		programs: []string{"mdadm", "dmsetup", "ip", "tc", "ethtool"},
		setup: `export PATH=/bin:/sbin:/usr/bin:/usr/sbin; $b mkdir -p /run /tmp; for t in stat realpath dd; do $b ln -s /bin/busybox /bin/$t; done
for d in nvme0n1 nvme1n1 sda sdb vda; do until [ -b /dev/$d ]; do $b sleep 0.2; done; done
for d in eth0 eth1; do until [ -e /sys/class/net/$d ]; do $b sleep 0.2; done; done
mdadm --create /dev/md0 --run --level=0 --chunk=64 --raid-devices=2 /dev/nvme0n1 /dev/nvme1n1 >/dev/null 2>&1
dmsetup create striped --table "0 65536 striped 2 128 /dev/sda 0 /dev/sdb 0"
dmsetup create secret --uuid CRYPT-PLAIN-secret --table "0 65536 crypt aes-xts-plain64 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 0 /dev/dm-0 0 2 no_read_workqueue no_write_workqueue"
dmsetup create many --uuid mpath-many --table "0 65536 multipath 0 0 1 1 service-time 0 2 1 /dev/vda 1 /dev/vda 1"
echo 802.3ad > /sys/class/net/bond0/bonding/mode; echo layer3+4 > /sys/class/net/bond0/bonding/xmit_hash_policy
/usr/sbin/ip link set eth0 down; /usr/sbin/ip link set eth1 down; echo +eth0 > /sys/class/net/bond0/bonding/slaves; echo +eth1 > /sys/class/net/bond0/bonding/slaves
/usr/sbin/ip link set bond0 up; /usr/sbin/tc qdisc add dev eth0 root fq; echo none > /sys/block/nvme0n1/queue/scheduler`}
	// queue: sets the device under test, and queue@DEVICE: the named device of its stack.
	queues := []struct{ command, want string }{
		{"queue:read_ahead_kb /dev/md0", "/sys/block/md0/queue/read_ahead_kb"},
		{"queue@disks:read_ahead_kb /dev/md0", "/sys/block/nvme0n1/queue/read_ahead_kb, /sys/block/nvme1n1/queue/read_ahead_kb"},
		{"queue@nvme1n1:scheduler /dev/md0", "/sys/block/nvme1n1/queue/scheduler"},
		{"queue:scheduler /dev/md0", "for the disks under it: queue@disks:scheduler"},
		{"queue:read_ahead_kb /dev/dm-1", "/sys/block/dm-1/queue/read_ahead_kb"},
		{"queue@striped:max_sectors_kb /dev/dm-1", "/sys/block/dm-0/queue/max_sectors_kb"},
		{"queue@disks:scheduler /dev/dm-1", "/sys/block/sda/queue/scheduler, /sys/block/sdb/queue/scheduler"},
		{"queue:scheduler /dev/dm-1", "for the disks under it: queue@disks:scheduler"},
		{"queue:nr_requests /dev/dm-2", "/sys/block/dm-2/queue/nr_requests"}, // multipath has requests of its own
		{"queue@vda:nr_requests /dev/dm-2", "/sys/block/vda/queue/nr_requests"},
		{"queue@sda:nr_requests /dev/dm-2", "there are queue@dm-2:, queue@vda:"},
	}
	var asked strings.Builder
	for _, q := range queues {
		asked.WriteString("\necho " + guestNext + "\n/bin/headroom factors " + q.command + " 2>&1")
	}
	printed := g.boot(t, "/bin/headroom facts --timeout 10m --json --only volume --only multipath --only nic --only "+
		"disk --only mount"+asked.String())
	answers := strings.Split(printed, guestNext+"\n")
	for i, q := range queues {
		if i+1 >= len(answers) || !strings.Contains(strings.Join(strings.Fields(answers[i+1]), " "), q.want) {
			t.Errorf("factors %s does not say %s", q.command, q.want)
		}
	}
	var d facts.Document
	if err := json.Unmarshal([]byte(answers[0]), &d); err != nil {
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
		"nic.bond.mode of bond0":                   "802.3ad", "nic.bond.hash of bond0": "layer3+4",
		"nic.bond.members of bond0": "eth0, eth1",
		"nic.kind of eth0":          "virtio", "nic.qdisc of eth0": "fq", "nic.master of eth0": "bond0",
		"disk.serial of nvme0n1": "second", "disk.driver of sda": "sd", "disk.rotational of " + seen["path-a"]: "0",
		"disk.rotational of " + seen["path-b"]: "1",
		"disk.host.driver of sda":              "virtio_scsi", "disk.driver of vda": "virtio_blk",
		"disk.queue.hardware of vda":                  "2",
		"volume.queue.read_ahead_kb of md0":           "256", // twice a stripe: two chunks of 64 KiB
		"volume.queue.nr_requests of " + seen["many"]: seen["disk.queue.nr_requests of vda"],
		"disk.holders of nvme0n1":                     "md0",
	} {
		if seen[key] != want {
			t.Errorf("%s is %q, want %q", key, seen[key], want)
		}
	}
	if t.Failed() {
		t.Log(printed)
	}
}
