//go:build system && guests

package cli

import (
	"encoding/json"
	"testing"

	"github.com/headroom/headroom/internal/ladder"
)

// A ladder over what this machine's own kernel may not have. That the delay is named, and nothing below it, a test with
// the tag bench asks, and one with machines that follow a script.
func TestLadderOfADelayOverAStripe(t *testing.T) {
	t.Parallel()
	d := delayOverAStripe(t)
	var names []string
	for _, rung := range d.Rungs {
		names = append(names, rung.Name)
		if c := rung.Cells[0]; c.N != 3 || c.Center == nil || *c.Center <= 0 {
			t.Errorf("%s was measured %d times: %+v", rung.Name, c.N, c)
		}
	}
	top := d.Rungs[len(d.Rungs)-1]
	if top.Name != "/dev/mapper/slow" || top.Kind != ladder.Volume || top.Jobs != 2 ||
		top.Cells[0].Expected == nil || top.Cells[0].Expected.From != "/dev/md0" {
		t.Errorf("climbed %q, last %+v", names, top)
	}
	// Eight reads in flight, each of which waits for 50 ms, are 160 a second at most.
	if c := top.Cells[0].Center; c != nil && *c > 170 {
		t.Errorf("%.0f reads a second through a delay that lets 160 through", *c)
	}
}

// delayOverAStripe is a ladder of two NVMe drives, each held to 200 reads a second by QEMU, an md stripe over them, and
// over that a device that delays every read by 50 ms on purpose. With four reads in flight for each drive the drives
// allow 400 a second and the delay 160.
func delayOverAStripe(t *testing.T) ladder.Document {
	t.Helper()
	g := guest{kernel: "linux-image-amd64", disks: 1,
		drive: "throttling.iops-total=200", devices: []string{"nvme,serial=second,drive=d1"},
		modules: []string{"raid0", "dm_delay"}, programs: []string{"mdadm", "dmsetup", "fio"},
		setup: `export PATH=/bin:/sbin:/usr/bin:/usr/sbin; $b mkdir -p /run /tmp /dev/shm; $b mount -t tmpfs shm /dev/shm
for n in sh stat rm cat; do $b ln -s /bin/busybox /bin/$n; done
until [ -b /dev/nvme0n1 ] && [ -b /dev/nvme1n1 ]; do $b sleep 0.2; done
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
	if len(d.Rungs) == 0 {
		t.Fatal(printed)
	}
	return d
}
