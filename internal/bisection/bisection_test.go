package bisection_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
)

// simulatedSearch is a run that is carried out on a simulated machine.
type simulatedSearch struct {
	run         lab.Run
	repetitions []lab.Repetition
	r           *rand.Rand
	slow        map[string]float64 // by factor, as a share that is lost
	series      map[string]float64 // by level of a series
	needs       map[string]string  // what does not start without what
}

// unstartable says that a factor is set that needs another.
func (h *simulatedSearch) unstartable(levels map[string]string) bool {
	for one, other := range h.needs {
		if levels[one] == "1" && levels[other] != "1" {
			return true
		}
	}
	return false
}

func newSimulatedSearch(seed uint64, factors int, slow map[string]float64) *simulatedSearch {
	h := &simulatedSearch{r: rand.New(rand.NewPCG(seed, 1)), slow: slow}
	e := &lab.Experiment{Kind: bisection.Kind, Margin: 0.05, Blocks: 150}
	for i := range factors {
		e.Factors = append(e.Factors, lab.VariedFactor{Factor: fmt.Sprintf("cmdline:a%d", i),
			Levels: []string{"absent", "1"}})
	}
	h.run = lab.Run{ID: "TEST", Seed: seed, Experiment: e}
	return h
}

// next asks, measures and answers; false when the search is over.
func (h *simulatedSearch) next(t *testing.T, p *bisection.Progress) bool {
	q, more := p.Search.Next()
	if !more {
		return false
	}
	levels := bisection.Levels(h.run.Experiment, q.Subset)
	i := slices.IndexFunc(h.run.Arms, func(a lab.Arm) bool { return maps.Equal(a.Levels, levels) })
	if i < 0 {
		i = len(h.run.Arms)
		id := fmt.Sprint("mix", i)
		h.run.Arms = append(h.run.Arms, lab.Arm{ID: id, Levels: levels})
		h.run.Cells = append(h.run.Cells, lab.Cell{ID: "read@" + id, Job: "read", Arm: id, Engine: "fio"})
	}
	terms := *h.run.Experiment
	terms.SearchSteps = append(slices.Clone(terms.SearchSteps),
		lab.SearchStep{Arm: h.run.Arms[i].ID, Purpose: q.Purpose.String()})
	h.run.Experiment = &terms
	if level := levels["commit:"]; strings.HasSuffix(level, "9") || strings.HasSuffix(level, "a") ||
		h.unstartable(levels) {
		terms.SearchSteps[len(terms.SearchSteps)-1].Failed = "no rule"
		if err := p.Skip(h.run); err != nil {
			t.Fatal(err)
		}
		return true
	}
	speed := 10000 * math.Exp(0.03*h.r.NormFloat64())
	for factor, loss := range h.slow {
		if levels[factor] == "1" {
			speed *= 1 - loss
		}
	}
	if h.run.Experiment.Steps {
		speed *= 1 - h.series[levels[h.run.Experiment.Factors[0].Factor]]
	}
	r := lab.Repetition{Cell: "read@" + h.run.Arms[i].ID, Block: len(terms.SearchSteps), Number: 1,
		Boot:   fmt.Sprint(len(terms.SearchSteps)),
		Values: map[string]float64{"read.iops": speed, "read.latency.mean": 1 / speed}}
	h.repetitions = append(h.repetitions, r)
	if err := p.Add(h.run, []lab.Repetition{r}); err != nil {
		t.Fatal(err)
	}
	return true
}

