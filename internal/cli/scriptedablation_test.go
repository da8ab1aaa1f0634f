package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Settings of the scripted machine that are varied here, as they are found.
const (
	dirtyRatio    = "/proc/sys/vm/dirty_ratio"
	swappiness    = "/proc/sys/vm/swappiness"
	cachePressure = "/proc/sys/vm/vfs_cache_pressure"
)

// oneLoad is a suite of one short load: a search and an ablation ask for many.
const oneLoad = `version: 1
name: short
title: a load for tests on scripted machines
place: directory
size: 1g
defaults: {ioengine: libaio, direct: 1, bs: 4k, runtime: 10s, time_based: 1}
jobs:
  - {name: writes, fio: {rw: randwrite, iodepth: 16}}
`

// slowWrites has writes be slower, by a factor for each of some values of files, as long as a file holds one.
func slowWrites(m *scripted.Machine, factors map[string]float64) {
	m.Fio = func(load *scripted.Load) scripted.IO {
		io := scripted.Drive(load)
		for text, factor := range factors {
			if file, value, _ := strings.Cut(text, "="); m.Get(file) == value {
				io.Write *= factor
			}
		}
		return io
	}
}

// asFound fails the test unless the settings of a machine are as they were found.
func (l *scriptedLab) asFound(name string) {
	l.Helper()
	for file, want := range map[string]string{dirtyRatio: "20", swappiness: "60", cachePressure: "100",
		"/proc/sys/vm/dirty_background_ratio": "10",
		"/proc/sys/vm/dirty_expire_centisecs": "3000", "/proc/sys/net/core/netdev_budget": "300",
		"/sys/block/nvme0n1/queue/read_ahead_kb": "128",
		"/sys/block/nvme0n1/queue/rq_affinity":   "1", "/sys/block/nvme0n1/queue/nomerges": "0",
		"/sys/block/nvme0n1/queue/scheduler":   "[none] mq-deadline kyber",
		"/sys/block/nvme0n1/queue/nr_requests": "1023"} {
		if now := l.machine(name).Get(file); now != want {
			l.Errorf("%s of %s is %s, and was found %s", file, name, now, want)
		}
	}
	l.noJournals(filepath.Join(l.dir, "store"))
	l.checkNothingLeft(name)
}

// noJournals fails the test when a store has one of changes or of boots.
func (l *scriptedLab) noJournals(store string) {
	l.Helper()
	if left, err := os.ReadDir(filepath.Join(store, "changes")); err != nil && !errors.Is(err, fs.ErrNotExist) ||
		len(left) != 0 {
		l.Errorf("journals are left: %v, %v", left, err)
	}
}

// decoded reads what a command prints as JSON.
func decoded[T any](o scriptedOutcome) T {
	o.Helper()
	var d T
	if err := json.Unmarshal([]byte(o.stdout), &d); err != nil {
		o.Fatalf("%v in %s", err, o.stdout)
	}
	return d
}

// bundle is a run as it is on disk.
func (l *scriptedLab) bundle(name string) *store.Bundle {
	l.Helper()
	b, err := store.Open(filepath.Join(l.dir, "store")).Find(name)
	if err != nil {
		l.Fatal(err)
	}
	return b
}

