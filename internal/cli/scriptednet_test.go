package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// sendSuite is one test of five seconds, twice.
const sendSuite = `version: 1
name: send
title: to the server
repetitions: 2
jobs:
  - {name: send, iperf3: {time: 5s}}
`

// gigabytes is bytes a second, 8 Gbit/s.
const gigabyte = 1e9

// wired gives machines as many ports besides eth0, each in a subnet of its own: the first machine is 198.18.N.1 there,
// the second 198.18.N.2.
func (l *scriptedLab) wired(ports int, names ...string) {
	for i, name := range names {
		for n := 1; n <= ports; n++ {
			l.machine(name).AddPort(fmt.Sprintf("eth%d", n), fmt.Sprintf("198.18.%d.%d", n, i+1))
		}
	}
}

// paced has all clients send what each address of the server lets through, and all together no more than it has. Port
// 5201 is that of the first address.
func (l *scriptedLab) paced(names []string, together float64, each ...float64) {
	for _, name := range names {
		l.machine(name).Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			if load.Server == load.Machine {
				return s
			}
			sum, own := 0.0, 0.0
			for _, port := range load.Server.Listening() {
				rate := each[min(port-5201, len(each)-1)]
				sum += rate
				if load.Params["port"] == fmt.Sprint(port) {
					own = rate
				}
			}
			s.Rate = own * min(1, together/sum)
			return s
		}
	}
}

// rates are those of a cell's metric, by repetition.
func ratesOf(d summary.Run, cell, metric string) []float64 {
	var all []float64
	for _, c := range d.Cells {
		if c.ID == cell {
			for _, v := range c.Metrics[metric].Values {
				all = append(all, math.Round(v.Value/1e6)*1e6)
			}
		}
	}
	return all
}

func (l *scriptedLab) ends(args ...string) []string {
	return append(args, "--on", "client=scripted://client", "--on", "server=scripted://server")
}

// What is measured at the same time stands beside its sum.
func TestScriptedNetOfSeveralPairs(t *testing.T) {
	inScriptedLab(t, []string{"a", "b", "server"}, func(l *scriptedLab) {
		l.paced([]string{"a", "b"}, 1.2*gigabyte, gigabyte, gigabyte, gigabyte/2)
		o := l.run("net", l.file("send.yaml", sendSuite), "--on", "client=scripted://a", "--on", "client=scripted://b",
			"--on", "server=scripted://server", "--pairs", "3", "--label", "three")
		o.ends(0).says("send from scripted://a to scripted://server at 198.18.0.3, port 5201",
			"2 tests of each pair, all pairs at once")
		d := l.saved("three")
		for cell, want := range map[string]float64{"send@pair-1": 480e6 * 8, "send@pair-2": 480e6 * 8,
			"send@pair-3": 240e6 * 8, "send@all": 1200e6 * 8} {
			if got := ratesOf(d, cell, "send.bitrate"); !slices.Equal(got, []float64{want, want}) {
				t.Errorf("%s: %v, not %g", cell, got, want)
			}
		}
		if d.Status != lab.Complete || len(d.Network) != 3 || d.Network[1].Client != "client-2" ||
			d.Network[2].Client != "client-1" || d.Network[2].Port != 5203 {
			t.Errorf("%s, %+v", d.Status, d.Network)
		}
		if a, b, s := len(l.machine("a").Loads()), len(l.machine("b").Loads()), len(l.machine("server").Loads()); a !=
			4 || b != 2 || s != 6 {
			t.Errorf("%d, %d and %d loads", a, b, s)
		}
		for _, name := range []string{"a", "b", "server"} {
			l.checkNothingLeft(name)
		}
	})
}

func TestScriptedNetDryRun(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		suite := l.file("send.yaml", sendSuite)
		l.run(l.ends("net", suite, "--dry-run=full")...).ends(0).says("--client 198.18.0.2", "--server")
		l.run(l.ends("net", suite, "--pairs", "2", "--dry-run=full")...).ends(0).says("pair-2", "--port 5202")
		l.run(l.ends("net", "interference", "--group", "a=198.18.0.2", "--group", "data=/dev/nvme1n1", "--dry-run=full",
			"--seed", "2")...).ends(0).
			says("3 combinations in 6 passes", "a-1, on scripted://client", "data-1, on scripted://server",
				"--filename=/dev/nvme1n1", "The order, with --seed 2", "pass 6")
		l.run(l.ends("ladder", "--dry-run=full", "--seed", "2")...).ends(0).says("on 5 rungs by 3 pairs",
			"loopback-server:", "flow-receive", "all, both ways at once", "--bidir", "The order, with --seed 2")
		for _, name := range []string{"client", "server"} {
			if n := len(l.machine(name).Loads()); n > 0 {
				t.Errorf("%d loads on %s", n, name)
			}
		}
		l.run("show", "last").ends(2)
	})
}

