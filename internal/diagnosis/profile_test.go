package diagnosis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/rule"
)

func estimate(mean float64) *cost.LoadMean {
	return &cost.LoadMean{Mean: mean, Values: []float64{mean}}
}

// strict returns the cost of a guest with strict IOMMU domains and a slow clock; lazy is the same without the flushes.
func strict(cell, arm string, flushes float64) cost.Profile {
	return cost.Profile{Cell: cell, Arm: arm, Kernel: "6.1.0-56-amd64", TimeLoads: 3, CallLoads: 3, WaitLoads: 3,
		CPU: estimate(20000), SpinLocks: estimate(0.01),
		Layers: []cost.Layer{{ID: "dma", Title: "DMA mapping and IOMMU", NS: estimate(900), Calls: estimate(20)}},
		Functions: []cost.Function{
			{Name: "aio_read", Calls: estimate(1)}, {Name: "qi_submit_sync", Calls: estimate(flushes)},
			{Name: "read_hpet", Self: estimate(4000), Total: estimate(4000)},
			{Name: "block:block_rq_issue", Calls: estimate(1)},
		}}
}

// idle returns a load during which no CPU was busy with interrupts.
func idle(arm string) profile.Load {
	return profile.Load{Cell: "rand-read@" + arm, Arm: arm, Recording: profile.Recording{
		Sampled: &profile.Sampled{Hz: 100, Seconds: 2}}}
}

func ask(t *testing.T, machine []lab.Fact) map[string]rule.Finding {
	t.Helper()
	set, err := rule.BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]rule.Finding{}
	for _, f := range diagnosis.Ask(set, facts.Document{Facts: machine}, rule.Options{}).Findings {
		if strings.HasPrefix(f.Rule, "profile-") || f.Rule == "iommu-strict" {
			found[f.Rule+" "+string(f.Verdict)] = f
		}
	}
	return found
}

// If nothing else is known, a finding is based on the profile alone, and names the load.
func TestFindingsRestOnProfiles(t *testing.T) {
	found := ask(t, diagnosis.FactsOfProfiles([]cost.Profile{strict("rand-read@slow", "slow", 1),
		strict("rand-read@fast", "fast", 0.015)}, []profile.Load{idle("slow"), idle("fast")}))
	f := found["profile-iommu-flush finding"]
	if !slices.Equal(f.About, []string{"rand-read@slow"}) || len(f.Evidence) != 2 ||
		f.Evidence[0].Fact != "profile.function.qi_submit_sync.calls" || f.Evidence[0].Value != "1" ||
		f.Evidence[0].Source != "profile of 3 loads" || f.Evidence[1].Fact != "profile.layer.dma.share" {
		t.Errorf("%+v", f)
	}
	if f := found["profile-slow-clock finding"]; len(f.About) != 2 {
		t.Errorf("%+v", f)
	}
	if len(found) != 2 {
		t.Errorf("%+v", found)
	}
}

// A finding can be based on waits, which are known if threads were followed.
func TestFindingsRestOnWaits(t *testing.T) {
	p := strict("rand-read", "", 0)
	p.Functions = append(p.Functions, cost.Function{Name: "blk_mq_get_tag", Calls: estimate(1), Waits: estimate(0.4)})
	f := ask(t, diagnosis.FactsOfProfiles([]cost.Profile{p}, nil))["profile-tag-wait finding"]
	if len(f.Evidence) != 1 || f.Evidence[0].Fact != "profile.function.blk_mq_get_tag.waits" ||
		f.Evidence[0].Value != "0.4" {
		t.Errorf("%+v", f)
	}
	p.WaitLoads, p.Missing = 0, []profile.Missing{{What: "waiting threads", Why: "seccomp"}}
	f = ask(t, diagnosis.FactsOfProfiles([]cost.Profile{p}, nil))["profile-tag-wait unknown"]
	if len(f.Missing) != 1 || f.Missing[0].Reason != "seccomp" {
		t.Errorf("not followed: %+v", f)
	}
}

