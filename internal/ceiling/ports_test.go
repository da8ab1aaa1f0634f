package ceiling

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// serverWith returns a server with NICs of 25 Gbit/s, each with an address.
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

// An imported result of iperf3 has the ceiling of the port that it used, or of all ports if that is unknown.
func TestImportedNetworkCells(t *testing.T) {
	one := 25e9 * 8948 / 9038
	run := func(client string, source lab.Source, more ...lab.Fact) lab.Run {
		target := serverWith(2, more...)
		target.Role, target.Target = "storage", client
		return lab.Run{Source: source, Targets: []lab.RunTarget{target}, Arms: []lab.Arm{{ID: "a", Role: "storage"}},
			Cells: []lab.Cell{{ID: "c", Arm: "a", Engine: lab.EngineIperf3}}}
	}
	for name, c := range map[string]struct {
		run  lab.Run
		want float64
	}{
		"its port":        {run("10.0.1.1", lab.Imported), one},
		"another address": {run("192.0.2.7", lab.Imported), 2 * one},
		"the loopback":    {run("127.0.0.1", lab.Imported), 0},
		"our own":         {run("10.0.1.1", ""), 0},
	} {
		all := OfCells(c.run)["c"]
		if c.want == 0 && len(all) == 0 {
			continue
		}
		if len(all) != 2 || all[0].Metric != lab.Bitrate(lab.Send) || all[1].Metric != lab.Bitrate(lab.Receive) ||
			math.Abs(all[0].Value-c.want) > 1e-6*one {
			t.Errorf("%s: %+v", name, all)
			continue
		}
		w := Check(map[string]float64{lab.Bitrate(lab.Send): 1.1 * c.want}, nil, all)
		if len(w) != 1 || w[0].Code != "above-ceiling" || !strings.Contains(w[0].Text, "Gbit/s were measured") {
			t.Errorf("%s: %+v", name, w)
		}
		if w := Check(map[string]float64{lab.Bitrate(lab.Send): 0.9 * c.want}, nil, all); len(w) != 0 {
			t.Errorf("%s: %+v", name, w)
		}
	}
	guest := OfCells(run("10.0.1.1", lab.Imported, lab.Fact{Key: "vm.hypervisor", Value: "kvm"}))["c"]
	for _, c := range guest {
		if !math.IsInf(c.Most, 1) {
			t.Errorf("a guest's adapter is no proof: %+v", c)
		}
	}
}
