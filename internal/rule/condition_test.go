package rule

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// snapshot makes facts of lines such as "clock.source = hpet", "disk.queue.scheduler nvme0n1 = none" and
// "cpu.governor ? permission denied; root may read it".
func snapshot(t testing.TB, lines ...string) []lab.Fact {
	t.Helper()
	var all []lab.Fact
	for _, line := range lines {
		f := lab.Fact{Source: "/a/file"}
		key, value, known := strings.Cut(line, " = ")
		if known {
			f.Value = value
		} else if key, f.Unknown, known = strings.Cut(line, " ? "); !known {
			t.Fatalf("%q has neither = nor ?", line)
		}
		f.Key, f.About, _ = strings.Cut(key, " ")
		all = append(all, f)
	}
	return all
}

func compiled(t testing.TB, text, scope string) *condition {
	t.Helper()
	l, err := newLanguage()
	if err != nil {
		t.Fatal(err)
	}
	c, faults := l.compile(text, scope)
	if len(faults) > 0 {
		t.Fatalf("%s: %+v", text, faults)
	}
	return c
}

func TestConditions(t *testing.T) {
	machine := snapshot(t,
		"clock.source = hpet", "cpu.governor ? permission denied; root may read it", "cpu.threads = 8", "cpu.boost = Y",
		"iommu.groups = many", "load.average = 1.5", "cpu.flags = sse, avx", "kernel.livepatches = none",
		"kernel.major = 6",
		"kernel.minor = 12", "kernel.config = /boot/config-6.12", "kernel.config.KASAN = y",
		"kernel.cmdline = root=/dev/vda1 ro intel-iommu=off iommu.strict=1 iommu.strict=0 nosmt dyndbg=\"file a +p\" "+
			"-- single=1",
		"sysctl.net.core.rmem_max = 212992", "module.nvme.poll_queues = 4",
		"module.nvme_core.multipath ? no such file here",
		"disk.queue.scheduler nvme0n1 = none", "disk.queue.scheduler sda = bfq",
		"disk.queue.scheduler sdb ? no such file here",
		"disk.size nvme0n1 = 1000", "disk.size sda = 500", "disk.model sda ? no such file here",
		"nic.speed ? ip is not installed", "disk.nvme.temperature nvme0n1 = 40.5", "cpu.family = 25")
	for _, c := range []struct {
		text, scope, about string
		want               string // yes, no, or the missing facts with their reasons
	}{
		{`clock.source == "hpet"`, "", "", "yes"},
		{`clock.source in ["tsc", "kvm-clock"]`, "", "", "no"},
		{`cpu.governor == "powersave"`, "", "", "cpu.governor: permission denied; root may read it"},
		{`host.name == "a"`, "", "", "host.name: not collected"},
		// A false operand of && and a true one of || decide even if the other is unknown.
		{`cpu.governor == "powersave" && clock.source == "tsc"`, "", "", "no"},
		{`clock.source == "tsc" && cpu.governor == "powersave"`, "", "", "no"},
		{`cpu.governor == "powersave" || clock.source == "hpet"`, "", "", "yes"},
		{`cpu.governor == "powersave" && clock.source == "hpet"`, "", "",
			"cpu.governor: permission denied; root may read it"},
		{`cpu.governor == "a" || cpu.driver == "b"`, "", "",
			"cpu.governor: permission denied; root may read it, cpu.driver: not collected"},
		{`!(cpu.governor == "powersave")`, "", "", "cpu.governor: permission denied; root may read it"},
		{`clock.source == "hpet" ? cpu.boost : cpu.governor == "a"`, "", "", "yes"},
		// Kinds.
		{`cpu.threads > 4 && cpu.threads < 8.5`, "", "", "yes"},
		{`load.average > 1`, "", "", "yes"},
		{`double(cpu.threads) * 0.1 < load.average`, "", "", "yes"},
		{`cpu.boost`, "", "", "yes"},
		{`iommu.groups == 0`, "", "", `iommu.groups: "many" is not a whole number`},
		{`"avx" in cpu.flags && !("avx2" in cpu.flags)`, "", "", "yes"},
		{`cpu.flags.exists(f, f.startsWith("av"))`, "", "", "yes"},
		{`size(kernel.livepatches) == 0`, "", "", "yes"},
		{`clock.source.matches("^h.et$")`, "", "", "yes"},
		{`clock.source.split("p")[0] == "h"`, "", "", "yes"},
		// Families.
		{`config["KASAN"] == "y" && config["KCSAN"] == "n"`, "", "", "yes"},
		{`argument["iommu.strict"] == "0"`, "", "", "yes"},
		{`argument["intel_iommu"] == "off" && argument["intel-iommu"] == "off"`, "", "", "yes"},
		{`argument["nosmt"] == "on" && argument["dyndbg"] == "file a +p"`, "", "", "yes"},
		{`argument["mitigations"] == "" && argument["single"] == ""`, "", "", "yes"},
		{`int(sysctl["net.core.rmem_max"]) < 1000000`, "", "", "yes"},
		{`sysctl["vm.swappiness"] == "60"`, "", "", "sysctl.vm.swappiness: not collected"},
		{`module["nvme.poll-queues"] == "4"`, "", "", "yes"},
		{`module["nvme_core.multipath"] == "Y"`, "", "", "module.nvme_core.multipath: no such file here"},
		{`module["kvm.nx_huge_pages"] == "Y" && false`, "", "", "no"},
		// The kernel's version.
		{`kernel(6, 12) && kernel(6, 2) && kernel(5, 19)`, "", "", "yes"},
		{`kernel(6, 13) || kernel(7, 0)`, "", "", "no"},
		// Scopes, and names outside of them.
		{`disk.queue.scheduler == "bfq"`, "disk", "sda", "yes"},
		{`disk.queue.scheduler == "bfq"`, "disk", "nvme0n1", "no"},
		{`disk.queue.scheduler == "bfq"`, "disk", "sdb", "disk.queue.scheduler: no such file here"},
		{`disk.nvme.temperature > 40 && cpu.threads == 8`, "disk", "nvme0n1", "yes"},
		{`count("disk") == 3 && count("multipath") == 0`, "", "", "yes"},
		{`count("nic") == 0`, "", "", "nic.speed: ip is not installed"},
		{`"bfq" in values("disk.queue.scheduler") && size(values("disk.queue.scheduler")) == 2`, "", "", "yes"},
		{`values("disk.queue.scheduler").exists(s, s == "bfq") && values("multipath.paths").all(p, false)`, "", "",
			"yes"},
		{`"X" in values("disk.model")`, "", "", "disk.model: not collected"},
		{`sum("disk.size") == 1500.0 && sum("disk.size") > 1499`, "nic", "", "yes"},
		// A condition that fails has no verdict.
		{`1 / (cpu.threads - 8) == 1`, "", "", "cpu.threads: the condition can't be worked out: division by zero"},
		{`int(clock.source) == 1`, "", "", "clock.source: the condition can't be worked out: type conversion error " +
			"from 'string' to 'int'"},
	} {
		m := newMachine(newVocabulary(), machine)
		answer, _, missing := compiled(t, c.text, c.scope).evaluate(m, c.scope, c.about)
		got := map[any]string{yes: "yes", no: "no"}[answer]
		if answer == unknown {
			var printed []string
			for _, m := range missing {
				printed = append(printed, m.Fact+": "+m.Reason)
			}
			got = strings.Join(printed, ", ")
		}
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.text, got, c.want)
		}
	}
}

