package sweep

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
)

// sweepRun is a run of two loads over a factor, with a reference arm, and its repetitions.
func sweepRun(factor string, levels ...string) (lab.Run, []lab.Repetition) {
	run := lab.Run{ID: "7KQ4M2X9TD",
		Experiment: &lab.Experiment{Kind: "sweep", Factors: []lab.VariedFactor{{Factor: factor, Levels: levels}},
			Baseline: "arm-" + levels[0], Reference: "host", Margin: 0.05, Alpha: 0.1, Share: 0.8}}
	var reps []lab.Repetition
	add := func(arm string, rate float64, levels map[string]string) {
		run.Arms = append(run.Arms, lab.Arm{ID: arm, Role: "storage", Levels: levels})
		for _, bs := range []string{"4k", "1m"} {
			id := "randread-" + bs + "@" + arm
			params := map[string]string{"rw": "randread", "bs": bs}
			if level, ok := levels["job:iodepth"]; ok {
				params["iodepth"] = level
			}
			run.Cells = append(run.Cells, lab.Cell{ID: id, Arm: arm, Job: "randread", Params: params})
			for b := 1; b <= 6; b++ {
				reps = append(reps, lab.Repetition{Cell: id, Block: b, Number: b,
					Values: map[string]float64{"read.iops": rate + float64(b), "read.bandwidth": 4096 * rate}})
			}
		}
	}
	for i, l := range slices.Backward(levels) { // arms are in the order in which they were planned
		set := map[string]string{factor: l}
		if l == "found" {
			set = nil
		}
		add("arm-"+l, float64(100*(i+1)), set)
	}
	add("host", 1000, nil)
	return run, reps
}

func sequence(reps []lab.Repetition, err error) iter.Seq2[lab.Repetition, error] {
	return func(yield func(lab.Repetition, error) bool) {
		for _, r := range reps {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(lab.Repetition{}, err)
		}
	}
}

func TestFromRun(t *testing.T) {
	run, reps := sweepRun("guest:iothreads", "found", "2", "4")
	reps[0].Warnings = []lab.Warning{{Code: "errors", Taints: []string{"*"}}}
	reps[1].Block = 0
	reps[2].Warnings = []lab.Warning{{Code: "short-run", Taints: []string{"read.*"}}}
	run.Warnings = []lab.Warning{{Code: "clock", Taints: []string{"*"}}}
	run.Cells[1].Warnings = []lab.Warning{{Code: "drift", Taints: []string{"*"}}}
	known := Known{
		Ceilings: map[string][]ceiling.Ceiling{"randread-1m@arm-4": {{Metric: "read.bandwidth", Value: 1.3e6,
			Limiter: "PCIe"}, {Metric: "read.bandwidth", Value: 9e6, Limiter: "DMI"}}},
		Facts: map[string][]lab.Fact{"arm-4": {{Key: "kernel.release", Value: "6.1"}}},
	}
	in, err := FromRun(run, sequence(reps, nil), known)
	if err != nil {
		t.Fatal(err)
	}
	var levels []string
	for _, l := range in.Levels {
		levels = append(levels, l.Name)
	}
	if !slices.Equal(levels, []string{"found", "2", "4"}) || in.Baseline != 0 || in.Reference.Name != "host" ||
		len(in.Levels[2].Facts) != 1 {
		t.Errorf("levels %v, %+v", levels, in)
	}
	if len(in.Cells) != 2 || in.Cells[0].ID != "randread-4k" || in.Cells[0].Title != "randread 4k" ||
		len(in.Measured) != 2*4*6-1 || len(in.Notes) != 2 {
		t.Errorf("%+v, %d measured, notes %v", in.Cells, len(in.Measured), in.Notes)
	}
	d := Analyze(in)
	if d.Margin != 0.05 || d.Alpha != 0.1 || d.Share != 0.8 || d.Run != run.ID || d.Claims != 2*6 {
		t.Errorf("%+v", d)
	}
	large := d.Cells[1]
	if large.Metric != "read.bandwidth" || !large.AtCeiling || large.Ceiling.Limiter != "PCIe" || d.Cells[0].AtCeiling {
		t.Errorf("%+v", large)
	}
	var warnings []string
	for _, w := range d.Warnings {
		warnings = append(warnings, w.Code+" "+w.Level+" "+w.Cell)
	}
	if want := []string{"clock  ", "drift 4 randread-1m", "errors 4 randread-4k",
		"short-run 4 randread-4k"}; !slices.Equal(warnings, want) {
		t.Errorf("%q, want %q", warnings, want)
	}
	if got := d.Cells[0].Levels[2].Warnings; !slices.Equal(got, []string{"errors", "short-run"}) {
		t.Errorf("tainting %v", got)
	}
}

