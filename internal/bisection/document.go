package bisection

import (
	"cmp"
	"math"
	"path"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/search"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/search/v1"

// Document has the factors that make the slow state slow, and how they were found. Ratios are slower/faster: 0.6 of a
// rate is 40% less.
type Document struct {
	Schema string `json:"schema"`
	// Run is the ID of the run; empty where it has none.
	Run string `json:"run,omitempty"`
	// Outcome of the search.
	Outcome Outcome `json:"outcome"`
	// Series says that the candidates are the steps of a series, each from its good level to its bad one.
	Series   bool      `json:"series,omitempty"`
	Culprits []Culprit `json:"culprits"`
	// Opposing are settings that work against the loss: with them the slow state is faster than it would be without.
	// They are likely, not proved. Absent where there are none.
	Opposing []OpposingSetting `json:"opposing,omitempty"`
	// Loss is the whole difference between the ends; absent while one of them was not measured.
	Loss *Ratio `json:"loss,omitempty"`
	// Reverted is what taking the culprits out of the slow state gains, Applied what putting them into the fast one
	// costs, both measured for the proof, but for one that can't be; Explained is the share of the loss that goes away
	// with them. Of a series they are absent: each step has its own effect.
	Reverted  *Ratio `json:"reverted,omitempty"`
	Applied   *Ratio `json:"applied,omitempty"`
	Explained *Share `json:"explained,omitempty"`
	// Rest is the share of the loss that neither the culprits nor the opposing settings account for, by all
	// measurements. Further is whether another setting has a part in it. A series has neither.
	Rest    *Share         `json:"rest,omitempty"`
	Further search.Further `json:"further,omitempty"`
	// Evidence of how the culprits do harm. Of a series each step has its own.
	Evidence *Evidence `json:"evidence,omitempty"`
	// Spread of one measurement, as a ratio: 0.04 is 4%.
	Spread float64 `json:"spread,omitempty"`
	// Measurements that were made to find the culprits, and Proofs those that were made to prove them.
	Measurements int `json:"measurements"`
	Proofs       int `json:"proofs"`
	// InformationLimit is how many measurements any method needs on average to name one of as many candidates, at this
	// loss and this spread, with levels known. Absent while the ends can't be distinguished.
	InformationLimit float64 `json:"information_limit,omitempty"`
	// Wanted is how many measurements of each end decide in four of five searches whether they differ by what is worth
	// one, if they differ as much as it seems, where the search ended undecided; 0 where no number is known.
	Wanted     int         `json:"wanted,omitempty"`
	Candidates []Candidate `json:"candidates"`
	// Unmeasurable are the states of a series, or the mixtures, that were tried and can't be measured, with the
	// reasons.
	Unmeasurable []State `json:"unmeasurable,omitempty"`
	// Unprovable: the likeliest candidates are as good as sure, and what it takes to prove that can't be measured. The
	// outcome is undecided.
	Unprovable bool `json:"unprovable,omitempty"`
	// Expected are those that were thought likely before anything was measured, from what is known of such settings,
	// with that probability. Absent where all were thought of alike.
	Expected []Candidate `json:"expected,omitempty"`
	// ExpectedFrom is what that rests on: "knowledge", or "profiles" where the two ends were profiled, too.
	ExpectedFrom string `json:"expected_from,omitempty"`
	// Excluded is what differs between the two states beside the candidates, and no setting stands for.
	Excluded *lab.Excluded `json:"unsearched,omitempty"`
	Metric   string        `json:"metric,omitempty"`
	Unit     lab.Unit      `json:"unit,omitempty"`
	// Better is whether more or less of the metric is better; ratios are ratios of rates in either case. Absent as the
	// metric is.
	Better lab.Better   `json:"better,omitempty"`
	Steps  []StepResult `json:"steps"`
	// Warnings with how many of all measurements have them.
	Warnings []lab.CountedWarning `json:"warnings"`
}

// Outcome of a search.
type Outcome string

// The outcomes.
const (
	Found        Outcome = "found"         // culprits, proved
	NoDifference Outcome = "no-difference" // the ends don't differ by as much as is worth a search
	ManySmall    Outcome = "many-small"    // they differ, and no candidate does much of it
	Undecided    Outcome = "undecided"     // measured as often as was allowed, or interrupted
)

// Candidate is a factor that differs between the ends.
type Candidate struct {
	Factor string `json:"factor"`
	Good   string `json:"good"`
	Bad    string `json:"bad"`
	// Title of the state that a step leads to: the subject of a commit.
	Title string `json:"title,omitempty"`
	// With are what can't be switched without it: other options of a kernel's build.
	With        []string `json:"with,omitempty"`
	Probability float64  `json:"probability"`
	// NotVerified is why nothing shows whether one of its levels was in effect at all: what was measured does not clear
	// it then. Empty where something does, and of a culprit.
	NotVerified string `json:"not_verified,omitempty"`
}

// Culprit is a candidate that was proved to cause a loss.
type Culprit struct {
	Factor string `json:"factor"`
	Good   string `json:"good"`
	Bad    string `json:"bad"`
	Title  string `json:"title,omitempty"`
	// With are what can't be switched without it.
	With []string `json:"with,omitempty"`
	// Among are the states after the good one up to the bad one, where a step is several that nothing tells apart,
	// because the states between can't be measured. One of them is the culprit.
	Among []State `json:"among,omitempty"`
	// Confidence is the probability that it is a culprit, after all measurements.
	Confidence float64 `json:"confidence"`
	// Direction in which it moves the result where it is applied.
	Direction Direction `json:"direction"`
	// Needed: without it alone the slow state is faster, by Reverted. Enough: it alone makes the fast state slower, by
	// Applied, and others do as well. A step of a series is needed where the state after it is slower, by Effect.
	Needed bool `json:"needed"`
	Enough bool `json:"enough"`
	// Reverted is what taking it alone out of the slow state gains, and Applied what putting it alone into the fast one
	// costs; absent where that was not measured, and of a series. Of several culprits mixtures can show what each does:
	// then Effect has it.
	Reverted *Ratio `json:"reverted,omitempty"`
	Applied  *Ratio `json:"applied,omitempty"`
	// Effect of a step: the state after it against the one before it, as measured for the proof. It can be a gain. Of a
	// setting: mixtures with it against those without.
	Effect   *Ratio    `json:"effect,omitempty"`
	Evidence *Evidence `json:"evidence,omitempty"`
	// Mechanism is what profiles say of it: whether the functions that it is known to make run did, in the states with
	// it (b) and not in those without (a). Absent where nothing was profiled or nothing is known.
	Mechanism *diff.Mechanism `json:"mechanism,omitempty"`
	// Price is the cost of its faster level other than speed. It is empty if no rule has one.
	rule.Price
	// Functions are those that differ most between the same states, without it (a) and with it (b), by cell.
	Functions []difference.CellFunctions `json:"functions,omitempty"`
}

// Direction in which a setting or a step moves the result.
type Direction string

// The directions.
const (
	Slower Direction = "slower"
	Faster Direction = "faster"
)

// Faster returns the faster of the culprit's two levels.
func (c Culprit) Faster() string {
	if c.Direction == Faster {
		return c.Bad
	}
	return c.Good
}

// AddPrices adds the cost, other than speed, of each culprit's faster level.
func (d *Document) AddPrices(set *rule.Set) {
	for i := range d.Culprits {
		c := &d.Culprits[i]
		levels := []string{c.Good, c.Bad}
		c.Price = set.Prices(c.Factor, levels)[slices.Index(levels, c.Faster())]
	}
}

// directionOf a culprit.
func directionOf(role search.Role) Direction {
	if role.Faster {
		return Faster
	}
	return Slower
}

// OpposingSetting is a setting that works against the loss.
type OpposingSetting struct {
	Factor string   `json:"factor"`
	Good   string   `json:"good"`
	Bad    string   `json:"bad"`
	With   []string `json:"with,omitempty"`
	// Direction in which it moves the result where it is applied: the other one than the culprits'.
	Direction Direction `json:"direction"`
	// Confidence is the probability that it has an effect, after all measurements.
	Confidence float64 `json:"confidence"`
}

// Ratio of a slower state to a faster one, with an interval of 95%.
type Ratio struct {
	Ratio        float64 `json:"ratio"`
	Lo           float64 `json:"lo"`
	Hi           float64 `json:"hi"`
	Measurements int     `json:"measurements"`
}

// Share with an interval of 95%.
type Share struct {
	Share float64 `json:"share"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// StepResult is one measurement.
type StepResult struct {
	Number  int    `json:"number"`
	Arm     string `json:"arm"`
	Purpose string `json:"purpose"`
	// Applied are the numbers, from 1, of the candidates that were as in the slow state.
	Applied   []int       `json:"applied"`
	Value     float64     `json:"value"`
	Likeliest []Candidate `json:"likeliest,omitempty"`
}

// Document of a run as far as it has come.
func (p *Progress) Document() Document {
	s, e := p.Search, p.Run.Experiment
	d := Document{Schema: Schema, Run: p.Run.ID, Outcome: Undecided, Series: e.Steps, Culprits: []Culprit{},
		Candidates: []Candidate{}, Steps: []StepResult{}, Warnings: p.warnings(),
		Measurements: s.Measurements(), Proofs: s.Proofs(), Excluded: e.Excluded}
	probabilities := s.Probabilities()
	for i := range probabilities {
		c := p.candidate(i, probabilities[i])
		c.NotVerified = p.notVerified(c)
		d.Candidates = append(d.Candidates, c)
	}
	for _, s := range p.Expected() {
		d.Expected = append(d.Expected, p.candidate(s.Candidate, s.Probability))
		d.ExpectedFrom = e.PriorsFrom
	}
	if !p.several {
		d.Metric, d.Unit, d.Better = p.metric, p.info.Unit, p.info.Better
	}
	d.Unmeasurable = p.unmeasurable()
	a, effects := s.Answer(), s.Effects()
	switch {
	case a.SameSpeed:
		d.Outcome = NoDifference
	case a.ManySmall:
		d.Outcome = ManySmall
	case a.Unprovable:
		d.Unprovable = true
	case a.Finished(), a.Proved && a.Further == search.Yes: // what does the rest may still be searched
		d.Outcome = Found
		for i, c := range a.Culprits {
			first, last := s.Range(c)
			f := p.suspect(Suspect{c, floats.Sum(probabilities[first : last+1]), last})
			culprit := Culprit{Factor: f.Factor, Good: f.Good, Bad: f.Bad, Title: f.Title, With: f.With,
				Among: p.among(first, last), Confidence: f.Probability,
				Direction: directionOf(a.Roles[i]), Needed: a.Roles[i].Needed, Enough: a.Roles[i].Enough}
			if e.Steps {
				culprit.Effect = ratioOf(effects.StepEffect(i))
				space := search.Space{Candidates: len(probabilities)}
				culprit.Evidence = p.evidence([][2]search.Subset{{space.First(first), space.First(last + 1)}})
			}
			if !e.Steps {
				p.explain(&culprit, a.Culprits, c)
				reverted, added := effects.OwnProof(i)
				culprit.Reverted, culprit.Applied = ratioOf(reverted), ratioOf(added)
				culprit.Effect = ratioOf(effects.Shown(i))
			}
			d.Culprits = append(d.Culprits, culprit)
			for i := first; i <= last; i++ {
				d.Candidates[i].NotVerified = ""
			}
		}
		if !e.Steps {
			reverted, added := effects.Proof()
			d.Reverted, d.Applied = ratioOf(reverted), ratioOf(added)
			d.Opposing = p.opposing(a, probabilities)
			share, lo, hi := effects.Explained()
			d.Explained = &Share{share, lo, hi}
			rest, whole := effects.Rest(), math.Log(effects.Loss().Ratio)
			limits := []float64{math.Log(rest.Lo) / whole, math.Log(rest.Hi) / whole}
			d.Rest = &Share{math.Log(rest.Ratio) / whole, slices.Min(limits), slices.Max(limits)}
			d.Further = a.Further
			space := search.Space{Candidates: len(probabilities)}
			d.Evidence = p.evidence([][2]search.Subset{{space.None(), space.Only(a.Culprits...)},
				{space.Without(a.Culprits...), space.All()}})
		}
	}
	ends := s.Ends()
	if len(p.Steps) > 0 && !math.IsNaN(ends.Difference) {
		d.Spread = math.Expm1(s.Spread())
		d.Loss = ratioOf(effects.Loss())
		if d.Outcome == Undecided && !ends.Apart() {
			d.Wanted = ends.WantedAnchors()
		}
		if left := candidates(e) - len(p.failed); ends.Apart() && left > 1 {
			d.InformationLimit = search.Limit(left, math.Abs(ends.Difference)/s.Spread(), proofProbability)
		}
	}
	for _, step := range p.Steps {
		t := StepResult{Number: step.Number, Arm: step.Arm, Purpose: step.Purpose.String(),
			Applied: applied(step.Subset),
			Value:   step.Value}
		for _, l := range step.Likeliest {
			t.Likeliest = append(t.Likeliest, p.suspect(l))
		}
		d.Steps = append(d.Steps, t)
	}
	return d
}

func (p *Progress) candidate(i int, probability float64) Candidate {
	e := p.Run.Experiment
	if e.Steps {
		f := e.Factors[0]
		return Candidate{Factor: f.Factor, Good: f.Levels[i], Bad: f.Levels[i+1], Title: p.state(i + 1).Title,
			Probability: probability}
	}
	f := e.Factors[i]
	c := Candidate{Factor: f.Factor, Good: f.Levels[0], Bad: f.Levels[1], Probability: probability}
	if e.Kernels != nil {
		c.With = e.Kernels.Groups[i][1:]
	}
	return c
}

// opposing of an answer. They move the result the other way than its culprits.
func (p *Progress) opposing(a search.Answer, probabilities []float64) []OpposingSetting {
	direction := Faster
	if a.Roles[0].Faster {
		direction = Slower
	}
	var list []OpposingSetting
	for _, h := range a.Opposing {
		c := p.candidate(h, probabilities[h])
		list = append(list, OpposingSetting{Factor: c.Factor, Good: c.Good, Bad: c.Bad, With: c.With,
			Direction: direction, Confidence: c.Probability})
	}
	return list
}

// notVerified is why nothing shows whether a candidate was in effect; empty where something does.
func (p *Progress) notVerified(c Candidate) string {
	return cmp.Or(lab.WhyUnverified(p.Run.NotVerified, c.Factor, c.Bad),
		lab.WhyUnverified(p.Run.NotVerified, c.Factor, c.Good))
}

// LevelNames are the levels of a factor as people tell them apart: of kernels given by their paths the last elements,
// where no two are alike.
func LevelNames(factorName string, levels []string) []string {
	if factorName != "kernel:" {
		return levels
	}
	names := make([]string, len(levels))
	for i, level := range levels {
		names[i] = path.Base(level)
		if slices.Contains(names[:i], names[i]) {
			return levels
		}
	}
	return names
}

// ratioOf is nil for what was not measured.
func ratioOf(e search.Effect) *Ratio {
	if math.IsNaN(e.Ratio) {
		return nil
	}
	return &Ratio{e.Ratio, e.Lo, e.Hi, e.Measurements}
}
