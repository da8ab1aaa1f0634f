//go:build system && guests

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

	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/testing/figure"
)

// storageServer is the description of a guest that exports a disk in memory over NVMe/TCP and another over iSCSI, each
// at two addresses. Both targets are the kernel's own (nvmet and LIO), set up through configfs as nvmetcli and
// targetcli do.
const storageServer = `version: 1
kernel: %s
memory: 512m
cpus: 1
accelerator: emulation
disks:
  - {name: over-nvme, kind: virtio-blk, size: 32m, backing: memory}
  - {name: over-iscsi, kind: virtio-blk, size: 32m, backing: memory}
modules: [nvmet_tcp, target_core_iblock, iscsi_target_mod, crc32c_generic]
networks:
  - {link: a, address: 10.0.11.1/24}
  - {link: b, address: 10.0.12.1/24}
setup: |
  set -e
  mount -t configfs none /sys/kernel/config
  cd /sys/kernel/config/nvmet
  s=subsystems/nqn.2026-11.test.headroom:disk
  mkdir $s
  echo 1 > $s/attr_allow_any_host
  mkdir $s/namespaces/1
  echo -n $(readlink -f /dev/disk/by-id/over-nvme) > $s/namespaces/1/device_path
  echo 1 > $s/namespaces/1/enable
  for i in 1 2; do
    mkdir ports/$i
    echo ipv4 > ports/$i/addr_adrfam
    echo tcp > ports/$i/addr_trtype
    echo 10.0.1$i.1 > ports/$i/addr_traddr
    echo 4420 > ports/$i/addr_trsvcid
    ln -s $PWD/$s ports/$i/subsystems/
  done
  d=/sys/kernel/config/target/core/iblock_0/disk
  mkdir -p $d
  echo udev_path=$(readlink -f /dev/disk/by-id/over-iscsi) > $d/control
  echo 1 > $d/enable
  t=/sys/kernel/config/target/iscsi/iqn.2026-11.test.headroom:disk/tpgt_1
  mkdir -p $t/lun/lun_0 $t/np/10.0.11.1:3260 $t/np/10.0.12.1:3260
  ln -s $d $t/lun/lun_0/disk
  echo 0 > $t/attrib/authentication
  echo 1 > $t/attrib/generate_node_acls
  echo 0 > $t/attrib/demo_mode_write_protect
  echo 1 > $t/enable
`

// storageClient connects to those: over so many paths with NVMe/TCP, and over two with iSCSI, whose disks device-mapper
// makes one, in so many groups of paths.
const storageClient = `version: 1
kernel: %s
memory: 512m
cpus: 1
accelerator: emulation
modules: [nvme_tcp, iscsi_tcp, sd_mod, dm_multipath, dm_round_robin, crc32c_generic]
programs: [iscsistart, dmsetup]
networks:
  - {link: a, address: 10.0.11.2/24}
  - {link: b, address: 10.0.12.2/24}
beside: [server.yaml]
setup: |
  set -e
  for i in %s; do
    echo transport=tcp,traddr=10.0.1$i.1,trsvcid=4420,nqn=nqn.2026-11.test.headroom:disk > /dev/nvme-fabrics
  done
  for i in 1 2; do
    iscsistart -i iqn.2026-11.test.headroom:client -t iqn.2026-11.test.headroom:disk -g 1 -a 10.0.1$i.1 -p 3260
  done
  until [ -b /dev/sda ] && [ -b /dev/sdb ] && [ -b /dev/nvme0n1 ]; do sleep 0.2; done
  echo 0 65536 multipath 0 0 %s | dmsetup create mpatha --uuid mpath-test --noudevsync
`

// verdicts are the verdicts of the rules about a saved run.
func (v fixture) verdicts(run string) map[string]rule.Verdict {
	v.t.Helper()
	out, err := v.command("doctor", run, "--json", "--all").Output()
	if err != nil {
		v.t.Fatal(err)
	}
	var d rule.Report
	if err := json.Unmarshal(out, &d); err != nil {
		v.t.Fatal(err)
	}
	// Of a rule about each of several disks, what it says of those that it is about.
	order := []rule.Verdict{"", rule.NotApplicable, rule.Unknown, rule.Clear, rule.Found}
	printed := map[string]rule.Verdict{}
	for _, f := range d.Findings {
		if slices.Index(order, f.Verdict) > slices.Index(order, printed[f.Rule]) {
			printed[f.Rule] = f.Verdict
		}
	}
	return printed
}

// Two guests with Debian's kernel: NVMe/TCP over one path and over two, iSCSI over two whose paths are one group or one
// group each. Each is measured, and what is known of paths and depths is found where it is so, and not where it is not.
func TestStorageOverNetworksIsMeasuredAndDiagnosed(t *testing.T) {
	guestSearches(t)
	v := newFixture(t)
	for _, program := range []string{"iscsistart", "dmsetup"} {
		if _, err := exec.LookPath("/usr/sbin/" + program); err != nil {
			t.Skip(program + " is not installed")
		}
	}
	kernel := kernelOfGuests(t)
	folder := filepath.Dir(v.suite)
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("server.yaml", fmt.Sprintf(storageServer, kernel))
	suite := write("read.yaml", "version: 1\njobs:\n  - {name: read, steps: [load], fio: {rw: randread, bs: 4k, "+
		"iodepth: 8, ioengine: libaio, direct: 1, runtime: 3s, time_based: 1}}\n")
	for _, c := range []struct {
		name, nvmePaths, groups, device string
		onePath, apart                  rule.Verdict
	}{
		{"one", "1", "2 1 round-robin 0 1 1 /dev/sda 100 round-robin 0 1 1 /dev/sdb 100", "/dev/nvme0n1",
			rule.Found, rule.Found},
		{"two", "1 2", "1 1 round-robin 0 2 1 /dev/sda 100 /dev/sdb 100", "/dev/dm-0", rule.Clear, rule.Clear},
	} {
		client := write(c.name+".yaml", fmt.Sprintf(storageClient, kernel, c.nvmePaths, c.groups))
		var d netDocument
		cmd := v.command("run", suite, c.device, "--on", "qemu:"+client, "--repeat", "1", "--json")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		if err := json.Unmarshal(out, &d); err != nil {
			t.Fatal(err)
		}
		rate := d.Cells[0].Metrics["read.iops"].Center
		figure.Record(t, figure.Figure{Name: figure.Name("nfs/storage-networks", c.name, filepath.Base(c.device)),
			Unit: "1/s", Center: rate,
			Text: fmt.Sprintf("reads a second of %s over NVMe/TCP by paths %s, dm-multipath with %q (emulated)",
				c.device, c.nvmePaths, c.groups)})
		if rate <= 0 {
			t.Errorf("%s: %+v", c.device, d.Cells)
		}
		printed := v.verdicts(d.ID)
		want := map[string]rule.Verdict{"nvme-fabric-one-path": c.onePath, "multipath-one-path-a-group": c.apart,
			"iscsi-queue-depth": rule.Found, "iscsi-session-down": rule.Clear, "multipath-paths-down": rule.Clear}
		if c.apart == rule.Found {
			delete(want, "multipath-paths-down") // which asks only where all paths are in one group
		}
		for id, verdict := range want {
			if printed[id] != verdict {
				t.Errorf("%s: %s is %q, not %q", c.name, id, printed[id], verdict)
			}
		}
	}
}
