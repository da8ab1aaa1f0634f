package bisection_test

import (
	"math"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
)

// strictAmongOthers is a search with iommu.strict=1 in the place of the fourth of some settings; it is the culprit if
// strict is.
func strictAmongOthers(seed uint64, culprit string) *simulatedSearch {
	h := newSimulatedSearch(seed, 16, map[string]float64{culprit: 0.3})
	h.run.Experiment.Factors[3].Factor = "cmdline:iommu.strict"
	return h
}

// profiled are the costs of all arms that were measured so far. Strict arms flush on each I/O where flushes says so.
func profiled(run lab.Run, flushes bool) []cost.Profile {
	var all []cost.Profile
	for _, a := range run.Arms {
		p := cost.Profile{Cell: lab.CellIn("read", a.ID), Arm: a.ID, CallLoads: 2,
			Functions: []cost.Function{{Name: "aio_read", Calls: &cost.LoadMean{Mean: 1, Values: []float64{1, 1}}}}}
		n := 0.015
		if flushes && a.Levels["cmdline:iommu.strict"] == "1" {
			n = 1
		}
		p.Functions = append(p.Functions, cost.Function{Name: "qi_submit_sync",
			Calls: &cost.LoadMean{Mean: n, Values: []float64{n, n}}})
		all = append(all, p)
	}
	return all
}

// A search takes what profiles of its ends say into its priors as soon as both are there, and a replay is the same.
func TestASearchExpectsByProfiles(t *testing.T) {
	h := strictAmongOthers(3, "cmdline:iommu.strict")
	p := begin(t, h)
	k := knowledge(t)
	if p.ExpectBy(k, profiled(h.run, true)) {
		t.Error("nothing was measured, and it expects something")
	}
	for range 4 {
		h.next(t, p)
	}
	before := p.Search.Probabilities()[3]
	if p.ExpectBy(k, nil) || !p.ExpectBy(k, profiled(h.run, true)) {
		t.Fatal("without profiles, or not with them")
	}
	h.run.Experiment = p.Run.Experiment
	if after := p.Search.Probabilities()[3]; after < 3*before || after < 0.5 ||
		h.run.Experiment.PriorsFrom != lab.PriorsFromProfiles {
		t.Errorf("%.3f before, %.3f after: %+v", before, after, h.run.Experiment.Priors)
	}
	again, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions))
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range again.Search.Probabilities() {
		if math.Abs(x-p.Search.Probabilities()[i]) > 1e-9 {
			t.Errorf("candidate %d: %g in the replay, %g here", i, x, p.Search.Probabilities()[i])
		}
	}
	for h.next(t, p) {
	}
	d := p.Document()
	if d.Outcome != bisection.Found || d.Culprits[0].Factor != "cmdline:iommu.strict" ||
		d.ExpectedFrom != lab.PriorsFromProfiles || d.Expected[0].Factor != "cmdline:iommu.strict" {
		t.Errorf("%s", jsonOf(t, d))
	}
}

// A culprit's functions moved with it, or there is a reason to doubt; of one that nothing is known of nothing is said.
func TestTheMechanismOfACulprit(t *testing.T) {
	for name, c := range map[string]struct {
		culprit           string
		profiled, flushes bool
		want              diff.MechanismEvidence
	}{
		"it flushes":        {"cmdline:iommu.strict", true, true, diff.Moved},
		"it does not":       {"cmdline:iommu.strict", true, false, diff.Still},
		"nothing is known":  {"cmdline:a5", true, true, ""},
		"it isn't profiled": {"cmdline:iommu.strict", false, true, ""},
	} {
		h := strictAmongOthers(5, c.culprit)
		p := begin(t, h)
		for h.next(t, p) {
		}
		if c.profiled {
			p.Costs = profiled(h.run, c.flushes)
		}
		d := p.Document()
		if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != c.culprit {
			t.Fatalf("%s: %s", name, jsonOf(t, d))
		}
		m := d.Culprits[0].Mechanism
		if m == nil {
			m = &diff.Mechanism{}
		}
		if m.Evidence != c.want {
			t.Errorf("%s: %+v, want %q", name, m, c.want)
		}
		if c.want == diff.Moved && (m.Functions[0].A != 0.015 || m.Functions[0].B != 1 ||
			m.Functions[0].Cell != "read") {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
