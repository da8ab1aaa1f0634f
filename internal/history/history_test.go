package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
)

// fleet makes runs of a number of cells, one a week, whose levels follow a factor.
func fleet(r *rand.Rand, runs, cells int, noise func(*rand.Rand) float64, sigma float64,
	factor func(run, cell int) float64) []Run {
	var out []Run
	for i := range runs {
		run := Run{ID: fmt.Sprintf("R%03d", i), Created: time.Date(2026, 1, 1+7*i, 0, 0, 0, 0, time.UTC),
			Complete: true, Host: "h1", Target: "local",
			Place: lab.Place{Kind: lab.Directory, Path: "/srv"}}
		for c := range cells {
			v := 1000 * math.Exp(sigma*noise(r)) * factor(i, c)
			run.Cells = append(run.Cells, Cell{Job: fmt.Sprintf("job%d", c), Params: map[string]string{"bs": "4k"},
				Values: map[string][]float64{"read.iops": {v}}})
		}
		out = append(out, run)
	}
	return out
}

func steady(int, int) float64 { return 1 }

func analyze(t *testing.T, runs []Run, facts FactsOf, o Options) Document {
	t.Helper()
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	if facts == nil {
		facts = func(string) ([]lab.Fact, error) { return nil, nil }
	}
	d, err := Analyze("suite", runs, facts, knowledge, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func heavy(r *rand.Rand) float64 {
	squares := 0.0
	for range 3 {
		g := r.NormFloat64()
		squares += g * g
	}
	return r.NormFloat64() / math.Sqrt(squares)
}

// Other places, hosts and parameters are other histories.
func TestLikeWithLike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	runs := fleet(r, 12, 1, (*rand.Rand).NormFloat64, 0.01, steady)
	for i := range runs {
		switch {
		case i%3 == 1:
			runs[i].Host = "h2"
		case i%3 == 2:
			runs[i].Place.Path = "/other"
		case i >= 6:
			runs[i].Cells[0].Params = map[string]string{"bs": "8k"}
		}
	}
	slices.Reverse(runs) // their order is theirs to find
	d := analyze(t, runs, nil, Options{})
	if len(d.Series) != 3 {
		t.Fatalf("%d series", len(d.Series))
	}
	i := slices.IndexFunc(d.Series, func(s Series) bool { return s.Host == "h1" && s.Place.Path == "/srv" })
	s := d.Series[i]
	if len(s.Runs) != 4 || s.Runs[0].ID != "R000" || s.Runs[3].ID != "R009" {
		t.Errorf("runs %v", s.Runs)
	}
	if len(s.Cells) != 2 || s.Cells[0].Ended || !s.Cells[1].Ended || s.Cells[0].Name != "job0 8k" ||
		s.Cells[1].Name != "job0 4k" {
		t.Errorf("cells %+v", s.Cells)
	}
	if s.Cells[1].Newest.Verdict != None || s.Cells[0].Newest.Verdict != Undecided {
		t.Errorf("ended %+v, begun %+v", s.Cells[1].Newest, s.Cells[0].Newest)
	}
}

// Cells that change within two runs of each other have one reason, at the run at which most of them changed.
func TestEvents(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	runs := fleet(r, 40, 5, (*rand.Rand).NormFloat64, 0.004, func(run, cell int) float64 {
		switch {
		case cell < 3 && run >= 20, cell == 3 && run >= 21:
			return 0.9
		case cell == 4 && run >= 30:
			return 1.1
		}
		return 1
	})
	asked := []string{}
	facts := func(run string) ([]lab.Fact, error) {
		asked = append(asked, run)
		release := "6.1.0"
		if run >= "R020" {
			release = "6.12.9"
		}
		return []lab.Fact{{Key: "kernel.release", Value: release}, {Key: "kernel.arch", Value: "x86_64"}}, nil
	}
	events := analyze(t, runs, facts, Options{}).Series[0].Events
	if len(events) != 2 {
		t.Fatalf("%+v", events)
	}
	first, second := events[0], events[1]
	if first.Run != "R020" || first.Before != "R019" || !slices.Equal(first.Cells, []int{0, 1, 2, 3}) || first.Near {
		t.Errorf("%+v", first)
	}
	if u := first.Updates(); len(u) != 1 || u[0].A != "6.1.0" || u[0].B != "6.12.9" {
		t.Errorf("updates %+v", u)
	}
	if second.Run != "R030" || len(second.Differences) != 0 || second.Unknown != "" {
		t.Errorf("%+v", second)
	}
	if len(asked) > 8 {
		t.Errorf("facts of %v were read: they are large, and needed around changes only", asked)
	}
}

// A difference one run away from where the change was found is shown too, as what it is.
func TestEventNear(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	runs := fleet(r, 24, 1, (*rand.Rand).NormFloat64, 0.002, func(run, _ int) float64 {
		if run >= 12 {
			return 0.9
		}
		return 1
	})
	facts := func(run string) ([]lab.Fact, error) {
		return []lab.Fact{{Key: "disk.queue.scheduler", About: "sda",
			Value: map[bool]string{false: "none", true: "bfq"}[run >= "R013"]}}, nil
	}
	e := analyze(t, runs, facts, Options{}).Series[0].Events
	if len(e) != 1 || !e[0].Near || len(e[0].Differences) != 1 || e[0].Run != "R012" {
		t.Fatalf("%+v", e)
	}
}

// The newest run of eight cells is called worse in at most 5% of all histories without a change, with heavy tails too;
// and a loss that is larger than the scatter is seen at once.
func TestNewestRun(t *testing.T) {
	for _, noise := range []struct {
		name string
		draw func(*rand.Rand) float64
	}{{"Gaussian", (*rand.Rand).NormFloat64}, {"t3", heavy}} {
		for _, loss := range []float64{0, 0.05, 0.10} {
			r := rand.New(rand.NewPCG(4, 1))
			const trials, weeks, cells = 100, 20, 8
			worse, undecided := 0, 0
			for range trials {
				var all []Track
				followed, _ := tracks(fleet(r, weeks, cells, noise.draw, 0.01, func(run, cell int) float64 {
					if run == weeks-1 && cell == 0 {
						return 1 - loss
					}
					return 1
				}), Options{})
				for _, c := range followed {
					c.judge(c.centers(), []RunInfo{{Complete: true}}, 6, DefaultAlpha/cells, 0.05)
					all = append(all, c)
				}
				verdict := None
				for _, c := range all {
					verdict = worseVerdict(verdict, c.Newest.Verdict)
				}
				switch verdict {
				case Regression:
					worse++
				case Undecided:
					undecided++
				}
			}
			what := fmt.Sprintf("%s noise 1%%, one cell %g%% slower", noise.name, 100*loss)
			better := figure.Higher
			if loss == 0 {
				better = figure.Lower
			}
			figure.Record(t, figure.Share(figure.Name("history/newest/regression", what), worse, trials, better).
				Saying("the newest of %d runs of %d cells, %s, margin 5%%: called a regression", weeks, cells, what))
			figure.Record(t, figure.Share(figure.Name("history/newest/undecided", what), undecided, trials,
				figure.Lower).Saying("the same: undecided"))
			if loss == 0 && worse > trials*10/100 || loss == 0.10 && worse < trials*80/100 {
				t.Errorf("%s, %g%% slower: called a regression in %d of %d", noise.name, 100*loss, worse, trials)
			}
		}
	}
}

// A loss is a loss for latencies too, where higher is worse.
func TestLatency(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for _, c := range []struct {
		factor  float64
		verdict string
		gate    Verdict
	}{{1.2, worse, Regression}, {0.8, better, None}} {
		runs := fleet(r, 24, 1, (*rand.Rand).NormFloat64, 0.003, steady)
		for i := range runs {
			v := 0.001 * runs[i].Cells[0].Values["read.iops"][0] / 1000
			if i >= 10 {
				v *= c.factor
			}
			runs[i].Cells[0].Values["read.latency.p99"] = []float64{v}
		}
		d := analyze(t, runs, nil, Options{Metric: "read.latency.p99"})
		track := d.Series[0].Cells[0]
		if len(track.Changes) != 1 || track.Changes[0].Verdict != c.verdict || d.Verdict != c.gate ||
			d.Series[0].Events[0].Unknown == "" {
			t.Errorf("%g: %+v, %s", c.factor, track.Changes, d.Verdict)
		}
	}
}

// A run that was cut off does not clear what it lacks.
func TestCutOff(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 1))
	runs := fleet(r, 12, 2, (*rand.Rand).NormFloat64, 0.001, steady)
	runs[11].Cells, runs[11].Complete = runs[11].Cells[:1], false
	d := analyze(t, runs, nil, Options{})
	if d.Verdict != Undecided || !strings.Contains(d.Series[0].Cells[1].Newest.Why, "cut off") {
		t.Errorf("%s: %+v", d.Verdict, d.Series[0].Cells[1].Newest)
	}
}

