package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Settings of a scripted end that are varied here.
const (
	receiveMemory = "/proc/sys/net/core/rmem_max"
	sendMemory    = "/proc/sys/net/core/wmem_max"
)

// overTwoPorts is an experiment over eight pairs by two addresses of the server.
func (l *scriptedLab) overTwoPorts(args ...string) []string {
	args = append(l.ends(args...), "--address", "198.18.1.2", "--address", "198.18.2.2", "--net-pairs", "8", "--seed",
		"1")
	return args
}

// slowSecondPort has what goes to the second address be half as fast as long as the server's memory is as large as
// this.
func (l *scriptedLab) slowSecondPort(memory string, clients ...string) {
	for _, name := range clients {
		l.machine(name).Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			s.Rate = gigabyte / 4
			if l.machine("server").Get(receiveMemory) == memory && load.Params["client"] == "198.18.2.2" {
				s.Rate /= 2
			}
			return s
		}
	}
}

// wasFound fails the test unless the settings of the ends are as they were.
func (l *scriptedLab) wasFound(names ...string) {
	l.Helper()
	for _, name := range names {
		m := l.machine(name)
		if m.Get(receiveMemory) != "212992" || m.Get(sendMemory) != "212992" {
			l.Errorf("%s is left with %s and %s", name, m.Get(receiveMemory), m.Get(sendMemory))
		}
		for _, port := range []string{"eth1", "eth2"} {
			if mtu := m.Get("/sys/class/net/" + port + "/mtu"); mtu != "1500" {
				l.Errorf("%s of %s is left with an MTU of %s", port, name, mtu)
			}
		}
		l.checkNothingLeft(name)
	}
	l.noJournals(l.dir + "/store")
}

// An ablation over eight pairs and two addresses prices what the pairs carry together: half of one of two ports is a
// quarter of all. A setting of the adapter under test is made on both of them, at both ends.
func TestScriptedAblationOverEightPairs(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(2, "client", "server")
		l.slowSecondPort("4194304", "client")
		l.machine("client").Noise = 0.004
		large := map[string]bool{}
		var mutex sync.Mutex // loads of several pairs start at the same time
		l.machine("client").AtLoad("--client", 0, func(*scripted.Event) {
			mutex.Lock()
			defer mutex.Unlock()
			for _, end := range []string{"client", "server"} {
				for _, port := range []string{"eth0", "eth1", "eth2"} {
					if l.machine(end).Get("/sys/class/net/"+port+"/mtu") == "9000" {
						large[end+" "+port] = true
					}
				}
			}
		})
		args := l.overTwoPorts("ablate", l.file("send.yaml", sendSuite), "--setting",
			"server:sysctl:net.core.rmem_max=4194304", "--setting", "client:sysctl:net.core.wmem_max=425984",
			"--setting", "nic:under-test/mtu=9000")
		l.run(append(args, "--dry-run=full")...).ends(0).says("send from scripted://client to scripted://server at "+
			"198.18.2.2, port 5202", "and 4 pairs more", "set nic:under-test/mtu=9000")
		if n := len(l.machine("client").Loads()); n > 0 {
			t.Errorf("a dry run started %d loads", n)
		}
		l.run(args...).ends(0).says("and 4 pairs more")
		d := decoded[ablation.Document](l.run("ablate", "--show", "last", "--json").ends(0))
		for i, want := range []struct {
			verdict ablation.Verdict
			ratio   float64
		}{{ablation.Slower, 0.75}, {ablation.Same, 1}, {ablation.Same, 1}} {
			s := d.Settings[i]
			if s.Verdict != want.verdict || !s.Alone.Known() || math.Abs(s.Alone.Ratio-want.ratio) > 0.01 {
				t.Errorf("%s=%s is %s: %+v", s.Factor, s.Level, s.Verdict, s.Alone)
			}
		}
		if len(d.Suspects) != 0 {
			t.Errorf("suspects: %+v", d.Suspects)
		}
		if want := map[string]bool{"client eth1": true, "client eth2": true, "server eth1": true,
			"server eth2": true}; fmt.Sprint(large) != fmt.Sprint(want) {
			t.Errorf("the MTU was changed of %v", large)
		}
		s := l.saved("last")
		for _, c := range s.Cells {
			want := 16e9
			if c.Levels["server:sysctl:net.core.rmem_max"] != "" {
				want = 12e9
			}
			if got := c.Metrics["send.bitrate"]; c.N < 2 || math.Abs(got.Center-want) > 0.02*want {
				t.Errorf("%s: %d times %g, not %g", c.ID, c.N, got.Center, want)
			}
		}
		// Each port of both ends is counted once, and the slow one carries half as much.
		for _, r := range l.repetitions("last") {
			slow := strings.Contains(r.Cell, "@"+ablation.AloneArm(1)) ||
				strings.Contains(r.Cell, "@"+ablation.Tuned) ||
				strings.Contains(r.Cell, "@"+ablation.RemovedArm(2)) ||
				strings.Contains(r.Cell, "@"+ablation.RemovedArm(3))
			var sent []float64
			for _, p := range r.Ports {
				if !p.Expected {
					t.Errorf("%s of the %s was not meant", p.Port, p.End)
				}
				if p.End == "client" {
					sent = append(sent, float64(p.Sent.Bytes))
				}
			}
			if len(r.Ports) != 4 || len(sent) != 2 ||
				math.Abs(sent[1]/sent[0]-map[bool]float64{true: 0.5, false: 1}[slow]) > 0.03 {
				t.Errorf("%s: %+v", r.Cell, r.Ports)
			}
		}
		pairs := l.bundle("last").Run.Network
		if len(pairs) != 8 || pairs[7].Address != "198.18.2.2" || pairs[7].Port != 5208 || len(s.Targets) != 2 ||
			!slices.Contains(codes(s), "sum-of-targets") {
			t.Errorf("%+v, %d targets, %v", pairs, len(s.Targets), codes(s))
		}
		l.wasFound("client", "server")
	})
}

