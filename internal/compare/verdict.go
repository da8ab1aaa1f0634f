package compare

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// shownConfidence is the confidence of the intervals of each side alone, as `headroom show` prints them.
const shownConfidence = 0.95

// figures returns the figures of one side.
func figures(values []Value) Figures {
	f := Figures{N: len(values), Values: make([]float64, len(values))}
	for i, v := range values {
		f.Values[i] = v.Value
	}
	f.estimate(stat.MedianInterval(f.Values, shownConfidence))
	return f
}

// estimate sets the center with its interval.
func (f *Figures) estimate(i stat.Interval) {
	f.Center, f.Bounds, f.Confidence = i.Center, stat.BoundsOf(i.Lo, i.Hi), 0
	if f.Known() {
		f.Confidence = i.Confidence
	}
}

// figures returns the figures of both sides from the values that decide, so their ratio is the change: the median of
// boots, or the geometric mean of pairs, since the change of pairs is the mean of their logarithms.
func (s sample) figures(base, next Figures) (Figures, Figures) {
	if len(s.base) == 0 || len(s.next) == 0 {
		return base, next
	}
	if s.planned > 0 && len(s.blocks()) > 0 { // an incomplete block does not count
		blocks := s.blocks()
		s.base, s.next = nil, nil
		for _, b := range blocks {
			s.base, s.next = append(s.base, math.Exp(b.Base[0]), math.Exp(b.Base[1])),
				append(s.next, math.Exp(b.New[0]), math.Exp(b.New[1]))
		}
	}
	for _, side := range []struct {
		figures *Figures
		values  []float64
	}{{&base, s.base}, {&next, s.next}} {
		if s.per == perPair {
			i := stat.MeanInterval(logs(side.values), shownConfidence)
			i.Center, i.Lo, i.Hi = math.Exp(i.Center), math.Exp(i.Lo), math.Exp(i.Hi)
			side.figures.estimate(i)
			continue
		}
		side.figures.estimate(stat.MedianInterval(side.values, shownConfidence))
	}
	return base, next
}

func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}

// decide fills in the change, the verdict and why. It returns the change that decides.
func (c *ComparedMetric) decide(s sample, p *power) stat.Change {
	two := s.change(p)
	if s.per != perPair {
		two = two.Agreeing(c.Base.Center, c.New.Center)
	}
	change, others := two, 0
	if s.sessions && two.Decide(c.Margin) != stat.Undecided {
		if wide, known := s.overSessions(two); known {
			change, others = wide, len(s.others())
		}
	}
	c.Change = newChange(s, change)
	if once := stat.PairedOnce(s.confirmed, shownConfidence); once.N > 0 {
		c.Confirmed = &Change{RatioEstimate: once.Estimate(), Estimator: once.Estimator, Per: s.per, N: once.N}
	}
	if s.per != perPair {
		c.Change.PValues = pValues(stat.ClassicPValues(s.base, s.next))
	}
	decision := change.Decide(c.Margin)
	for _, d := range s.doubts {
		if decision == stat.Undecided {
			break
		}
		if cause := d.find(); cause.Widen(change).Decide(c.Margin) != decision {
			c.Verdict, c.Withheld = Undecided, d.warning.Code
			c.Why = fmt.Sprintf("%s: %s in turns, perhaps %s without that", cause, c.direction(change.Ratio),
				c.direction(cause.Remaining(change.Ratio)))
			return change
		}
	}
	if !c.Change.Known() {
		decision = stat.Undecided
	}
	c.Verdict = c.verdictOf(decision)
	if s.sessions && others == 0 {
		switch decision {
		case stat.Above, stat.Below:
			c.Verdict = Differs
		case stat.Same:
			c.Verdict = Agrees
		}
	}
	switch decision {
	case stat.Same:
		c.Why = "within " + unit.RoundPercent(c.Margin)
		if change.Lo > 1 || change.Hi < 1 {
			c.Why = c.direction(change.Ratio) + ", within the margin of " + unit.RoundPercent(c.Margin)
		}
		if c.Verdict == Agrees {
			c.Why += " in these two sessions"
		}
	case stat.Above, stat.Below:
		least, most := share(change.Lo), share(change.Hi)
		if decision == stat.Below {
			least, most = most, least
		}
		c.Why = fmt.Sprintf("by %s at least", Amount(least))
		if !exceeds(least, c.Margin) {
			c.Why = fmt.Sprintf("by %s to %s, so perhaps within %s", Amount(least), Amount(most),
				unit.RoundPercent(c.Margin))
		}
		if c.Verdict == Differs {
			c.Why = c.side(change.Ratio) + " " + c.Why + " in these two sessions"
		}
	default:
		c.undecided(s, p, change)
		if others > 0 {
			c.Advice = Advice{}
			c.Why = fmt.Sprintf("%s in these two sessions; %d others of this load spread so far that it may be chance",
				c.direction(change.Ratio), others)
		}
	}
	return change
}

