package ablation

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func usual() Terms { return Terms{Margin: 0.03, Alpha: 0.05, Blocks: 8, MinBlocks: 3} }

func TestArms(t *testing.T) {
	for id, want := range map[string]string{"baseline-2": Baseline, "baseline": Baseline, "tuned-3": Tuned, "-2": "-2",
		"+2": "+2", "+1+3": "+1+3"} {
		if got := visited(id); got != want {
			t.Errorf("%s is a visit of %s, want %s", id, got, want)
		}
	}
	for arm, want := range map[string][]int{"+2": {2}, PairArm(3, 1): {1, 3}, "-2": nil, Tuned: nil,
		"+x": nil, "+0": nil} {
		if got := settingsOf(arm); !slices.Equal(got, want) {
			t.Errorf("%s has the settings %v, want %v", arm, got, want)
		}
	}
	if VisitArm(Baseline, 2) != "baseline-2" || VisitArm(Baseline, 1) != Baseline || RemovedArm(4) != "-4" {
		t.Error("arms are named otherwise than in the run")
	}
}

// One expensive setting of eight is named, alone and removed, with an interval that holds the truth; the others cost
// nothing, and after a few blocks nobody boots for them any more.
func TestTheExpensiveOneIsNamed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	d := designFor(8, randread())
	effects := make([]float64, 8)
	effects[4] = math.Log(0.6)
	measured := carryOut(r, d, usual(), plainMachine(r, effects, 0.08))
	doc := Compute(d, measured, usual(), nil)
	for _, s := range doc.Settings {
		want := Undecided
		if s.Number == 5 {
			want = Slower
			for _, e := range []*Effect{s.Alone, s.Removed} {
				if !e.Known() || *e.Lo > 0.6 || *e.Hi < 0.6 || e.Verdict != Slower {
					t.Errorf("setting 5: %+v", e)
				}
			}
		}
		if s.Verdict != want {
			t.Errorf("setting %d is %s: %+v", s.Number, s.Verdict, s.Cells)
		}
		if s.Number != 5 && (s.Alone.Detectable == nil || *s.Alone.Detectable < 0.1 || *s.Alone.Detectable > 1) {
			t.Errorf("setting %d: the smallest visible difference is %v", s.Number, s.Alone.Detectable)
		}
	}
	if doc.Claims != 16 || math.Abs(doc.Confidence-(1-0.05/16)) > 1e-12 || doc.Blocks > 5 {
		t.Errorf("%d claims, confidence %v, %d blocks", doc.Claims, doc.Confidence, doc.Blocks)
	}
	if len(doc.Controls) != 1 || doc.Controls[0].Different() || len(doc.Interactions) != 0 || len(doc.Suspects) != 0 {
		t.Errorf("controls %+v, interactions %+v", doc.Controls, doc.Interactions)
	}
	u := doc.Unexplained[0]
	if !slices.Equal(u.Settings, []int{5}) || u.Together.Ratio > 0.75 || !u.Seen.Known() || *u.Seen.Lo > 1 ||
		*u.Seen.Hi < 1 || u.All.Known() && *u.All.Hi / *u.All.Lo < *u.Seen.Hi / *u.Seen.Lo {
		t.Errorf("unexplained %+v", u)
	}
}

// A loss as large as the smallest that is said to be visible is found in four of five ablations, although arms are
// given up on the way.
func TestTheSmallestVisibleIsSeen(t *testing.T) {
	const n = 60
	for _, noise := range []float64{0.03, 0.1} {
		r := rand.New(rand.NewPCG(9, 9))
		d := designFor(8, randread())
		visible := 0.0
		for range n {
			doc := Compute(d, carryOut(r, d, usual(), plainMachine(r, make([]float64, 8), noise)), usual(), nil)
			visible += *doc.Settings[0].Alone.Detectable / n
		}
		found := 0
		for range n {
			effects := make([]float64, 8)
			effects[0] = -math.Log1p(visible)
			doc := Compute(d, carryOut(r, d, usual(), plainMachine(r, effects, noise)), usual(), nil)
			if doc.Settings[0].Verdict == Slower {
				found++
			}
		}
		t.Logf("at %g%% noise %.1f%% are visible, and found in %d of %d", 100*noise, 100*visible, found, n)
		if found < n*7/10 || visible > 4*noise {
			t.Errorf("at %g%% noise a loss of %.1f%% is called visible, and found in %d of %d", 100*noise,
				100*visible, found, n)
		}
	}
}