func begin(t *testing.T, h *simulatedSearch) *bisection.Progress {
	t.Helper()
	p, err := bisection.Begin(h.run)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func jsonOf(t *testing.T, d bisection.Document) string {
	t.Helper()
	text, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replayAll goes to the end of a search. After any measurement a replay has the same answer, and asks the same next.
func (h *simulatedSearch) replayAll(t *testing.T, p *bisection.Progress) {
	t.Helper()
	for more := true; more; {
		again, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := jsonOf(t, p.Document()), jsonOf(t, again.Document()); a != b {
			t.Fatalf("after %d:\n%s\n%s", len(h.repetitions), a, b)
		}
		q, _ := p.Search.Next()
		r, _ := again.Search.Next()
		if !slices.Equal(q.Subset, r.Subset) {
			t.Fatalf("after %d: asks %v and %v", len(h.repetitions), q, r)
		}
		more = h.next(t, p)
	}
}

// A setting that makes the slow state faster is no culprit: it is reported as one that opposes the loss, with the
// direction, and a culprit with what was measured without it alone.
func TestAnOpposingSettingIsNoCulprit(t *testing.T) {
	h := newSimulatedSearch(4, 24, map[string]float64{"cmdline:a5": 0.4, "cmdline:a20": -0.2})
	p := begin(t, h)
	for h.next(t, p) {
	}
	d := p.Document()
	if len(d.Culprits) != 1 || len(d.Opposing) != 1 {
		t.Fatalf("%d culprits, %d opposing:\n%s", len(d.Culprits), len(d.Opposing), jsonOf(t, d))
	}
	c, opposing := d.Culprits[0], d.Opposing[0]
	if c.Factor != "cmdline:a5" || c.Direction != bisection.Slower || !c.Needed || c.Reverted == nil ||
		*c.Reverted != *d.Reverted || !(c.Reverted.Hi < 0.8) {
		t.Errorf("culprit %+v, reverted %+v, together %+v", c, c.Reverted, d.Reverted)
	}
	if opposing.Factor != "cmdline:a20" || opposing.Direction != bisection.Faster || opposing.Confidence < 0.8 {
		t.Errorf("opposing %+v", opposing)
	}
}

// Mixtures that can't be measured are in the run, with the reasons: what is replayed leaves them out, too.
func TestReplayLeavesOutWhatCannotBeMeasured(t *testing.T) {
	h := newSimulatedSearch(5, 16, map[string]float64{"cmdline:a7": 0.3})
	h.needs = map[string]string{"cmdline:a2": "cmdline:a11", "cmdline:a4": "cmdline:a5"}
	p := begin(t, h)
	h.replayAll(t, p)
	d := p.Document()
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "cmdline:a7" ||
		len(d.Unmeasurable) == 0 {
		t.Fatalf("%s", jsonOf(t, d))
	}
	for _, m := range d.Unmeasurable {
		has := func(number int) bool { return slices.Contains(m.Applied, number) } // a2 is the third
		if m.Reason != "no rule" || !(has(3) && !has(12) || has(5) && !has(6)) {
			t.Errorf("%+v", m)
		}
	}
	if len(d.Steps)+len(d.Unmeasurable) != len(h.run.Experiment.SearchSteps) {
		t.Errorf("%d measured and %d not, of %d", len(d.Steps), len(d.Unmeasurable), len(h.run.Experiment.SearchSteps))
	}
}

func TestReplayIsWhatWasMeasured(t *testing.T) {
	h := newSimulatedSearch(1, 24, map[string]float64{"cmdline:a7": 0.3})
	p := begin(t, h)
	h.replayAll(t, p)
	d := p.Document()
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "cmdline:a7" ||
		d.Culprits[0].Bad != "1" {
		t.Fatalf("%s", jsonOf(t, d))
	}
	if e := d.Explained; e.Lo > 1 || e.Hi < 1 || e.Hi-e.Lo > 1 {
		t.Errorf("explains %+v of the loss", e)
	}
	if r := d.Reverted; r.Lo > 0.7 || r.Hi < 0.7 {
		t.Errorf("reverted %+v, planted 0.7", r)
	}
	if d.Metric != "read.iops" || d.Unit != lab.PerSecond {
		t.Errorf("metric %q %q", d.Metric, d.Unit)
	}
	if d.Measurements+d.Proofs != len(h.repetitions) || len(d.Steps) != len(h.repetitions) {
		t.Errorf("%d and %d of %d", d.Measurements, d.Proofs, len(h.repetitions))
	}
}

// The measurement that an interruption cut off is asked for again, and no other.
func TestAnInterruptedMeasurementIsNotCounted(t *testing.T) {
	h := newSimulatedSearch(2, 12, map[string]float64{"cmdline:a3": 0.3})
	p := begin(t, h)
	for range 7 {
		h.next(t, p)
	}
	kept := h.repetitions[:6]
	again, err := bisection.Replay(h.run, lab.Repetitions(kept))
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Steps) != 6 {
		t.Errorf("%d steps", len(again.Steps))
	}
}

// The last measurement has one code twice.
func TestWarningsCountRepetitions(t *testing.T) {
	h := newSimulatedSearch(2, 12, map[string]float64{"cmdline:a3": 0.3})
	p := begin(t, h)
	for range 7 {
		h.next(t, p)
	}
	h.repetitions[2].Warnings = []lab.Warning{{Code: "busy-cpu", Text: "half busy"}}
	h.repetitions[6].Warnings = []lab.Warning{{Code: "busy-cpu", Text: "CPU 1"}, {Code: "busy-cpu", Text: "CPU 2"}}
	again, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions))
	if err != nil {
		t.Fatal(err)
	}
	w := again.Document().Warnings
	if len(w) != 1 || w[0].Repetitions != 2 || w[0].N != 7 || w[0].Text != "half busy" {
		t.Errorf("%+v, want the first text, of 2 of 7 repetitions", w)
	}
}