// A search over two clients, stopped and gone on with: settings are made on both of them, and what it adds on its way
// is carried out by all pairs.
func TestScriptedBisectOverSeveralPairs(t *testing.T) {
	inScriptedLab(t, []string{"a", "b", "server"}, func(l *scriptedLab) {
		l.wired(2, "a", "b", "server")
		for _, name := range []string{"a", "b"} {
			l.machine(name).Stream = func(load *scripted.Load) scripted.Stream {
				s := scripted.Wire(load)
				if s.Rate = gigabyte / 2; load.Machine.Get(sendMemory) == "425984" {
					s.Rate /= 2
				}
				return s
			}
			l.machine(name).Noise = 0.01
		}
		l.machine("b").AtLoad("--client", 9, func(e *scripted.Event) { e.After(time.Second, l.interrupt) })
		args := []string{"bisect", "settings", l.file("send.yaml", sendSuite), "--on", "client=scripted://a", "--on",
			"client=scripted://b", "--on", "server=scripted://server", "--seed", "1",
			"--address", "198.18.1.3", "--address", "198.18.2.3", "--setting",
			"sysctl:net.core.rmem_max=212992,4194304", "--setting", "client:sysctl:net.core.wmem_max=212992,425984",
			"--setting", "nic:under-test/mtu=1500,9000"}
		l.run(append(slices.Clone(args), "--dry-run")...).ends(0).says("send from scripted://b to scripted://server " +
			"at 198.18.2.3, port 5202")
		o := l.run(args...)
		o.ends(130).says("headroom bisect --resume", "measurement 1  tcp  send")
		if n := strings.Count(o.stderr, "headroom: stopped"); n != 1 {
			t.Errorf("it says %d times that it was stopped", n)
		}
		l.wasFound("a", "b", "server")
		l.run("bisect", "settings", "--resume", "last", "--net-pairs",
			"4").ends(2).says("--net-pairs can't be changed when a run is resumed")
		l.run("bisect", "settings", "--resume", "last").ends(0)
		d := decoded[bisection.Document](l.run("bisect", "settings", "--show", "last", "--json").ends(0))
		if d.Outcome != bisection.Found || len(d.Culprits) != 1 ||
			d.Culprits[0].Factor != "client:sysctl:net.core.wmem_max" {
			t.Errorf("%s: %+v", d.Outcome, d.Culprits)
		}
		s := l.saved("last")
		if s.Status != lab.Complete || len(s.Targets) != 3 || s.Targets[1].Role != "client-2" {
			t.Errorf("%s, %+v", s.Status, s.Targets)
		}
		a, b := len(l.machine("a").Loads()), len(l.machine("b").Loads())
		if a != b || a < 10 {
			t.Errorf("%d and %d loads", a, b)
		}
		for _, r := range l.repetitions("last") {
			if got := r.Values["send.bitrate"]; math.Abs(got-8e9) > 0.3e9 && math.Abs(got-4e9) > 0.15e9 {
				t.Errorf("%s came to %g", r.Cell, got)
			}
		}
		l.wasFound("a", "b", "server")
	})
}

