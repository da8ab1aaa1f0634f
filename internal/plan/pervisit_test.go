package plan

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// booted is what a simulated experiment is carried out on. All times are in seconds.
type booted struct {
	boot, load, between, within float64
	blocks, repetitions         int
	jobs                        []string
	// reference adds an arm on another machine, which takes no boot and is far noisier.
	reference bool
	// interrupted is the repetition before which somebody went home for a night; 0 for none.
	interrupted int
	seed        uint64
}

// carriedOut is a run on a machine, in the order of its plan.
func carriedOut(m booted) (lab.Run, *VisitRecord) {
	run := lab.Run{Experiment: &lab.Experiment{Kind: "ablate",
		Factors: []lab.VariedFactor{{Factor: "cmdline:quiet", Needs: "reboot"}}}}
	effects := map[string]float64{"baseline": 0, "baseline-2": 0, "+1": 1, "+2": -1, "tuned": 2}
	arms := []string{"baseline", "baseline-2", "+1", "+2", "tuned"}
	if m.reference {
		arms = append(arms, "reference")
		run.Experiment.Reference = "reference"
	}
	var visited []VisitedArm
	for _, a := range arms {
		levels := map[string]string{}
		if effects[a] != 0 {
			levels["cmdline:quiet"] = a
		}
		run.Arms = append(run.Arms, lab.Arm{ID: a, Levels: levels})
		arm := VisitedArm{ID: a}
		for _, job := range m.jobs {
			run.Cells = append(run.Cells,
				lab.Cell{ID: job + "@" + a, Arm: a, Job: job, Params: map[string]string{"rw": "randread"}})
			arm.Cells = append(arm.Cells, Cell{ID: job + "@" + a, Repetitions: m.repetitions})
		}
		visited = append(visited, arm)
	}
	record := RecordVisits(run)
	r := rand.New(rand.NewPCG(m.seed, 9))
	now, last, level, n := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), visit{}, 0.0, 0
	after := func(seconds float64) { now = now.Add(time.Duration(seconds * float64(time.Second))) }
	p := InVisits(visited, VisitTerms{Blocks: m.blocks}, nil, 3)
	for block := 1; block <= m.blocks; block++ {
		drift := r.NormFloat64()
		for _, next := range p.Block(block, nil) {
			after(0.5) // from one load to the next
			if at := (visit{arm: next.Arm, block: block}); at != last {
				last, level = at, effects[next.Arm]+drift+m.between*r.NormFloat64()
				if next.Arm != "reference" {
					after(m.boot * (0.9 + 0.2*r.Float64()))
				}
			}
			if n++; n == m.interrupted {
				after(50000)
			}
			within := m.within
			if next.Arm == "reference" {
				within = 1
			}
			if next.Cell[:1] == "b" {
				within *= 3
			}
			record.Add(lab.Repetition{Cell: next.Cell, Block: block, Number: next.Number, Start: now, Seconds: m.load,
				Values: map[string]float64{"read.iops": 1e4 * math.Exp(level+within*r.NormFloat64())}}, n%17 == 5)
			after(m.load)
		}
	}
	return run, record
}

func reads(string) []string { return []string{"read.iops"} }

