package varied

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/sweep"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// flushesOff is an ablation in which barrier=0 gains and init_on_free=1 costs.
func flushesOff(set *rule.Set) ablation.Document {
	design := ablation.Design{Settings: []ablation.Setting{{Factor: "mount:barrier", Level: "0"},
		{Factor: "cmdline:init_on_free", Level: "1"}, {Factor: "sysctl:vm.swappiness", Level: "1"}},
		Cells: []ablation.Cell{randread()},
		Arms:  []string{ablation.Baseline, ablation.VisitArm(ablation.Baseline, 2)}}
	for n := range design.Settings {
		design.Arms = append(design.Arms, ablation.AloneArm(n+1))
	}
	r := rand.New(rand.NewPCG(5, 5))
	factors := map[string]float64{ablation.AloneArm(1): 25, ablation.AloneArm(2): 0.7, ablation.AloneArm(3): 1}
	var measured []ablation.Measured
	for block := 1; block <= 8; block++ {
		for _, arm := range design.Arms {
			value := 1000 * math.Exp(0.01*r.NormFloat64())
			if f := factors[arm]; f > 0 {
				value *= f
			}
			measured = append(measured, ablation.Measured{Arm: arm, Cell: "randread", Metric: "read.iops", Block: block,
				Value: value})
		}
	}
	return ablation.Compute(design, measured, ablation.Terms{Margin: 0.03, Alpha: 0.05, Blocks: 8, MinBlocks: 3},
		set.CostOf)
}

// sweptCache is a sweep over cache modes of a guest in which the mode without flushes is the fastest.
func sweptCache(t *testing.T) sweep.Document {
	t.Helper()
	run := lab.Run{ID: "7KQ4M2X9TD", Experiment: &lab.Experiment{Kind: "sweep", Baseline: "none", Margin: 0.03,
		Alpha: 0.05, Share: 0.9,
		Factors: []lab.VariedFactor{{Factor: "guest:cache", Levels: []string{"none", "unsafe"}}}, Blocks: 8}}
	var all []lab.Repetition
	r := rand.New(rand.NewPCG(5, 5))
	for i, level := range []string{"none", "unsafe"} {
		run.Arms = append(run.Arms, lab.Arm{ID: level, Levels: map[string]string{"guest:cache": level}})
		c := lab.Cell{ID: lab.CellIn("write", level), Arm: level, Job: "write", Engine: "fio",
			Params: map[string]string{"rw": "randwrite", "bs": "4k", "fsync": "1"}}
		run.Cells = append(run.Cells, c)
		for block := 1; block <= 8; block++ {
			all = append(all, lab.Repetition{Cell: c.ID, Block: block, Number: block,
				Values: map[string]float64{"write.iops": float64(1000+9000*i) * math.Exp(0.01*r.NormFloat64())}})
		}
	}
	d, err := sweep.OfRun(run, func(yield func(lab.Repetition, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}, nil, sweep.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWhatIsGivenUpIsSaid checks that ablations, sweeps and searches report what a setting gives up: in the first
// sentences, in a table of 80 columns and in JSON.
func TestWhatIsGivenUpIsSaid(t *testing.T) {
	set, err := rule.BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	found := bisection.Document{Outcome: bisection.Found, Measurements: 7, Proofs: 2,
		Explained: &bisection.Share{Share: 0.97, Lo: 0.91, Hi: 1.03},
		Candidates: []bisection.Candidate{{Factor: "cmdline:init_on_free", Good: "absent", Bad: "1"},
			{Factor: "cmdline:quiet", Good: "absent", Bad: ""}},
		Culprits: []bisection.Culprit{{Factor: "cmdline:init_on_free", Good: "absent", Bad: "1", Confidence: 0.999}}}
	found.AddPrices(set)
	priced, swept := flushesOff(set), sweptCache(t)
	options := report.Options{Options: render.Options{Width: 80}}
	for _, c := range []struct {
		name      string
		page      document.Document
		published any
		want      []string
		json      []string
	}{
		{"ablation", Ablation(priced, options), priced,
			[]string{"on randread, but gives up durability", "of randread, and removing it gives up security",
				"verdict gives up", "faster durability",
				"barrier=0: Durability: what programs synced is lost"},
			[]string{`"gives_up":"durability"`, `"protects":"security"`}},
		{"sweep", Sweep(swept, options), swept,
			[]string{"guest:cache=unsafe (gives up durability) is best", "best gives up", "unsafe durability",
				"guest:cache=unsafe: Durability: the guest's flushes are ignored"},
			[]string{`"gives_up":"durability"`}},
		{"bisection", Search(found, options), found,
			[]string{"The fast state gives up security (no init_on_free): freed data stays in memory"},
			[]string{`"gives_up":"security"`}},
	} {
		text := rendertest.Written(t, c.page, "table", options.Options)
		plain := strings.Join(strings.Fields(text), " ")
		for _, want := range c.want {
			if !strings.Contains(plain, want) {
				t.Errorf("%s: nothing of %q in\n%s", c.name, want, text)
			}
		}
		published, err := json.Marshal(c.published)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.json {
			if !strings.Contains(string(published), want) {
				t.Errorf("%s: nothing of %s in %s", c.name, want, published)
			}
		}
	}
	if i := slices.IndexFunc(priced.Settings, func(s ablation.SettingEffect) bool {
		return s.GivesUp+s.Protects == ""
	}); i != 2 {
		t.Errorf("vm.swappiness gives up something: %+v", priced.Settings)
	}
}
