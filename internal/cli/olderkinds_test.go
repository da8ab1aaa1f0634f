package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// olderKind is one kind of measurement of which there are bundles made by an older binary.
type olderKind struct {
	name     string
	machines []string
	// set makes the machines what they were.
	set func(l *scriptedLab)
	// made are the commands that made the bundles; the measurement ends with this code.
	made func(l *scriptedLab, code int)
	// cut has the measurement be interrupted half-way, and resume is the command that goes on with it. Nil and empty
	// where there is nothing to go on with.
	cut    func(l *scriptedLab)
	resume []string
	// prints are commands of which the older binary's JSON is kept, besides those that every kind has.
	prints [][]string
	// withheld are the fields of that JSON, by the beginning of their path, that are judged more strictly or estimated
	// otherwise today.
	withheld []string
	// more does what else can be done with the finished bundles: measure more, or read an exported run.
	more func(l *scriptedLab)
	// killed ends the process at a moment that it gets; nil where there is no such fixture. It leaves a file
	// of the machine db1 with another value than it had, and restore says what is undone.
	killed            func(l *scriptedLab, now func())
	file, had, leaves string
	undone            string
}

// Suites of short loads: what is kept is what a run is made of, and not how long it took.
const (
	olderLoads = `version: 1
name: older
title: loads of bundles that an older binary made
place: directory
repetitions: 2
order: sequential
size: 64m
defaults: {ioengine: libaio, direct: 1, bs: 4k, runtime: 3s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread, iodepth: 4}}
  - {name: writes, fio: {rw: randwrite, iodepth: 16}}
`
	olderReads = `version: 1
name: older-reads
title: one load that only reads
repetitions: 2
size: 64m
defaults: {ioengine: libaio, direct: 1, bs: 64k, runtime: 3s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread, iodepth: 4}}
`
	olderWrites = `version: 1
name: older-writes
title: one load for experiments
place: directory
size: 64m
defaults: {ioengine: libaio, direct: 1, bs: 4k, runtime: 3s, time_based: 1}
jobs:
  - {name: writes, fio: {rw: randwrite, iodepth: 16}}
`
	olderSend = `version: 1
name: older-send
title: to the server
repetitions: 2
jobs:
  - {name: send, iperf3: {time: 2s}}
`
	olderAnswers = `version: 1
name: older-answers
title: requests
repetitions: 2
jobs:
  - {name: udp, sockperf: {mode: ping-pong, time: 2s}}
`
	olderBenches = `version: 1
name: older-command
title: a command
place: directory
repetitions: 2
jobs:
  - name: bench
    exec: [bench, --cpus, '{cpus}', --in, '{dir}']
    prepare: [touch, prepared]
    cleanup: [clean, '{dir}']
    timeout: 20s
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`
	olderTree = `version: 1
name: older-tree
title: a program of a git tree
jobs:
  - name: built
    exec: ['{tree}/bench']
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`
	olderGuest = `version: 1
cpus: 2
memory: 512m
kernel: vmlinuz
disks:
  - {name: data, kind: virtio-blk, size: 32m}
  - {name: none, kind: virtio-blk, size: 32m, backing: "null"}
`
)

// loadCut interrupts at the how manieth load of a machine whose command line holds a text.
func loadCut(machine, text string, at int) func(*scriptedLab) {
	return func(l *scriptedLab) {
		l.machine(machine).AtLoad(text, at, func(e *scripted.Event) { e.After(time.Second, l.interrupt) })
	}
}

// olderRun is a command that measures a suite, which is written first.
func olderRun(suite string, before []string, after ...string) func(*scriptedLab, int) {
	return func(l *scriptedLab, code int) {
		l.Helper()
		args := append(slices.Clone(before), l.file("suite.yaml", suite))
		l.run(append(args, after...)...).ends(code)
	}
}

// onMachine are the arguments of what is measured in /srv of the one machine.
func onMachine(more ...string) []string {
	return append([]string{"/srv", "--on", "scripted://db1", "--label", "kept"}, more...)
}

// betweenEnds are those of a network.
func betweenEnds(more ...string) []string {
	return append(more, "--on", "client=scripted://client", "--on", "server=scripted://server", "--label", "kept")
}