func TestEvidenceIsWhatWasRead(t *testing.T) {
	facts := snapshot(t, "clock.source = hpet", "cpu.threads = 8", "cpu.cores = 4", "kernel.cmdline = a=1 nosmt",
		"kernel.config = /proc/config.gz", "disk.size sda = 1", "disk.size sdb = 2", "kernel.major = 6",
		"kernel.minor = 1")
	for text, want := range map[string]string{
		`cpu.threads > 4 && clock.source == "hpet"`:      "[cpu.threads=8 clock.source=hpet]",
		`clock.source == "hpet" || cpu.threads > 4`:      "[clock.source=hpet]",
		`argument["nosmt"] == "on" && argument["b"]==""`: "[kernel.cmdline=nosmt=on kernel.cmdline=no b]",
		`config["KASAN"] == "n" && kernel(6, 1)`:         "[kernel.config.KASAN=n kernel.major=6 kernel.minor=1]",
		`sum("disk.size") > 2.0 && count("disk") == 2`:   "[sum(disk.size)=3 count(disk)=2]",
		`size(values("disk.size")) == 2`:                 "[values(disk.size)=1, 2]",
		`cpu.governor == "a" || cpu.cores == 4`:          "[cpu.cores=4]",
	} {
		answer, evidence, _ := compiled(t, text, "").evaluate(newMachine(newVocabulary(), facts), "", "")
		var got []string
		for _, e := range evidence {
			got = append(got, e.Fact+"="+e.Value)
		}
		if answer != yes || fmt.Sprint(got) != want {
			t.Errorf("%s: %v with %v, want %s", text, answer, got, want)
		}
	}
}

