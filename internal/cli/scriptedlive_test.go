package cli

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// besides is a model of two places: what is below one folder is as many times as fast as what is elsewhere.
func besides(folder string, reads, writes float64) func(*scripted.Load) scripted.IO {
	return func(load *scripted.Load) scripted.IO {
		io := scripted.Drive(load)
		if strings.HasPrefix(load.Params["filename"], folder+"/") {
			io.Read, io.Write = io.Read*reads, io.Write*writes
		}
		return io
	}
}

// twoFolders makes /srv/a and /srv/b on a machine.
func twoFolders(m *scripted.Machine) {
	m.Folder("/srv/a")
	m.Folder("/srv/b")
}

// compared is the comparison that a command printed.
func compared(o scriptedOutcome) compare.Document {
	o.Helper()
	var d compare.Document
	if err := json.Unmarshal([]byte(o.stdout), &d); err != nil {
		o.Fatalf("%v in %s%s", err, o.stdout, o.stderr)
	}
	return d
}

// verdicts of a comparison by their jobs.
func verdicts(d compare.Document) map[string]compare.Verdict {
	all := map[string]compare.Verdict{}
	for _, c := range d.Cells {
		all[c.Job] = c.Verdict
	}
	return all
}

// of is what a comparison says of a job.
func of(t *testing.T, d compare.Document, job string) compare.ComparedMetric {
	t.Helper()
	for _, c := range d.Cells {
		if c.Job == job {
			return c
		}
	}
	t.Fatalf("there is no job %s among %d", job, len(d.Cells))
	return compare.ComparedMetric{}
}

// sidesOf are the places of the loads of a job, in order: a letter for each.
func sidesOf(m *scripted.Machine, job string) string {
	text := ""
	for _, load := range m.Loads() {
		if load.Params["name"] == job {
			text += strings.Split(load.Params["filename"], "/")[2]
		}
	}
	return text
}

// bFirst returns how many pairs begin with b.
func bFirst(sides string) (n int) {
	for pair := range slices.Chunk([]byte(sides), 2) {
		if pair[0] == 'b' {
			n++
		}
	}
	return n
}

func TestScriptedLive(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		m.Noise = 0.01
		m.Fio = besides("/srv/b", 0.7, 1.4)
		o := l.run("compare", "--live", l.file("suite.yaml", scriptedSuite), "/srv/a", "/srv/b", "scripted://db1",
			"--seed", "3", "--label", "drives", "--json").ends(0)
		o.says("2 cells, each in pairs until its verdict: at most 20 and 4 to confirm",
			"0 of 2 settled  pair 2 of randread 4k q4 read.iops: -30.7", "2 of 2 settled  confirming pair",
			"randread 4k q4 read.iops: slower -29.9%", "randwrite 4k q16 write.iops: faster +")
		d := compared(o)
		if got := verdicts(d); !maps.Equal(got, map[string]compare.Verdict{"reads": compare.Slower,
			"writes": compare.Faster}) {
			t.Errorf("the verdicts are %v", got)
		}
		reads := of(t, d, "reads")
		if c := reads.Change; c.Per != "pair" || c.N < 4 || c.N > 12 || *c.Lo > 0.7 || *c.Hi < 0.7 ||
			*c.Hi-*c.Lo > 0.1 {
			t.Errorf("the change of reads is %+v", *c)
		}
		if c := reads.Confirmed; c == nil || c.N != 4 || c.Ratio < 0.68 || c.Ratio > 0.72 {
			t.Errorf("confirmed is %+v", c)
		}
		if got := sidesOf(m, "reads"); len(got) != 2*(reads.Change.N+4) || bFirst(got[:16]) != 4 {
			t.Errorf("reads were on %s", got)
		}
		// Each is read as a run of its own, with a name of its own.
		base, next := l.saved(d.Base.ID), l.saved(d.New[0].ID)
		if base.Label != "drives base" || next.Label != "drives new" || base.Status != lab.Complete ||
			next.Status != lab.Complete {
			t.Errorf("the runs are %q, %s, and %q, %s", base.Label, base.Status, next.Label, next.Status)
		}
		again := compared(l.run("compare", d.Base.ID, d.New[0].ID, "--json").ends(0))
		if a, b := of(t, again, "reads"), reads; a.Verdict != b.Verdict || a.Change.Ratio != b.Change.Ratio ||
			a.Change.N != b.Change.N {
			t.Errorf("of the saved runs it says %+v, and before %+v", a, b)
		}
		l.run("compare", d.Base.ID, d.New[0].ID, "--fail-on", "slower").ends(3)
		l.run("list").ends(0).says("drives", "scripted, compare --live", "/srv/a and 1 more")
		// One machine is diagnosed, and told by either of its places.
		for _, run := range []string{"drives", "drives:base", "drives:new"} {
			if o := l.run("doctor", run).ends(0); strings.Contains(o.stdout, "2 machines") {
				t.Errorf("doctor %s:\n%s", run, o.stdout)
			}
		}
		l.run("facts", "diff", "drives:base", "drives:new").ends(0)
		l.run("history", "scripted").ends(0)
		file := l.dir + "/drives.headroom"
		l.run("export", "drives", "--format", "run", "--serials", "-o", file).ends(0)
		l.run("rm", "drives").ends(0)
		l.run("import", file).ends(0)
		l.run("compare", "drives:base", "drives:new", "--fail-on", "slower").ends(3)
		m.Remove("/srv/a")
		m.Remove("/srv/b")
		l.checkNothingLeft("db1")
	})
}