// Several addresses of one server are taken in turn by net, too.
func TestScriptedNetOverTwoAddresses(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(2, "client", "server")
		l.run(l.ends("net", l.file("send.yaml", sendSuite), "--address", "198.18.1.2", "--address", "198.18.2.2",
			"--pairs", "3")...).ends(0)
		var took []string
		for _, p := range l.bundle("last").Run.Network {
			took = append(took, p.Address)
		}
		if got := strings.Join(took, " "); got != "198.18.1.2 198.18.2.2 198.18.1.2" {
			t.Errorf("it took %s", got)
		}
		l.run(l.ends("net", l.file("send.yaml", sendSuite), "--address", "198.18.1.2", "--address", "198.18.2.2",
			"--dry-run=full")...).ends(0).says("pair-2", "--client 198.18.2.2")
	})
}

// Where load generators run is varied for each pair; of RDMA there is no sum.
func TestScriptedPlacementsOfSeveralPairs(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.wired(2, "client", "server")
		l.run(l.overTwoPorts("sweep", l.file("send.yaml", sendSuite), "--factor", "pin:cpus=0,1",
			"--blocks", "2")...).ends(0)
		loads := append(l.machine("client").Loads(), l.machine("server").Loads()...)
		for _, load := range loads {
			if !strings.Contains(load.Line(), "taskset -c ") {
				t.Errorf("it runs where it likes: %s", load.Line())
			}
		}
		if len(loads) != 2*2*8*2 {
			t.Errorf("%d loads", len(loads))
		}
		hasRDMA(l.machine("client"), "--bind_source_ip")
		hasRDMA(l.machine("server"), "--bind_source_ip")
		l.run(l.overTwoPorts("sweep", l.file("rdma.yaml", rdmaSuite), "--factor", "pin:cpus=0,1")...).ends(2).says(
			"of which 8 pairs have no sum")
	})
}

// What the kernel of an end does not have of a bundle is left out and named, once; where nothing is left, it is
// refused.
func TestScriptedBundleLeavesOutWhatTheKernelHasNot(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.run(l.ends("sweep", l.file("send.yaml", sendSuite), "--factor", "client:bundle:esnet=10g,100g",
			"--blocks", "2")...).ends(0)
		var printed []string
		for _, w := range l.bundle("last").Run.Warnings {
			if w.Code == "bundle-incomplete" {
				printed = append(printed, w.Text)
			}
		}
		if len(printed) != 1 || !strings.Contains(printed[0], "sysctl:net.ipv4.tcp_mtu_probing at the client") ||
			strings.Contains(printed[0], "wmem_max") {
			t.Errorf("%q", printed)
		}
		l.run("factors", "bundle:esnet", "--on", "scripted://client").ends(0).says("lacking",
			"sysctl:net.ipv4.tcp_mtu_probing")
		if m := l.machine("client"); m.Get(sendMemory) != "212992" || m.Get(receiveMemory) != "212992" {
			t.Errorf("%s and %s are left", m.Get(sendMemory), m.Get(receiveMemory))
		}
		l.checkNothingLeft("client")
	})
}