// Two hundred runs of the largest suite there is are followed in seconds.
func BenchmarkAnalyze(b *testing.B) {
	knowledge, err := diff.Load()
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(7, 1))
	for _, changed := range []bool{false, true} {
		runs := fleet(r, 200, 144, (*rand.Rand).NormFloat64, 0.01, func(run, cell int) float64 {
			if changed && run >= 100 {
				return 0.95
			}
			return 1
		})
		b.Run(map[bool]string{false: "200 runs of 144 cells", true: "of which all changed"}[changed],
			func(b *testing.B) {
				for b.Loop() {
					if _, err := Analyze("suite", runs, func(string) ([]lab.Fact, error) {
						return nil, nil
					}, knowledge, Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
	}
}

// A level that falls a little from run to run has a slope and no change with a date, and its newest run is a
// regression; one that rises is none.
func TestRampIsASlope(t *testing.T) {
	for rise, want := range map[float64]struct {
		slope  string
		newest Verdict
	}{-0.1: {worse, Regression}, 0.1: {better, None}, 0: {"", None}} {
		r := rand.New(rand.NewPCG(45, 6))
		runs := fleet(r, 40, 1, (*rand.Rand).NormFloat64, 0.01, func(run, _ int) float64 {
			return 1 + rise*float64(run)/39
		})
		track := analyze(t, runs, nil, Options{Margin: 0.05}).Series[0].Cells[0]
		if want.slope == "" {
			if track.Slope != nil || track.Lag1 == nil {
				t.Errorf("no rise: %+v", track.Slope)
			}
			continue
		}
		if s := track.Slope; s == nil || s.Verdict != want.slope || *s.Lo > 1+rise || *s.Hi < 1+rise ||
			len(track.Changes) != 0 || track.Newest.Verdict != want.newest {
			t.Errorf("%g: slope %+v, changes %+v, newest %+v", rise, s, track.Changes, track.Newest)
		}
	}
}

// A level that repeats, or that switches between two, is said to do so, and is no change with a date. A loss beside it
// is found.
func TestPatternsAreNoChanges(t *testing.T) {
	week := func(run int) float64 {
		if run%7 > 4 {
			return 0.95
		}
		return 1
	}
	modes := func(run int) float64 {
		if run*run%11 > 4 {
			return 0.85
		}
		return 1
	}
	irregular := func(run int) float64 { return modes(run * run % 17) }
	for name, c := range map[string]struct {
		level         func(int) float64
		loss          float64
		period        int
		switches      bool
		changes       int
		newestVerdict Verdict
	}{
		"a week":                 {week, 0, 7, false, 0, None},
		"a week and a loss":      {week, 0.05, 7, false, 1, Regression},
		"two levels":             {modes, 0, 11, false, 0, None},
		"two levels at no beat":  {irregular, 0, 0, true, 0, Undecided},
		"two levels, and a loss": {irregular, 0.05, 0, true, 1, Regression},
	} {
		r := rand.New(rand.NewPCG(45, 7))
		runs := fleet(r, 60, 1, (*rand.Rand).NormFloat64, 0.01, func(run, _ int) float64 {
			if run >= 30 {
				return c.level(run) * (1 - c.loss)
			}
			return c.level(run)
		})
		track := analyze(t, runs, nil, Options{Margin: 0.05}).Series[0].Cells[0]
		if rhythm := track.Rhythm; c.period == 0 && rhythm != nil || c.period > 0 && (rhythm == nil ||
			rhythm.Period != c.period) {
			t.Errorf("%s: rhythm %+v", name, rhythm)
		}
		proved := slices.DeleteFunc(slices.Clone(track.Changes), func(c Change) bool { return c.Likely })
		for _, c := range track.Changes { // as printed beside each other
			if math.Abs(c.Ratio*c.From/c.To-1) > 1e-9 || *c.Lo > c.Ratio || *c.Hi < c.Ratio {
				t.Errorf("%s: from %g to %g is called %g [%g, %g]", name, c.From, c.To, c.Ratio, *c.Lo, *c.Hi)
			}
		}
		if (track.Modes != nil) != c.switches || len(proved) != c.changes ||
			track.Newest.Verdict != c.newestVerdict {
			t.Errorf("%s: modes %+v, changes %+v, newest %+v", name, track.Modes, track.Changes, track.Newest)
		}
	}
}

// The newest runs that are far worse are a change as soon as there are three.
func TestNewestRunsAreAChange(t *testing.T) {
	for newest, want := range map[int]int{1: 0, 2: 0, 3: 1, 4: 1, 5: 1} {
		r := rand.New(rand.NewPCG(45, 8))
		runs := fleet(r, 60, 1, (*rand.Rand).NormFloat64, 0.01, func(run, _ int) float64 {
			if run >= 60-newest {
				return 0.7
			}
			return 1
		})
		track := analyze(t, runs, nil, Options{}).Series[0].Cells[0]
		if len(track.Changes) != want || want == 1 && track.Changes[0].Index != 60-newest ||
			track.Newest.Verdict != Regression {
			t.Errorf("%d runs: changes %+v, newest %+v", newest, track.Changes, track.Newest)
		}
	}
}
