package bisection

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/search"
)

// Kind of experiment, as lab.Experiment names it.
const Kind = string(lab.DesignBisection)

const (
	// proofProbability is the probability from which an answer is proved: a proof costs some measurements, and a wrong
	// answer does not survive it.
	proofProbability = 0.8
	// defaultNoise of one measurement, until there are some.
	defaultNoise = 0.05
)

// Progress is a run as far as it has come.
type Progress struct {
	Run    lab.Run
	Search *search.Search
	Steps  []Step
	// deciding are the metrics of each cell of the suite, as the first measurement had them: an arm that limits its own
	// rate, or prints less, is still judged by the same.
	deciding map[string][]string
	// metric that decides, with what is known of it, where there is one only.
	metric  string
	info    lab.MetricInfo
	several bool
	// counts are the warnings of all repetitions that were used.
	counts lab.WarningCounts
	// Costs are the profiles of the run; the caller sets them, of a run that was profiled.
	Costs []cost.Profile
	// failed are the states of a series that can't be measured, with the reasons; broken are mixtures of settings.
	failed map[int]string
	broken []State
}

// Step is one measurement.
type Step struct {
	// Number from 1, in the order in which they were made.
	Number int
	Arm    string
	search.Question
	// Value that decides: the metric of the suite's cell; where there are several, the geometric mean of all as rates.
	Value float64
	// rate of the work, as searches take it: more is better. Tally is what the kernel counted meanwhile.
	rate     float64
	counters map[string]float64
	// Likeliest candidates after it, with their probabilities.
	Likeliest []Suspect
}

// Suspect is a candidate with the probability that it is a culprit.
type Suspect struct {
	Candidate   int
	Probability float64
	// Last of the steps that could not be told from the candidate, which is the first of them; the same where it is a
	// single one.
	Last int
}

// Begin the search of a run in which nothing has been measured yet.
func Begin(run lab.Run) (*Progress, error) {
	e := run.Experiment
	if e == nil || e.Kind != Kind {
		return nil, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s is no bisection", run.ID),
			Hints: []string{"headroom list names the runs"}}
	}
	space := search.Space{Candidates: candidates(e), Ordered: e.Steps, Priors: e.Priors}
	if e.Priors != nil && (len(e.Priors) != space.Candidates || slices.Min(e.Priors) <= 0) {
		return nil, &lab.Error{What: fmt.Sprintf("run %s lacks prior probabilities of its %d candidates",
			run.ID, space.Candidates),
			Hints: []string{"its header, run.json, was changed or damaged"}}
	}
	terms := search.Terms{Confidence: proofProbability, Noise: defaultNoise, MinEffect: e.Margin,
		MaxMeasurements: e.Blocks, Seed: run.Seed}
	if e.Steps && e.Commits == nil { // commits lie between two that differ, and each takes a build
		terms.Probes = min(space.Candidates-1, maxProbes)
	}
	if e.Kernels != nil {
		terms.Build = kernelCost
	}
	return &Progress{Run: run, Search: search.New(space, terms), deciding: map[string][]string{},
		failed: map[int]string{}}, nil
}

// kernelCost is how many measurements it takes as long as to build a kernel, roughly: minutes beside tens of seconds.
const kernelCost = 10

// maxProbes are the states of a series that are measured before anything is thought of it: it may go up and down.
const maxProbes = 9

// candidates are the factors that differ, or the steps of a series.
func candidates(e *lab.Experiment) int {
	if e.Steps {
		return len(e.Factors[0].Levels) - 1
	}
	return len(e.Factors)
}