// Two suites have one job in common, which is as fast on both sides.
func TestScriptedLiveSame(t *testing.T) {
	inScriptedLab(t, []string{"db1", "db2"}, func(l *scriptedLab) {
		l.machine("db1").Noise, l.machine("db2").Noise = 0.004, 0.004
		one := l.file("one.yaml", scriptedSuite)
		two := l.file("two.yaml", strings.ReplaceAll(scriptedSuite, "name: writes", "name: others"))
		o := l.run("compare", "--live", one, two, "/srv", "scripted://db1", "scripted://db2", "--seed", "3",
			"--confirm", "0", "--json").ends(0).says("2 cells that only one side has: left out")
		d := compared(o)
		if got := verdicts(d); !maps.Equal(got, map[string]compare.Verdict{"reads": compare.Same}) {
			t.Errorf("the verdicts are %v", got)
		}
		if c := of(t, d, "reads"); c.Confirmed != nil || c.Change.N != len(l.loaded("db1"))-1 ||
			c.Change.N != len(l.loaded("db2"))-1 {
			t.Errorf("%d pairs, of %v and %v", c.Change.N, l.loaded("db1"), l.loaded("db2"))
		}
		l.checkNothingLeft("db1")
		l.checkNothingLeft("db2")
	})
}

// What noise hides stays undecided, and is given up where more pairs would hardly tell. More of them can be allowed
// later.
func TestScriptedLiveUndecided(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		m.Noise = 0.3
		m.Fio = besides("/srv/b", 0.94, 1)
		suite := l.file("suite.yaml",
			strings.Replace(scriptedSuite, "  - {name: writes, fio: {rw: randwrite, iodepth: 16}}\n", "", 1))
		o := l.run("compare", "--live", suite, "/srv/a", "/srv/b", "scripted://db1", "--seed", "3", "--pairs", "6",
			"--fail-on", "undecided", "--json").ends(5).says("undecided")
		d := compared(o)
		n := len(sidesOf(m, "reads")) / 2
		if c := of(t, d, "reads"); c.Verdict != compare.Undecided || c.Change.N != n || n > 6 {
			t.Errorf("after %d pairs it says %+v", n, c)
		}
		id := d.New[0].ID
		l.run("compare", "--live", "--resume", id).ends(2).says("this comparison is complete",
			"--budget 5m continues it, or --pairs 40")
		l.run("compare", "--live", "--resume", id, "--budget",
			"10m").ends(2).says("would hardly get a verdict within 6 pairs", "--pairs 12")
		l.run("compare", "--live", "--resume", id, "--pairs",
			"4").ends(2).says("--pairs 4 is fewer than the 6 that were allowed so far")
		l.run("compare", "--live", "--resume", id, "--pairs", "12", "--seed",
			"4").ends(2).says("--seed can't be changed when a run is resumed")
		l.run("compare", "--live", "--resume", id, "--pairs", "12",
			"/srv/a").ends(2).says("--resume takes everything from the run")
		l.run("compare", "--live", "--resume", id, "--pairs", "40", "--budget",
			"1s").ends(2).says("--budget 1s is too short for another pair")
		if more := len(sidesOf(m, "reads")) / 2; more != n {
			t.Errorf("what was refused has measured %d pairs", more-n)
		}
		m.Noise = 0.02
		after := compared(l.run("compare", "--live", "--resume", id, "--pairs", "40", "--budget",
			"15m", "--json").ends(0))
		c := of(t, after, "reads")
		if after.Base.ID != d.Base.ID || c.Change.N <= n {
			t.Errorf("then it is %d pairs of %s and not %s", c.Change.N, after.Base.ID, d.Base.ID)
		}
		m.Remove("/srv/a")
		m.Remove("/srv/b")
		l.checkNothingLeft("db1")
	})
}