// One test of several fails: the others are kept, and there is no sum.
func TestScriptedNetTestFails(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.machine("client").AtLoad("--port 5202", 1, func(e *scripted.Event) {
			e.Result.Stdout, e.Result.Exit =
				`{"start":{"version":"iperf 3.16"},"intervals":[],"end":{},"error":"the server has terminated"}`+"\n", 1
		})
		l.run(l.ends("net", l.file("send.yaml", sendSuite), "--pairs", "2")...).ends(1).says("1 of 4 loads failed",
			"the server has terminated")
		d := l.saved("last")
		for cell, want := range map[string]int{"send@pair-1": 2, "send@pair-2": 1, "send@all": 1} {
			if got := ratesOf(d, cell, "send.bitrate"); len(got) != want {
				t.Errorf("%s: %v, not %d", cell, got, want)
			}
		}
		if !slices.Contains(codes(d), "no-result") {
			t.Errorf("%v", codes(d))
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

func TestScriptedNetServerLost(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		server := l.machine("server")
		server.AtLoad("--server", 3, func(e *scripted.Event) { e.After(2*time.Second, server.Disconnect) })
		l.run(l.ends("net", l.file("send.yaml", sendSuite), "--pairs", "2")...).ends(1).says("the connection was lost",
			"headroom net --resume")
		server.Reconnect()
		l.run("net", "--resume", "last").ends(0) // what was lost is repeated
		if d := l.saved("last"); d.Status != lab.Complete || !slices.Equal(ratesOf(d, "send@all", "send.bitrate"),
			[]float64{18.8e9, 18.8e9}) || slices.Contains(codes(d), "no-sum") {
			t.Errorf("%s with %v, %v", d.Status, ratesOf(d, "send@all", "send.bitrate"), codes(d))
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// A server that does not start to listen is reported, with its own message.
func TestScriptedNetServerDoesNotListen(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		suite, server := l.file("send.yaml", sendSuite), l.machine("server")
		happens := func(e *scripted.Event) {}
		server.AtLoad("--server", 0, func(e *scripted.Event) { happens(e) })
		happens = func(e *scripted.Event) { e.Result.Listens = 0 }
		l.run(l.ends("net", suite)...).ends(1).says("iperf3 does not listen on 198.18.0.2, port 5201, after 10s")
		happens = func(e *scripted.Event) {
			*e.Result = scripted.Result{Exit: 1, Stderr: "iperf3: error - unable to start listener for connections: " +
				"Cannot assign requested address\n"}
		}
		l.run(l.ends("net", suite)...).ends(1).says("iperf3 can't listen on 198.18.0.2, port 5201",
			"Cannot assign requested address")
		server.Computed("/proc/net/tcp", func() string {
			return "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
				"   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 24017 1 " +
				"0000000000000000 100 0 0 10 0\n"
		})
		l.run(l.ends("net", suite)...).ends(1).says("something listens on port 5201 of the server already")
		if n := len(l.machine("client").Loads()); n > 0 {
			t.Errorf("%d clients were started", n)
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// Within one machine there is one loopback, on which each packet passes twice.
func TestScriptedNetWithinOneMachine(t *testing.T) {
	inScriptedLab(t, []string{"one"}, func(l *scriptedLab) {
		l.run("net", l.file("send.yaml", sendSuite), "--on", "client=scripted://one", "--on",
			"server=scripted://one").ends(0).says("at 127.0.0.1, port 5201")
		if got := values(l.saved("last"), "send", "send.bitrate"); !slices.Equal(got, []float64{40e9, 40e9}) ||
			!slices.Equal(codes(l.saved("last")), []string{"few-repetitions"}) {
			t.Errorf("%v", got)
		}
		l.checkNothingLeft("one")
	})
}

// Traffic that takes another way than the address says is reported, and retransmissions.
func TestScriptedNetTakesAnotherWay(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(1, "client", "server")
		suite := l.file("send.yaml", sendSuite)
		client := l.machine("client")
		l.run(l.ends("net", suite, "--address", "198.18.1.2")...).ends(0)
		if got := codes(l.saved("last")); !slices.Equal(got, []string{"few-repetitions"}) {
			t.Errorf("%v", got)
		}
		client.Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			s.Over = "eth0"
			return s
		}
		l.run(l.ends("net", suite, "--address", "198.18.1.2")...).ends(0)
		if got := codes(l.saved("last")); !slices.Contains(got, "another-way") {
			t.Errorf("%v", got)
		}
		client.Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			s.Retransmits = 400_000
			return s
		}
		l.run(l.ends("net", suite, "--address", "198.18.1.2")...).ends(0)
		d := l.saved("last")
		if got := codes(d); slices.Contains(got, "another-way") {
			t.Errorf("%v", got)
		}
		if got := values(d, "send", "send.retransmits"); len(got) != 2 || got[0] != 400_000 {
			t.Errorf("%v", got)
		}
	})
}

// What a route spreads over several next hops goes the way that it is meant to; a hop that carries nothing of many
// flows is reported, and of a few it is not.
func TestScriptedNetOverSeveralNextHops(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(2, "client", "server")
		suite := l.file("send.yaml", sendSuite)
		client := l.machine("client")
		client.NextHops = map[string][]scripted.NextHop{"198.18.0.2": {{Gateway: "198.18.1.2", Port: "eth1"},
			{Gateway: "198.18.2.2", Port: "eth2"}}}
		second := "eth2"
		client.Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			s.Rate = gigabyte / 8
			if s.Over, s.At = "eth1", "eth1"; strings.HasSuffix(load.Params["port"], "2") ||
				strings.HasSuffix(load.Params["port"], "4") {
				s.Over, s.At = second, second
			}
			return s
		}
		for _, c := range []struct {
			second, parallel string
			want             []string
		}{{"eth2", "2", nil}, {"eth1", "2", []string{"unused-hop"}}, {"eth1", "1", nil}} {
			second = c.second
			l.run(l.ends("net", suite, "--pairs", "4", "--set", "parallel="+c.parallel)...).ends(0)
			var got []string
			for _, code := range codes(l.saved("last")) {
				if slices.Contains([]string{"another-way", "shared-port", "unused-hop"}, code) &&
					!slices.Contains(got, code) {
					got = append(got, code)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v", c, got)
			}
		}
		meant := map[string]bool{}
		for _, r := range l.repetitions("last") {
			for _, p := range r.Ports {
				if p.Expected {
					meant[p.End+" "+p.Port] = true
				}
			}
		}
		if want := map[string]bool{"client eth1": true, "client eth2": true, "server eth1": true,
			"server eth2": true}; fmt.Sprint(meant) != fmt.Sprint(want) {
			t.Errorf("%v", meant)
		}
		// What is set on the adapter under test is set on both.
		l.run(l.ends("sweep", suite, "--factor", "nic:under-test/mtu=1500,9000", "--blocks", "2", "--dry-run")...).ends(
			0)
		client.Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			s.Over = "eth0"
			return s
		}
		l.run(l.ends("net", suite)...).ends(0)
		if got := codes(l.saved("last")); !slices.Contains(got, "another-way") {
			t.Errorf("another way: %v", got)
		}
	})
}

