package bisection_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
)

// apart are the two levels of each of some factors.
func apart(factors ...[3]string) *lab.Experiment {
	e := &lab.Experiment{Kind: bisection.Kind, Margin: 0.05, Blocks: 150}
	for _, f := range factors {
		e.Factors = append(e.Factors, lab.VariedFactor{Factor: f[0], Levels: f[1:]})
	}
	return e
}

// What facts diff thinks dear is likely; what is harmless, unknown, or works the other way round shares a fifth,
// evenly.
func TestPriorsAreWhatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		factors [][3]string
		// likeliest first; the others are alike.
		likeliest []int
	}{
		"arguments": {[][3]string{{"cmdline:quiet", "absent", ""}, {"cmdline:slub_debug", "absent", "FZPU"},
			{"cmdline:init_on_alloc", "0", "1"}, {"cmdline:iommu.strict", "0", "1"},
			{"cmdline:splash", "absent", ""}}, []int{3, 1, 2}},
		"the other way round": {[][3]string{{"cmdline:iommu.strict", "1", "0"},
			{"cmdline:mitigations", "absent", "off"}, {"cmdline:slub_debug", "absent", "FZPU"},
			{"cmdline:quiet", "absent", ""}}, []int{2}},
		"what overrides an option of a build that nobody knows": {[][3]string{{"cmdline:kmemleak", "off", "on"},
			{"cmdline:quiet", "absent", ""},
			{"cmdline:nopat", "absent", ""}}, []int{0, 2}},
		"options of a build": {[][3]string{{"option:NOT_KNOWN_EITHER", "n", "y"}, {"option:SLUB_DEBUG_ON", "n", "y"},
			{"option:PREEMPT", "n", "y"}, {"option:NOT_KNOWN", "n", "y"}}, []int{1, 2}},
		"sysctls": {[][3]string{{"sysctl:kernel.printk", "4", "7"}, {"sysctl:vm.dirty_ratio", "20", "2"},
			{"sysctl:fs.file-max", "100", "1000"}}, []int{1}},
		"anything": {[][3]string{{"env:A", "1", "2"}, {"queue:scheduler", "none", "bfq"},
			{"cpu:governor", "performance", "powersave"}, {"guest:aio", "native", "threads"}}, []int{1, 2}},
	} {
		e := apart(c.factors...)
		p := bisection.Priors(knowledge(t), e)
		sum, rest := 0.0, 0.2/float64(len(p))
		for i, x := range p {
			sum += x
			if known := slices.Contains(c.likeliest, i); known != (x > rest*1.000001) {
				t.Errorf("%s: %s has %.3f, what is unknown %.3f", name, e.Factors[i].Factor, x, rest)
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the sum is %v", name, sum)
		}
		for i := range c.likeliest[1:] {
			if p[c.likeliest[i]] <= p[c.likeliest[i+1]] {
				t.Errorf("%s: %v, want the order %v", name, p, c.likeliest)
			}
		}
	}
}

func TestPriorsOfWhatNothingIsKnownOf(t *testing.T) {
	if p := bisection.Priors(knowledge(t), apart([3]string{"env:A", "1", "2"}, [3]string{"env:B", "1", "2"})); p !=
		nil {
		t.Errorf("%v", p)
	}
	series := &lab.Experiment{Kind: bisection.Kind, Steps: true,
		Factors: []lab.VariedFactor{{Factor: "kernel:", Levels: []string{"6.1", "6.2", "6.3"}}}}
	if p := bisection.Priors(knowledge(t), series); p != nil {
		t.Errorf("%v", p)
	}
}

// The run has the priors, so that a search that goes on later is the same, and they are in the document.
func TestARunKeepsItsPriors(t *testing.T) {
	h := newSimulatedSearch(8, 12, map[string]float64{"cmdline:a3": 0.3})
	h.run.Experiment.Priors = make([]float64, 12)
	for i := range h.run.Experiment.Priors {
		h.run.Experiment.Priors[i] = 0.05
	}
	h.run.Experiment.Priors[3] = 0.45
	data, err := json.Marshal(h.run)
	if err != nil {
		t.Fatal(err)
	}
	var read lab.Run
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	h.run.Experiment = read.Experiment
	p := begin(t, h)
	if got := p.Search.Probabilities(); math.Abs(got[3]/got[0]-9) > 1e-6 {
		t.Errorf("%v at first", got)
	}
	for h.next(t, p) {
	}
	d := p.Document()
	if len(d.Expected) != 1 || d.Expected[0].Factor != "cmdline:a3" || d.Expected[0].Probability != 0.45 {
		t.Errorf("expected %+v", d.Expected)
	}
	if d.Outcome != bisection.Found || d.Culprits[0].Factor != "cmdline:a3" {
		t.Errorf("%s", jsonOf(t, d))
	}

	h.run.Experiment.Priors = h.run.Experiment.Priors[1:]
	if _, err := bisection.Begin(h.run); err == nil || !strings.Contains(err.Error(), "lacks prior probabilities") {
		t.Errorf("%v", err)
	}
}

// Priors that are wrong lead to the same answer.
func TestWrongPriorsDoNotMislead(t *testing.T) {
	for seed := range uint64(5) {
		h := newSimulatedSearch(seed+20, 24, map[string]float64{"cmdline:a7": 0.3})
		h.run.Experiment.Priors = make([]float64, 24)
		for i := range h.run.Experiment.Priors {
			h.run.Experiment.Priors[i] = 0.2 / 24
		}
		h.run.Experiment.Priors[2] += 0.8
		p := begin(t, h)
		for h.next(t, p) {
		}
		if d := p.Document(); d.Outcome != bisection.Found || len(d.Culprits) != 1 ||
			d.Culprits[0].Factor != "cmdline:a7" {
			t.Errorf("%s", jsonOf(t, d))
		}
	}
}