// If facts show the cause, the profile is evidence of that finding, and makes no separate finding.
func TestProfilesAreEvidence(t *testing.T) {
	machine := []lab.Fact{{Key: "pci.class", About: "0000:01:00.0", Value: "nvme"},
		{Key: "pci.iommu.group_type", About: "0000:01:00.0", Value: "DMA"}, {Key: "kernel.major", Value: "6"},
		{Key: "kernel.minor", Value: "1"}}
	profiled := strict(lab.CellIn("rand-read", lab.OnlyArm), lab.OnlyArm, 1)
	found := ask(t, append(machine, diagnosis.FactsOfProfiles([]cost.Profile{profiled}, nil)...))
	if _, own := found["profile-iommu-flush finding"]; own {
		t.Error("said twice")
	}
	evidence := found["iommu-strict finding"].Evidence
	if i := slices.IndexFunc(evidence, func(e rule.Evidence) bool {
		return e.Fact == "profile.function.qi_submit_sync.calls" && slices.Equal(e.About, []string{"rand-read"})
	}); i < 0 {
		t.Errorf("%+v", evidence)
	}
	if found := ask(t, machine); len(found) != 1 {
		t.Errorf("without a profile: %+v", found)
	}
}

// A finding is rated by its layer's share of the CPU time of each profiled load, if known.
func TestProfilesRateFindings(t *testing.T) {
	machine := []lab.Fact{{Key: "pci.class", About: "0000:01:00.0", Value: "nvme"},
		{Key: "pci.iommu.group_type", About: "0000:01:00.0", Value: "DMA"}, {Key: "kernel.major", Value: "6"},
		{Key: "kernel.minor", Value: "1"}}
	little, much := strict("rand-read", "", 1), strict("rand-write", "", 1)
	little.Layers[0].NS = estimate(200)
	none, unsampled := strict("rand-read", "", 1), strict("rand-read", "", 1)
	none.Layers = nil
	unsampled.CPU, unsampled.Layers[0].NS = nil, nil
	for _, c := range []struct {
		name     string
		profiles []cost.Profile
		severity string
		note     string
	}{
		{"not profiled", nil, rule.High, ""},
		{"little", []cost.Profile{little}, rule.Low, "low, not high: its layer takes at most 1.0% of the CPU time of the profiled loads"},
		{"little in one of two loads", []cost.Profile{little, much}, rule.High, ""},
		{"no sample in the layer", []cost.Profile{none}, rule.Low, "low, not high: its layer takes at most 0% of the CPU time of the profiled loads"},
		{"not sampled", []cost.Profile{unsampled}, rule.High, ""},
	} {
		facts := append(slices.Clone(machine), diagnosis.FactsOfProfiles(c.profiles, nil)...)
		f := ask(t, facts)["iommu-strict finding"]
		if f.Severity != c.severity || f.Note != c.note {
			t.Errorf("%s: %s, %s", c.name, f.Severity, f.Note)
		}
	}
}

// Parts that were refused are unknown, with the recorder's reason; functions that did not run have no calls.
func TestRefusedParts(t *testing.T) {
	p := strict("rand-read", "", 1)
	p.CallLoads, p.Missing = 0,
		[]profile.Missing{{What: "function calls", Why: "the kernel is locked down (integrity)"}}
	for i := range p.Functions {
		p.Functions[i].Calls = nil
	}
	found := ask(t, diagnosis.FactsOfProfiles([]cost.Profile{p}, nil))
	f := found["profile-iommu-flush unknown"]
	if len(f.Missing) != 1 || f.Missing[0].Fact != "profile.calls" ||
		f.Missing[0].Reason != "the kernel is locked down (integrity)" {
		t.Errorf("%+v", f)
	}
	if _, is := found["profile-slow-clock finding"]; !is {
		t.Errorf("samples were there: %+v", found)
	}
}

