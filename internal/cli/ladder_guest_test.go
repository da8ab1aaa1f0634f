//go:build system && guests

package cli

import (
	"encoding/json"
	"testing"
	"time"

	"headroom/internal/ladder"
)

// A ladder over what this machine's own kernel may not have: two NVMe drives, each held to 200 reads a second by QEMU,
// an md stripe over them, and over that a device that delays every read by 50 ms on purpose. With four reads in flight
// for each drive the drives allow 400 a second and the delay 160. It is named, and nothing below it.
func TestLadderNamesADelayOverAStripe(t *testing.T) {
	delayOverAStripe(t)
}

// delayOverAStripe is what is found of that rung.
func delayOverAStripe(t *testing.T) ladder.Cell {
	t.Helper()
	g := guest{kernel: "linux-image-amd64", cpu: "max", limit: 12 * time.Minute, disks: 1,
		drive: "throttling.iops-total=200", devices: []string{"nvme,serial=second,drive=d1"},
		modules: []string{"raid0", "dm_delay"}, programs: []string{"mdadm", "dmsetup", "fio"},
		setup: `export PATH=/bin:/sbin:/usr/bin:/usr/sbin; $b mkdir -p /run /tmp /dev/shm; $b mount -t tmpfs shm /dev/shm
for n in sh stat rm cat; do $b ln -s /bin/busybox /bin/$n; done; $b sleep 2
mdadm --create /dev/md0 --run --level=0 --chunk=64 --raid-devices=2 /dev/nvme0n1 /dev/nvme1n1 >/dev/null 2>&1
dmsetup create slow --table "0 $($b cat /sys/block/md0/size) delay /dev/md0 0 50"; dmsetup mknodes
$b printf 'version: 1\nname: one\ntitle: Random reads\nsource: a test\ndefaults: {ioengine: libaio, direct: 1, runtime: 2s, time_based: 1, randrepeat: 0}\njobs:\n  - name: randread\n    fio: {rw: randread, bs: 4k, iodepth: 4}\n' > /tmp/one.yaml`}
	printed := g.boot(t, "/bin/headroom ladder /dev/nvme0n1 /dev/nvme1n1 /dev/nvme0n1,/dev/nvme1n1 /dev/md0 "+
		"/dev/mapper/slow --json --store /tmp/store --suite /tmp/one.yaml --size 8m --passes 3 --margin 25% "+
		"2>/tmp/said || $b cat /tmp/said")
	var d ladder.Document
	if err := json.Unmarshal([]byte(printed), &d); err != nil {
		t.Fatalf("%v:\n%s", err, printed)
	}
	t.Log(d.Answer.Text)
	rung := named(t, d)
	if rung.Name != "/dev/mapper/slow" || rung.Kind != ladder.Volume || rung.Jobs != 2 {
		t.Errorf("%+v is named", rung)
	}
	c := rung.Cells[0]
	if c.Reached == nil || c.Reached.Lo == nil {
		t.Fatalf("%+v\n%s", c, printed)
	}
	if t.Failed() {
		t.Log(printed)
	}
	return c
}
