package varied

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// hardened is an ablation of boot arguments, measured by a machine that multiplies what they do.
func hardened(cells []ablation.Cell,
	does func(arm string, has []int, cell string, r *rand.Rand) float64) ablation.Document {
	design := ablation.Design{Arms: []string{ablation.Baseline, ablation.VisitArm(ablation.Baseline, 2),
		ablation.Tuned},
		Cells: cells}
	for i, s := range []ablation.Setting{{Factor: "cmdline:slub_debug", Level: "FZPU"},
		{Factor: "cmdline:init_on_alloc", Level: "1"}, {Factor: "cmdline:init_on_free", Level: "1"},
		{Factor: "cmdline:page_poison", Level: "1"}, {Factor: "cmdline:mitigations", Level: "off"},
		{Factor: "cmdline:nvme.use_threaded_interrupts", Level: "1"},
		{Factor: "cmdline:audit", Level: "0"}, {Factor: "cmdline:quiet"}} {
		design.Settings = append(design.Settings, s)
		design.Arms = append(design.Arms, ablation.AloneArm(i+1), ablation.RemovedArm(i+1))
	}
	r := rand.New(rand.NewPCG(11, 11))
	var measured []ablation.Measured
	for block := 1; block <= 4; block++ {
		for _, arm := range design.Arms {
			var has []int
			for n := 1; n <= len(design.Settings); n++ {
				if arm == ablation.AloneArm(n) || arm == ablation.Tuned ||
					arm[0] == '-' && arm != ablation.RemovedArm(n) {
					has = append(has, n)
				}
			}
			for _, c := range cells {
				for _, m := range c.Metrics {
					measured = append(measured, ablation.Measured{Arm: arm, Cell: c.ID, Metric: m, Block: block,
						Value: does(arm, has, c.ID, r)})
				}
			}
		}
	}
	costs := map[string]rule.Cost{
		"cmdline:slub_debug=FZPU": {Without: "Finding memory errors."},
		"cmdline:init_on_free=1":  {Without: "Security: freed data stays in memory."},
		"cmdline:mitigations=off": {With: "All mitigations of CPU flaws are switched off"},
	}
	cost := func(setting string) rule.Cost { return costs[setting] }
	d := ablation.Compute(design, measured, ablation.Terms{Margin: 0.03, Alpha: 0.05, Blocks: 8, MinBlocks: 3}, cost)
	d.Run = "7KQ4M2X9TD"
	d.Warnings = append(d.Warnings, ablation.ArmWarning{Cell: "randread", Warning: lab.Warning{Code: "emulated",
		Text: "the guest was emulated, not virtualised", Taints: []string{"*"}}, Repetitions: 76, N: 76})
	return d
}

func randread() ablation.Cell {
	return ablation.Cell{ID: "randread", Job: "randread", Title: "randread 4k q32", Engine: "fio",
		Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "32"}, Metrics: []string{"read.iops"}}
}

func build() ablation.Cell {
	return ablation.Cell{ID: "build", Job: "build", Title: "build", Engine: "exec", Metrics: []string{"elapsed"}}
}

// costly is a machine on which the first setting costs 41% of random reads and makes a build take 3.5% longer.
func costly(_ string, has []int, cell string, r *rand.Rand) float64 {
	first := slices.Contains(has, 1)
	switch {
	case cell == "build" && first:
		return 62.1 * math.Exp(0.002*r.NormFloat64())
	case cell == "build":
		return 60 * math.Exp(0.002*r.NormFloat64())
	case first:
		return 4000 * math.Exp(0.05*r.NormFloat64())
	}
	return 6800 * math.Exp(0.05*r.NormFloat64())
}

func oneCell() []ablation.Cell { return []ablation.Cell{randread()} }

func twoCells() []ablation.Cell { return []ablation.Cell{randread(), build()} }

func manyCells(n int) []ablation.Cell {
	var cells []ablation.Cell
	for i := range n {
		c := randread()
		c.ID, c.Params = fmt.Sprint(c.ID, i), map[string]string{"rw": "randread", "bs": fmt.Sprint(i+1, "k")}
		cells = append(cells, c)
	}
	return cells
}

func ablationTable(t *testing.T, d ablation.Document, width int) string {
	t.Helper()
	return rendertest.Written(t, Ablation(d, report.Options{Options: render.Options{Width: width}}), "table",
		render.Options{Width: width})
}