func TestPerVisit(t *testing.T) {
	boots := booted{boot: 11, load: 5, between: 0.06, within: 0.03, blocks: 8, repetitions: 2, jobs: []string{"a"}}
	_, record := carriedOut(boots)
	p := record.PerVisit(reads)
	if p == nil || !p.Boots || p.Visits != 40 || p.Repetitions != 2 || p.Repeat != 1 || len(p.Metrics) != 1 ||
		p.VisitSeconds == nil {
		t.Fatalf("%+v", p)
	}
	const trials = 50
	between, within := 0.0, 0.0
	for seed := range uint64(trials) {
		boots.seed = seed
		_, record := carriedOut(boots)
		p := record.PerVisit(reads)
		if p.Repeat < 1 || p.Repeat > 2 || math.Abs(*p.VisitSeconds-11) > 0.5 ||
			math.Abs(*p.RepetitionSeconds-5.5) > 0.01 {
			t.Errorf("seed %d: --repeat %d, a boot takes %v, a repetition %v", seed, p.Repeat, *p.VisitSeconds,
				*p.RepetitionSeconds)
		}
		between += *p.Metrics[0].Between * *p.Metrics[0].Between / trials
		within += *p.Metrics[0].Within * *p.Metrics[0].Within / trials
	}
	if math.Abs(math.Sqrt(between)-0.06) > 0.005 || math.Abs(math.Sqrt(within)-0.03) > 0.002 {
		t.Errorf("boots differ by %v, loads by %v", math.Sqrt(between), math.Sqrt(within))
	}

	// Many repetitions pay where boots are dear and alike; of two loads the noisier one decides.
	several := booted{boot: 55, load: 2, between: 0.03, within: 0.03, blocks: 12, repetitions: 6,
		jobs: []string{"a", "b"}, reference: true, interrupted: 20}
	_, record = carriedOut(several)
	p = record.PerVisit(reads)
	if p == nil || len(p.Metrics) != 2 || p.Metrics[0].Cell != "b" || p.Repeat < 7 || p.Repeat > 14 || p.Visits != 60 {
		t.Fatalf("%+v", p)
	}
	if math.Abs(*p.VisitSeconds-55) > 3 || math.Abs(*p.RepetitionSeconds-5) > 0.01 || *p.Metrics[0].Within > 0.12 {
		t.Errorf("a boot takes %v, a repetition %v: %+v", *p.VisitSeconds, *p.RepetitionSeconds, p.Metrics)
	}
}

func TestPerVisitSaysNothingItDoesNotKnow(t *testing.T) {
	one := booted{boot: 11, load: 5, between: 0.06, within: 0.03, blocks: 8, repetitions: 1, jobs: []string{"a"}}
	if _, record := carriedOut(one); record.PerVisit(reads) != nil {
		t.Errorf("of one repetition a visit: %+v", record.PerVisit(reads))
	}
	few := booted{boot: 60, load: 1, between: 0.01, within: 0.03, blocks: 1, repetitions: 2, jobs: []string{"a"}}
	_, record := carriedOut(few)
	if p := record.PerVisit(reads); p == nil || p.Repeat != 0 {
		t.Errorf("of five boots: %+v", p)
	}
	_, record = carriedOut(booted{load: 5, between: 0.06, within: 0.03, blocks: 8, repetitions: 2, jobs: []string{"a"}})
	for i := range record.reps {
		record.reps[i].Start = time.Time{}
	}
	if p := record.PerVisit(reads); p == nil || p.Repeat != 0 || p.VisitSeconds != nil || p.Metrics[0].Between == nil {
		t.Errorf("without starts: %+v", p)
	}
	_, record = carriedOut(booted{boot: 9, load: 5, blocks: 8, repetitions: 2, jobs: []string{"a"}})
	for i := range record.reps {
		record.reps[i].Values = map[string]float64{"read.iops": 500}
	}
	if p := record.PerVisit(reads); p != nil {
		t.Errorf("of a number that never changes: %+v", p)
	}
	empty := RecordVisits(lab.Run{})
	empty.Add(lab.Repetition{Cell: "c01", Values: map[string]float64{"read.iops": 1}}, false)
	if p := empty.PerVisit(reads); p != nil {
		t.Errorf("of a run without arms: %+v", p)
	}
}

// A visit that was cut in two and booted for again is two boots, each with what it repeated.
func TestPerVisitOfVisitsCutInTwo(t *testing.T) {
	_, record := carriedOut(booted{boot: 11, load: 5, between: 0.06, within: 0.03, blocks: 4, repetitions: 4,
		jobs: []string{"a"}})
	whole := record.PerVisit(reads)
	first := slices.IndexFunc(record.reps, func(r lab.Repetition) bool { return r.Number > 4 })
	for i := range record.reps {
		record.reps[i].Boot = "one"
		if record.reps[i].Block == 2 && i%4 > 1 {
			record.reps[i].Boot = "two"
		}
	}
	cut := record.PerVisit(reads)
	if first != 20 || whole.Visits != 20 || cut.Visits != 25 {
		t.Errorf("%d and %d boots", whole.Visits, cut.Visits)
	}
}