// A latency, or a time, is better when it is lower, and shown as it is.
func TestTimesAreBetterLower(t *testing.T) {
	h := newSimulatedSearch(3, 8, map[string]float64{"cmdline:a3": 0.4})
	p := begin(t, h)
	for h.next(t, p) {
	}
	for i := range h.repetitions {
		h.repetitions[i].Values = map[string]float64{"elapsed": 1 / h.repetitions[i].Values["read.iops"]}
	}
	again, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions))
	if err != nil {
		t.Fatal(err)
	}
	d := again.Document()
	if d.Metric != "elapsed" || math.Abs(d.Steps[0].Value/h.repetitions[0].Values["elapsed"]-1) > 1e-9 {
		t.Errorf("%s %v, measured %v", d.Metric, d.Steps[0].Value, h.repetitions[0].Values)
	}
	if d.Outcome != bisection.Found || d.Culprits[0].Factor != "cmdline:a3" {
		t.Errorf("%s", jsonOf(t, d))
	}
}

// All arms are judged by the metric of the first measurement.
func TestOneMetricDecides(t *testing.T) {
	h := newSimulatedSearch(4, 8, map[string]float64{"cmdline:a3": 0.4})
	p := begin(t, h)
	for range 4 {
		h.next(t, p)
	}
	h.repetitions[3].Values = map[string]float64{"elapsed": 1}
	again, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions))
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Steps) != 3 {
		t.Errorf("%d steps, of which one has another metric", len(again.Steps))
	}
}

// Of a series the steps are found, up and down.
func TestSeries(t *testing.T) {
	h := newSimulatedSearch(6, 0, nil)
	h.run.Experiment.Steps = true
	h.run.Experiment.Factors = []lab.VariedFactor{
		{Factor: "kernel:", Levels: []string{"6.1", "6.2", "6.3", "6.4", "6.5"}}}
	h.slow = nil
	h.series = map[string]float64{"6.1": 0.4, "6.4": 0.4, "6.5": 0.4}
	p := begin(t, h)
	for h.next(t, p) {
	}
	d := p.Document()
	if d.Outcome != bisection.Found || !d.Series || len(d.Culprits) != 2 || d.Culprits[0].Bad != "6.2" ||
		d.Culprits[1].Good != "6.3" || d.Explained != nil {
		t.Fatalf("%s", jsonOf(t, d))
	}
	if up, down := d.Culprits[0].Effect, d.Culprits[1].Effect; up.Lo > 1/0.6 || up.Hi < 1/0.6 || down.Lo > 0.6 ||
		down.Hi < 0.6 {
		t.Errorf("%+v, %+v; planted 1.67 and 0.6", up, down)
	}
	h.run.Arms[0].Levels["kernel:"] = "5.10"
	if _, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions)); err == nil ||
		!strings.Contains(err.Error(), "none of its levels") {
		t.Error(err)
	}
}

