package diff

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
)

// profileOf returns a profile with an I/O's calls by function: c_lazy1, c_strict1 and c_slub of the first trials in
// guests with Linux 6.1, without functions that are the same everywhere.
func profileOf(calls map[string]float64) cost.Profile {
	p := cost.Profile{Cell: "rand-read", Kernel: "6.1.0-56-amd64", CallLoads: 3,
		Functions: []cost.Function{{Name: "aio_read", Calls: mean(1)}, {Name: "nvme_queue_rq", Module: "nvme",
			Calls: mean(1)}}}
	for name, n := range calls {
		p.Functions = append(p.Functions, cost.Function{Name: name, Calls: mean(n)})
	}
	slices.SortFunc(p.Functions, func(a, b cost.Function) int { return strings.Compare(a.Name, b.Name) })
	return p
}

func mean(m float64) *cost.LoadMean { return &cost.LoadMean{Mean: m, Values: []float64{m, m, m}} }

func lazy() cost.Profile {
	return profileOf(map[string]float64{"qi_submit_sync": 0.015, "fq_ring_free": 1.03})
}
func strict() cost.Profile {
	return profileOf(map[string]float64{"qi_submit_sync": 1, "iommu_flush_iotlb_psi": 1})
}
func slub() cost.Profile {
	return profileOf(map[string]float64{"qi_submit_sync": 0.015, "check_bytes_and_report": 17.05,
		"slab_pad_check": 4.8})
}

// sampled returns a profile in which clearing pages takes this share of the CPU time.
func sampled(share float64) cost.Profile {
	p := lazy()
	p.CPU = mean(20_000)
	p.Functions = append(p.Functions, cost.Function{Name: "clear_page_erms", Self: mean(20_000 * share)})
	return p
}

// waiting returns a profile in which threads wait for tags.
func waiting(perIO float64) cost.Profile {
	p := lazy()
	p.WaitLoads = 3
	tag := cost.Function{Name: "blk_mq_get_tag", Calls: mean(1)}
	if perIO > 0 {
		tag.Waits = mean(perIO)
	}
	p.Functions = append(p.Functions, tag)
	return p
}

// between returns a document of two profiles, without an analysis.
func between(a, b cost.Profile) difference.Document {
	return difference.Document{Schema: difference.Schema, Cells: []difference.Cell{{Cell: "rand-read", A: a, B: b}}}
}

// more adds to a document that b has more of a function.
func more(d difference.Document, function string) difference.Document {
	d.Cells[0].Functions = []difference.Function{{Name: function, Calls: &difference.Delta{Change: difference.More}}}
	return d
}

// aside adds to a document that other work of the machine calls a function, equally often a second on both sides.
func aside(d difference.Document, function string) difference.Document {
	d.Cells[0].OwnPace = []string{function}
	return d
}

// compared returns the differences of two machines with other boot arguments and another scheduler of the first disk.
func compared(t *testing.T, a, b, schedulerA, schedulerB string) []Difference {
	t.Helper()
	of := func(name, arguments, scheduler string) Side {
		return Side{Name: name, Facts: []lab.Fact{{Key: "kernel.cmdline", Value: arguments},
			{Key: "disk.queue.scheduler", About: "nvme0n1", Value: scheduler}}}
	}
	return knowledge(t).Compare(of("a", a, schedulerA), of("b", b, schedulerB)).Differences
}

