package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/scripted"
)

func TestScriptedNetwork(t *testing.T) {
	inScriptedLab(t, []string{"client", "server"}, func(l *scriptedLab) {
		l.machine("client").Stream = func(load *scripted.Load) scripted.Stream {
			s := scripted.Wire(load)
			if load.Params["reverse"] != "" {
				s.Rate /= 2
			}
			return s
		}
		l.run("net", "--on", "client=scripted://client", "--on", "server=scripted://server", "--set",
			"time=5s").ends(0).says("No warnings.")
		d := l.saved("last")
		if d.Status != lab.Complete || len(codes(d)) != 0 {
			t.Errorf("the run is %s, with the warnings %q", d.Status, codes(d))
		}
		const full = 9.4e9
		if got := values(d, "send", "send.bitrate"); len(got) != 6 || got[0] != full {
			t.Errorf("sending: %v", got)
		}
		if got := values(d, "receive", "receive.bitrate"); len(got) != 6 || got[0] != full/2 {
			t.Errorf("receiving: %v", got)
		}
		if n := len(l.machine("server").Loads()); n != 15 {
			t.Errorf("%d servers for 15 tests", n)
		}
		l.checkNothingLeft("client")
		l.checkNothingLeft("server")
	})
}

func TestScriptedCommand(t *testing.T) {
	const suite = `version: 1
name: says
title: a command
place: directory
repetitions: 2
jobs:
  - name: says
    exec: [bench, --for, '3']
    prepare: [touch, prepared]
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Programs["bench"] = func(load *scripted.Load) scripted.Result {
			if !m.Exists(load.Folder + "/prepared") {
				return scripted.Result{Exit: 1, Stderr: "nothing is prepared"}
			}
			return scripted.Result{Duration: 3 * time.Second, Stdout: "rate 100\n"}
		}
		l.run("run", l.file("suite.yaml", suite), "/srv", "--on", "scripted://db1").ends(0)
		if got := values(l.saved("last"), "says", "rate"); !slices.Equal(got, []float64{100, 100}) {
			t.Errorf("rates: %v", got)
		}
		l.checkNothingLeft("db1")
	})
}

// A guest is started again for each level of what is decided at boot.
func TestScriptedBoots(t *testing.T) {
	inScriptedLab(t, []string{"scripted"}, func(l *scriptedLab) {
		m := l.machine("scripted")
		l.schemes = append(l.schemes, guestScheme)
		l.opened["scripted"] = func(t *scripted.Target) host.Target { return scripted.Host{Target: t} }
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if strings.Contains(m.Get("/proc/cmdline"), "mitigations=off") {
				io.Read *= 1.25
			}
			return io
		}
		l.run("sweep", l.file("suite.yaml", scriptedSuite), "/srv", "--on", "qemu:scripted", "--factor",
			"cmdline:mitigations=auto,off", "--blocks", "3", "--seed", "1").ends(0)
		iops := map[string]float64{}
		for _, c := range l.saved("last").Cells {
			if c.Job == "reads" {
				iops[c.Levels["cmdline:mitigations"]] = c.Metrics["read.iops"].Center
			}
		}
		if iops["auto"] != 50_000 || iops["off"] != 62_500 {
			t.Errorf("reads reach %v", iops)
		}
	})
}
