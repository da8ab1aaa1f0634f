package rule

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// said returns a report in short form: "rule verdict [about]".
func said(r Report) []string {
	var lines []string
	for _, f := range r.Findings {
		lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s %s %s", f.Rule, f.Verdict, strings.Join(f.About, ",")),
			" "))
	}
	return lines
}

func checkSaid(t *testing.T, r Report, want ...string) {
	t.Helper()
	if got := said(r); !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// The four verdicts, for things and for the machine.
func TestVerdicts(t *testing.T) {
	s := set(t,
		ruleText("scheduler", `disk.queue.scheduler != "none"`, "scope: disk", `applies: disk.driver == "nvme"`),
		ruleText("clock", `clock.source == "hpet"`),
		ruleText("nics", `nic.mtu < 9000`, "scope: nic"),
		ruleText("maps", `multipath.paths == 1`, "scope: multipath"))
	r := s.Evaluate(snapshot(t, "clock.source = tsc",
		"disk.driver a = nvme", "disk.queue.scheduler a = bfq", // finding
		"disk.driver b = nvme", "disk.queue.scheduler b = none", // clear
		"disk.driver c = sd", "disk.queue.scheduler c = bfq", // not applicable
		"disk.driver d = nvme", "disk.queue.scheduler d ? permission denied; root may read it", // unknown
		// clear: whether it applies does not matter
		"disk.driver e ? no such file here", "disk.queue.scheduler e = none",
		"disk.driver f ? no such file here", "disk.queue.scheduler f = bfq", // unknown
		"nic.mtu ? ip is not installed",
	), Options{All: true})
	checkSaid(t, r, "scheduler finding a", "nics unknown", "scheduler unknown d,f", "clock clear",
		"scheduler clear b,e",
		"maps not-applicable", "scheduler not-applicable c")
	if want := (Counts{Finding: 1, Clear: 3, NotApplicable: 2, Unknown: 3}); r.Counts != want {
		t.Errorf("counts %+v, want %+v", r.Counts, want)
	}
	if r.PrivilegedWouldAnswer != 1 {
		t.Errorf("root would tell %d", r.PrivilegedWouldAnswer)
	}
	missing := fmt.Sprint(r.Findings[2].Missing)
	if missing != "[{disk.queue.scheduler [d] permission denied; root may read it} {disk.driver [f] no such file here}]" {
		t.Errorf("missing: %s", missing)
	}
	if len(s.Evaluate(snapshot(t, "clock.source = tsc"), Options{}).Findings) != 0 {
		t.Error("clear and not applicable are shown without being asked for")
	}
}

// Evidence is listed once for each value, with the things that have it.
func TestGroups(t *testing.T) {
	s := set(t, ruleText("scheduler", `disk.queue.scheduler != "none" && cpu.threads > 1`, "scope: disk"))
	r := s.Evaluate(snapshot(t, "cpu.threads = 8", "disk.queue.scheduler a = bfq", "disk.queue.scheduler b = kyber",
		"disk.queue.scheduler c = bfq", "disk.queue.scheduler d = none"), Options{})
	checkSaid(t, r, "scheduler finding a,b,c")
	if got := fmt.Sprint(r.Findings[0].Evidence); got !=
		"[{disk.queue.scheduler [a c] bfq /a/file} {cpu.threads [] 8 /a/file} {disk.queue.scheduler [b] kyber /a/file}]" {
		t.Errorf("evidence: %s", got)
	}
}

// A rule is silent if another rule's finding about the same thing, or about the machine, names its cause.
func TestSilence(t *testing.T) {
	s := set(t,
		ruleText("last", `disk.size > 0`, "scope: disk", "silent_if: [third]"),
		ruleText("third", `disk.size > 1`, "scope: disk", "silent_if: [second]"),
		ruleText("second", `disk.queue.scheduler == "bfq"`, "scope: disk", "silent_if: [first]"),
		ruleText("first", `clock.source == "hpet"`))
	disks := []string{"disk.size a = 5", "disk.queue.scheduler a = bfq", "disk.size b = 5",
		"disk.queue.scheduler b = none",
		"disk.size c = 5"}
	r := s.Evaluate(snapshot(t, append(disks, "clock.source = tsc")...), Options{All: true})
	checkSaid(t, r, "second finding a", "third finding b,c", "second unknown c", "first clear", "second clear b",
		"last not-applicable a,b,c", "third not-applicable a")
	if note := r.Findings[5].Note; note != "covered by third" {
		t.Errorf("note: %s", note)
	}
	// The machine's finding silences the one about a, the unknown about c, and the rules that these would have
	// silenced.
	r = s.Evaluate(snapshot(t, append(disks, "clock.source = hpet")...), Options{All: true})
	checkSaid(t, r, "first finding", "third finding b", "second clear b", "last not-applicable a,b,c",
		"second not-applicable a,c",
		"third not-applicable a,c")
}

func TestOrder(t *testing.T) {
	effect := func(high string) string {
		return "effects: [{text: x, high: " + high + ", where: there, source: {title: A paper}}]"
	}
	s := set(t,
		ruleText("unknown-high", `cpu.driver == "x"`, "severity: high"),
		ruleText("low", "true", "severity: low", effect("0.9")),
		ruleText("quality", "true", "guard: true"),
		ruleText("much", "true", effect("0.6")),
		ruleText("little", "true", effect("0.1")),
		ruleText("grave", "true", "severity: high"),
		ruleText("hidden", "true", "unpriced: true"))
	r := s.Evaluate(nil, Options{})
	checkSaid(t, r, "grave finding", "much finding", "little finding", "quality finding", "low finding",
		"unknown-high unknown")
	if r.Findings[3].Title != "now: The title of quality" || !r.Findings[3].Guard {
		t.Errorf("a guard's title: %s", r.Findings[3].Title)
	}
	if r := s.Evaluate(nil, Options{Unquantified: true}); !slices.Contains(said(r), "hidden finding") {
		t.Error("--unpriced shows no more")
	}
}

func TestEffects(t *testing.T) {
	s := set(t,
		ruleText("published", "true", "effects:",
			"- {text: up to 60% of throughput, high: 0.6, where: 100 Gbit/s NIC, source: {title: A paper}}",
			"- {text: 2%, source: {url: 'https://example.org/'}}"),
		ruleText("worked-out", "true", "derivation: lanes in use / lanes possible"),
		ruleText("silence", "true"))
	got := map[string]string{}
	for _, f := range s.Evaluate(nil, Options{}).Findings {
		got[f.Rule] = f.Effect
	}
	for id, want := range map[string]string{
		"published": "published: up to 60% of throughput (100 Gbit/s NIC; A paper); 2% (https://example.org/); not " +
			"measured here",
		"worked-out": "follows from the facts: lanes in use / lanes possible",
		"silence":    "no figure is published",
	} {
		if got[id] != want {
			t.Errorf("%s: %s", id, got[id])
		}
	}
}

// A remedy that changes a kept setting is not offered. The finding stays, with the cost of keeping the setting.
func TestKeep(t *testing.T) {
	s := set(t, ruleText("numa", `numa.nodes == 1`,
		"effects: [{text: 30%, where: there, source: {title: A paper}}]",
		"remedies:",
		"- {text: Boot without numa=off, reboot: true, cost: none}",
		"- {set: 'cmdline:-numa', cost: none}",
		"- {set: 'cmdline:numa=off', cost: none}",
		"- {set: 'module:nvme.poll_queues=4', cost: cores}",
		"- {set: 'sysctl:vm.swappiness=10', cost: none}",
		"- {set: 'queue:scheduler=none', cost: none}",
		"- {text: Read of numa=offset, cost: much}",
		"- {text: 'Raise net.core.rmem_max to 1 MiB.', cost: memory}"))
	facts := snapshot(t, "numa.nodes = 1", "os.boot_loader = grub")
	for _, c := range []struct {
		keep    string
		refused string
	}{
		{"", ""},
		{"cmdline:numa=off", "Boot without numa=off, cmdline:-numa"},
		{"numa=off", "Boot without numa=off, cmdline:-numa"},
		{"cmdline:nvme.poll-queues=0", "module:nvme.poll_queues=4"},
		{"nvme.poll_queues=4", ""},
		{"vm.swappiness=60", "sysctl:vm.swappiness=10"},
		{"sysctl:vm.swappiness=60", "sysctl:vm.swappiness=10"},
		{"vm.swappiness=10", ""},
		{"disk.queue.scheduler=bfq", "queue:scheduler=none"},
		{"cmdline:quiet", ""},
		{"net.core.rmem_max=212992", "Raise net.core.rmem_max to 1 MiB."},
	} {
		var o Options
		if c.keep != "" {
			o.Keep = []string{c.keep}
			if err := CheckKeep(c.keep); err != nil {
				t.Error(err)
			}
		}
		f := s.Evaluate(facts, o).Findings[0]
		want := 8
		if c.refused == "" {
			if len(f.Kept) > 0 {
				t.Errorf("%s: %v", c.keep, f.Kept)
			}
		} else {
			want -= 1 + strings.Count(c.refused, ", ")
			say := "kept: " + c.keep + "; published: 30% (there; A paper); not measured here; not offered: " + c.refused
			if len(f.Kept) != 1 || f.Kept[0] != say {
				t.Errorf("%s: got %v, want %s", c.keep, f.Kept, say)
			}
		}
		if len(f.Remedies) != want {
			t.Errorf("%s: %d remedies, want %d: %+v", c.keep, len(f.Remedies), want, f.Remedies)
		}
	}
	for _, bad := range []string{"", "cmdline:", "x", "sysctl:a"} {
		if CheckKeep(bad) == nil {
			t.Errorf("%q can be kept", bad)
		}
	}
}

// TestKeepBuiltIn keeps settings in the words that people use, and checks whether a built-in rule still offers a remedy
// that would change, remove or defeat them.
func TestKeepBuiltIn(t *testing.T) {
	set := builtInSet(t)
	remedies := map[string][]Remedy{}
	for _, r := range set.Rules() {
		remedies[r.ID] = r.Remedies
	}
	for _, c := range []struct{ keep, rule, refused string }{
		{"iommu.strict=1", "iommu-strict", "cmdline:iommu.strict=0 cmdline:iommu=pt cmdline:iommu.passthrough=1 " +
			"cmdline:iommu=off"},
		{"cmdline:iommu.strict=0", "iommu-strict", "cmdline:iommu=off"},
		{"intel_iommu=on", "iommu-strict", "cmdline:intel_iommu=absent cmdline:iommu=off"},
		{"intel_iommu=on,strict", "iommu-strict",
			"cmdline:intel_iommu=absent cmdline:iommu=pt cmdline:iommu.passthrough=1 cmdline:iommu=off"},
		{"numa=off", "numa-switched-off", "cmdline:numa=absent"},
		{"cmdline:numa=off", "nics-on-two-sockets-one-node", "cmdline:numa=absent"},
		{"cmdline:numa=absent", "numa-switched-off", ""},
		{"cmdline:-numa", "numa-switched-off", ""},
		{"vm.dirty_ratio=20", "dirty-limit-large", "sysctl:vm.dirty_bytes=4294967296"},
		{"sysctl:vm.dirty_ratio=20", "dirty-limit-large", "sysctl:vm.dirty_bytes=4294967296"},
		{"sysctl.vm.swappiness=60", "dirty-limit-large", ""},
		{"cpufreq.default_governor=schedutil", "governor-dynamic", "cpu:governor=performance"},
		{"mount:discard", "discard-on-delete", "mount:nodiscard"},
		{"mount:nodiscard", "discard-on-delete", ""},
		{"mount:sync", "nfs-mounted-sync", "mount:async"},
		{"mount:noac", "nfs-noac", "mount:ac"},
		{"node.session.queue_depth=32", "iscsi-queue-depth",
			"exec:iscsiadm -m node -o update -n node.session.queue_depth -v 128"},
		{"pti=on", "pti-needless", "cmdline:pti=absent"},
	} {
		if err := CheckKeep(c.keep); err != nil {
			t.Error(err)
		}
		if len(remedies[c.rule]) == 0 {
			t.Errorf("%s has no remedies", c.rule)
		}
		var refused []string
		for _, r := range remedies[c.rule] {
			if parseKeep([]string{c.keep})[0].forbids(r) && r.Set != "" {
				refused = append(refused, r.Set)
			}
		}
		slices.Sort(refused)
		want := strings.Fields(c.refused)
		if strings.HasPrefix(c.refused, "exec:") {
			want = []string{c.refused}
		}
		slices.Sort(want)
		if !slices.Equal(refused, want) {
			t.Errorf("keeping %s, %s: refused %q, want %q", c.keep, c.rule, refused, want)
		}
	}
}

// If a remedy's own condition is false the remedy is left out; if it is unknown it is shown with the remedy.
func TestOnly(t *testing.T) {
	s := set(t,
		ruleText("machine", "true", "remedies:",
			"- {set: 'cmdline:iommu=off', only: iommu.vfio_groups == 0, cost: no isolation}",
			"- {text: else, cost: none}"),
		ruleText("disks", "true", "scope: disk", "remedies:",
			"- {set: 'queue:scheduler=none', only: disk.driver == \"nvme\", cost: none}"))
	remedies := func(lines ...string) string {
		lines = append(lines, "disk.driver nvme0n1 = nvme", "disk.driver nvme1n1 = nvme", "disk.driver sda = sd",
			"os.boot_loader = grub")
		var printed []string
		for _, f := range s.Evaluate(snapshot(t, lines...), Options{}).Findings {
			for _, r := range f.Remedies {
				printed = append(printed, r.Set+"|"+r.Only)
			}
			if f.Rule == "disks" && !strings.Contains(f.Remedies[0].Text, `KERNEL=="nvme*n*"`) {
				t.Errorf("the remedy is for other disks: %s", f.Remedies[0].Text)
			}
		}
		return strings.Join(printed, " ")
	}
	for fact, want := range map[string]string{
		"iommu.vfio_groups = 0": "queue:scheduler=none| cmdline:iommu=off| |",
		"iommu.vfio_groups = 2": "queue:scheduler=none| |",
		"iommu.vfio_groups ? no such file here": "queue:scheduler=none| cmdline:iommu=off|only if iommu.vfio_groups " +
			"== 0 (unknown here: iommu.vfio_groups: no such file here) |",
	} {
		if got := remedies(fact); got != want {
			t.Errorf("%s: got %s, want %s", fact, got, want)
		}
	}
}

// The document has the fields that other programs read.
func TestDocument(t *testing.T) {
	s := set(t, ruleText("clock", `clock.source == "hpet"`, "metrics: [iops]", "measure: headroom ablate x",
		"sources: [{title: A text, url: 'https://example.org/'}]",
		"effects: [{text: 30%, high: 0.3, where: there, source: {title: A paper, url: 'https://example.org/p'}}]",
		"remedies: [{set: 'sysctl:a.b=1', cost: none}]"), ruleText("other", `cpu.driver == "x"`))
	r := s.Evaluate(snapshot(t, "clock.source = hpet"), Options{})
	r.Target = "local"
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"headroom/doctor/v1","target":"local","findings":[{"rule":"clock","verdict":"finding",` +
		`"title":"The title of clock","severity":"medium","class":"kernel",` +
		`"evidence":[{"fact":"clock.source","value":"hpet","source":"/a/file"}],` +
		`"effect":"published: 30% (there; A paper); not measured here","effects":[{"text":"30%","high":0.3,"where":"there",` +
		`"source":{"title":"A paper","url":"https://example.org/p"}}],` +
		`"remedy":[{"system":"sysctl.d","set":"sysctl:a.b=1","text":"write a.b = 1 into /etc/sysctl.d/90-headroom.conf, then sysctl ` +
		`--system","undo":"remove the line; the old value comes back with sysctl -w or the next boot","reboot":false,"cost":"none"}],` +
		`"cost":"none","measure":"headroom ablate x","because":"of this","metrics":["iops"],` +
		`"sources":[{"title":"A text","url":"https://example.org/"}]},` +
		`{"rule":"other","verdict":"unknown","title":"The title of other","severity":"medium","class":"kernel","because":"of this",` +
		`"missing":[{"fact":"cpu.driver","reason":"not collected"}]}],` +
		`"counts":{"finding":1,"clear":0,"not_applicable":0,"unknown":1},"privileged_would_tell":0}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSilenceAcrossScopes checks that a finding about the machine silences rules about its things, and a finding about
// a thing silences those about the machine, and about that thing only.
func TestSilenceAcrossScopes(t *testing.T) {
	s := set(t,
		ruleText("disk-slow", `disk.queue.scheduler == "bfq"`, "scope: disk"),
		ruleText("machine-slow", "true", "silent_if: [disk-slow]"),
		ruleText("disk-too", "true", "scope: disk", "silent_if: [disk-slow]"),
		ruleText("machine-first", "cpu.threads == 4"),
		ruleText("disk-after", "true", "scope: disk", "silent_if: [machine-first]"))
	for facts, want := range map[string]string{
		"bfq 4":  "disk-slow[sda] disk-too[sdb] machine-first[]",
		"bfq 8":  "disk-after[sda sdb] disk-slow[sda] disk-too[sdb]",
		"none 8": "disk-after[sda sdb] disk-too[sda sdb] machine-slow[]",
	} {
		scheduler, threads, _ := strings.Cut(facts, " ")
		var got []string
		for _, f := range s.Evaluate(snapshot(t, "disk.queue.scheduler sda = "+scheduler,
			"disk.queue.scheduler sdb = none",
			"cpu.threads = "+threads), Options{}).Findings {
			got = append(got, fmt.Sprint(f.Rule, f.About))
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", facts, text, want)
		}
	}
}