func TestMechanism(t *testing.T) {
	bfq := profileOf(map[string]float64{"bfq_dispatch_request": 1.9, "qi_submit_sync": 0.015})
	uncounted := lazy()
	uncounted.CallLoads = 0
	for name, c := range map[string]struct {
		a, b                   string // boot arguments
		schedulerA, schedulerB string
		profile                difference.Document
		want                   map[string]MechanismEvidence
	}{
		"what moved": {"ro iommu.strict=0", "ro iommu.strict=1 slub_debug=FZPU quiet", "none", "none",
			between(lazy(), strict()),
			map[string]MechanismEvidence{"iommu.strict": Moved, "slub_debug": Still, "quiet": ""}},
		"the slow one is on the other side": {"ro iommu.strict=1", "ro slub_debug=FZPU", "none", "none",
			between(strict(), slub()), map[string]MechanismEvidence{"iommu.strict": Moved, "slub_debug": Moved}},
		"the wrong way round": {"ro", "ro slub_debug=FZPU", "none", "none", between(slub(), lazy()),
			map[string]MechanismEvidence{"slub_debug": Still}},
		"on both sides": {"ro iommu.strict=0", "ro iommu.strict=1", "none", "none", between(strict(), strict()),
			map[string]MechanismEvidence{"iommu.strict": Still}},
		"by value": {"ro", "ro", "mq-deadline", "bfq",
			between(profileOf(map[string]float64{"dd_dispatch_request": 1.7}), bfq),
			map[string]MechanismEvidence{"disk.queue.scheduler": Moved}},
		"one scheduler for another that did not run": {"ro", "ro", "none", "bfq", between(lazy(), lazy()),
			map[string]MechanismEvidence{"disk.queue.scheduler": Still}},
		"nothing was counted on one side": {"ro iommu.strict=0", "ro iommu.strict=1", "none", "bfq",
			between(uncounted, strict()), map[string]MechanismEvidence{"iommu.strict": "", "disk.queue.scheduler": ""}},
		"more than chance": {"ro iommu.strict=0", "ro iommu.strict=1", "none", "none",
			more(between(profileOf(map[string]float64{"qi_submit_sync": 0.4}), strict()), "qi_submit_sync"),
			map[string]MechanismEvidence{"iommu.strict": Moved}},
		"at a pace of its own": {"ro iommu.strict=0", "ro iommu.strict=1", "none", "none",
			aside(between(lazy(), strict()), "qi_submit_sync"), map[string]MechanismEvidence{"iommu.strict": ""}},
		"pages that are cleared, of which there are samples only": {"ro init_on_free=0", "ro init_on_free=1", "none",
			"none", between(sampled(0.01), sampled(0.31)), map[string]MechanismEvidence{"init_on_free": Moved}},
		"no more samples": {"ro init_on_free=0", "ro init_on_free=1", "none", "none",
			between(sampled(0.2), sampled(0.31)), map[string]MechanismEvidence{"init_on_free": ""}},
		"not clear": {"ro iommu.strict=0", "ro iommu.strict=1", "none", "none",
			between(profileOf(map[string]float64{"qi_submit_sync": 0.4}), strict()),
			map[string]MechanismEvidence{"iommu.strict": ""}},
	} {
		seen := 0
		for _, d := range compared(t, c.a, c.b, c.schedulerA, c.schedulerB) {
			want, asked := c.want[d.Name]
			if !asked {
				continue
			}
			seen++
			m := knowledge(t).Mechanism(c.profile, d)
			if m == nil {
				m = &Mechanism{}
			}
			if m.Evidence != want {
				t.Errorf("%s: %s is %q, want %q: %+v", name, d.Name, m.Evidence, want, m)
			}
		}
		if seen != len(c.want) {
			t.Errorf("%s: %d differences were looked at", name, seen)
		}
	}
}

// Waits of the load's threads show a queue that is too short, if they were recorded on both sides.
func TestWaitsAreAMechanism(t *testing.T) {
	d := Difference{Kind: moduleKind, Name: "nvme.io_queue_depth", A: "1024", B: "2", Slower: "b"}
	for _, c := range []struct {
		a, b cost.Profile
		want MechanismEvidence
	}{{waiting(0), waiting(0.4), Moved}, {waiting(0.4), waiting(0), Still}, {waiting(0), waiting(0), Still}} {
		if m := knowledge(t).Mechanism(between(c.a, c.b), d); m == nil || m.Evidence != c.want ||
			len(m.Functions) != 1 || m.Functions[0].Measure != Waits {
			t.Errorf("%+v, want %s", m, c.want)
		}
	}
	if m := knowledge(t).Mechanism(between(lazy(), waiting(0.4)), d); m != nil {
		t.Errorf("not followed on one side: %+v", m)
	}
}