func TestAblationIsTold(t *testing.T) {
	d := hardened(oneCell(), costly)
	text := strings.Join(strings.Fields(ablationTable(t, d, 120)), " ")
	for _, want := range []string{
		"slub_debug=FZPU costs 39% [29, 47] of randread; no other of the 8 settings made a difference that " +
			"could be seen (smallest visible: ",
		"randread 4k q32, read IOPS !1", "Without it: Security: freed data stays in memory",
		"All mitigations of CPU flaws are switched off",
		"All settings together: -4", "That is what slub_debug=FZPU alone does, as far as can be seen",
		"no difference, as it must be", "!1 emulated: ",
		"all 16 claims hold together with 95%", "76 visits in 4 blocks", "headroom report 7KQ4M2X9TD",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, ablationTable(t, d, 120))
		}
	}
}

func TestAblationFitsTheTerminal(t *testing.T) {
	for _, cells := range [][]ablation.Cell{oneCell(), twoCells()} {
		d := hardened(cells, costly)
		for _, width := range []int{40, 60, 80, 100, 160, 250} {
			text := ablationTable(t, d, width)
			for line := range strings.Lines(text) {
				if prose.Columns(strings.TrimRight(line, "\n")) > width {
					t.Errorf("wider than %d: %q", width, line)
				}
			}
			if width == 80 || width == 160 {
				t.Logf("%d columns:\n%s", width, text)
			}
		}
	}
}

func TestAblationOfSyntheticAndReal(t *testing.T) {
	text := strings.Join(strings.Fields(ablationTable(t, hardened(twoCells(), costly), 160)), " ")
	for _, want := range []string{"of randread and makes build take 3.", "longer; no other",
		"setting randread build", "Of times and latencies less is better"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
}

func TestAblationWithoutAnAnswer(t *testing.T) {
	nothing := hardened(oneCell(), func(_ string, _ []int, _ string, r *rand.Rand) float64 {
		return math.Exp(0.05 * r.NormFloat64())
	})
	if got := newAblationText(nothing).headline(); !strings.HasPrefix(got,
		"none of the 8 settings made a difference that could be seen (smallest visible: ") {
		t.Error(got)
	}
	quiet := hardened(oneCell(), func(_ string, _ []int, _ string, r *rand.Rand) float64 {
		return math.Exp(0.001 * r.NormFloat64())
	})
	if got := newAblationText(quiet).headline(); got != "none of the 8 settings makes a difference beyond 3.0%" {
		t.Error(got)
	}
	broken := hardened(oneCell(), func(arm string, _ []int, _ string, r *rand.Rand) float64 {
		if arm == "baseline-2" {
			return 2 * math.Exp(0.001*r.NormFloat64())
		}
		return math.Exp(0.001 * r.NormFloat64())
	})
	if text := ablationTable(t, broken, 80); !strings.Contains(text, "! Control: ") ||
		!strings.Contains(strings.Join(strings.Fields(text), " "), "don't trust the rest") {
		t.Error(text)
	}
	var empty ablation.Document
	if text := ablationTable(t, empty, 80); !strings.Contains(text, "nothing was measured yet") {
		t.Error(text)
	}
}

// What nothing shows to be in effect is left out of what is said of the others, and named in every form.
func TestAblationOfSettingsThatAreNotVerified(t *testing.T) {
	quiet := hardened(oneCell(), func(_ string, _ []int, _ string, r *rand.Rand) float64 {
		return math.Exp(0.001 * r.NormFloat64())
	})
	s := &quiet.Settings[3]
	s.NotVerified, s.Verdict, s.Cells[0].Verdict, s.Alone.Verdict, s.Removed.Verdict = "nothing shows it",
		ablation.NotVerified, ablation.NotVerified, ablation.NotVerified, ablation.NotVerified
	if got := newAblationText(quiet).headline(); got != "none of the 7 settings in effect makes a difference beyond "+
		"3.0%; not verified: whether page_poison=1 was in effect" {
		t.Error(got)
	}
	undecided := hardened(oneCell(), costly)
	undecided.Settings[3].NotVerified, undecided.Settings[4].NotVerified = "nothing shows it", "nor this"
	got := newAblationText(undecided).headline()
	if !strings.Contains(got, "; no other of the 6 settings in effect made a difference") ||
		!strings.HasSuffix(got, "; not verified: whether page_poison=1 and mitigations=off were in effect") {
		t.Error(got)
	}
	for _, f := range render.Formats() {
		for d, want := range map[*ablation.Document]string{&quiet: "not verified",
			&undecided: "undecided, not verified"} {
			var out bytes.Buffer
			if err := f.Write(&out, Ablation(*d, report.Options{}), render.Options{Width: 160}); err != nil {
				t.Fatal(err)
			}
			if f.Name == "csv" {
				want = map[bool]string{true: "not-verified", false: "undecided"}[d == &quiet]
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s lacks %q:\n%s", f.Name, want, out.String())
			}
		}
	}
	for i := range quiet.Settings {
		quiet.Settings[i].NotVerified = "nothing shows it"
	}
	if got := newAblationText(quiet).headline(); !strings.HasPrefix(got, "not verified: whether slub_debug=FZPU, ") {
		t.Error(got)
	}
}

// Two settings that do the same: the second one gains nothing where the first one is.
func TestAblationSaysWhatDoesNotAddUp(t *testing.T) {
	d := hardened(oneCell(), func(_ string, has []int, _ string, r *rand.Rand) float64 {
		log := 0.005 * r.NormFloat64()
		if slices.Contains(has, 1) || slices.Contains(has, 5) {
			log += 0.8
		}
		return math.Exp(log)
	})
	text := strings.Join(strings.Fields(ablationTable(t, d, 160)), " ")
	for _, want := range []string{"slub_debug=FZPU gains 123%", "on randread; mitigations=off gains",
		"slub_debug=FZPU does not do the same everywhere", "the effects do not add up",
		"The likeliest: slub_debug=FZPU with mitigations=off."} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
}

func TestAblationInAllFormats(t *testing.T) {
	d := hardened(twoCells(), costly)
	for _, f := range render.Formats() {
		var b bytes.Buffer
		if err := f.Write(&b, Ablation(d, report.Options{}), render.Options{}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.ReplaceAll(b.String(), `\_`, "_"), "slub_debug=FZPU") ||
			!strings.Contains(b.String(), "Without it: ") {
			t.Errorf("%s says nothing of the settings:\n%s", f.Name, b.String())
		}
		switch f.Name {
		case "csv":
			rows, err := csv.NewReader(&b).ReadAll()
			if want := 1 + 2*(2*8+3+1); err != nil || len(rows) != want {
				t.Errorf("%d lines, want %d, %v", len(rows), want, err)
			}
		case "html":
			for _, want := range []string{"<svg", "var(--accent)", "Side by side"} {
				if !strings.Contains(b.String(), want) {
					t.Errorf("the page lacks %s", want)
				}
			}
			if n := strings.Count(b.String(), "<svg"); n != 2 {
				t.Errorf("%d pictures", n)
			}
		}
	}
	var back ablation.Document
	data, err := json.Marshal(d)
	if err != nil || json.Unmarshal(data, &back) != nil ||
		fmt.Sprint(back.Settings[0].Alone.Ratio) != fmt.Sprint(d.Settings[0].Alone.Ratio) {
		t.Errorf("the document does not survive JSON: %v", err)
	}
	for _, want := range []string{`"schema":"headroom/ablate/v1"`, `"factor":"cmdline:slub_debug"`, `"alone":{"ratio":`,
		`"unexplained":[`, `"interactions":[]`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the JSON lacks %s", want)
		}
	}
}