// olderKinds are all kinds of measurements of which bundles must be read and gone on with.
func olderKinds() []olderKind {
	one := []string{"db1"}
	ends := []string{"client", "server"}
	nothing := func(*scriptedLab) {}
	noisy := func(share float64) func(*scriptedLab) {
		return func(l *scriptedLab) { l.machine("db1").Noise = share }
	}
	return slices.Concat([]olderKind{
		{name: "run", machines: one, set: nothing,
			made: olderRun(olderLoads, []string{"run"}, onMachine()...),
			cut:  loadCut("db1", "--name=writes", 1), resume: []string{"run"}},
		{name: "run-precision", machines: one, set: noisy(0.02),
			made: olderRun(olderReads, []string{"run"}, onMachine("--precision", "5%")...),
			cut:  loadCut("db1", "--name=reads", 3), resume: []string{"run"},
			more: func(l *scriptedLab) {
				l.run("run", "--resume", "last", "--precision", "0.1%", "--budget", "30s").ends(0)
			}},
		{name: "run-budget", machines: one, set: noisy(0.02),
			made: olderRun(olderLoads, []string{"run"}, onMachine("--budget", "25s", "--repeat", "1")...),
			cut:  loadCut("db1", "--name=reads", 2), resume: []string{"run"}},
		{name: "run-command", machines: one,
			set:  func(l *scriptedLab) { benchmarksOfOlder(l.machine("db1")) },
			made: olderRun(olderBenches, []string{"run"}, onMachine()...),
			cut:  loadCut("db1", "bench --cpus", 2), resume: []string{"run"}},
		{name: "run-event", machines: one, set: cutLink,
			made: olderRun(eventsSuite, []string{"run"}, onMachine("--event", "20s: cut", "--undo", "put",
				"--event-for", "10s")...),
			cut: loadCut("db1", "cut", 2), resume: []string{"run"},
			killed: func(l *scriptedLab, now func()) {
				l.machine("db1").AtLoad("cut", 2, func(e *scripted.Event) { e.After(3*time.Second, now) })
			},
			file: "/sys/test/link", had: "up", leaves: "down", undone: "are restored: event: cut"},
		{name: "run-several", machines: []string{"a", "b"}, set: nothing,
			made: olderRun(olderReads, []string{"run"}, append(onEach("a", "b"), "/srv", "--label", "kept")...),
			cut:  loadCut("b", "--name=reads", 2), resume: []string{"run"}},
		{name: "run-by-turns", machines: []string{"a", "b"}, set: nothing,
			made: olderRun(olderReads, []string{"run"}, append(onEach("a", "b"), "/srv", "--label", "kept",
				"--at-once", "1")...),
			cut: loadCut("b", "--name=reads", 1), resume: []string{"run"}},
		{name: "run-many", machines: fleetOf33(), set: nothing,
			made: olderRun(strings.Replace(olderReads, "3s", "2s", 1), []string{"run"},
				append(onEach(fleetOf33()...), "/srv", "--label", "kept")...),
			cut: loadCut("n20", "--name=reads", 2), resume: []string{"run"}},
		{name: "net", machines: ends, set: nothing,
			made: olderRun(olderSend, []string{"net"}, betweenEnds()...),
			cut:  loadCut("client", "--port 5201", 2), resume: []string{"net"}},
		{name: "net-pairs", machines: ends, set: func(l *scriptedLab) { l.wired(2, "client", "server") },
			made: olderRun(olderSend, []string{"net"}, betweenEnds("--address", "198.18.1.2", "--address",
				"198.18.2.2")...),
			cut: loadCut("client", "--port 5201", 2), resume: []string{"net"}},
		{name: "net-requests", machines: ends,
			set: func(l *scriptedLab) {
				for _, end := range ends {
					l.machine(end).SetOutput("sockperf --version", scripted.Output{Stdout: "sockperf, version 3.10\n"})
				}
			},
			made: olderRun(olderAnswers, []string{"net"}, betweenEnds()...),
			cut:  loadCut("client", "ping-pong", 2), resume: []string{"net"}},
		{name: "net-interference", machines: ends,
			set: func(l *scriptedLab) {
				l.machine("server").Fio = func(*scripted.Load) scripted.IO { return scripted.IO{Read: 4000} }
			},
			made: func(l *scriptedLab, code int) {
				l.run(betweenEnds("net", "interference", "--group", "backup=198.18.0.2", "--group", "data=/srv",
					"--passes", "2", "--set", "time=2s", "--size", "16m", "--set-fio", "bs=64k", "--seed",
					"3")...).ends(code)
			},
			cut: loadCut("client", "--client", 2), resume: []string{"net", "interference"},
			prints: [][]string{{"net", "interference", "--resume", "last", "--json"}}},
		{name: "ladder-network", machines: ends, set: nothing,
			made: func(l *scriptedLab, code int) {
				l.run(betweenEnds("ladder", "--passes", "2", "--set", "time=2s", "--seed", "5")...).ends(code)
			},
			cut: loadCut("client", "--client 198.18.0.2", 3), resume: []string{"ladder"},
			prints: [][]string{{"ladder", "--resume", "last", "--json"}},
			// A warning about the whole run was attached to the first rung.
			withheld: []string{".rungs[0].cells[0].warnings", ".rungs[0].cells[1].warnings", ".warnings[0].rung"}},
		{name: "compare-live", machines: one,
			set: func(l *scriptedLab) {
				m := l.machine("db1")
				twoFolders(m)
				m.Noise, m.Fio = 0.01, besides("/srv/b", 0.7, 1)
			},
			made: olderRun(olderReads, []string{"compare", "--live"}, "/srv/a", "/srv/b", "scripted://db1", "--seed",
				"3", "--label", "kept", "--pairs", "6", "--confirm", "1"),
			cut: loadCut("db1", "--name=reads", 5), resume: []string{"compare", "--live"},
			prints: [][]string{{"compare", "kept base", "kept new", "--json"}},
			// Four pairs were enough for a verdict once.
			withheld: []string{".cells[0].change.", ".cells[0].verdict", ".new[0].counts.", ".new[0].means[0]."}},
		{name: "compare-layers", machines: one,
			set: func(l *scriptedLab) {
				answers(l.machine("db1"), map[string]time.Duration{"/dev/nvme0n1": 100 * time.Microsecond,
					"/srv": 300 * time.Microsecond})
			},
			made: olderRun(olderReads, []string{"compare", "--layers"}, "scripted://db1", "/dev/nvme0n1", "/srv",
				"--pairs", "3", "--label", "kept", "--seed", "3"),
			cut: loadCut("db1", "--name=reads", 3), resume: []string{"compare", "--layers"},
			prints: [][]string{{"compare", "--layers", "--resume", "last", "--json"}},
			// The ratio was the mean of the passes' once, and is that of the means beside it.
			withheld: []string{".steps[1].ratio.", ".steps[3].ratio."}},
		{name: "ladder", machines: one,
			set: func(l *scriptedLab) {
				reads(l.machine("db1"), map[string]float64{"/dev/nvme0n1": 1000, "/dev/nvme1n1": 1000}, 1500)
			},
			made: olderRun(olderReads, []string{"ladder", "--suite"}, "--on", "scripted://db1", "--seed", "3",
				"--label", "kept", "--passes", "2", "/dev/nvme0n1,/dev/nvme1n1"),
			cut: loadCut("db1", "--name=reads", 5), resume: []string{"ladder"},
			prints: [][]string{{"ladder", "--resume", "last", "--json"}}},
		{name: "ladder-guest", machines: []string{"host", "guest"}, set: guestOfOlder,
			made: func(l *scriptedLab, code int) {
				l.run("ladder", "null", "/srv", "--guest", guestScheme+filepath.Join(l.dir, "guest.yaml"), "--suite",
					l.file("suite.yaml", olderReads), "--passes", "2", "--size", "16m", "--seed", "3", "--label",
					"kept").ends(code)
			},
			cut: loadCut("host", "--name=reads", 3), resume: []string{"ladder"},
			prints: [][]string{{"ladder", "--resume", "last", "--json"}}},
		{name: "nfs", machines: []string{"client", "nas"},
			set: func(l *scriptedLab) {
				l.wired(2, "client", "nas")
				l.exported()
			},
			made: func(l *scriptedLab, code int) {
				l.run(l.shares("nfs", l.file("suite.yaml", olderReads), "--export", "/srv", "--address", "198.18.1.2",
					"--address", "198.18.2.2", "--label", "kept")...).ends(code)
			},
			cut: loadCut("client", "--name=reads", 2), resume: []string{"nfs"},
			prints: [][]string{{"stages", "last", "--json"}}},
		{name: "import", machines: one, set: nothing,
			made: func(l *scriptedLab, _ int) {
				l.run("import", filepath.Join("..", "ingest", "testdata", "crystaldiskmark", "8.0.4.txt"), "--label",
					"kept").ends(0)
			}},
		{name: "import-stages", machines: one, set: nothing,
			made: func(l *scriptedLab, _ int) {
				l.run("import", "--stages", "ram,one path,two paths,rdma", filepath.Join("..", "..", "docs", "examples",
					"nfs-over-rdma.txt"), "--label", "kept").ends(0)
			},
			prints: [][]string{{"stages", "last", "--json"}}},
		{name: "import-run", machines: one, set: nothing,
			made: func(l *scriptedLab, code int) {
				l.run(append([]string{"run", l.file("suite.yaml", olderLoads)}, onMachine()...)...).ends(code)
				file := filepath.Join(l.dir, "store", "kept.headroom")
				l.run("export", "last", "--format", "run", "--serials", "-o", file).ends(0)
				l.run("rm", "last").ends(0)
				l.run("import", file).ends(0)
			},
			cut: loadCut("db1", "--name=writes", 1), resume: []string{"run", "--trust"},
			more: func(l *scriptedLab) {
				l.run("rm", "last").ends(0)
				l.run("import", filepath.Join(l.dir, "store", "kept.headroom")).ends(0)
				l.run("show", "kept").ends(0)
			}},
	}, olderExperiments())
}