// Where the factor is a parameter of the load, cells differ in nothing else.
func TestTheFactorsOwnParameterIsNone(t *testing.T) {
	run, reps := sweepRun("job:iodepth", "1", "4")
	in, err := FromRun(run, sequence(reps, nil), Known{})
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Cells) != 2 || in.Cells[0].Params["iodepth"] != "" || in.Cells[0].Title != "randread 4k" ||
		run.Cells[0].Params["iodepth"] == "" {
		t.Errorf("%+v", in.Cells)
	}
}

// The limit that was settled is read at again, whatever would be taken without one.
func TestTheLimitOfARun(t *testing.T) {
	run, reps := sweepRun("job:iodepth", "1", "4")
	for i := range reps {
		reps[i].Values["read.latency.p99"], reps[i].Values["read.latency.p99.9"] = 1e-6,
			1e-4*reps[i].Values["read.iops"]
	}
	other := Known{Settings: Settings{Limit: 1, Quantile: "p99"}}
	if in, err := FromRun(run, sequence(reps, nil), other); err != nil || in.Settings.Limit != 1 ||
		in.Settings.Quantile != "p99" {
		t.Errorf("%+v, %v", in.Settings, err)
	}
	run.Experiment.Limit, run.Experiment.Quantile = 0.015, "p99.9"
	in, err := FromRun(run, sequence(reps, nil), other)
	if err != nil {
		t.Fatal(err)
	}
	d := Analyze(in)
	if len(d.Cells) == 0 || len(d.Curves) != 2 || d.Curves[0].Quantile != "p99.9" {
		t.Fatalf("%+v", d)
	}
	if l := d.Curves[0].Limit; l.Seconds != 0.015 || l.Level != "1" || len(l.Exceeding) != 0 {
		t.Errorf("limit %+v", l)
	}
}