// One CPU of two is busy with interrupts, as far as samples show; idle CPUs are not sampled.
func TestBusiestInterruptCPU(t *testing.T) {
	load := profile.Load{Cell: "rand-read", Recording: profile.Recording{Sampled: &profile.Sampled{Hz: 100, Seconds: 2,
		Stacks: []profile.Stack{{CPU: 0, Context: profile.InHardirq, Count: 100}, {CPU: 0, Context: profile.InSoftirq,
			Count: 90}, {CPU: 1, Context: profile.InLoad, Count: 30}, {CPU: 1, Context: profile.InHardirq, Count: 2}}}}}
	of := func(cell string) string {
		for _, f := range diagnosis.FactsOfProfiles([]cost.Profile{strict(cell, "", 0)}, []profile.Load{load, {
			Cell: "rand-read"}}) {
			if f.Key == "profile.interrupts.busiest_cpu" {
				return f.Value
			}
		}
		return ""
	}
	if got := of("rand-read"); got != "0.95" {
		t.Errorf("%q", got)
	}
	if got := of("seq-read"); got != "" {
		t.Errorf("of a cell that was not sampled: %q", got)
	}
}

// TestMitigationsComeLastUnlessMeasured checks that a mitigation of a CPU flaw never comes first for a slow disk. It is
// ordered by severity only if a profile shows a load that is bound by CPUs and the mitigation's part of that time.
func TestMitigationsComeLastUnlessMeasured(t *testing.T) {
	set, err := rule.BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	machine := []lab.Fact{{Key: "cpu.vendor", Value: "AuthenticAMD"}, {Key: "cpu.bugs", Value: "srso, spectre_v2"},
		{Key: "cpu.vulnerability.spec_rstack_overflow", Value: "Mitigation: Safe RET"},
		{Key: "disk.name", About: "sda", Value: "sda"}, {Key: "disk.rotational", About: "sda", Value: "0"},
		{Key: "disk.queue.nr_requests", About: "sda", Value: "32"},
		{Key: "disk.queue.hardware", About: "sda", Value: "1"},
		{Key: "disk.queue.rq_affinity", About: "sda", Value: "0"}}
	// One thread does rate I/Os per second, of 20 microseconds of CPU time each: it is 80% busy at 40,000.
	profiled := func(rate, share float64) []lab.Fact {
		p := strict("rand-read", "", 0)
		p.Rates = map[profile.Part]*cost.LoadMean{profile.Time: estimate(rate)}
		p.Functions = append(p.Functions, cost.Function{Name: "srso_alias_safe_ret", Self: estimate(20000 * share),
			Total: estimate(20000 * share)})
		load := idle("")
		load.Cell, load.Waits = "rand-read", &profile.Waits{Threads: 1}
		return append(slices.Clone(machine), diagnosis.FactsOfProfiles([]cost.Profile{p}, []profile.Load{load})...)
	}
	for _, c := range []struct {
		name  string
		facts []lab.Fact
		first bool
	}{
		{"nothing was profiled", machine, false},
		{"a fast disk, of which the mitigation takes a tenth of the time", profiled(40000, 0.12), true},
		{"a slow disk, for which the CPU waits", profiled(200, 0.12), false},
		{"a fast disk, and a mitigation that hardly runs", profiled(40000, 0.01), false},
	} {
		report := diagnosis.Ask(set, facts.Document{Facts: c.facts}, rule.Options{})
		var found []rule.Finding
		for _, f := range report.Findings {
			if f.Verdict == rule.Found {
				found = append(found, f)
			}
		}
		at := slices.IndexFunc(found, func(f rule.Finding) bool { return f.Rule == "srso-safe-ret" })
		if at < 0 || len(found) < 2 {
			t.Fatalf("%s: %d findings, the mitigation at %d", c.name, len(found), at)
		}
		if first := at == 0; first != c.first || !first && at != len(found)-1 {
			t.Errorf("%s: it stands at %d of %d", c.name, at+1, len(found))
		}
	}
}