// benchmarksOfOlder has a machine have the programs of a suite of commands.
func benchmarksOfOlder(m *scripted.Machine) {
	m.Programs["clean"] = func(*scripted.Load) scripted.Result { return scripted.Result{} }
	benchesAt(m, 100)
}

// benchesAt has that program print about such a rate.
func benchesAt(m *scripted.Machine, rate int) {
	n := 0
	m.Programs["bench"] = func(*scripted.Load) scripted.Result {
		n++
		return scripted.Result{Duration: 5 * time.Second, Stdout: fmt.Sprintf("rate %d\n", rate*(100+n%5-2)/10)}
	}
}

// cutLink has a machine whose loads stand still while a link is down.
func cutLink(l *scriptedLab) {
	m := l.machine("db1")
	linkCommands(m)
	m.Fio = func(load *scripted.Load) scripted.IO {
		io := scripted.Drive(load)
		io.Seconds = outageOf(20, 33, 0)
		return io
	}
}

// guestOfOlder has a host, which is this machine, and a guest with two disks.
func guestOfOlder(l *scriptedLab) {
	hostMachine, guest := l.here("host"), l.machine("guest")
	l.schemes = append(l.schemes, guestScheme)
	l.file("vmlinuz", "")
	file := l.file("guest.yaml", olderGuest)
	l.machines[file] = guest
	l.opened[file] = func(t *scripted.Target) host.Target { return blankGuest{t} }
	guest.Adds("-- links --\n/dev/disk/by-id/data -> ../../nvme0n1\n/dev/disk/by-id/none -> ../../nvme1n1\n")
	reads(hostMachine, map[string]float64{"/dev/nvme0n1": 1000, "/srv": 1000}, 9000)
	reads(guest, map[string]float64{"/dev/nvme0n1": 500}, 9000)
}

// The kinds have names that tell them apart, and each can be made.
func TestOlderKindsHaveNames(t *testing.T) {
	var names []string
	for _, k := range olderKinds() {
		if k.name == "" || k.made == nil || k.set == nil || slices.Contains(names, k.name) ||
			(k.cut == nil) != (k.resume == nil) {
			t.Errorf("%q is no kind", k.name)
		}
		names = append(names, k.name)
	}
}