// States of a series that can't be measured are left out, in a replay as well; a culprit beside them is a range, and
// the document says why.
func TestSeriesWithStatesThatCannotBeMeasured(t *testing.T) {
	h := newSimulatedSearch(7, 0, nil)
	h.run.Experiment.Steps = true
	f := lab.VariedFactor{Factor: "commit:"}
	h.series = map[string]float64{}
	for i := range 21 {
		level := fmt.Sprintf("%012x", 1+i)
		f.Levels, f.Titles = append(f.Levels, level), append(f.Titles, fmt.Sprint("Change ", i))
		if i >= 9 {
			h.series[level] = 0.6
		}
	}
	h.run.Experiment.Factors = []lab.VariedFactor{f}
	p := begin(t, h)
	for h.next(t, p) {
		again, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := jsonOf(t, p.Document()), jsonOf(t, again.Document()); a != b {
			t.Fatalf("after %d:\n%s\n%s", len(h.repetitions), a, b)
		}
	}
	d := p.Document()
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 {
		t.Fatalf("%s", jsonOf(t, d))
	}
	c := d.Culprits[0]
	var among []string
	for _, s := range c.Among {
		among = append(among, s.Title+" "+s.Reason)
	}
	if c.Good != f.Levels[7] || c.Bad != f.Levels[10] || c.Title != "" ||
		!slices.Equal(among, []string{"Change 8 no rule", "Change 9 no rule", "Change 10 "}) {
		t.Errorf("%+v", c)
	}
	if e := c.Effect; e.Lo > 0.4 || e.Hi < 0.4 || c.Confidence < 0.9 {
		t.Errorf("%+v, planted 0.4", c)
	}
	for _, s := range d.Unmeasurable {
		if n, _ := fmt.Sscanf(s.Title, "Change %d", new(int)); n != 1 || s.Reason != "no rule" {
			t.Errorf("%+v", s)
		}
	}
	if len(d.Unmeasurable) < 2 || d.Measurements+d.Proofs != len(h.repetitions) ||
		!bisection.End(h.run, h.run.Arms[0].ID) {
		t.Errorf("%+v, %d measurements of %d", d.Unmeasurable, d.Measurements+d.Proofs, len(h.repetitions))
	}
}

func TestDamagedRuns(t *testing.T) {
	for name, damage := range map[string]func(*simulatedSearch){
		"no bisection": func(h *simulatedSearch) { h.run.Experiment.Kind = "sweep" },
		"has no arm": func(h *simulatedSearch) {
			h.run.Experiment.SearchSteps[2].Arm = "other"
			h.run.Cells[0].Arm = "other"
		},
		"at neither":  func(h *simulatedSearch) { h.run.Arms[0].Levels["cmdline:a2"] = "7" },
		"the purpose": func(h *simulatedSearch) { h.run.Experiment.SearchSteps[0].Purpose = "fun" },
	} {
		h := newSimulatedSearch(5, 6, map[string]float64{"cmdline:a3": 0.4})
		p := begin(t, h)
		for range 5 {
			h.next(t, p)
		}
		damage(h)
		if name == "has no arm" {
			for i := range h.repetitions {
				h.repetitions[i].Cell = h.run.Cells[0].ID
			}
		}
		if _, err := bisection.Replay(h.run, lab.Repetitions(h.repetitions)); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What nothing shows to be in effect is not cleared by a search that finds another one guilty; a culprit has an effect.
func TestWhatIsNotVerifiedIsNotCleared(t *testing.T) {
	h := newSimulatedSearch(3, 6, map[string]float64{"cmdline:a2": 0.4})
	for _, factor := range []string{"cmdline:a2", "cmdline:a4"} {
		h.run.NotVerified = append(h.run.NotVerified,
			lab.Unverified{Factor: factor, Level: "1", Reason: "nothing shows it"})
	}
	p := begin(t, h)
	for n := 0; h.next(t, p); n++ {
		if d := p.Document(); n == 0 && (d.Candidates[2].NotVerified == "" || d.Candidates[4].NotVerified == "") {
			t.Errorf("%+v", d.Candidates)
		}
	}
	d := p.Document()
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "cmdline:a2" {
		t.Fatalf("%s: %+v", d.Outcome, d.Culprits)
	}
	for i, c := range d.Candidates {
		if want := map[bool]string{true: "nothing shows it"}[i == 4]; c.NotVerified != want {
			t.Errorf("%s: %q", c.Factor, c.NotVerified)
		}
	}
}