func TestBadConditions(t *testing.T) {
	l, err := newLanguage()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, scope, want, hint string }{
		{`disk.queue.sheduler == "none"`, "disk", "there is no fact disk.queue.sheduler",
			"did you mean disk.queue.scheduler?"},
		{`clok.source == "x" && cpu.treads > 2`, "", "there is no fact clok.source", "did you mean clock.source?"},
		{`nonsense`, "", "there is no fact nonsense", "headroom facts lists them"},
		{`memory.swap.uzed > 1`, "", "there is no fact memory.swap.uzed", "did you mean memory.swap.used?"},
		{`disk.size > 1`, "", "disk.size is about one disk, and the rule is about the machine",
			"add scope: disk, or use count, values or sum"},
		{`nic.speed > 1`, "disk", "nic.speed is about one nic, and the rule is about each disk",
			"use count, values or sum"},
		{`kernel.config.KASAN == "y"`, "", "config is a table of many facts", `write config["KASAN"]`},
		{`sysctl.vm.swappiness == "1"`, "", "sysctl is a table of many facts", `write sysctl["vm.swappiness"]`},
		{`config["CONFIG_KASAN"] == "y"`, "", "options are written without CONFIG_", `write config["KASAN"]`},
		{`config[clock.source] == "y"`, "", "the name in config must be text in quotes", ""},
		{`count("disc") == 1`, "", `there is no class of facts "disc"`, "did you mean disk?"},
		{`profile.function["qi_submit_sync"].calls >= 0.9`, "", "profile.function is about one profiled load",
			"add scope: profile"},
		{`profile.function["a"].cals > 1.0`, "profile", `a row of profile.function has no field "cals"`,
			"fields are calls, ns, share, waits"},
		{`profile.layer["blok"].ns > 1.0`, "profile", `there is no layer "blok"`, "did you mean block?"},
		{`profile.layer.iommu.ns > 1.0`, "profile", "profile.layer is a table of many facts",
			`write profile.layer["iommu"].calls`},
		{`size(values("disk.sise")) == 1`, "", "there is no fact disk.sise", "did you mean disk.size?"},
		{`size(values("clock.source")) == 1`, "", "clock.source is about the machine, so there is one",
			"write clock.source"},
		{`sum("disk.model") == 1`, "", "disk.model is a string, which can't be added up", ""},
		{`kernel("6", 1)`, "", "kernel() takes two whole numbers: kernel(6, 2)", ""},
		{`cpu.threads == "8"`, "", "found no matching overload for '_==_' applied to '(int, string)'",
			"cpu.threads is a whole number (int)"},
		{`cpu.threads + 1`, "", "its value is int, not true or false", "compare it with something"},
		{`has(cpu.threads)`, "", "undeclared reference to 'has'", "cpu.threads is a whole number (int)"},
		{`clock.source.matches("(")`, "", "", ""},
		{`clock.source.matches("((a{100}){100}){100}")`, "", "", ""},
		{`clock.source ==`, "", "", ""},
		{strings.Repeat("(", 500) + "true" + strings.Repeat(")", 500), "", "", ""},
		{"true" + strings.Repeat(" || true", 3000), "", "", ""},
	} {
		_, faults := l.compile(c.text, c.scope)
		if len(faults) == 0 {
			t.Errorf("%.60s compiled", c.text)
			continue
		}
		if c.want != "" && (faults[0].message != c.want || faults[0].hint != c.hint) {
			t.Errorf("%s: got %+v, want %s (%s)", c.text, faults[0], c.want, c.hint)
		}
	}
	_, faults := l.compile("clok.source == \"x\" &&\n cpu.treads > 2", "")
	lines := []int{}
	for _, f := range faults {
		lines = append(lines, f.line)
	}
	if !slices.Equal(lines, []int{1, 2}) {
		t.Errorf("faults on lines %v: %+v", lines, faults)
	}
}

