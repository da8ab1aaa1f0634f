package qemu

import (
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
)

// wired returns a guest with a plain network and one with all options.
func wired(t *testing.T) File {
	t.Helper()
	f, err := Decode("x.yaml", []byte(`version: 1
kernel: 6.1.0
networks:
  - {link: a, address: 10.0.1.1/24}
  - {link: lan-2, address: 192.168.7.20/30, mtu: 9000, speed: 1000, rdma: true}
setup: |
  mkdir /export
  mount -t tmpfs tmpfs /export
`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestNetworks(t *testing.T) {
	f := wired(t)
	if len(f.Networks) != 2 || f.Networks[0] != (Network{Link: "a", Address: netip.MustParsePrefix("10.0.1.1/24")}) ||
		f.Networks[1] != (Network{Link: "lan-2", Address: netip.MustParsePrefix("192.168.7.20/30"), MTU: 9000,
			Speed: 1000, RDMA: true}) {
		t.Errorf("%+v", f.Networks)
	}
	s := start{program: "qemu", version: version{10, 0}, accelerator: Emulation, port: 2222, links: []int{4, 5},
		file: f}
	got := strings.Join(s.argv(), " ")
	want := "-device virtio-net-pci,netdev=net,romfile=,speed=1000,duplex=full " +
		"-netdev dgram,id=link-0,local.type=fd,local.str=4 -device " +
		"virtio-net-pci,netdev=link-0,romfile=,mac=02:68:0a:00:01:01 -netdev " +
		"dgram,id=link-1,local.type=fd,local.str=5 -device " +
		"virtio-net-pci,netdev=link-1,romfile=,mac=02:68:c0:a8:07:14,host_mtu=9000,speed=1000,duplex=full"
	if !strings.Contains(got, want) {
		t.Errorf("%s\nis not in\n%s", want, got)
	}
	script := initScript("/bin/busybox", "/usr/sbin/sshd", f)
	for _, want := range []string{"= 02:68:0a:00:01:01 ]", "ip address add 10.0.1.1/24 dev $card",
		"ip address add 192.168.7.20/30 dev $card", "rdma link add rxe1 type rxe netdev $card",
		"sh -e /etc/headroom-setup"} {
		if strings.Count(script, want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(script, want), script)
		}
	}
	for v, refused := range map[version]bool{{7, 1}: true, {7, 2}: false, {8, 0}: false} {
		if (v.refuses(f) != nil) != refused {
			t.Errorf("QEMU %v: %v", v, v.refuses(f))
		}
	}
}

// Data sent into one end of a link arrives at the other, a third guest is refused, and a missing link is created again.
func TestLinks(t *testing.T) {
	var l Links
	both := []Network{{Link: "a"}, {Link: "b"}}
	one, err := l.takeAll(both)
	if err != nil {
		t.Fatal(err)
	}
	two, err := l.takeAll(both[:1])
	if err != nil {
		t.Fatal(err)
	}
	pass := func(from, to int) string {
		if _, err := unix.Write(from, []byte("frame")); err != nil {
			t.Fatal(err)
		}
		var got [16]byte
		n, err := unix.Read(to, got[:])
		if err != nil {
			t.Fatal(err)
		}
		return string(got[:n])
	}
	if got := pass(int(one[0].Fd()), int(two[0].Fd())) + pass(int(two[0].Fd()), int(one[0].Fd())); got != "frameframe" {
		t.Errorf("%q came through", got)
	}
	// The first of these links has one free end, which must still be free after the second was refused.
	if _, err := l.takeAll([]Network{{Link: "b"}, {Link: "a"}}); lab.KindOf(err) != lab.Usage ||
		!strings.Contains(err.Error(), "the link a connects two guests already") {
		t.Errorf("a third guest: %v", err)
	}
	again, err := l.takeAll(both[1:])
	if err != nil {
		t.Fatalf("the other link after that: %v", err)
	}
	l.release(both, one)
	l.release(both[:1], two)
	l.release(both[1:], again)
	if len(l.free) != 0 || l.held["a"]+l.held["b"] != 0 {
		t.Errorf("left: %v, %v", l.free, l.held)
	}
	if _, err := one[0].Stat(); err == nil {
		t.Error("the ends of a link that nobody has are open")
	}
}
