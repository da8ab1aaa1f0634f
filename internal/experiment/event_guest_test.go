//go:build system && guests

package experiment

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/lab"
)

// In a guest with a multipath device over two disks, a VLAN over the card of a link, and a card by which headroom
// reaches it: what is lost is restored, and what must not be lost is refused.
func TestWhatIsLostComesBack(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"qemu-system-x86_64", "busybox", "apt-get", "/usr/sbin/sshd", "/usr/sbin/dmsetup",
		"/usr/sbin/ip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	kernel, err := exec.Command("../../scripts/guest-kernel", "linux-image-amd64").Output()
	if err != nil {
		t.Fatalf("no kernel for the guest: %v", err)
	}
	file := filepath.Join(t.TempDir(), "guest.yaml")
	text := fmt.Sprintf(`version: 1
kernel: %s
memory: 512m
cpus: 1
accelerator: emulation
limit: 20m
disks:
  - {name: one, kind: virtio-scsi, size: 32m, backing: memory}
  - {name: two, kind: virtio-scsi, size: 32m, backing: memory}
  - {name: alone, kind: virtio-scsi, size: 32m, backing: memory}
modules: [dm_multipath, dm_round_robin, 8021q, bonding]
programs: [/usr/sbin/dmsetup, /usr/sbin/ip]
networks:
  - {link: a, address: 10.0.11.2/24}
  - {link: b, address: 10.0.12.2/24}
  - {link: c, address: 10.0.13.2/24}
setup: |
  set -e
  until [ -b /dev/sdc ]; do sleep 0.2; done
  one=$(readlink -f /dev/disk/by-id/one) two=$(readlink -f /dev/disk/by-id/two)
  echo 0 65536 multipath 0 0 1 1 round-robin 0 2 1 $one 100 $two 100 | /usr/sbin/dmsetup create mpatha --uuid mpath-test --noudevsync
  ip link add link eth1 name vlan7 type vlan id 7
  ip address add 10.0.17.2/24 dev vlan7
  ip link set vlan7 up
  ip -6 address add fd00:11::2/64 dev eth1
  for i in eth2 eth3; do
    ip link set $i down
    echo +$i > /sys/class/net/bond0/bonding/slaves
  done
  ip link set bond0 up
  ip link add link bond0 name vlan8 type vlan id 8
  ip link set vlan8 up
  ip route add 10.1.0.0/16 via 10.0.11.9
  ip route add 10.7.0.0/16 via 10.0.17.9
  ip route add 10.2.0.0/16 via 10.0.11.9 table 7
`, strings.TrimSpace(string(kernel)))
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/dev/shm", "headroom-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	g, err := qemu.Open(t.Context(), "qemu:"+file, file, qemu.Host{Folder: folder, Images: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	run := func(argv ...string) string {
		t.Helper()
		out, err := g.Run(t.Context(), argv...)
		if err != nil || out.ExitCode != 0 {
			t.Fatalf("%q: %d, %s%s, %v", argv, out.ExitCode, out.Stdout, out.Stderr, err)
		}
		return strings.TrimSpace(string(out.Stdout))
	}
	w := EventScope{Target: g}
	plan := func(words ...string) EventPlan {
		t.Helper()
		k, _ := FindEvent(words[0])
		p, err := k.Plan(t.Context(), w, words)
		if err != nil {
			t.Fatalf("%q: %v", words, err)
		}
		return p
	}
	refuses := func(why string, words ...string) {
		t.Helper()
		k, _ := FindEvent(words[0])
		if _, err := k.Plan(t.Context(), w, words); lab.KindOf(err) != lab.Refused ||
			!strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %s", words, err, why)
		}
	}
	disk := func(name string) string { return filepath.Base(run("readlink", "-f", "/dev/disk/by-id/"+name)) }
	one, two, alone := disk("one"), disk("two"), disk("alone")
	state := func(name string) string { return run("cat", "/sys/block/"+name+"/device/state") }
	refuses("no path of a multipath", "lose-path", alone)
	path := plan("lose-path", one)
	run(path.Command...)
	if s := state(one); s != "offline" {
		t.Errorf("%s is %s", one, s)
	}
	run("dd", "if=/dev/dm-0", "of=/dev/null", "bs=64k", "count=16") // by the other path
	refuses("is the only path", "lose-path", two)
	refuses("is offline already", "lose-path", one)
	for range 2 { // repeating it does no harm
		run(path.Undo...)
		if s := state(one); s != "running" {
			t.Errorf("%s is %s", one, s)
		}
	}

	refuses("could not be set up again from there", "lose-port", "eth0")
	routes := func() string {
		// An IPv6 address is tentative for a second or two, and has no route until then. Source: RFC 4862, section 5.4.
		run("sh", "-c", "while /usr/sbin/ip -o -6 address show tentative | grep fd00; do sleep 0.1; done")
		lines := strings.Split(run("sh", "-c", "/usr/sbin/ip -4 route show table all; /usr/sbin/ip -6 route show "+
			"table all; /usr/sbin/ip -o address"), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool {
			return strings.Contains(l, "fe80") || strings.Contains(l, "ff00")
		})
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	before := routes()
	port := plan("lose-port", "eth1")
	run(port.Command...)
	if lost := routes(); strings.Contains(lost, "10.1.0.0/16") || strings.Contains(lost, "10.7.0.0/16") ||
		strings.Contains(lost, "fd00:11::2") {
		t.Errorf("nothing went with the port:\n%s", lost)
	}
	refuses("is down already", "lose-port", "eth1")
	for range 2 {
		run(port.Undo...)
		if after := routes(); after != before {
			t.Errorf("it was\n%s\nand is\n%s", before, after)
		}
	}
	// A bond can lose one of two ports, but not the last one that has a link.
	stands := func(want ...string) {
		t.Helper()
		got, err := lowerDevices(t.Context(), g, "vlan8")
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("vlan8 stands on %q, %v; want %q", got, err, want)
		}
	}
	stands("bond0", "vlan8")
	run("ip", "link", "set", "eth3", "down")
	stands("bond0", "eth2", "eth3", "vlan8")
}