// A loop over all things inside a loop over all things is cut off.
func TestConditionsAreBounded(t *testing.T) {
	var lines []string
	for i := range 4000 {
		lines = append(lines, fmt.Sprintf("disk.model d%d = model", i))
	}
	c := compiled(t, `values("disk.model").all(a, values("disk.model").all(b, values("disk.model").all(c, a == b && b == c)))`, "")
	answer, _, missing := c.evaluate(newMachine(newVocabulary(), snapshot(t, lines...)), "", "")
	if answer != unknown || len(missing) != 1 || missing[0].Reason != tooMuchWork {
		t.Errorf("got %v, %v", answer, missing)
	}
	// The rest of 4,000 disks is not tried either.
	r := set(t, ruleText("a", c.text, "scope: disk")).Evaluate(snapshot(t, lines...), Options{})
	if r.Counts.Unknown != 4000 || len(r.Findings) != 1 || len(r.Findings[0].About) != 4000 {
		t.Errorf("got %+v", r.Counts)
	}
}

// If a run has no facts about all disks, those about the run's own place are used.
func TestOldRuns(t *testing.T) {
	c := compiled(t, `disk.queue.scheduler == "bfq"`, "disk")
	m := newMachine(newVocabulary(), snapshot(t, "disk.under-test.queue.scheduler = bfq",
		"disk.under-test.2.queue.scheduler = none",
		"disk.under-test.2.size = 5"))
	if !slices.Equal(m.things["disk"], []string{"under-test", "under-test.2"}) {
		t.Fatalf("things: %v", m.things["disk"])
	}
	if answer, _, _ := c.evaluate(m, "disk", "under-test"); answer != yes {
		t.Error("the disk under test is not seen")
	}
	m = newMachine(newVocabulary(), snapshot(t, "disk.under-test.queue.scheduler = bfq",
		"disk.queue.scheduler sda = none"))
	if !slices.Equal(m.things["disk"], []string{"sda"}) {
		t.Errorf("things: %v", m.things["disk"])
	}
}

// A rule can ask about the disks of a run's place only.
func TestDisksUnderTest(t *testing.T) {
	set := builtInSet(t)
	slow := []string{"measured.flush.share a = 0.98", "measured.flush.time a = 0.0016",
		"disk.queue.write_cache nvme0n1 = write back", "disk.queue.write_cache sda = write through"}
	for _, c := range []struct {
		place []string
		want  Verdict
	}{
		{[]string{"disk.under-test.queue.write_cache = write through"}, Clear},
		{[]string{"disk.under-test.queue.write_cache = write through",
			"disk.under-test.2.queue.write_cache = write back"}, Found},
		// A run from elsewhere, with an unknown place.
		{nil, Found},
	} {
		if got, missing := verdict(set, "flush-wait", slices.Concat(slow, c.place), t); got != c.want {
			t.Errorf("%q: %s %+v, want %s", c.place, got, missing, c.want)
		}
	}
	facts := append(snapshot(t, slow...), lab.Fact{Key: "device.under-test.name",
		Unknown: "no block device lies under /mnt/nfs"})
	for _, f := range set.Evaluate(facts, Options{All: true}).Findings {
		if f.Rule == "flush-wait" && (f.Verdict != Unknown || f.Missing[0].Fact != "device.under-test.name") {
			t.Errorf("of a place without disks: %s %+v", f.Verdict, f.Missing)
		}
	}
	l, err := newLanguage()
	if err != nil {
		t.Fatal(err)
	}
	if _, faults := l.compile(`values("disk.under-test.queue.write_cahce").exists(c, c == "")`, ""); len(faults) != 1 {
		t.Errorf("a misspelt name: %v", faults)
	}
}