func newChange(s sample, change stat.Change) *Change {
	c := &Change{RatioEstimate: change.Estimate(), Estimator: change.Estimator, Per: s.per, N: change.N}
	if !math.IsNaN(change.Spread) {
		c.Spread = &change.Spread
	}
	return c
}

// pValues returns nil if there is no P value at all.
func pValues(p stat.PValues) *PValues {
	out := PValues{}
	if !math.IsNaN(p.MannWhitney) {
		out.MannWhitney = &p.MannWhitney
	}
	if !math.IsNaN(p.Welch) {
		out.Welch = &p.Welch
	}
	if out == (PValues{}) {
		return nil
	}
	return &out
}

func (c *ComparedMetric) undecided(s sample, p *power, change stat.Change) {
	switch {
	case change.N == 0:
		c.Why = "no pair of repetitions"
	case change.N == 1:
		c.Why = fmt.Sprintf("one %s says nothing of the spread", s.per)
	case !c.Change.Known():
		c.Why = fmt.Sprintf("%d %ss are too few for an interval", change.N, s.per)
	default:
		c.Advice = p.advice(s, change, c.Margin)
		c.Why = fmt.Sprintf("only changes above %s were detectable; %s", Amount(c.Smallest), c.further(s.per, c.Margin))
	}
}

// further returns the changes that more values would detect: "with 2 more repetitions, those above 120%, and with about
// 1,500, those above 3%". Per is what counts as one value.
func (a Advice) further(per string, margin float64) string {
	plural := prose.Plural(per)
	if a.More == 0 {
		return fmt.Sprintf("those above %s take over a million more %s", Amount(a.Decides), plural)
	}
	if a.More == 1 {
		plural = per
	}
	text := fmt.Sprintf("with %s more %s, those above %s", prose.About(a.More), plural, Amount(a.Decides))
	if a.MarginMore > 0 {
		text += fmt.Sprintf(", and with %s, those above %s", prose.About(a.MarginMore), Amount(margin))
	}
	return text
}

// verdictOf returns a decision in the words of a metric.
func (c *ComparedMetric) verdictOf(d stat.Decision) Verdict {
	good, bad := Better, Worse
	if speed(c.Unit) {
		good, bad = Faster, Slower
	}
	switch {
	case d == stat.Same:
		return Same
	case d == stat.Undecided:
		return Undecided
	case (d == stat.Above) == (c.Better == lab.Higher):
		return good
	}
	return bad
}

// side returns the direction of a change in the metric's words: "faster", "higher".
func (c *ComparedMetric) side(ratio float64) string {
	words := [2]string{"lower", "higher"}
	if speed(c.Unit) {
		words = [2]string{"slower", "faster"}
	}
	if ratio > 1 {
		return words[1]
	}
	return words[0]
}

// direction returns the size and direction of a change in the metric's words: "1.9% faster", "4% higher".
func (c *ComparedMetric) direction(ratio float64) string {
	return unit.RoundPercent(math.Abs(share(ratio))) + " " + c.side(ratio)
}

// Amount returns the size of a change in words: in percent, or as a factor from ten times on.
func Amount(change float64) string {
	if change >= 9 {
		return fmt.Sprintf("%.3gx", 1+change)
	}
	return unit.RoundPercent(math.Abs(change))
}

// share returns a ratio as a change: 0.61 is -39%.
func share(ratio float64) float64 { return ratio - 1 }

// exceeds reports whether a change lies outside the margin, which is as wide below as above on a logarithmic scale.
func exceeds(change, margin float64) bool {
	return math.Abs(math.Log1p(change)) >= math.Log1p(margin)-1e-12
}