// A side on which nothing works is given up after the first block; when nothing works at all there is nothing to
// compare.
func TestScriptedLiveFailing(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		broken := "/srv/b/"
		m.Fio = func(load *scripted.Load) scripted.IO {
			io := scripted.Drive(load)
			if load.Params["name"] == "reads" && strings.HasPrefix(load.Params["filename"], broken) {
				return scripted.IO{Errno: 5, Says: "fio: io_u error on file: Input/output error", Duration: time.Second}
			}
			return io
		}
		suite := l.file("suite.yaml", scriptedSuite)
		o := l.run("compare", "--live", suite, "/srv/a", "/srv/b", "scripted://db1", "--seed", "3", "--confirm", "0",
			"--json")
		o.says("given up, because no pair of the first block could be measured")
		if got := sidesOf(m, "reads"); len(got) != 4 || got[0] == got[1] || got[2] == got[3] {
			t.Errorf("reads were on %s", got)
		}
		if got := verdicts(compared(o)); got["writes"] != compare.Same || got["reads"] == compare.Same {
			t.Errorf("the verdicts are %v", got)
		}
		broken = "/srv/"
		only := l.file("only.yaml",
			strings.Replace(scriptedSuite, "  - {name: writes, fio: {rw: randwrite, iodepth: 16}}\n", "", 1))
		l.run("compare", "--live", only, "/srv/a", "/srv/b", "scripted://db1").ends(1).says("all loads failed",
			"headroom show")
		m.Remove("/srv/a")
		m.Remove("/srv/b")
		l.checkNothingLeft("db1")
	})
}

// A side that does nothing in some of its runs, or fails in some, is not called the same because of those in which it
// works. One that failed once is.
func TestScriptedLiveStandsStill(t *testing.T) {
	for name, still := range map[string]struct {
		every   int
		io      scripted.IO
		verdict compare.Verdict
	}{
		"no I/O in every second": {2, scripted.IO{}, compare.Incomparable},
		"fails in every second": {2, scripted.IO{Errno: 5, Says: "fio: io_u error on file: Input/output error",
			Duration: time.Second}, compare.Incomparable},
		"fails in one of three": {3, scripted.IO{Errno: 5, Says: "fio: io_u error on file: Input/output error",
			Duration: time.Second}, compare.Incomparable},
		"no I/O in one of eleven": {11, scripted.IO{}, compare.Same},
	} {
		t.Run(name, func(t *testing.T) {
			inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
				m := l.machine("db1")
				twoFolders(m)
				m.Noise = 0.004
				n := 0
				m.Fio = func(load *scripted.Load) scripted.IO {
					if load.Params["name"] == "reads" && strings.HasPrefix(load.Params["filename"], "/srv/b/") {
						if n++; n%still.every == 0 {
							return still.io
						}
					}
					return scripted.Drive(load)
				}
				o := l.run("compare", "--live", l.file("suite.yaml", scriptedSuite), "/srv/a", "/srv/b",
					"scripted://db1", "--seed", "3", "--confirm", "8", "--json")
				if got := verdicts(compared(o)); got["writes"] != compare.Same || got["reads"] != still.verdict {
					t.Errorf("the verdicts are %v\n%s", got, o.stderr)
				}
				m.Remove("/srv/a")
				m.Remove("/srv/b")
			})
		})
	}
}

// A budget ends a comparison before a pair that would go beyond it.
func TestScriptedLiveBudget(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		m.Noise = 0.2
		suite := l.file("suite.yaml", scriptedSuite)
		start := time.Now()
		l.run("compare", "--live", "--suite", suite, "/srv", "scripted://db1", "--set-new", "iodepth=5", "--set-base",
			"iodepth=4", "--seed", "3", "--budget", "2m").ends(0).says("undecided")
		n := len(l.loaded("db1"))
		// A pair of both cells is 40 s, and no load is left without its other half.
		if took := time.Since(start); took > 2*time.Minute+10*time.Second || n != 2+12 {
			t.Errorf("%d loads in %s", n, took)
		}
		l.checkNothingLeft("db1")
	})
}

