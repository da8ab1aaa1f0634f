package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// leaving is a machine on which both sides are as fast, but each run of the new side slows the runs after it, of either
// side, by the share left. So a run of the new side alone is slower by that share. runs is how many runs it slows; 0
// stands for one.
type leaving struct {
	random      *rand.Rand
	left, noise float64
	runs        int
	sometimes   float64 // the share of the new side's runs that leave nothing behind
	slow        int     // how many of the next runs are slower
}

func (l *leaving) measure(r plan.Repetition) float64 {
	v := 1000 * math.Exp(l.noise*l.random.NormFloat64())
	if l.slow > 0 {
		v *= 1 - l.left
		l.slow--
	}
	if r.Arm == plan.New && l.random.Float64() >= l.sometimes {
		l.slow = max(l.runs, 1)
	}
	return v
}

// inTurns carries out a live comparison of so many loads, and returns its two runs.
func inTurns(t testing.TB, loads int, seed uint64, measure func(plan.Repetition) float64) (base, next Run) {
	t.Helper()
	terms := lab.Terms{Margin: 0.03, Alpha: 0.05, Claims: loads, Pairs: 20}
	sides := map[string]*Run{}
	for _, arm := range []string{plan.Base, plan.New} {
		r := &Run{Run: lab.Run{ID: arm, Pair: plan.Base, Source: lab.Measured, Status: lab.Complete, Terms: &terms},
			Name: arm}
		for i := range loads {
			r.Cells = append(r.Cells, cell(fmt.Sprint("load", i), reads+fmt.Sprint(" numjobs=", i+1)))
		}
		sides[arm] = r
	}
	cells := make([]plan.Cell, loads)
	for i := range cells {
		cells[i].ID = fmt.Sprint(i)
	}
	p, start := plan.Paired(cells, terms, 0, seed), time.Unix(1e9, 0)
	var done []plan.Done
	for {
		r, more := p.Next(done)
		if !more {
			return *sides[plan.Base], *sides[plan.New]
		}
		start = start.Add(time.Minute)
		v := measure(r)
		done = append(done, plan.Done{Repetition: r, Seconds: 60, Values: map[string]float64{"read.iops": v}})
		var i int
		if _, err := fmt.Sscan(r.Cell, &i); err != nil {
			t.Fatal(err)
		}
		c := &sides[r.Arm].Cells[i]
		c.N++
		c.Values["read.iops"] = append(c.Values["read.iops"],
			Value{Value: v, Repetition: r.Number, Boot: "b", Block: r.Block, Start: start, Confirms: r.Confirms})
	}
}

// carriedVerdicts counts the verdicts on the new side of a leaving machine, in so many comparisons of so many loads.
func carriedVerdicts(t *testing.T, comparisons, loads int, of leaving) (wrong, right, withheld, asItWas int) {
	t.Helper()
	know, left := knowledge(t), of.left*(1-of.sometimes)
	for i := range comparisons {
		l := of
		l.random = rand.New(rand.NewPCG(3, uint64(i)))
		base, next := inTurns(t, loads, uint64(i), l.measure)
		for _, c := range Compare(know, base, []Run{next}, Options{}).Cells {
			switch {
			case c.Verdict == Slower || c.Verdict == Same && left <= c.Margin:
				right++
			case c.Withheld != "":
				withheld++
			case c.Verdict != Undecided:
				wrong++
			}
			if c.Change.Known() && *c.Change.Lo > 1 {
				asItWas++ // faster, in turns
			}
		}
	}
	return wrong, right, withheld, asItWas
}

// What the new side leaves to whatever follows it is charged to the base in turns, which must not make the new side the
// faster one.
func TestWhatOneSideLeavesIsNotChargedToTheOther(t *testing.T) {
	wrong, right, withheld, asItWas := carriedVerdicts(t, 20, 8, leaving{left: 0.15, noise: 0.01})
	if wrong > 8 || withheld == 0 || asItWas < 20 {
		t.Errorf("of 160 verdicts, %d are faster in turns; %d wrong, %d right, %d withheld", asItWas,
			wrong, right, withheld)
	}
	l := leaving{random: rand.New(rand.NewPCG(3, 1)), left: 0.15, noise: 0.01}
	base, next := inTurns(t, 8, 1, l.measure)
	d := Compare(knowledge(t), base, []Run{next}, Options{})
	printed := false
	for _, c := range d.Cells {
		printed = printed || c.Withheld != "" &&
			strings.Contains(c.Why, "one side slows the runs after it: ")
	}
	if last := d.Warnings[len(d.Warnings)-1]; !printed || last.Code != "carry-over" ||
		!strings.Contains(last.Text, "--set ramp_time=30s") {
		t.Errorf("%+v", d.Warnings)
	}
}

// What the new side leaves behind may slow two runs after it, so that the base, which seldom follows itself twice,
// looks slower in nearly all of its runs.
func TestWhatLastsTwoRunsIsNotChargedToTheOther(t *testing.T) {
	wrong, _, withheld, asItWas := carriedVerdicts(t, 40, 1, leaving{left: 0.15, noise: 0.01, runs: 2})
	if wrong > 2 || withheld < 20 || asItWas < 20 {
		t.Errorf("of 40 verdicts, %d are faster in turns; %d wrong, %d withheld", asItWas, wrong, withheld)
	}
}

// What both sides leave alike is charged to both and hides nothing, nor does a second place that is slower.
func TestWhatBothSidesLeaveHidesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	withheld := 0
	for seed := range uint64(20) {
		first := true
		base, next := inTurns(t, 2, seed, func(r plan.Repetition) float64 {
			v := 1000 * math.Exp(0.01*random.NormFloat64())
			if r.Arm == plan.New {
				v *= 0.8
			}
			if first = !first; first {
				v *= 0.98
			}
			return v
		})
		for _, c := range Compare(knowledge(t), base, []Run{next}, Options{}).Cells {
			if c.Verdict != Slower {
				withheld++
			}
		}
	}
	if withheld > 2 {
		t.Errorf("%d of 40 numbers are not called slower", withheld)
	}
}

// One side of a live comparison that is compared with another run was not measured in turns with it: that its first
// load was slow is no carry-over.
func TestOnlyTurnsCarryOver(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 6))
	base, _ := inTurns(t, 1, 1, func(plan.Repetition) float64 { return 1000 * math.Exp(0.001*random.NormFloat64()) })
	other := run("OTHER", reads+" numjobs=1", 400, 800, 800.5, 799.5, 801, 800, 799, 800.2)
	for i := range other.Cells[0].Values["read.iops"] {
		other.Cells[0].Values["read.iops"][i].Start = time.Unix(2e9, 0).Add(time.Duration(i) * time.Minute)
	}
	other.Cells[0].Job = "load0"
	c := only(t, Compare(knowledge(t), base, []Run{other}, steady()))
	if c.Withheld != "" || c.Change.Per != perRepetition {
		t.Errorf("%s, %s", c.Verdict, c.Why)
	}
	if carry := carryOver(periods(base, other))["read.iops"]; !carry.Found() {
		t.Errorf("the first load does not look like carry-over: %+v", carry)
	}
}
