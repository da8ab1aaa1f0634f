package outage

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/noise"
)

// simulated is a rate of so many seconds with a noise, and what an event does to it: the factor at each moment.
func simulated(r *rand.Rand, m noise.Model, seconds float64, factor func(at float64) float64) Rate {
	const step, fine = 0.1, 10 // the factor holds for parts of a step, too
	n := int(math.Round(seconds / step))
	rate := Rate{Step: step, Values: make([]float64, n)}
	for i, off := range m.Runs(r, n) {
		part := 0.0
		for k := range fine {
			part += factor((float64(i)+(float64(k)+0.5)/fine)*step) / fine
		}
		rate.Values[i] = 20000 * math.Exp(off) * part
	}
	return rate
}

func steady(float64) float64 { return 1 }

// cut is a rate of nothing for a time, then of a share until it is undone, then nothing for a while, then all of it.
func cut(at, stall, share, undone, after float64) func(float64) float64 {
	return func(now float64) float64 {
		switch {
		case now < at || now >= undone+after:
			return 1
		case now < at+stall || now >= undone:
			return 0
		}
		return share
	}
}

// noises are those that a rate by the tenth of a second can have. The sticky ones stay at a level for 1 s and for 5 s
// in the mean.
func noises() []noise.Model {
	return []noise.Model{
		noise.Gaussian(0.02), noise.Gaussian(0.1), noise.StudentT3(0.1), noise.Wandering(0.9, 0.05),
		noise.Wandering(0.98, 0.05),
		noise.TwoMode(0.3, 0.3, 0.03, 0), noise.TwoMode(0.3, 0.3, 0.03, 0.9), noise.TwoMode(0.3, 0.3, 0.03, 0.98),
		noise.Rhythm("sfffffffff", 0.6, 0.03),
	}
}

// What was done is found as deep and as long as it was.
func TestKnownDips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, m := range noises()[:3] {
		for _, c := range []struct{ stall, share, after float64 }{{0.25, 1, 0}, {1.23, 1, 0}, {2.04, 0.5, 0},
			{0.5, 0.5, 0.5}, {40, 0, 1.5}} {
			const at, undone = 20.03, 40.03
			rate := simulated(r, m, 70, cut(at, min(c.stall, undone-at), c.share, undone, c.after))
			f := Analyze(rate, []Event{{At: at, Undone: undone, Unsure: 0.01}})[0]
			stall := c.stall
			if stall > undone-at { // it goes on until the link is back
				stall = undone - at + c.after
			}
			back := stall
			if c.share < RecoveredShare {
				back = undone - at + c.after
			}
			name, slack := m.Name, 0.3
			// a second of 10% noise is 3% off by itself, so that the wait for one that is back is longer
			if m.Name != noises()[0].Name {
				slack = 1.5
			}
			switch {
			case f.Unknown != "" || !f.Event.Dip:
				t.Errorf("%s, %+v: not found: %+v", name, c, f)
			case math.Abs(f.Stall-max(stall, c.after)) > 0.1:
				t.Errorf("%s, %+v: a stall of %.2f s, not %.2f", name, c, f.Stall, stall)
			case f.Event.Fell == nil || *f.Event.Fell > 0.15:
				t.Errorf("%s, %+v: fell %+v", name, c, f.Event.Fell)
			case f.Recovery == nil || math.Abs(*f.Recovery-back) > slack:
				t.Errorf("%s, %+v: recovery %s, not %.2f: %s", name, c, printed(f.Recovery), back, printed(f))
			case f.Lowest > 0.1:
				t.Errorf("%s, %+v: lowest %.2f", name, c, f.Lowest)
			}
			if c.share == 0.5 && (f.Event.Level == nil || f.Event.Level.Lo > 0.51 || f.Event.Level.Hi < 0.49) {
				t.Errorf("%s, %+v: degraded level %+v", name, c, f.Event.Level)
			}
		}
	}
}

func printed(of any) string {
	text, _ := json.Marshal(of)
	return string(text)
}

// A load that makes up for what it missed, within a moment, does not make its stalls shorter.
func TestStallsOfLoadsThatCatchUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const at, most, timestamp, tries = 20.0, 2.5, 0.02, 200
	sum, worst := 0.0, 0.0
	for range tries {
		begun, stall := at+r.Float64(), most*(1+r.Float64())/2
		f := Analyze(simulated(r, noise.Gaussian(0.02), 70, func(now float64) float64 {
			switch {
			case now < begun || now >= begun+stall+timestamp:
				return 1
			case now < begun+stall:
				return 0
			}
			return 1 + stall/timestamp
		}), []Event{{At: at, Undone: at + 10, Unsure: 0.01}})[0]
		sum += f.Stall - stall
		worst = max(worst, math.Abs(f.Stall-stall))
	}
	figure.Record(t, figure.Figure{Name: "outage/stall/off", Unit: "s", Center: sum / tries, N: tries,
		Text: "stalls of loads that catch up are found so far off in the mean, in steps of 0.1 s"})
	figure.Record(t, figure.Figure{Name: "outage/stall/worst", Unit: "s", Center: worst, N: tries, Better: figure.Lower,
		Text: "the same at worst"})
	if math.Abs(sum/tries) > 0.015 || worst > 0.08 {
		t.Errorf("%.3f s off in the mean, %.3f s at worst", sum/tries, worst)
	}
}