func TestScriptedNetRefusals(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		storage := l.file("storage.yaml", scriptedSuite)
		ends := "--on client=scripted://client --on server=scripted://server "
		for _, c := range []struct {
			args, words string
			code        int
		}{
			{"net --on scripted://client", "does not say which end it is", 2},
			{"net " + ends + "--on server=scripted://client --address 10.0.0.1 --address 10.0.0.2 --address 10.0.0.3",
				"3 addresses are named for 2 servers", 2},
			{"net " + ends + "--address 10.0.0.1 --address 10.0.0.2 --pairs 1",
				"too few pairs, 1, for 1 client, 1 server and their addresses", 2},
			{"net " + ends + "--address here", "is no address", 2},
			{"net " + ends + "--pairs 999", "not from 1 to 256", 2},
			{"net " + ends + "--on client=scripted://server --pairs 1", "take at least 2, or name fewer", 2},
			{"net " + ends + "--port 65535 --pairs 2", "there are no ports from 65535 on", 2},
			{"net " + storage + " " + ends, "measures no network", 2},
			{"net " + ends + "--set colour=red", "colour", 2},
			{"net --resume nothing", "nothing", 2},
			{"net interference --group a=10.0.0.1", "between 2 to 8 groups, and --group names 1", 2},
			{"net interference --group 10.0.0.1 --group b=10.0.0.2", "has no name", 2},
			{"net interference --group a= --group b=10.0.0.2", "goes through", 2},
			{"net interference --group a=10.0.0.1 --group a=10.0.0.2", "the name of another group", 2},
			{"net interference --group a=10.0.0.1 --group b=disk", "neither an address nor a whole path", 2},
			{"net interference --group a=10.0.0.1 --group b=/a,/b", "more than one device or directory", 2},
			{"net interference --group a=10.0.0.1 --group all=10.0.0.2", "stands for something else", 2},
			{"net interference --group a=10.0.0.1 --group b=10.0.0.2 --passes 1", "too few", 2},
			{"net interference --resume last --passes 3", "can't be changed", 2},
			{"net interference " + ends + "--group a=10.0.0.1 --group b=10.0.0.2 --pairs 0", "not from 1 to 256", 2},
			{"net interference " + ends + "--group a=10.0.0.1 --group b=10.0.0.2 --pairs 200", "400 pairs are too many",
				2},
			{"net interference " + ends + "--group a=10.0.0.1 --group b=/dev/nvme1n1 --set-fio rw=write",
				"groups only read", 2},
			{"net interference " + ends + "--on server=scripted://client --group a=198.18.0.2 --group b=/dev/nvme1n1",
				"there are several servers", 2},
			{"net interference " + ends + "--on server=scripted://client --group a=10.0.0.1 --group b=10.0.0.2",
				"no server is known to have the address 10.0.0.1", 2},
			{"ladder " + ends + "/srv", "the rungs of a network are addresses", 2},
			{"ladder " + ends + "--size 4g", "for a ladder of storage", 2},
			{"ladder " + ends + "--direction up", "--direction up is none", 2},
			{"ladder " + ends + "--address here", "is no address", 2},
			{"ladder " + ends + "--group data", "is no name with addresses", 2},
			{"ladder " + ends + "--group data=10.0.0.1,x", "is no address", 2},
			{"ladder " + ends + "--pairs 300", "too many", 2},
			{"ladder " + ends + "--set reverse=1", "says the direction", 2},
			{"ladder " + ends + "--keep nonsense", "nonsense", 2},
		} {
			o := l.run(strings.Fields(c.args)...)
			if o.code != c.code {
				t.Errorf("%s: exit code %d\n%s", c.args, o.code, o.stderr)
			}
			o.says(c.words)
		}
		l.machine("server").Without("iperf3")
		l.run(l.ends("net")...).ends(1).says("iperf3 can't be used", "install it")
		for _, name := range []string{"client", "server"} {
			if n := len(l.machine(name).Loads()); n > 0 {
				t.Errorf("%d loads on %s", n, name)
			}
		}
	})
}

