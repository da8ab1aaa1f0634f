package stat

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Suggestion is what values suggest where they prove nothing: the change by a model of their noise. It is as good as
// the model: logarithms are taken as normal, and what is not known of the noise as usual.
type Suggestion struct {
	// Ratio is how many times the base the new side is, with the model's interval.
	Ratio, Lo, Hi, Confidence float64
	// Chance is the probability, by the model, that the change has the sign that was seen.
	Chance float64
	// Spread of a single value, and Between of sessions, as standard deviations of logarithms; Assumed is set where the
	// second is not known.
	Spread, Between float64
	Assumed         bool
}

const (
	// usualSpread is how far repetitions usually differ, and usualWeight how many values it counts as. With it one
	// value a side suggests something, and two that happen to agree do not suggest too much.
	usualSpread = 0.03
	usualWeight = 1
	// fewestSpread is how many sessions tell how far sessions differ. Below that they are taken to differ by
	// sessionsWider times what repetitions do, and what is usual at least.
	fewestSpread  = 3
	sessionsWider = 1.5
	// ClearChance is from when on a change is called probable.
	ClearChance = 0.95
)

// Suggest is what two sets of repetitions suggest, one session each. sessions are the values of the same load in other
// sessions on the same machine: they tell how far repetitions differ, and how far sessions do.
func Suggest(base, next []float64, sessions [][]float64, confidence float64) Suggestion {
	a, b := logsOf(base), logsOf(next)
	spread, freedom := spreadOf(append([][]float64{a, b}, logsOfAll(sessions)...)...)
	s := Suggestion{Spread: spread, Between: sessionsWider * max(spread, usualSpread), Assumed: true}
	var levels []float64
	for _, l := range logsOfAll(sessions) {
		levels = append(levels, stat.Mean(l, nil))
	}
	if len(levels) >= fewestSpread {
		s.Between, s.Assumed = stat.StdDev(levels, nil), false
		freedom = min(freedom, float64(len(levels)-1))
	}
	ofRepetitions := spread * spread * (1/float64(len(a)) + 1/float64(len(b)))
	return s.around(a, b, math.Sqrt(ofRepetitions+2*s.Between*s.Between), freedom, confidence)
}

// SuggestBoots is what values suggest that were each measured in a session of its own.
func SuggestBoots(base, next []float64, confidence float64) Suggestion {
	a, b := logsOf(base), logsOf(next)
	spread, freedom := spreadOf(a, b)
	return Suggestion{Spread: spread}.around(a, b, spread*math.Sqrt(1/float64(len(a))+1/float64(len(b))), freedom, confidence)
}

// SuggestPairs is what pairs suggest, given as the logarithms of new/base.
func SuggestPairs(logs []float64, confidence float64) Suggestion {
	logs = present(logs)
	spread, freedom := spreadOf(logs)
	return Suggestion{Spread: spread}.around([]float64{0}, logs, spread/math.Sqrt(float64(len(logs))), freedom, confidence)
}

func (s Suggestion) around(a, b []float64, reach, freedom, confidence float64) Suggestion {
	s.Ratio, s.Lo, s.Hi, s.Confidence = math.NaN(), math.NaN(), math.NaN(), confidence
	if len(a) == 0 || len(b) == 0 {
		return s
	}
	difference := stat.Mean(b, nil) - stat.Mean(a, nil)
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: freedom}
	within := t.Quantile(0.5+confidence/2) * reach
	s.Ratio, s.Lo, s.Hi = math.Exp(difference), math.Exp(difference-within), math.Exp(difference+within)
	s.Chance = t.CDF(math.Abs(difference) / reach)
	return s
}

// spreadOf is the standard deviation of values around the means of their groups, with its degrees of freedom.
func spreadOf(groups ...[]float64) (spread, freedom float64) {
	squares, freedom := usualWeight*usualSpread*usualSpread, float64(usualWeight)
	for _, g := range groups {
		if len(g) < 2 {
			continue
		}
		squares += stat.Variance(g, nil) * float64(len(g)-1)
		freedom += float64(len(g) - 1)
	}
	return math.Sqrt(squares / freedom), freedom
}

func logsOfAll(groups [][]float64) [][]float64 {
	var out [][]float64
	for _, g := range groups {
		if l := logsOf(g); len(l) > 0 {
			out = append(out, l)
		}
	}
	return out
}