// Replay what was measured so far.
func Replay(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) (*Progress, error) {
	p, err := Begin(run)
	if err != nil {
		return nil, err
	}
	byBlock := map[int][]lab.Repetition{}
	err = run.Read(repetitions, func(_ lab.Cell, r lab.Repetition) error {
		byBlock[r.Block] = append(byBlock[r.Block], r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, asked := range run.Experiment.SearchSteps {
		if asked.Failed != "" {
			if err := p.skip(asked); err != nil {
				return nil, err
			}
			continue
		}
		value, whole := p.value(asked.Arm, byBlock[i+1])
		if !whole {
			continue // it was interrupted, or its load failed
		}
		if err := p.add(i+1, asked, value, byBlock[i+1]); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Add a measurement that was made now, the last of those that the experiment lists.
func (p *Progress) Add(run lab.Run, repetitions []lab.Repetition) error {
	p.Run = run
	n := len(run.Experiment.SearchSteps)
	asked := run.Experiment.SearchSteps[n-1]
	value, whole := p.value(asked.Arm, repetitions)
	if !whole {
		return NoResult(run)
	}
	return p.add(n, asked, value, repetitions)
}

// NoResult is the error of a measurement, the last of those that the experiment lists, that has none.
func NoResult(run lab.Run) error {
	n := len(run.Experiment.SearchSteps)
	return &lab.Error{What: fmt.Sprintf("measurement %d, of arm %s, has no result", n,
		run.Experiment.SearchSteps[n-1].Arm),
		Hints: []string{"headroom show " + run.ID + " --raw shows what the load generator said"}}
}

func (p *Progress) add(number int, asked lab.SearchStep, value float64, repetitions []lab.Repetition) error {
	subset, err := SubsetOf(p.Run, asked.Arm)
	if err != nil {
		return err
	}
	purpose, err := search.ParsePurpose(asked.Purpose)
	if err != nil {
		return err
	}
	for _, r := range repetitions {
		p.counts.AddRepetition(r.Warnings)
	}
	q := search.Question{Subset: subset, Purpose: purpose}
	if err := p.Search.Add(q, value); err != nil {
		return &lab.Error{What: fmt.Sprintf("measurement %d of run %s", number, p.Run.ID), Err: err}
	}
	shown := value
	if !p.several && p.info.Better == lab.Lower {
		shown = 1 / value
	}
	p.Steps = append(p.Steps, Step{Number: number, Arm: asked.Arm, Question: q, Value: shown, rate: value,
		counters: kernelCountersOf(repetitions), Likeliest: p.likeliest(shownSuspects)})
	return nil
}

// shownSuspects after each measurement.
const shownSuspects = 3

// likeliest candidates, those that can be distinguished from the others.
func (p *Progress) likeliest(n int) []Suspect {
	var all []Suspect
	for c, probability := range p.Search.Probabilities() {
		first, last := p.Search.Range(c)
		if c > first {
			all[len(all)-1].Probability += probability
			continue
		}
		all = append(all, Suspect{c, probability, last})
	}
	slices.SortStableFunc(all, func(a, b Suspect) int { return cmp.Compare(b.Probability, a.Probability) })
	all = all[:min(n, len(all))]
	return slices.DeleteFunc(all, func(s Suspect) bool {
		return s.Probability < min(0.1, 2/float64(candidates(p.Run.Experiment)))
	})
}

// SubsetOf an arm: which factors have the slow state's level.
func SubsetOf(run lab.Run, arm string) (search.Subset, error) {
	i := slices.IndexFunc(run.Arms, func(a lab.Arm) bool { return a.ID == arm })
	if i < 0 {
		return nil, &lab.Error{What: fmt.Sprintf("run %s has no arm %s", run.ID, arm)}
	}
	if run.Experiment.Steps {
		return subsetOfStep(run, run.Arms[i])
	}
	var b search.Subset
	for _, f := range run.Experiment.Factors {
		switch level, ok := run.Arms[i].Levels[f.Factor]; {
		case ok && level == f.Levels[0]:
			b = append(b, false)
		case ok && level == f.Levels[1]:
			b = append(b, true)
		default:
			return nil, &lab.Error{What: fmt.Sprintf("arm %s of run %s has %s at neither of its two levels",
				arm, run.ID, f.Factor)}
		}
	}
	return b, nil
}

// subsetOfStep is the state of a series, as the steps up to it.
func subsetOfStep(run lab.Run, arm lab.Arm) (search.Subset, error) {
	f := run.Experiment.Factors[0]
	at := slices.Index(f.Levels, arm.Levels[f.Factor])
	if at < 0 {
		return nil, &lab.Error{What: fmt.Sprintf("arm %s of run %s has %s at none of its levels", arm.ID, run.ID,
			f.Factor)}
	}
	return search.Space{Candidates: len(f.Levels) - 1}.First(at), nil
}

// Levels of a bundle, by factor.
func Levels(e *lab.Experiment, b search.Subset) map[string]string {
	levels := map[string]string{}
	if e.Steps {
		levels[e.Factors[0].Factor] = e.Factors[0].Levels[b.Count()]
		return levels
	}
	for i, f := range e.Factors {
		levels[f.Factor] = f.Levels[0]
		if b[i] {
			levels[f.Factor] = f.Levels[1]
		}
	}
	return levels
}

// Completed says that all loads of a visit to an arm were carried out, whether they failed or not.
func Completed(run lab.Run, arm string, repetitions []lab.Repetition) bool {
	for _, c := range run.Cells {
		n := 0
		for _, r := range repetitions {
			if r.Cell == c.ID {
				n++
			}
		}
		if c.Arm == arm && n < max(1, c.Repetitions) {
			return false
		}
	}
	return true
}

// value of the measurements of one visit: the geometric mean over cells and deciding metrics, each as a rate; false
// where a cell has none.
func (p *Progress) value(arm string, repetitions []lab.Repetition) (value float64, whole bool) {
	if !Completed(p.Run, arm, repetitions) {
		return 0, false
	}
	var logs []float64
	cells := 0
	for _, c := range p.Run.Cells {
		if c.Arm != arm {
			continue
		}
		cells++
		p.several = p.several || cells > 1
		found := false
		for _, r := range repetitions {
			if r.Cell != c.ID || r.Failed() {
				continue
			}
			for _, name := range p.metricsOf(c, r) {
				v, ok := r.Values[name]
				if !ok || v <= 0 {
					return 0, false
				}
				log := math.Log(v)
				if c.Metric(name).Better == lab.Lower {
					log = -log
				}
				logs, found = append(logs, log), true
			}
		}
		if !found {
			return 0, false
		}
	}
	if len(logs) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, log := range logs {
		sum += log
	}
	return math.Exp(sum / float64(len(logs))), true
}

// metricsOf a cell that decide.
func (p *Progress) metricsOf(c lab.Cell, r lab.Repetition) []string {
	id := c.Load()
	if p.deciding[id] == nil {
		p.deciding[id] = lab.Deciding(c.Metrics, c.Params, r.Values)
		for _, name := range p.deciding[id] {
			p.several = p.several || p.metric != "" && p.metric != name
			p.metric, p.info = name, c.Metric(name)
		}
	}
	return p.deciding[id]
}

// warnings of the run, and of its measurements.
func (p *Progress) warnings() []lab.CountedWarning {
	list := []lab.CountedWarning{}
	for _, w := range lab.OfRun(p.Run.Warnings) {
		list = append(list, lab.CountedWarning{RepeatedWarning: w})
	}
	return append(list, p.counts.Counted()...)
}

func (p *Progress) space() search.Space {
	return search.Space{Candidates: candidates(p.Run.Experiment)}
}

// armOf a subset that was measured; empty for none.
func (p *Progress) armOf(b search.Subset) string {
	for _, s := range p.Steps {
		if slices.Equal(s.Subset, b) {
			return s.Arm
		}
	}
	return ""
}

// ExpectBy takes what profiles of the two ends say into the priors of a search: true where they say anything. The
// caller keeps the experiment, whose priors are changed.
func (p *Progress) ExpectBy(k *diff.Knowledge, costs []cost.Profile) bool {
	e, space := *p.Run.Experiment, p.space()
	fast, slow := p.armOf(space.None()), p.armOf(space.All())
	if e.Steps || fast == "" || slow == "" {
		return false
	}
	known := Priors(k, &e)
	e.Priors, e.PriorsFrom = PriorsBeside(k, &e, difference.OfArms(costs, fast, slow)), lab.PriorsFromProfiles
	if slices.Equal(e.Priors, known) {
		return false
	}
	p.Run.Experiment = &e
	p.Search.Expect(e.Priors)
	p.Steps[len(p.Steps)-1].Likeliest = p.likeliest(shownSuspects)
	return true
}

// proofProfiles compares the profiles of a proof's states with a culprit and without it. It takes the first
// pair that was profiled: with the culprit alone first, and for an only culprit the two ends last.
func (p *Progress) proofProfiles(culprits []int, c int) difference.Document {
	space := p.space()
	pairs := [][2]search.Subset{{space.None(), space.Only(c)}, {space.Without(c), space.All()},
		{space.None(), space.Only(culprits...)}, {space.Without(culprits...), space.All()}}
	if len(culprits) == 1 {
		pairs = append(pairs, [2]search.Subset{space.None(), space.All()})
	}
	for _, pair := range pairs {
		without, with := p.armOf(pair[0]), p.armOf(pair[1])
		if without == "" || with == "" {
			continue
		}
		if d := difference.OfArms(p.Costs, without, with); len(d.Cells) > 0 {
			return d
		}
	}
	return difference.Document{}
}

// explain what a culprit does by the profiles of states with it and without.
func (p *Progress) explain(culprit *Culprit, culprits []int, c int) {
	k, err := diff.Load()
	if err != nil || len(p.Costs) == 0 {
		return // its own tests say what is wrong with the knowledge
	}
	d := p.proofProfiles(culprits, c)
	culprit.Mechanism = MechanismOf(k, p.Run.Experiment.Factors[c], d)
	culprit.Functions = d.First()
}