// What was decided when an arm was dropped stays so, whatever is measured of the others after it.
func TestADroppedArmKeepsItsVerdict(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	d := designFor(3, randread())
	plain := plainMachine(r, []float64{math.Log(0.6), 0, 0}, 0.05)
	var measured []Measured
	visit := func(block int, arms []string) {
		for _, arm := range arms {
			measured = append(measured, Measured{arm, "randread", "read.iops", block, plain(arm, block)["read.iops"]})
		}
	}
	for block := 1; block <= 4; block++ {
		visit(block, d.Arms)
	}
	before := Compute(d, measured, usual(), nil).Settings[0].Alone
	for block := 5; block <= 8; block++ {
		visit(block, slices.DeleteFunc(slices.Clone(d.Arms), func(a string) bool { return a == "+1" }))
	}
	after := Compute(d, measured, usual(), nil).Settings[0].Alone
	if before.Verdict != Slower || after.Ratio != before.Ratio || *after.Hi != *before.Hi {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func TestSettled(t *testing.T) {
	d := designFor(2, randread())
	r := rand.New(rand.NewPCG(4, 4))
	quiet := plainMachine(r, []float64{math.Log(0.7), math.Log(0.9)}, 0.005)
	var measured []Measured
	for block := 1; block <= 6; block++ {
		if block <= 4 && slices.Contains(Settled(d, measured, usual()), true) {
			t.Errorf("settled after %d blocks", block-1)
		}
		for _, arm := range d.Arms {
			if arm != "-2" || block > 4 { // the visits before failed
				measured = append(measured,
					Measured{arm, "randread", "read.iops", block, quiet(arm, block)["read.iops"]})
			}
		}
	}
	got := Settled(d, measured, usual())
	for i, arm := range d.Arms {
		if want := arm != "-2" && arm != Tuned; got[i] != want {
			t.Errorf("after 6 blocks %s settled: %v", arm, got[i])
		}
	}
	unknown := d
	unknown.Cells = []Cell{{ID: "randread"}}
	if slices.Contains(Settled(unknown, nil, usual()), true) {
		t.Error("settled before anything is known of the metrics")
	}
}

// Two settings that do the same thing gain once, not twice: the report says which two, and a pair that is measured
// proves it.
func TestEffectsThatDoNotAddUp(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	d := designFor(4, randread())
	twice := func(arm string, _ int) map[string]float64 {
		has := in(arm, 4)
		log := 0.01 * r.NormFloat64()
		if slices.Contains(has, 1) || slices.Contains(has, 2) {
			log += 0.4
		}
		if slices.Contains(has, 3) {
			log -= 0.2
		}
		return map[string]float64{"read.iops": 7000 * math.Exp(log)}
	}
	doc := Compute(d, carryOut(r, d, usual(), twice), usual(), nil)
	var odd []int
	for _, i := range doc.Interactions {
		odd = append(odd, i.Settings...)
	}
	if !slices.Equal(odd, []int{1, 2}) || !slices.Equal(doc.Suspects, [][2]int{{1, 2}}) {
		t.Fatalf("interactions %+v, suspects %v", doc.Interactions, doc.Suspects)
	}
	for _, s := range doc.Settings[:2] {
		if s.Alone.Verdict != Faster || s.Removed.Verdict != Undecided && s.Removed.Verdict != Same {
			t.Errorf("setting %d: alone %+v, removed %+v", s.Number, s.Alone, s.Removed)
		}
	}
	if u := doc.Unexplained[0]; *u.Seen.Hi > 0.9 || *u.All.Hi > 0.9 {
		t.Errorf("the whole is less than its parts: %+v", u)
	}
	d.Arms = append(d.Arms, PairArm(1, 2))
	doc = Compute(d, carryOut(r, d, usual(), twice), usual(), nil)
	last, once := doc.Interactions[len(doc.Interactions)-1], math.Exp(0.4) // the nearest: both gains added
	if !slices.Equal(last.Settings, []int{1, 2}) || last.Verdict != Slower ||
		math.Abs(last.Ratio/(once/(2*once-1))-1) > 0.05 || len(doc.Suspects) != 0 {
		t.Errorf("the pair is %+v, suspects %v", last, doc.Suspects)
	}
}

// A setting that harms a load may leave another alone: a build that takes longer is slower, and is reported next to the
// synthetic numbers.
func TestSyntheticAndReal(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	d := designFor(2, randread(), build())
	doc := Compute(d, carryOut(r, d, usual(), func(arm string, _ int) map[string]float64 {
		values := map[string]float64{"read.iops": 7000 * math.Exp(0.02*r.NormFloat64()),
			"elapsed": 60 * math.Exp(0.002*r.NormFloat64())}
		if has := in(arm, 2); slices.Contains(has, 1) {
			values["read.iops"] *= 0.32
			values["elapsed"] *= 1.035
		}
		return values
	}), usual(), nil)
	s := doc.Settings[0]
	if s.Verdict != Slower || len(s.Cells) != 2 || s.Cells[1].Verdict != Slower || s.Cells[1].Alone.Ratio < 1.03 ||
		s.Cells[1].Better != lab.Lower || s.Alone.Ratio > 0.35 {
		t.Errorf("%+v", s)
	}
	if other := doc.Settings[1]; other.Cells[1].Verdict != Same || other.Verdict == Slower || other.Verdict == Faster {
		t.Errorf("%+v", other)
	}
	if doc.Claims != 8 {
		t.Errorf("%d claims", doc.Claims)
	}
}

// A machine on which the second boot of a block is another one than the first can't be believed, and says so.
func TestABaselineThatDiffersFromItself(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	d := designFor(2, randread())
	doc := Compute(d, carryOut(r, d, usual(), func(arm string, _ int) map[string]float64 {
		log := 0.01 * r.NormFloat64()
		if arm == "baseline-2" {
			log += 0.3
		}
		return map[string]float64{"read.iops": math.Exp(log)}
	}), usual(), nil)
	if len(doc.Controls) != 1 || !doc.Controls[0].Different() {
		t.Errorf("controls %+v", doc.Controls)
	}
}

// Several repetitions in a visit are one value: their median.
func TestAVisitIsOneValue(t *testing.T) {
	d := designFor(1, randread())
	var measured []Measured
	for block := 1; block <= 4; block++ {
		for i, arm := range d.Arms {
			for _, v := range []float64{5 * float64(1+i), 101, 100} {
				measured = append(measured, Measured{arm, "randread", "read.iops", block, v})
			}
		}
	}
	doc := Compute(d, measured, usual(), nil)
	if a := doc.Settings[0].Alone; a.Ratio != 1 || a.Verdict != Same || a.Blocks != 4 || doc.Visits != 20 {
		t.Errorf("%+v in %d visits", a, doc.Visits)
	}
}

func savedRun() (lab.Run, []lab.Repetition) {
	run := lab.Run{ID: "7KQ4M2X9TD", Experiment: &lab.Experiment{Kind: "ablate", Baseline: Baseline, Margin: 0.03,
		Alpha: 0.05, Blocks: 8, MinBlocks: 3}}
	settings := []Setting{{"cmdline:init_on_free", "1"}, {"cmdline:mitigations", "off"}}
	var repetitions []lab.Repetition
	for _, arm := range designFor(2).Arms {
		levels := map[string]string{"cmdline:init_on_free": "found", "cmdline:mitigations": "found"}
		for _, n := range in(arm, 2) {
			levels[settings[n-1].Factor] = settings[n-1].Level
		}
		run.Arms = append(run.Arms, lab.Arm{ID: arm, Levels: levels})
		run.Cells = append(run.Cells,
			lab.Cell{ID: "rr@" + arm, Arm: arm, Job: "rr", Engine: "fio",
				Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "32"}},
			lab.Cell{ID: "tps@" + arm, Arm: arm, Job: "pgbench", Engine: "exec"})
		for block := 1; block <= 4; block++ {
			loss := 1 + 0.001*float64((block*7+len(arm))%5)
			if slices.Contains(in(arm, 2), 1) {
				loss *= 0.8
			}
			repetitions = append(repetitions,
				lab.Repetition{Cell: "rr@" + arm, Block: block, Values: map[string]float64{"read.iops": 1000 * loss,
					"read.latency.mean": 1},
					Warnings: []lab.Warning{{Code: "busy-cpu", Text: "others were busy", Taints: []string{"*"}},
						{Code: "busy-cpu", Text: "others were busy on another CPU"}}},
				lab.Repetition{Cell: "tps@" + arm, Block: block, Values: map[string]float64{"transactions": 50 * loss,
					"elapsed": 10, "cpu.user": 1}},
				lab.Repetition{Cell: "tps@" + arm, Block: block,
					Values:   map[string]float64{"transactions": float64(1 + 1000*len(in(arm, 2)))},
					Warnings: []lab.Warning{{Code: "errors"}}})
		}
	}
	return run, repetitions
}

// What a suite marks decides; without a mark it is all that was printed.
func TestTheMarkedMetricDecides(t *testing.T) {
	for _, marked := range []bool{true, false} {
		run, repetitions := savedRun()
		for i := range run.Cells {
			if run.Cells[i].Engine == "exec" {
				run.Cells[i].Metrics = map[string]lab.MetricInfo{"transactions": {Better: lab.Higher, Decides: marked},
					"dead_tuples": {Better: lab.Lower}}
			}
		}
		for i := range repetitions {
			if strings.HasPrefix(repetitions[i].Cell, "tps@") {
				repetitions[i].Values["dead_tuples"] = 3
			}
		}
		doc, err := FromRun(run, lab.Repetitions(repetitions))
		want := map[bool][]string{true: {"transactions"}, false: {"dead_tuples", "transactions"}}[marked]
		if err != nil || !slices.Equal(doc.Cells[1].Metrics, want) {
			t.Errorf("marked %v: %v, %v", marked, doc.Cells[1].Metrics, err)
		}
	}
}

// Whether less is better of a metric of a command says its suite.
func TestTheSuiteSaysWhatIsBetter(t *testing.T) {
	for better, want := range map[lab.Better]Verdict{lab.Higher: Slower, lab.Lower: Faster} {
		run, repetitions := savedRun()
		run.Cells = slices.DeleteFunc(run.Cells, func(c lab.Cell) bool { return c.Engine != "exec" })
		repetitions = slices.DeleteFunc(repetitions, func(r lab.Repetition) bool {
			return !strings.HasPrefix(r.Cell, "tps@")
		})
		for i := range run.Cells {
			run.Cells[i].Metrics = map[string]lab.MetricInfo{
				"transactions": {Unit: "pages", Better: better, Decides: true}}
		}
		doc, err := FromRun(run, lab.Repetitions(repetitions))
		if err != nil {
			t.Fatal(err)
		}
		p := doc.Settings[0].Cells[0]
		if p.Alone.Ratio > 0.85 || p.Better != better || p.Unit != "pages" || p.Verdict != want {
			t.Errorf("%s is better: %+v", better, p)
		}
	}
}

// How many repetitions a visit is worth is about the numbers that decide, and is not said of visits that have one.
func TestVisitsThatRepeat(t *testing.T) {
	run, repetitions := savedRun()
	if doc, err := FromRun(run, lab.Repetitions(repetitions)); err != nil || doc.PerVisit != nil {
		t.Errorf("%v: %+v", err, doc.PerVisit)
	}
	for i, r := range slices.Clone(repetitions) {
		r.Values = maps.Clone(r.Values)
		for metric := range r.Values {
			r.Values[metric] *= 1 + 0.0001*float64(i%7)
		}
		repetitions = append(repetitions, r)
	}
	doc, err := FromRun(run, lab.Repetitions(repetitions))
	if err != nil || doc.PerVisit == nil {
		t.Fatalf("%v: %+v", err, doc.PerVisit)
	}
	var metrics []string
	for _, n := range doc.PerVisit.Metrics {
		metrics = append(metrics, n.Cell+" "+n.Metric)
	}
	slices.Sort(metrics)
	if p := doc.PerVisit; p.Visits != 4*len(run.Arms) || p.Repetitions != 2 || p.Repeat != 0 ||
		!slices.Equal(metrics, []string{"rr read.iops", "tps transactions"}) {
		t.Errorf("%+v", p)
	}
}

func TestFromRun(t *testing.T) {
	run, repetitions := savedRun()
	doc, err := FromRun(run, lab.Repetitions(repetitions))
	if err != nil {
		t.Fatal(err)
	}
	if doc.Run != run.ID || doc.Blocks != 4 || doc.Visits != 28 || len(doc.Cells) != 2 ||
		doc.Cells[0].Title != "randread 4k q32" || doc.Cells[1].Title != "pgbench" {
		t.Errorf("%+v", doc)
	}
	if m := doc.Cells[1].Metrics; !slices.Equal(m, []string{"transactions"}) {
		t.Errorf("pgbench decides by %v", m)
	}
	free, off := doc.Settings[0], doc.Settings[1]
	if free.Factor != "cmdline:init_on_free" || free.Level != "1" || free.Verdict != Slower ||
		free.Cells[1].Verdict != Slower || off.Verdict != Same {
		t.Errorf("settings %+v", doc.Settings)
	}
	if !strings.HasPrefix(free.Cost, "Without it: Security: freed data") || !strings.Contains(off.Cost, "mitigations") {
		t.Errorf("costs %q and %q", free.Cost, off.Cost)
	}
	var busy ArmWarning
	for _, w := range doc.Warnings {
		if w.Code == "busy-cpu" {
			busy = w
		}
	}
	if busy.Repetitions != 28 || busy.N != 28 || busy.Cell != "rr" || len(busy.Arms) != 7 {
		t.Errorf("warnings %+v", doc.Warnings)
	}
}

func TestRunsThatAreNoAblation(t *testing.T) {
	run, repetitions := savedRun()
	for name, spoil := range map[string]func(r *lab.Run){
		"no experiment":    func(r *lab.Run) { r.Experiment = nil },
		"a sweep":          func(r *lab.Run) { r.Experiment = &lab.Experiment{Kind: "sweep"} },
		"two at once":      func(r *lab.Run) { r.Arms[3].Levels["cmdline:mitigations"] = "off" },
		"no baseline":      func(r *lab.Run) { r.Arms = r.Arms[2:] },
		"an unknown cell":  func(r *lab.Run) { r.Cells = r.Cells[1:] },
		"no setting alone": func(r *lab.Run) { r.Arms = r.Arms[:3] },
	} {
		spoilt, _ := savedRun()
		spoil(&spoilt)
		if _, err := FromRun(spoilt, lab.Repetitions(repetitions)); err == nil {
			t.Errorf("%s passes for an ablation", name)
		}
	}
	if _, err := FromRun(run, lab.Repetitions([]lab.Repetition(nil))); err != nil {
		t.Errorf("a run that measured nothing yet: %v", err)
	}
}

func TestSettingsAreWrittenAsRemedies(t *testing.T) {
	for want, s := range map[string]Setting{"cmdline:a=1": {"cmdline:a", "1"}, "cmdline:quiet": {"cmdline:quiet", ""},
		"cmdline:-quiet": {"cmdline:quiet", "absent"}} {
		if s.String() != want {
			t.Errorf("%+v is written %s, want %s", s, s, want)
		}
	}
}

// A setting that nothing shows to be in effect is never called the same; one that makes a difference is in effect.
func TestWhatIsNotVerifiedIsNotHarmless(t *testing.T) {
	for _, absentLevel := range []bool{false, true} {
		r := rand.New(rand.NewPCG(5, 5))
		d := designFor(4, randread())
		for i := range d.Settings {
			reported := lab.Unverified{Factor: d.Settings[i].Factor, Level: d.Settings[i].Level,
				Reason: "nothing shows it"}
			if absentLevel { // what is taken away is what was found
				d.Settings[i].Level, reported.Level = absent, found
			}
			if i < 3 {
				d.NotVerified = append(d.NotVerified, reported)
			}
		}
		measured := carryOut(r, d, usual(), plainMachine(r, []float64{math.Log(0.6), 0, 0, 0}, 0.004))
		without := d
		without.NotVerified = nil
		before, doc := Compute(without, measured, usual(), nil), Compute(d, measured, usual(), nil)
		want := []struct {
			before, after Verdict
			why           string
		}{{Slower, Slower, ""}, {Same, NotVerified, "nothing shows it"}, {Same, NotVerified, "nothing shows it"},
			{Same, Same, ""}}
		for i, s := range doc.Settings {
			if before.Settings[i].Verdict != want[i].before || s.Verdict != want[i].after ||
				s.NotVerified != want[i].why {
				t.Errorf("setting %d: %s, then %s (%q)", s.Number, before.Settings[i].Verdict, s.Verdict, s.NotVerified)
			}
			if c := s.Cells[0]; c.Verdict != want[i].after || c.Alone.Verdict != want[i].after ||
				c.Removed.Verdict != want[i].after || s.Alone.Verdict != want[i].after {
				t.Errorf("setting %d: %s, alone %s, in the set %s", s.Number, c.Verdict, c.Alone.Verdict,
					c.Removed.Verdict)
			}
		}
		// What is undecided stays so, and the mark with it.
		few := slices.DeleteFunc(slices.Clone(measured), func(m Measured) bool { return m.Block > 1 })
		if s := Compute(d, few, usual(), nil).Settings[1]; s.Verdict != Undecided || s.NotVerified == "" {
			t.Errorf("after a block: %s (%q)", s.Verdict, s.NotVerified)
		}
	}
}