// oddAblation has what pictures are rarely made for: one repetition, a gain of 5,000%, an interval that goes on for
// ever, nothing at all, and names that are too long.
func oddAblation() ablation.Document {
	d := hardened(twoCells(), costly)
	long := strings.Repeat("a-name-without-end-", 10)
	far, near, nothing := 1e9, 0.9, 0.0
	s := &d.Settings[1]
	s.Factor += long
	s.Cells[0].Alone = &ablation.Effect{Blocks: 3, Verdict: ablation.Faster,
		RatioEstimate: stat.RatioEstimate{Ratio: 51, Bounds: stat.BoundsOf(near, far)}}
	s.Cells[0].Removed = &ablation.Effect{RatioEstimate: stat.RatioEstimate{Ratio: 7.89}, Blocks: 1,
		Verdict: ablation.Undecided}
	s.Cells[0].Verdict, s.Verdict = ablation.Faster, ablation.Faster
	d.Settings[2].Cells[0].Alone = &ablation.Effect{Blocks: 2,
		RatioEstimate: stat.RatioEstimate{Bounds: stat.BoundsOf(nothing, near)},
		Verdict:       ablation.Undecided}
	d.Settings[3].Cells[1].Alone, d.Settings[3].Cells[1].Removed = nil, nil
	d.Settings[4].Cells = d.Settings[4].Cells[:1]
	d.Cells[1].Job = long
	return d
}
