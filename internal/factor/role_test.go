package factor

import (
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/factor/scheme"
)

// A factor of one end of a network keeps its end in its name, and is otherwise what it is without.
func TestFactorsOfAnEnd(t *testing.T) {
	c, err := Parse("client:nic:under-test/mtu=1500,9000")
	if err != nil || c.Role != Client || c.Scheme.Name != "nic" || c.Factor() != "client:nic:under-test/mtu" ||
		!slices.Equal(c.Levels, []string{"1500", "9000"}) {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := Parse("nic:eth0/mtu=1500"); err != nil || c.Role != "" {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{"client:job:parallel=1", "server:env:A=1", "storage:sysctl:vm.swappiness=1",
		"client:nic:eth0/mtu=many"} {
		if c, err := Parse(text); err == nil {
			t.Errorf("%s: %+v", text, c)
		}
	}
	if got := Order([]string{"server:nic:eth0/ring-rx", "client:nic:eth0/mtu"}); got[0] != "client:nic:eth0/mtu" {
		t.Errorf("%q", got)
	}
}

// What is kept on one end may be varied on the other, and what is kept without an end on none.
func TestKeptOnAnEnd(t *testing.T) {
	for _, c := range []struct {
		kept, factor string
		want         bool
	}{
		{"sysctl:net.ipv4.tcp_wmem", "client:sysctl:net.ipv4.tcp_wmem", true},
		{"client:sysctl:net.ipv4.tcp_wmem", "sysctl:net.ipv4.tcp_wmem", true},
		{"client:sysctl:net.ipv4.tcp_wmem", "client:sysctl:net.ipv4.tcp_wmem", true},
		{"server:sysctl:net.ipv4.tcp_wmem", "client:sysctl:net.ipv4.tcp_wmem", false},
		{"client:nic:*", "client:nic:eth0/mtu", true},
	} {
		if got := IsKept([]string{c.kept}, c.factor); got != c.want {
			t.Errorf("--keep %s, %s: %v", c.kept, c.factor, got)
		}
	}
	if got := KeepOfRole([]string{"client:nic:eth0/mtu", "server:irq:eth1", "cpu:governor"}, Client); !slices.Equal(got,
		[]string{"nic:eth0/mtu", "cpu:governor"}) {
		t.Errorf("%q", got)
	}
	w := scheme.Scope{Adapter: "eth7"}
	if got := w.Named([]string{"nic:under-test/mtu", "qdisc:under-test", "nic:eth0/mtu"}); !slices.Equal(got,
		[]string{"nic:eth7/mtu", "qdisc:eth7", "nic:eth0/mtu"}) {
		t.Errorf("%q", got)
	}
}