// Three groups of ports share one ceiling, which is named: each alone has its own.
func TestScriptedInterferenceNamesTheSharedCeiling(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(4, "client", "server")
		l.machine("client").Noise = 0.005
		l.paced([]string{"client"}, 2*gigabyte, gigabyte)
		d := documentIn[interference.Document](l.run(l.ends("net", "interference", "--group", "application=198.18.1.2",
			"--group", "data=198.18.2.2,198.18.3.2", "--group", "backup=198.18.4.2",
			"--passes", "3", "--set", "time=3s", "--json")...).ends(0))
		for i, want := range []float64{8e9, 16e9, 8e9} {
			if got := d.Groups[i].Alone.Value; got == nil || math.Abs(*got-want) > 0.02*want {
				t.Errorf("%s alone: %v, not %g", d.Groups[i].Name, got, want)
			}
		}
		for _, together := range d.Combinations {
			if got := together.Sum.Value; got == nil || math.Abs(*got-16e9) > 0.02*16e9 {
				t.Errorf("groups %v together: %v", together.Groups, got)
			}
		}
		if len(d.Shared) != 1 || !slices.Equal(d.Shared[0].Groups, []int{0, 1, 2}) ||
			d.Shared[0].One == interference.Disagrees || d.Answer.Verdict != interference.Loses {
			t.Errorf("%+v, %+v", d.Shared, d.Answer)
		}
		l.run("net", "interference", "--resume", "last").ends(0).says(strings.Fields(d.Answer.Text)[0], "with data")
		again := documentIn[interference.Document](l.run("net", "interference", "--resume", "last", "--json").ends(0))
		if again.Answer != d.Answer {
			t.Errorf("shown again: %q, not %q", again.Answer.Text, d.Answer.Text)
		}
		l.run("net", "--resume", "last").ends(2).says("was made by headroom net interference")
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// Beside a drive that fio reads a link keeps all. What is stopped goes on, and measures nothing twice.
func TestScriptedInterferenceBesideStorage(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		server := l.machine("server")
		server.Fio = func(*scripted.Load) scripted.IO { return scripted.IO{Read: 4000, Write: 0} }
		l.machine("client").AtLoad("--client", 2, func(e *scripted.Event) { e.After(2*time.Second, l.interrupt) })
		args := l.ends("net", "interference", "--group", "backup=198.18.0.2", "--group", "data=/srv", "--passes", "2",
			"--set", "time=5s", "--size", "16m", "--set-fio", "bs=64k", "--seed", "3")
		l.run(args...).ends(130).says("backup: 1 pair of iperf3, 198.18.0.2", "data: fio, /srv",
			"headroom net interference --resume")
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
		d := documentIn[interference.Document](l.run("net", "interference", "--resume", "last", "--json").ends(0))
		if d.Groups[0].Kind != "network" || d.Groups[1].Kind != "storage" || d.Answer.Verdict == interference.Loses ||
			len(d.Shared) != 0 {
			t.Errorf("%+v, %+v", d.Groups, d.Answer)
		}
		if got := d.Groups[1].Alone.Value; got == nil || math.Abs(*got-8*4000*65536) > 1e6 {
			t.Errorf("storage alone: %v", d.Groups[1].Alone)
		}
		s := l.saved(d.Run)
		if len(s.Cells) != 11 { // each alone: a pair or fio, its group and all; both: two, two and all
			t.Errorf("%d cells", len(s.Cells))
		}
		for _, c := range s.Cells {
			if c.N != 2 {
				t.Errorf("%s was measured %d times", c.ID, c.N)
			}
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// A test that fails leaves its combination out of that pass, and the command fails.
func TestScriptedInterferenceTestFails(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(2, "client", "server")
		l.machine("client").AtLoad("198.18.1.2", 2, func(e *scripted.Event) { e.Fail(1, "iperf3: interrupt") })
		l.run(l.ends("net", "interference", "--group", "a=198.18.1.2", "--group", "b=198.18.2.2", "--passes", "3",
			"--set", "time=2s")...).ends(1).says("1 of 12 loads failed")
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// A ladder climbs from the loopbacks to all ports: the slow port is named, and so is what two and three of them have
// together.
func TestScriptedNetworkLadderNamesWhatIsPlanted(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(3, "client", "server")
		l.machine("client").Noise = 0.005
		l.paced([]string{"client"}, gigabyte, 0.8*gigabyte, 0.8*gigabyte, 0.4*gigabyte)
		o := l.run(l.ends("ladder", "--group", "data=198.18.1.2,198.18.2.2", "--address", "198.18.3.2", "--passes", "4",
			"--set", "time=4s", "--direction", "send", "--json")...).ends(0)
		d := documentIn[ladder.Document](o)
		rungs := rungsByName(d)
		for name, want := range map[string]struct {
			gigabits, reached float64
			verdict           ladder.Verdict
		}{
			"one flow to 198.18.1.2": {6.4, 0, ""}, "198.18.1.2": {6.4, 1, ladder.Reaches},
			"198.18.2.2": {6.4, 1, ladder.Reaches}, "198.18.3.2": {3.2, 0.5, ladder.Short},
			"data (2 ports)": {8, 0.625, ladder.Short}, "all 3 ports": {8, 0.5, ladder.Short},
		} {
			r, ok := rungs[name]
			if !ok || r.Cells[0].Center == nil {
				t.Errorf("no rung %s of %+v", name, d.Rungs)
				continue
			}
			c := r.Cells[0]
			// The noise of two rungs, each of half a percent at most, can add up in their ratio.
			if math.Abs(*c.Center-want.gigabits*1e9) > 0.01*want.gigabits*1e9 || want.verdict != "" &&
				(c.Verdict != want.verdict || math.Abs(c.Reached.Value-want.reached) > 0.011*want.reached) {
				t.Errorf("%s: %.3g, %s, %d%%", name, *c.Center, c.Verdict, reached(r))
			}
		}
		if got := answered(d); got != "198.18.3.2" {
			t.Errorf("%q is named: %+v", got, d.Answer)
		}
		if c := rungs["loopback of scripted://server"].Cells; len(c) != 1 || c[0].Center == nil ||
			math.Abs(*c[0].Center-3*40e9) > 0.01*120e9 {
			t.Errorf("%+v: %g", c, *c[0].Center)
		}
		l.run("ladder", "--resume", "last").ends(0).says("198.18.3.2", "all 3 ports", "loopback of scripted://client")
		l.run("ladder", "--resume", "last", "--keep", "cmdline:numa=off").ends(0)
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// What is found at a port is a suspect where the rung that falls short goes through it, and not where it is another
// port's.
func TestScriptedLadderSuspectsThePortThatIsShort(t *testing.T) {
	for port, suspected := range map[string]bool{"eth1": false, "eth2": true} {
		t.Run(port, func(t *testing.T) {
			inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
				l.wired(2, "client", "server")
				l.machine("client").Noise = 0.005
				l.paced([]string{"client"}, 2*gigabyte, 0.8*gigabyte, 0.2*gigabyte)
				l.machine("server").Set("/sys/class/net/"+port+"/duplex", "half")
				d := documentIn[ladder.Document](l.run(l.ends("ladder", "--address", "198.18.1.2", "--address",
					"198.18.2.2", "--passes", "4", "--set", "time=4s", "--direction", "send", "--json")...).ends(0))
				if got := answered(d); got != "198.18.2.2" {
					t.Errorf("%q is named: %+v", got, d.Answer)
				}
				found := slices.ContainsFunc(d.Suspects, func(s ladder.Suspect) bool {
					return s.Rule == "nic-half-duplex"
				})
				if found != suspected {
					t.Errorf("%s has half duplex: %+v", port, d.Suspects)
				}
			})
		})
	}
}

// In both directions and both ways at once, by one address that was not named; stopped and resumed.
func TestScriptedNetworkLadderInterruptAndResume(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.machine("client").AtLoad("--client 198.18.0.2", 3, func(e *scripted.Event) {
			e.After(time.Second, l.interrupt)
		})
		l.run(l.ends("ladder", "--passes", "2", "--set", "time=2s", "--seed", "5")...).ends(130).says(
			"rung one flow to 198.18.0.2", "rung both ways at once", "headroom ladder --resume")
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
		d := documentIn[ladder.Document](l.run("ladder", "--resume", "last", "--json").ends(0))
		s := l.saved(d.Rungs[0].Run)
		for _, c := range s.Cells {
			if c.N != 2 {
				t.Errorf("%s was measured %d times", c.ID, c.N)
			}
		}
		var names []string
		for _, r := range d.Rungs {
			names = append(names, r.Name)
		}
		if want := []string{"loopback of scripted://server", "loopback of scripted://client", "one flow to 198.18.0.2",
			"198.18.0.2", "both ways at once"}; !slices.Equal(names, want) {
			t.Errorf("%q", names)
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

func TestScriptedNetworkLadderTestFails(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.machine("client").AtLoad("--client 198.18.0.2", 1, func(e *scripted.Event) { e.Fail(1, "iperf3: interrupt") })
		l.run(l.ends("ladder", "--passes", "2", "--set", "time=2s", "--direction", "receive")...).ends(1).says(
			"1 of 8 loads failed", "iperf3: interrupt")
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// Settings of both ends are swept, and put back.
func TestScriptedSweepOfBothEnds(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		const wmem, rmem = "/proc/sys/net/core/wmem_max", "/proc/sys/net/core/rmem_max"
		client, server := l.machine("client"), l.machine("server")
		client.Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			if server.Get(rmem) == "4194304" {
				s.Rate /= 2
			}
			return s
		}
		o := l.run(l.ends("sweep", l.file("send.yaml", sendSuite), "--factor",
			"server:sysctl:net.core.rmem_max=212992,4194304", "--blocks", "2", "--seed", "1")...)
		o.ends(0)
		d := l.saved("last")
		for _, c := range d.Cells {
			want := 9.4e9
			if c.Levels["server:sysctl:net.core.rmem_max"] == "4194304" {
				want /= 2
			}
			if got := c.Metrics["send.bitrate"]; c.N != 2 || got.Center != want {
				t.Errorf("%v: %d times %g", c.Levels, c.N, got.Center)
			}
		}
		if len(d.Cells) != 2 || client.Get(wmem) != "212992" || server.Get(rmem) != "212992" {
			t.Errorf("%d cells; %s and %s are not as they were", len(d.Cells), client.Get(wmem), server.Get(rmem))
		}
		l.run(l.ends("ablate", l.file("send.yaml", sendSuite), "--setting", "server:sysctl:net.core.rmem_max=4194304",
			"--setting", "client:sysctl:net.core.wmem_max=425984", "--blocks", "2", "--seed", "1")...).ends(0)
		if d := l.saved("last"); len(d.Cells) < 4 || client.Get(wmem) != "212992" || server.Get(rmem) != "212992" {
			t.Errorf("%d cells; %s and %s are not as they were", len(d.Cells), client.Get(wmem), server.Get(rmem))
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// Where the processes of both ends run is varied; what is not available is reported before anything is measured.
// Stopped, it goes on.
func TestScriptedSweepOfPlacements(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		client := l.machine("client")
		client.Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			if strings.HasPrefix(load.Line(), "taskset -c 1 ") {
				s.Rate /= 4
			}
			return s
		}
		client.AtLoad("--client", 3, func(e *scripted.Event) { e.After(time.Second, l.interrupt) })
		args := l.ends("sweep", l.file("send.yaml", sendSuite), "--factor", "pin:cpus=0,1", "--blocks", "2", "--seed",
			"1")
		l.run(args...).ends(130).says("headroom sweep --resume")
		l.run("sweep", "--resume", "last").ends(0)
		rates := map[string]float64{}
		for _, c := range l.saved("last").Cells {
			rates[c.Levels["pin:cpus"]] = c.Metrics["send.bitrate"].Center
		}
		if rates["0"] != 9.4e9 || rates["1"] != 9.4e9/4 {
			t.Errorf("%v", rates)
		}
		for _, load := range l.machine("server").Loads() {
			if !strings.Contains(load.Line(), "taskset -c ") {
				t.Errorf("a server is where it likes: %s", load.Line())
			}
		}
		suite := l.file("send.yaml", sendSuite)
		client.AtCommand("taskset -c 3 true", 0, func(e *scripted.Event) {
			e.Fail(1, "taskset: failed to set affinity: Invalid argument")
		})
		l.run(l.ends("sweep", suite, "--factor", "pin:cpus=0,3")...).ends(1).says("pin:cpus=3 is not available",
			"Invalid argument")
		l.run(l.ends("sweep", suite, "--factor", "pin:node=nic,other")...).ends(2).says("does not tell which node")
		l.run(l.ends("sweep", suite, "/srv", "--factor", "pin:cpus=0,1")...).ends(2).says(
			"measures a network, not /srv")
		l.run(l.ends("sweep", suite, "--size", "4g", "--factor", "pin:cpus=0,1")...).ends(2).says("are for storage")
		l.run(l.ends("sweep", suite, "--net-pairs", "1", "--on", "client=scripted://server", "--factor",
			"pin:cpus=0,1")...).ends(2).says("too few pairs, 1, for 2 clients")
		storage := l.file("storage.yaml", scriptedSuite)
		l.run("sweep", storage, "/srv", "--on", "scripted://client", "--factor", "pin:cpus=0,1").ends(2).says(
			"places the load generators of a network")
		l.run("sweep", storage, "/srv", "--on", "scripted://client", "--factor",
			"server:sysctl:vm.swappiness=0,1").ends(2).says("is about an end of a network")
		l.run("sweep", storage, "/srv", "--on", "scripted://client", "--port", "77", "--factor",
			"sysctl:vm.swappiness=0,1").ends(2).says("--address, --port and --net-pairs are for a suite that " +
			"measures a network")
	})
}

// requestsSuite times answers over UDP, and sends at a rate over TCP.
const requestsSuite = `version: 1
name: answers
title: requests
repetitions: 2
jobs:
  - {name: udp, sockperf: {mode: ping-pong, time: 3s}}
  - {name: load, sockperf: {mode: under-load, protocol: tcp, mps: 500, time: 3s}}
`

// Requests are answered by a server that is ended with each test.
func TestScriptedRequests(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		client := l.machine("client")
		suite := l.file("requests.yaml", requestsSuite)
		client.SetOutput("sockperf --version", scripted.Output{Stderr: "sockperf: not found", Exit: 127})
		l.run(l.ends("net", suite)...).ends(1).says("sockperf can't be used", "install it")
		for _, name := range []string{"client", "server"} {
			l.machine(name).SetOutput("sockperf --version", scripted.Output{Stdout: "sockperf, version 3.10\n"})
		}
		client.Exchange = func(load *scripted.Load) scripted.Exchange {
			e := scripted.Exchange{Answers: 2 * time.Millisecond}
			if load.Params["mps"] != "" {
				e.Lost = 0.1
			}
			return e
		}
		l.run(l.ends("net", suite)...).ends(0)
		d := l.saved("last")
		if got := values(d, "udp", "request.latency.mean"); !slices.Equal(got, []float64{0.002, 0.002}) {
			t.Errorf("%v", got)
		}
		if got := values(d, "udp", "request.rate"); len(got) != 2 || math.Abs(got[0]-500) > 1 {
			t.Errorf("%v", got)
		}
		if got := values(d, "load", "request.lost"); len(got) != 2 || math.Abs(got[0]-0.1) > 0.001 {
			t.Errorf("%v of %+v", got, d.Cells[1].Metrics)
		}
		l.checkNothingLeft("server")

		client.Exchange = func(*scripted.Load) scripted.Exchange {
			return scripted.Exchange{Answers: time.Millisecond,
				Fails: "sockperf: No messages were received from the server. Is the server down?\n"}
		}
		l.run(l.ends("net", suite, "--repeat", "1")...).ends(1).says("2 of 2 loads failed",
			"No messages were received from the server")
		client.Exchange = nil
		client.AtLoad("sockperf", 0, func(e *scripted.Event) { e.Fail(127, "sockperf: symbol lookup error") })
		l.run(l.ends("net", suite, "--repeat", "1")...).ends(1).says("sockperf printed no result",
			"symbol lookup error")
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

// rdmaSuite writes to the server's memory, and times messages.
const rdmaSuite = `version: 1
name: memory
title: RDMA
repetitions: 2
jobs:
  - {name: write, rdma: {test: ib_write_bw, duration: 6s, size: 65536}}
  - {name: message, rdma: {test: ib_send_lat, iters: 1000, size: 64}}
`

// hasRDMA has a machine's adapter do RDMA, with perftest installed.
func hasRDMA(m *scripted.Machine, help string) {
	m.SetOutput("rdma -j link show",
		scripted.Output{Stdout: `[{"ifindex":0,"port":1,"ifname":"mlx5_0","state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth0","netdev_index":2}]`})
	m.SetOutput("ip -o address", scripted.Output{Stdout: "1: lo    inet 127.0.0.1/8 scope host lo\n2: eth0    inet " +
		m.Address + "/24 scope global eth0\n"})
	for _, program := range []string{"ib_write_bw", "ib_send_lat"} {
		m.SetOutput(program+" --version", scripted.Output{Stdout: "Version: 6.10\n", Exit: 1})
		m.SetOutput(program+" --help", scripted.Output{Stdout: help})
	}
	m.Answer = func(argv []string) (scripted.Output, bool) {
		if strings.Join(argv, " ") != "rdma -j resource show cm_id" {
			return scripted.Output{}, false
		}
		var ends []string
		for _, port := range m.Listening() {
			ends = append(ends,
				fmt.Sprintf(`{"ifindex":0,"ifname":"mlx5_0","cm-idn":0,"state":"LISTEN","ps":"TCP","src-addr":"%s:%d"}`,
					m.Address, port))
		}
		return scripted.Output{Stdout: "[" + strings.Join(ends, ",") + "]"}, true
	}
}

func TestScriptedRDMA(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		client, server := l.machine("client"), l.machine("server")
		hasRDMA(client, "--bind_source_ip")
		hasRDMA(server, "--bind_source_ip")
		suite := l.file("rdma.yaml", rdmaSuite)
		l.run(l.ends("net", suite)...).ends(0)
		d := l.saved("last")
		if got := values(d, "message", "request.latency.mean"); len(got) != 2 || math.Abs(got[0]-0.002) > 1e-5 {
			t.Errorf("%v of %+v", got, d.Cells[1].Metrics)
		}
		for _, load := range server.Loads() {
			if !strings.Contains(load.Line(), "--bind_source_ip "+server.Address) {
				t.Errorf("it listens everywhere: %s", load.Line())
			}
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")

		// A client that came too early is started again, and what it says is kept; three times too early is one too
		// many.
		client.AtLoad("ib_write_bw", 1, func(e *scripted.Event) {
			e.Fail(1, "Event: RDMA_CM_EVENT_REJECTED; error: 8.\nFailed to connect RDMA CM events.\n")
		})
		l.run(l.ends("net", suite, "--repeat", "1")...).ends(0)
		if got := codes(l.saved("last")); !slices.Contains(got, "connection-missed") {
			t.Errorf("%v", got)
		}
		client.AtLoad("ib_send_lat", 0, func(e *scripted.Event) {
			e.Fail(1, "Event: RDMA_CM_EVENT_REJECTED; error: 8.\n")
		})
		before := len(client.Loads())
		l.run(l.ends("net", suite, "--repeat", "1")...).ends(1).says("perftest printed no result")
		if n := len(client.Loads()) - before; n != 5 {
			t.Errorf("one test and another four times came to %d", n)
		}

		// A server that can't be bound is refused where it would listen on more than the port under test.
		hasRDMA(server, "")
		server.SetOutput("rdma -j link show",
			scripted.Output{Stdout: `[{"ifname":"mlx5_0","port":1,"state":"ACTIVE","netdev":"eth0"},{"ifname":"mlx5_1","port":1,"state":"ACTIVE","netdev":"eth1"}]`})
		l.run(l.ends("net", suite)...).ends(4).says("would listen on all ports with RDMA: mlx5_0 eth0, mlx5_1 eth1")
		server.SetOutput("rdma -j link show",
			scripted.Output{Stdout: `[{"ifname":"mlx5_1","port":1,"state":"ACTIVE","netdev":"eth1"}]`})
		l.run(l.ends("net", suite)...).ends(1).says("there is no RDMA on it")
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}