// repetitions of a run, as they are on disk.
func (l *scriptedLab) repetitions(name string) []lab.Repetition {
	l.Helper()
	var all []lab.Repetition
	for r, err := range l.bundle(name).Repetitions() {
		if err != nil {
			l.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// blocksOf counts the repetitions of each cell in each block.
func blocksOf(repetitions []lab.Repetition) map[string]int {
	count := map[string]int{}
	for _, r := range repetitions {
		count[fmt.Sprint(r.Block, " ", r.Cell)]++
	}
	return count
}

// ablated are the arguments of an ablation of three sysctls.
func (l *scriptedLab) ablated(suite string, more ...string) []string {
	return append([]string{"ablate", l.file("suite.yaml", suite), "/srv", "--on", "scripted://db1", "--seed", "1",
		"--setting", "sysctl:vm.dirty_ratio=5",
		"--setting", "sysctl:vm.swappiness=1", "--setting", "sysctl:vm.vfs_cache_pressure=50"}, more...)
}

// One of three settings costs 40%: it is priced, alone and among the others, and the others are shown to do nothing.
func TestScriptedAblation(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.004
		slowWrites(m, map[string]float64{swappiness + "=1": 0.6})
		l.run(l.ablated(oneLoad)...).ends(0).says("sysctl:vm.swappiness=1", "-40")
		d := decoded[ablation.Document](l.run("ablate", "--show", "last", "--json").ends(0))
		want := []ablation.Verdict{ablation.Same, ablation.Slower, ablation.Same}
		for i, s := range d.Settings {
			if s.Verdict != want[i] {
				t.Errorf("%s=%s is %s", s.Factor, s.Level, s.Verdict)
			}
			ratio := map[ablation.Verdict]float64{ablation.Same: 1, ablation.Slower: 0.6}[want[i]]
			for which, e := range map[string]*ablation.Effect{"alone": s.Alone, "removed": s.Removed} {
				if !e.Known() || math.Abs(e.Ratio-ratio) > 0.01 || *e.Lo > ratio+0.001 || *e.Hi < ratio-0.001 {
					t.Errorf("%s=%s, %s: %+v", s.Factor, s.Level, which, e)
				}
			}
		}
		// Those that are shown to do something, or nothing, are not visited until the twelfth block.
		if len(d.Settings) != 3 || d.Blocks >= 12 || d.Blocks < 2 || len(d.Suspects) != 0 {
			t.Errorf("%d settings in %d blocks, suspects %v", len(d.Settings), d.Blocks, d.Suspects)
		}
		for _, name := range []string{"report.html", "report.md", "report.csv", "report.json"} {
			file := filepath.Join(l.dir, name)
			l.run("ablate", "--show", "last", "-o", file).ends(0)
			if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "vm.swappiness") {
				t.Errorf("%s: %v, %.200s", name, err, data)
			}
		}
		l.run("ablate", "--show", "last", "-o", filepath.Join(l.dir, "report.doc")).ends(2).says(
			"does not say which format to write")
		l.run("sweep", "--show", "last").ends(2).says("is no sweep")
		l.asFound("db1")
	})
}

// Two settings that only act together are priced, and the pair that is to blame is measured.
func TestScriptedAblationMeasuresPairs(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.002
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if m.Get(swappiness) == "1" && m.Get(cachePressure) == "50" {
				io.Write *= 0.5
			}
			return io
		}
		l.run(l.ablated(oneLoad, "--pairs", "1")...).ends(0)
		d := decoded[ablation.Document](l.run("ablate", "--show", "last", "--json").ends(0))
		i := slices.IndexFunc(d.Interactions, func(i ablation.Interaction) bool {
			return slices.Equal(i.Settings, []int{2, 3})
		})
		if i < 0 || math.Abs(d.Interactions[i].Ratio-0.5) > 0.02 {
			t.Errorf("interactions: %+v", d.Interactions)
		}
		if arms := l.bundle("last").Run.Arms; !slices.ContainsFunc(arms, func(a lab.Arm) bool {
			return a.ID == "+2+3"
		}) {
			t.Errorf("arms: %+v", arms)
		}
		l.asFound("db1")
	})
}

// A level that the kernel takes and does not keep ends the run before its first load, and what was tried is put back.
func TestScriptedSettingHasNoEffect(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.OnWrite(swappiness, func(old, written string) (string, error) {
			if written == "1" {
				return "10", nil
			}
			return written, nil
		})
		l.run(l.ablated(oneLoad)...).ends(1).says(`sysctl:vm.swappiness is "10", and "1" was asked for`)
		if got := l.loaded("db1"); len(got) > 0 {
			t.Errorf("loads were started: %v", got)
		}
		l.run("show", "last").ends(2)
		l.asFound("db1")
	})
}

// Two settings of which one undoes the other are not measured together: the run ends before the load.
func TestScriptedOneSettingUndoesAnother(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.OnWrite(cachePressure, func(_, written string) (string, error) {
			if written != "100" {
				m.Set(swappiness, "60")
			}
			return written, nil
		})
		l.run(l.ablated(oneLoad)...).ends(1).says("sysctl:vm.swappiness is no longer in effect",
			"two factors that change one thing can't be varied together")
		l.asFound("db1")
	})
}

