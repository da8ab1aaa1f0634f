package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// layersSuite times answers one at a time; and it writes.
const layersSuite = `version: 1
name: answers
title: one at a time
repetitions: 3
size: 64m
defaults: {ioengine: libaio, direct: 1, bs: 4k, iodepth: 1, runtime: 10s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread}}
  - {name: writes, fio: {rw: randwrite}}
`

// answers has each place answer after its time, which varies by a hundredth.
func answers(m *scripted.Machine, after map[string]time.Duration) {
	m.Fio = func(load *scripted.Load) scripted.IO {
		wait := 50 * time.Microsecond
		for place, d := range after {
			if name := load.Params["filename"]; name == place || strings.HasPrefix(name, place+"/") {
				wait = d
			}
		}
		wait = time.Duration(float64(wait) * (1 + 0.01*float64(load.Number%3-1)))
		io := scripted.IO{Latency: wait}
		if strings.Contains(load.Params["rw"], "write") {
			io.Write = 1 / wait.Seconds()
		} else {
			io.Read = 1 / wait.Seconds()
		}
		return io
	}
}

// addedAt is what a layer adds to the mean time of an answer, in microseconds.
func addedAt(t *testing.T, d layers.Document, cell string, layer int) float64 {
	t.Helper()
	for _, s := range d.Steps {
		if s.Cell == cell && strings.HasSuffix(s.Metric, "latency.mean") && s.Layer == layer && s.Added != nil {
			return 1e6 * s.Added.Value
		}
	}
	t.Errorf("nothing is said of %s at layer %d: %+v", cell, layer, d.Steps)
	return 0
}

func (l *scriptedLab) layers(args ...string) scriptedOutcome {
	l.Helper()
	return l.run(append([]string{"compare", "--layers", l.file("answers.yaml", layersSuite), "scripted://db1"},
		args...)...)
}

// A delay at the second of three layers is found there and nowhere else.
func TestScriptedLayersFindADelayWhereItIs(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AddDrive(2)
		addVolume(m, "/data", 2)
		answers(m, map[string]time.Duration{"/dev/nvme2n1": 100 * time.Microsecond, "/dev/md0": 1100 * time.Microsecond,
			"/data": 1110 * time.Microsecond})
		o := l.layers("/dev/nvme2n1", "/dev/md0", "/data", "--pairs", "6", "--json").ends(0)
		d := documentIn[layers.Document](o)
		if device, files := addedAt(t, d, "reads", 1), addedAt(t, d, "reads", 2); math.Abs(device-1000) > 25 ||
			math.Abs(files-10) > 25 {
			t.Errorf("of 1000 and 10 µs %.0f and %.0f are found", device, files)
		}
		if !strings.Contains(strings.Join(d.Notes, "\n"), "1 cell that writes was left out") || len(d.Warnings) != 0 {
			t.Errorf("the notes are %q, the warnings %+v", d.Notes, d.Warnings)
		}
		if !d.Stacked() || len(d.Layers) != 3 || d.Layers[2].Filesystem != "xfs" {
			t.Errorf("%+v, %+v", d.Layers, d.Warnings)
		}
		for _, load := range m.Loads() {
			if load.Params["name"] == "writes" || strings.HasPrefix(load.Params["filename"], "/dev/") &&
				strings.Contains(load.Params["rw"], "write") {
				t.Errorf("it writes: %s", load.Line())
			}
		}
		l.checkNothingLeft("db1")
		l.run("compare", "--layers", "--resume", "last").ends(0).says("most of it at /dev/md0 of scripted://db1")
		if left := m.Names("/data"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// Layers that are named from the top down, or lie elsewhere, are no layers of one another. Between directories writes
// are measured, too.
func TestScriptedLayersNamedWrong(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.AddDrive(2)
		addVolume(m, "/data", 2)
		d := documentIn[layers.Document](l.layers("/dev/md0", "/dev/nvme1n1", "--pairs", "2", "--json").ends(0))
		if d.Stacked() {
			t.Errorf("%+v", d)
		}
		d = documentIn[layers.Document](l.layers("/srv", "/data", "--pairs", "2", "--json").ends(0))
		cells := map[string]bool{}
		for _, s := range d.Steps {
			cells[s.Cell] = true
		}
		if !cells["reads"] || !cells["writes"] {
			t.Errorf("%v", cells)
		}
		l.checkNothingLeft("db1")
	})
}

// A load that fails is left out with its pass, and both the table and the exit code say so; where all fail there is no
// table.
func TestScriptedLayersLoadFails(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.machine("db1").AtLoad("--name=reads", 3, func(e *scripted.Event) {
			e.Fail(1, "fio: io_u error: Remote I/O error\n")
		})
		l.layers("/dev/nvme0n1", "/srv", "--pairs", "4").ends(1).says("Remote I/O error", "(1 of 4 repetitions)",
			"1 of 8 loads failed: reads")
		l.checkNothingLeft("db1")
		l.machine("db1").AtLoad("--name=reads", 0, func(e *scripted.Event) {
			e.Fail(1, "fio: io_u error: Remote I/O error\n")
		})
		l.layers("/dev/nvme0n1", "/srv", "--pairs", "2").ends(1).says("all loads failed")
		l.checkNothingLeft("db1")
	})
}

func TestScriptedLayersOnTwoTargets(t *testing.T) {
	inScriptedLab(t, []string{"host", "guest"}, func(l *scriptedLab) {
		answers(l.machine("host"), map[string]time.Duration{"/dev/nvme0n1": 100 * time.Microsecond})
		answers(l.machine("guest"), map[string]time.Duration{"/dev/nvme0n1": 300 * time.Microsecond})
		o := l.run("compare", "--layers", l.file("answers.yaml", layersSuite), "host=scripted://host", "/dev/nvme0n1",
			"vm=scripted://guest", "/dev/nvme0n1", "--pairs", "4", "--json").ends(0)
		d := documentIn[layers.Document](o)
		if got := addedAt(t, d, "reads", 1); math.Abs(got-200) > 10 || d.Layers[0].Name != "host" ||
			d.Layers[1].Name != "vm" {
			t.Errorf("%.0f µs between %+v", got, d.Layers)
		}
		if !strings.Contains(strings.Join(d.Notes, "\n"), "it is unknown whether vm is stored on host") {
			t.Errorf("the notes are %q", d.Notes)
		}
		for _, name := range []string{"host", "guest"} {
			if n := len(l.loaded(name)); n != 4 {
				t.Errorf("%d loads on %s", n, name)
			}
		}
	})
}

func TestScriptedLayersRefusals(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		l.layers("/srv").ends(2).says("--layers takes two places or more")
		l.layers("/srv", "/dev/nvme0n1", "--pairs", "1").ends(2).says("too few passes")
		writes := l.file("writes.yaml", strings.ReplaceAll(layersSuite, "randread", "randwrite"))
		l.run("compare", "--layers", writes, "scripted://db1", "/dev/nvme0n1",
			"/srv").ends(2).says("no job of the suite only reads")
		if got := l.machine("db1").Loads(); len(got) > 0 {
			t.Errorf("%d loads were started", len(got))
		}
	})
}