// A half of the rate without any stall is a dip, and is not called back before it is.
func TestDegradedOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 1))
	for _, share := range []float64{0.5, 0.8, 0.9} {
		sd := 0.1
		if share == 0.9 { // a tenth is nothing that such a noise would show
			sd = 0.02
		}
		rate := simulated(r, noise.Gaussian(sd), 60, cut(20, 0, share, 45, 0))
		f := Analyze(rate, []Event{{At: 20, Undone: 45}})[0]
		if share == 0.8 || share == 0.9 {
			if f.Event.Level == nil || math.Abs(f.Event.Level.Center-share) > 0.02 {
				t.Errorf("%v: %+v", share, f.Event)
			}
			if f.Event.Back != nil {
				t.Errorf("%v: back after %v", share, *f.Event.Back)
			}
			continue
		}
		if !f.Event.Dip || f.Stall != 0 || f.Recovery == nil || math.Abs(*f.Recovery-25) > 0.3 || f.Undo.Back == nil ||
			*f.Undo.Back > 0.3 {
			t.Errorf("%v: %+v, recovery %v", share, f, f.Recovery)
		}
	}
	lost := simulated(r, noise.Gaussian(0.05), 60, cut(20, 1, 0.4, 100, 0))
	if f := Analyze(lost, []Event{{At: 20}})[0]; f.Recovery != nil || !f.Event.Dip || f.Undo != nil ||
		f.Event.Level == nil || math.Abs(f.Event.Level.Center-0.4) > 0.02 {
		t.Errorf("never back: %+v", f)
	}
}

// Where nothing happened, nothing is found.
func TestFalseDips(t *testing.T) {
	const rounds = 400
	r := rand.New(rand.NewPCG(3, 1))
	for _, m := range noises() {
		for _, c := range []struct{ before, after float64 }{{10, 20}, {30, 30}} {
			dips, stalls := 0, 0
			for range rounds {
				rate := simulated(r, m, c.before+c.after, steady)
				f := Analyze(rate, []Event{{At: c.before}})[0]
				if f.Event.Dip {
					dips++
				}
				if f.Stall > 0 {
					stalls++
				}
			}
			share := float64(dips) / rounds
			figure.Record(t, figure.Share(figure.Name("outage/false-dips",
				fmt.Sprintf("%.0f s before, %.0f s after", c.before, c.after), m.Name), dips, rounds, figure.Lower).
				Saying("false dips: %s, %.0f s before and %.0f s after", m.Name, c.before, c.after))
			most := 0.01
			if strings.Contains(m.Name, "sticky") { // a level that stays for seconds, and was not seen before
				most = 0.1
			}
			if share > most {
				t.Errorf("%s: %.1f%% false dips", m.Name, 100*share)
			}
			if stalls > 1 { // the tails of t3 reach down to nothing once in a thousand
				t.Errorf("%s: %d stalls", m.Name, stalls)
			}
		}
	}
}

// What is unknown is not reported.
func TestUnknown(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	rate := simulated(r, noise.Gaussian(0.05), 30, steady)
	for _, c := range []struct {
		rate   Rate
		events []Event
		words  string
	}{
		{rate, []Event{{At: 3}}, "3.0 s of the load came before it"},
		{rate, []Event{{At: 29.5}}, "the load ended 0.5 s after it"},
		{rate, []Event{{At: 50}}, "the load ended 0.0 s after it"},
		{Rate{Step: 0.1, Values: make([]float64, 300)}, []Event{{At: 20}}, "nothing came through before it"},
		{Rate{}, []Event{{At: 20}}, "no rate"},
		{rate, []Event{{At: 10, Undone: 12}, {At: 15}}, "3.0 s of the load came before it"},
	} {
		all := Analyze(c.rate, c.events)
		if f := all[len(all)-1]; !strings.Contains(f.Unknown, c.words) || f.Event.Dip || f.Recovery != nil {
			t.Errorf("%+v: %+v", c.events, f)
		}
	}
}

// Several events are distinguished, each compared with what was there just before it.
func TestSeveral(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	first, second := cut(15, 1, 1, 20, 0), cut(35, 3, 1, 40, 0)
	rate := simulated(r, noise.Gaussian(0.05), 60, func(at float64) float64 { return first(at) * second(at) })
	all := Analyze(rate, []Event{{At: 15, Undone: 20}, {At: 35, Undone: 40}})
	for i, want := range []float64{1, 3} {
		if f := all[i]; math.Abs(f.Stall-want) > 0.1 || f.Recovery == nil || math.Abs(*f.Recovery-want) > 0.3 {
			t.Errorf("%d: %+v", i, f)
		}
	}
}