// What somebody else changes meanwhile ends the experiment, is reported, and is not overwritten until that is asked
// for.
func TestScriptedSomebodyElseChangesASetting(t *testing.T) {
	for _, then := range []string{"--anyway", "--accept"} {
		t.Run(then, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				m := l.machine("db1")
				changed := false
				m.Fio = func(load *scripted.Load) scripted.IO {
					if m.Get(swappiness) == "1" && !changed {
						changed = true
						time.AfterFunc(5*time.Second, func() { m.Set(swappiness, "33") })
					}
					return scripted.Drive(load)
				}
				l.run(l.ablated(oneLoad, "--alone")...).ends(4).says("vm/swappiness is \"33\" now: something else " +
					"has changed it since headroom set it to \"1\"; it was \"60\" before, and is left alone")
				if d := l.saved("last"); d.Status != lab.Interrupted {
					t.Errorf("the run is %s", d.Status)
				}
				l.run("restore").ends(4).says("is left alone", "headroom restore --accept")
				if now := m.Get(swappiness); now != "33" {
					t.Errorf("it is %s, and somebody else had made it 33", now)
				}
				l.run("restore", then, "--accept", "--anyway").ends(2).says("contradict each other")
				l.run("restore", then).ends(0).says("sysctl:vm.swappiness")
				if now, want := m.Get(swappiness), map[string]string{"--anyway": "60", "--accept": "33"}[then]; now !=
					want {
					t.Errorf("it is %s, not %s", now, want)
				}
				l.run("restore").ends(0).says("nothing was left behind")
				m.Set(swappiness, "60")
				l.asFound("db1")
			})
		})
	}
}

var runIDs = regexp.MustCompile(`headroom-[0-9A-Z]{10}`)

// planned is a load as a dry run lists it, or as it was then done.
type plannedLoad struct {
	Block   int
	Cell    string
	Did     []string
	Command string
}

func newPlanned(block int, cell string, did []string, command string) plannedLoad {
	p := plannedLoad{Block: block, Cell: cell, Command: runIDs.ReplaceAllString(command, "headroom-RUN")}
	for _, text := range did {
		p.Did = append(p.Did, runIDs.ReplaceAllString(text, "headroom-RUN"))
	}
	return p
}

// A dry run starts nothing and changes nothing, and lists what is then done, in the same order.
func TestScriptedDryRunOfExperiments(t *testing.T) {
	const suite = `version: 1
name: varied
title: a load and a command
place: directory
size: 1g
parameters: {count: 3}
jobs:
  - {name: reads, fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, runtime: 10s, time_based: 1}}
  - name: says
    exec: [bench, '{count}']
    prepare: [touch, prepared]
    cleanup: [rm, prepared]
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher, decides: true}}
`
	own := []string{"--output=fio.json", "--write_iops_log=series", "--write_bw_log=series", "--log_avg_msec=1000",
		"--per_job_logs=0", "--eta=always", "--eta-newline=1"}
	for name, args := range map[string][]string{
		"fio's parameter": {"sweep", "--factor", "job:bs=4k,8k"},
		"suite parameter": {"sweep", "--factor", "job:count=2,5"},
		"environment":     {"sweep", "--factor", "env:LEVEL=1,7"},
		"sysctl":          {"sweep", "--factor", "sysctl:vm.swappiness=10,found,30"},
		"queue":           {"sweep", "--factor", "queue:read_ahead_kb=64,256", "--repeat", "2"},
		"reference": {"sweep", "--factor", "sysctl:vm.swappiness=10,30", "--reference", "/tmp", "--reference-on",
			"scripted://db1"},
		"ablation": {"ablate", "--setting", "sysctl:vm.swappiness=10", "--setting", "queue:read_ahead_kb=64",
			"--setting", "env:LEVEL=7", "--setting", "job:count=5"},
	} {
		t.Run(name, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				m := l.machine("db1")
				m.Programs["bench"] = func(*scripted.Load) scripted.Result {
					return scripted.Result{Duration: 3 * time.Second, Stdout: "rate 100\n"}
				}
				args := append(slices.Insert(slices.Clone(args), 1, l.file("suite.yaml", suite), "/srv", "--on",
					"scripted://db1"), "--seed", "5", "--blocks", "2")
				listed := decoded[vary.Steps](l.run(append(args, "--dry-run", "--json")...).ends(0))
				l.run(append(args, "--dry-run=full")...).ends(0).says("at the end, or when interrupted", "bench")
				if loads := m.Loads(); len(loads) > 0 {
					t.Fatalf("%d loads were started", len(loads))
				}
				l.run("show", "last").ends(2)
				l.asFound("db1")
				var want, got []plannedLoad
				for _, v := range listed.Visits {
					for _, load := range v.Loads {
						want = append(want, newPlanned(v.Block, load.Cell, load.Did, load.Command))
					}
				}
				l.run(args...).ends(0)
				for _, r := range l.repetitions("last") {
					if len(r.Values) == 0 {
						t.Errorf("%s has measured nothing: %v", r.Cell, r.Warnings)
					}
					got = append(got,
						newPlanned(r.Block, r.Cell, r.Did,
							lab.ShellQuote(slices.DeleteFunc(r.Command, func(a string) bool {
								return slices.Contains(own, a)
							}))))
				}
				if len(want) == 0 || !reflect.DeepEqual(want, got) {
					t.Errorf("listed\n%+v\ndone\n%+v", want, got)
				}
				l.asFound("db1")
			})
		})
	}
}

