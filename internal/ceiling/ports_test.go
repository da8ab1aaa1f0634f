package ceiling

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"headroom/internal/lab"
)

// serverWith has NICs of 25 Gbit/s, each with an address.
func serverWith(nics int, more ...lab.Fact) lab.RunTarget {
	t := lab.RunTarget{Facts: more}
	for i := range nics {
		name := fmt.Sprintf("eth%d", i)
		t.Facts = append(t.Facts, lab.Fact{Key: "nic.kind", About: name, Value: "physical"},
			lab.Fact{Key: "nic.speed", About: name, Value: "25000000000"},
			lab.Fact{Key: "nic.mtu", About: name, Value: "9000"},
			lab.Fact{Key: "nic.addresses", About: name, Value: fmt.Sprintf("10.0.%d.1/24", i)})
	}
	return t
}

func TestPorts(t *testing.T) {
	// At an MTU of 9000 TCP has 8948 of 9038 bytes.
	one := 25e9 * 8948 / 9038
	bond := []lab.Fact{{Key: "nic.kind", About: "bond0", Value: "bond"},
		{Key: "nic.addresses", About: "bond0", Value: "10.9.0.1/24"},
		{Key: "nic.master", About: "eth0", Value: "bond0"}, {Key: "nic.master", About: "eth1", Value: "bond0"},
		{Key: "nic.carrier", About: "eth1", Value: "false"}}
	for name, c := range map[string]struct {
		target    lab.RunTarget
		addresses []string
		want      float64
		limiter   string
	}{
		"one": {serverWith(8), []string{"10.0.3.1"}, one, "Ethernet 25 Gbit/s of eth3"},
		"four": {serverWith(8), []string{"10.0.0.1", "10.0.1.1", "10.0.2.1", "10.0.3.1"},
			4 * one, "4 NICs Ethernet 25 Gbit/s"},
		"two of one": {serverWith(1), []string{"10.0.0.1", "10.0.0.1"}, one,
			"Ethernet 25 Gbit/s of eth0"},
		"no such address": {serverWith(2), []string{"10.0.0.1", "10.0.7.1"}, 0, ""},
		"a prefix of one": {serverWith(2), []string{"10.0.0.11"}, 0, ""},
		"nothing known":   {lab.RunTarget{}, []string{"10.0.0.1"}, 0, ""},
		"a bond whose one member has a link": {serverWith(2, bond...), []string{"10.9.0.1"}, one,
			"Ethernet 25 Gbit/s of eth0"},
	} {
		got, known := Ports(c.target, c.addresses)
		if known != (c.want > 0) || math.Abs(got.Value-c.want) > 1e-6*c.want ||
			!strings.Contains(got.Limiter, c.limiter) {
			t.Errorf("%s: %v, %v of %q", name, known, got.Value, got.Limiter)
		}
	}
}