// Options whose object files ran on neither side are ranked lower; others are unaffected.
func TestOptionsThatNeverRan(t *testing.T) {
	of := func(values ...string) Side {
		s := Side{}
		for _, name := range []string{"NFS_V4_2", "NVME_MULTIPATH", "SWIOTLB", "NVME_TARGET_LOOP"} {
			s.Facts = append(s.Facts, lab.Fact{Key: "kernel.config." + name, Value: values[0]})
		}
		return s
	}
	want := map[string]MechanismEvidence{"NFS_V4_2": NeverRan, "NVME_MULTIPATH": "", "SWIOTLB": "",
		"NVME_TARGET_LOOP": NeverRan}
	seen := 0
	for _, d := range knowledge(t).Compare(of("n"), of("y")).Differences {
		seen++
		m := knowledge(t).Mechanism(between(lazy(), strict()), d)
		if m == nil {
			m = &Mechanism{}
		}
		if m.Evidence != want[d.Name] {
			t.Errorf("%s: %+v, want %q", d.Name, m, want[d.Name])
		}
	}
	if seen != len(want) {
		t.Errorf("%d differences", seen)
	}
}

// A difference whose functions moved comes first, and one whose functions did not move is ranked lower, by odds.
func TestWithProfiles(t *testing.T) {
	differences := compared(t, "ro", "ro slub_debug=FZPU iommu.strict=1", "none", "none")
	d := knowledge(t).WithProfiles(Document{Differences: differences}, between(lazy(), slub()))
	if d.Differences[0].Name != "slub_debug" || d.Differences[0].Rank != 1 || d.Differences[1].Rank != 2 {
		t.Fatalf("%+v", d.Differences)
	}
	first := d.Differences[0]
	if weight := 20 * (0.25 / 0.75) / (1 + 20*(0.25/0.75)); math.Abs(first.Weight-weight) > 1e-9 {
		t.Errorf("weight %g, want %g", first.Weight, weight)
	}
	want := FunctionCalls{Function: "check_bytes_and_report", Cell: "rand-read", B: 17.05}
	if f := first.Mechanism.Functions; len(f) != 1 || f[0] != want {
		t.Errorf("%+v", f)
	}
	if differences[0].Name != "iommu.strict" || differences[0].Mechanism != nil {
		t.Errorf("what was given has changed: %+v", differences[0])
	}
}

func TestCallsInTheKnowledge(t *testing.T) {
	data, err := os.ReadFile("testdata/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for line := range strings.Lines(string(data)) {
		if name, where, is := strings.Cut(strings.TrimSpace(line), "\t"); is && where != "" {
			known = append(known, name)
		}
	}
	calls := 0
	for _, e := range knowledge(t).exact {
		patterns := slices.Clone(e.Path)
		for _, c := range e.calls {
			calls++
			patterns = append(patterns, c.function)
			if c.value == "" && e.Slow == "" {
				t.Errorf("%s: calls of a slow value that it does not name", e.subject())
			}
		}
		for _, p := range patterns {
			if !slices.ContainsFunc(known, func(f string) bool { return matches(p, f) }) {
				t.Errorf("%s: testdata/functions.txt has no %s; look it up in a kernel", e.subject(), p)
			}
		}
	}
	if calls < 40 {
		t.Errorf("%d calls are known", calls)
	}
	for _, bad := range []string{"qi_submit_sync", "qi_submit_sync > 1", "f >= 0.001", "a b >= 1", "f >= x"} {
		if _, err := parseCall(bad); err == nil {
			t.Errorf("%q is no fault", bad)
		}
	}
}