// What can't be an experiment is refused at once, and says what to write.
func TestScriptedExperimentsThatAreRefused(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		suite := l.file("suite.yaml", oneLoad)
		varied := func(verb string, more ...string) []string {
			return append([]string{verb, suite, "/srv", "--on", "scripted://db1"}, more...)
		}
		l.file("ablate.yaml", "version: 1\nexperiment: ablate\nsettings: [sysctl:vm.swappiness=1]\n")
		for _, c := range []struct {
			code int
			says string
			args []string
		}{
			{2, "varies what? name it with --setting", varied("ablate")},
			{2, "varies what? name it with --factor", varied("sweep")},
			{2, "is given twice", varied("ablate", "--setting", "sysctl:vm.swappiness=1", "--setting",
				"sysctl:vm.swappiness=1")},
			{2, "is given twice", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2", "--factor",
				"sysctl:vm.swappiness=3,4")},
			{2, "the tuned set can have one level of it", varied("ablate", "--setting", "sysctl:vm.swappiness=1",
				"--setting", "sysctl:vm.swappiness=2")},
			{2, "tries one level", varied("ablate", "--setting", "sysctl:vm.swappiness=1,2")},
			{2, "a sweep varies one factor", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2", "--factor",
				"sysctl:vm.dirty_ratio=3,4")},
			{2, "has one level", varied("sweep", "--factor", "sysctl:vm.swappiness=1")},
			{2, "the baseline 9 is not a level", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2",
				"--baseline", "9")},
			{2, "has no level that could be found", varied("sweep", "--factor", "job:iodepth=1,found")},
			{4, "sysctl:vm.swappiness must stay", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2",
				"--keep", "sysctl:vm.*")},
			{2, "--pairs 99 is no number of pairs", varied("ablate", "--setting", "sysctl:vm.swappiness=1", "--pairs",
				"99")},
			{2, "--margin", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2", "--margin", "much")},
			{2, "--budget -1s is no length of time", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2",
				"--budget", "-1s")},
			{2, "--boot-limit 0s is no length of time", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2",
				"--boot-limit", "0s")},
			{2, "--reference-on local names a target, and no place on it",
				varied("sweep", "--factor", "sysctl:vm.swappiness=1,2", "--reference-on", "local")},
			{2, "is the place under test", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2", "--reference",
				"/srv", "--reference-on", "scripted://db1")},
			{2, "commits are built one by one", varied("sweep", "--factor", "commit:=3f2a9c01b7de,77b1d0c2e9aa")},
			{2, "nothing that is varied takes a boot", varied("sweep", "--factor", "sysctl:vm.swappiness=1,2",
				"--reboot", "scripted://db1")},
			{2, "--seed means nothing with --show", []string{"sweep", "--show", "last", "--seed", "1"}},
			{2, "is an experiment for ablate", []string{"sweep", filepath.Join(l.dir, "ablate.yaml")}},
			{2, "names no suite", []string{"ablate", filepath.Join(l.dir, "ablate.yaml")}},
			{2, "can't read", []string{"ablate", filepath.Join(l.dir, "none.yaml")}},
			{4, "that was not allowed", varied("sweep", "--factor", "cmdline:mitigations=auto,off")},
			{4, "--reboot names local, and what would be restarted is scripted://db1",
				varied("sweep", "--factor", "cmdline:mitigations=auto,off", "--reboot", "local")},
			{4, "can't be restarted from here", varied("sweep", "--factor", "guest:iothreads=0,1",
				"--reboot", "scripted://db1")},
		} {
			l.run(c.args...).ends(c.code).says(c.says)
		}
		if loads := l.machine("db1").Loads(); len(loads) > 0 {
			t.Errorf("%d loads were started", len(loads))
		}
		l.asFound("db1")
	})
}