func TestScriptedLiveRefusals(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		suite := l.file("suite.yaml", scriptedSuite)
		others := l.file("others.yaml", strings.ReplaceAll(strings.ReplaceAll(scriptedSuite, "name: writes", "name: w"),
			"name: reads", "name: r"))
		live := func(args ...string) scriptedOutcome {
			return l.run(append([]string{"compare", "--live"}, args...)...)
		}
		live(suite, "/srv/a", "scripted://db1").ends(2).says("compare --live needs something to compare")
		live(suite, "/srv/a", "/srv/b", "/srv", "scripted://db1").ends(2).says("compare --live takes two sides")
		live(suite, others, "/srv/a", "scripted://db1").ends(2).says("the two suites have no job in common")
		live(suite, "/srv/a", "/srv/b", "scripted://db1", "--pairs",
			"3").ends(2).says("--pairs 3 is too few for any verdict")
		eight := l.file("eight.yaml", "version: 1\nname: eight\nsize: 1m\ndefaults: {runtime: 2s, time_based: 1, "+
			"direct: 1}\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k}, matrix: {iodepth: [1, 2, 4, 8, 16, 32, "+
			"64, 128]}}\n")
		live(eight, "/srv/a", "/srv/b", "scripted://db1", "--pairs", "4", "--dry-run").ends(0).says(
			"--pairs 4 is too few for any verdict of 8 numbers", "12 are the least")
		live(eight, "/srv/a", "/srv/b", "scripted://db1", "--pairs",
			"2").ends(2).says("--pairs 2 is too few for any verdict of 8 numbers", "12 are the least")
		if o := live(eight, "/srv/a", "/srv/b", "scripted://db1", "--pairs", "12",
			"--dry-run").ends(0); strings.Contains(o.stderr, "too few") {
			t.Error(o.stderr)
		}
		live(suite, "/srv/a", "/srv/b", "scripted://db1", "--confirm", "-1").ends(2).says("is no number of pairs")
		live(suite, "/srv/a", "/srv/b", "scripted://db1", "--budget", "-1m").ends(2).says("is no length of time")
		live(suite, "/srv/a", "/srv/b", "scripted://db1",
			"--all").ends(2).says("--live decides by metrics that are named")
		live(suite, "/srv/a", "/srv/b", "scripted://db1", "--layers").ends(2).says(
			"--live and --layers exclude each other")
		live(suite, "/srv/a", "/srv/c", "scripted://db1").ends(2).says("there is no directory /srv/c on scripted://db1")
		live(suite, "/srv/a", "/srv/b", "scripted://db1", "-o", "page.xyz").ends(2).says(
			"does not say which format to write")
		l.run("compare", "a", "b", "--pairs", "10").ends(2).says("--pairs means nothing without --live or --layers")
		live("--resume", "last").ends(2)
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--repeat", "1").ends(0)
		live("--resume", "last").ends(2).says("was made by headroom run")
		if got := sidesOf(m, "reads"); got != "a" {
			t.Errorf("reads were on %s", got)
		}
	})
}

// Two files on one file system need room for both.
func TestScriptedLiveRoom(t *testing.T) {
	inScriptedLab(t, []string{"db1"}, func(l *scriptedLab) {
		m := l.machine("db1")
		twoFolders(m)
		m.Free = 3 << 29 // one of them would fit
		suite := l.file("suite.yaml", scriptedSuite)
		l.run("compare", "--live", suite, "/srv/a", "/srv/b", "scripted://db1").ends(1).says(
			"a scratch file of 1.00 GiB and those of the others (2.00 GiB in all) does not fit into /srv/b")
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--size",
			"2g").ends(1).says("a scratch file of 2.00 GiB does not fit into /srv/a")
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--size", "512m", "--set", "size=600m").ends(2).says(
			"is less than what the jobs work on")
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--size",
			"big").ends(2).says("is not the size of a scratch file")
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--max-writes", "much").ends(2).says("is not an amount")
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--max-writes", "100m").ends(4).says("this would write",
			"more than --max-writes")
		if got := m.Loads(); len(got) > 0 {
			t.Errorf("%d loads were started", len(got))
		}
		// Writes of as long as they take can't be known beforehand, and are watched.
		l.run("run", suite, "/srv/a", "--on", "scripted://db1", "--max-writes", "15g").ends(3).says("--max-writes")
		if d := l.saved("last"); d.Status == lab.Complete || len(values(d, "writes", "write.iops")) == 3 {
			t.Errorf("the run is %s, with %d values of writes", d.Status, len(values(d, "writes", "write.iops")))
		}
	})
}