func TestFromRunRefuses(t *testing.T) {
	run, reps := sweepRun("sysctl:x", "1", "2")
	broken := errors.New("the segment is cut off")
	if _, err := FromRun(run, sequence(reps, broken), Known{}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, err := FromRun(run, sequence([]lab.Repetition{{Cell: "nowhere"}}, nil), Known{}); err == nil {
		t.Error("a repetition of no cell was taken")
	}
	without := run
	without.Experiment = nil
	if _, err := FromRun(without, sequence(reps, nil), Known{}); lab.KindOf(err) != lab.Usage {
		t.Errorf("%v", err)
	}
	lost := *run.Experiment
	lost.Baseline = "gone"
	run.Experiment = &lost
	if _, err := FromRun(run, sequence(reps, nil), Known{}); err == nil {
		t.Error("a sweep without its baseline was taken")
	}
}

// A command is judged by the metrics that its suite names, in their own direction, and is in no group of loads.
func TestCommandsDecideByTheirOwnMetrics(t *testing.T) {
	run, _ := sweepRun("env:THREADS", "1", "2")
	run.Experiment.Reference, run.Arms, run.Cells = "", run.Arms[:2], nil
	var reps []lab.Repetition
	for i, a := range run.Arms {
		c := lab.Cell{ID: "stall@" + a.ID, Arm: a.ID, Job: "stall", Engine: lab.EngineExec,
			Command: &lab.Command{Argv: []string{"stall"}},
			Params:  map[string]string{"bs": "4k"},
			Metrics: map[string]lab.MetricInfo{"stalled": {Unit: lab.Seconds, Better: lab.Lower, Decides: true}}}
		run.Cells = append(run.Cells, c)
		for b := 1; b <= 5; b++ {
			reps = append(reps, lab.Repetition{Cell: c.ID, Block: b, Number: b,
				Values: map[string]float64{"stalled": float64(1+i) + float64(b)/100, "elapsed": float64(9 - i)}})
		}
	}
	in, err := FromRun(run, sequence(reps, nil), Known{})
	if err != nil {
		t.Fatal(err)
	}
	d := Analyze(in)
	if len(d.Cells) != 1 || d.Cells[0].Metric != "stalled" || d.Cells[0].Unit != lab.Seconds ||
		d.Cells[0].Better != lab.Lower {
		t.Fatalf("%+v", d.Cells)
	}
	// The arms are in the order in which they were planned, the second level first: it stalls for half the time.
	if d.Cells[0].Best != "2" || d.Cells[0].Verdict != Better {
		t.Errorf("best %s, %s", d.Cells[0].Best, d.Cells[0].Verdict)
	}
	if len(d.Groups) != 0 || len(d.Totals) != 0 {
		t.Errorf("groups %+v, totals %+v", d.Groups, d.Totals)
	}
}

// How many repetitions a visit is worth is about the metrics of the document, and the reference is no visit of a level.
func TestVisitsThatRepeat(t *testing.T) {
	run, reps := sweepRun("kernel:", "6.1", "6.12")
	run.Experiment.Factors[0].Needs = "reboot"
	if in, err := FromRun(run, sequence(reps, nil), Known{}); err != nil || in.PerVisit != nil {
		t.Fatalf("%v: %+v", err, in.PerVisit)
	}
	for i, r := range slices.Clone(reps) {
		change := 1 + 0.001*float64(i%7)
		r.Values = map[string]float64{"read.iops": change * r.Values["read.iops"],
			"read.bandwidth": change * r.Values["read.bandwidth"]}
		reps = append(reps, r)
	}
	in, err := FromRun(run, sequence(reps, nil), Known{})
	if err != nil || in.PerVisit == nil {
		t.Fatalf("%v: %+v", err, in.PerVisit)
	}
	d := Analyze(in)
	var metrics []string
	for _, n := range d.PerVisit.Metrics {
		metrics = append(metrics, n.Cell+" "+n.Metric)
	}
	slices.Sort(metrics)
	if p := d.PerVisit; !p.Boots || p.Visits != 12 || p.Repetitions != 2 || p.Repeat != 0 ||
		!slices.Equal(metrics, []string{"randread-1m read.bandwidth", "randread-4k read.iops"}) {
		t.Errorf("%+v", p)
	}
}

// TestVisitsAreNumbered checks that the loads of a visit have its number, and that the last visit of a block and the
// first one of the next are two, though to the same level.
func TestVisitsAreNumbered(t *testing.T) {
	run, all := sweepRun("guest:iothreads", "found", "2")
	var reps []lab.Repetition
	for block, order := range [][]string{{"arm-2", "host", "arm-found"}, {"arm-found", "arm-2", "host"}} {
		for _, arm := range order {
			for _, r := range all {
				if strings.HasSuffix(r.Cell, "@"+arm) && r.Block == block+1 {
					reps = append(reps, r)
				}
			}
		}
	}
	in, err := FromRun(run, sequence(reps, nil), Known{})
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, m := range in.Measured {
		got = append(got, m.Visit)
	}
	if want := []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6}; !slices.Equal(got, want) {
		t.Errorf("visits %v, want %v", got, want)
	}
}
