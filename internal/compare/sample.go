package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/stat"
)

// The units that count as one value.
const (
	perRepetition = "repetition"
	perBoot       = "boot"
	perPair       = "pair"
)

// sample is two sets of values of one metric in the units that decide.
type sample struct {
	per string
	// base and next are the values. If per is pair, the i-th values form a pair.
	base, next []float64
	// at is the repetition, boot or block in which each value of base and next was measured; for pairs, the first has
	// both.
	at [2][]string
	// newFirst is true for each pair whose new side was measured first. planned is how many pairs a live comparison was
	// to have; 0 for others.
	newFirst []bool
	planned  int
	// confirmed are the logarithms of new/base of the pairs measured after the verdict of a live comparison.
	confirmed []float64
	// doubts are possible causes of the difference between the sides of a live comparison, other than the sides.
	doubts []doubt
	// boots is the number of known boots on each side, and shared is true if both sides have one in common.
	boots  [2]int
	shared bool
	// sessions is true if each side is one session. others returns the values of further sessions.
	sessions bool
	others   func() [][]float64
}

// sampleOf takes pairs if the two runs belong to one live comparison, boots if each side has at least two, and
// otherwise repetitions. Boots differ more than repetitions within one boot (memory layout and module order change), so
// repetitions of one boot are not independent values of its setting.
func sampleOf(base, next []Value, paired bool) sample {
	base, next = inOrder(positive(base)), inOrder(positive(next))
	a, b := grouped(base, bootOf), grouped(next, bootOf)
	s := sample{per: perRepetition, boots: [2]int{len(a), len(b)}}
	for boot := range a {
		if _, ok := b[boot]; ok {
			s.shared = true
		}
	}
	if paired {
		s.base, s.next, s.at[0] = inPairs(base, next, false)
		s.newFirst = newFirst(base, next, s.at[0])
		confirmedBase, confirmedNext, _ := inPairs(base, next, true)
		s.confirmed = logRatios(confirmedBase, confirmedNext)
		if len(s.base) > 0 {
			s.per = perPair
			return s
		}
	}
	if len(a) >= 2 && len(b) >= 2 {
		s.per = perBoot
		s.base, s.at[0] = byBoot(base, a)
		s.next, s.at[1] = byBoot(next, b)
		return s
	}
	s.at = [2][]string{}
	for _, v := range base {
		s.base, s.at[0] = append(s.base, v.Value), append(s.at[0], strconv.Itoa(v.Repetition))
	}
	for _, v := range next {
		s.next, s.at[1] = append(s.next, v.Value), append(s.at[1], strconv.Itoa(v.Repetition))
	}
	return s
}

// inOrder sorts values in the order of measurement: similar neighbours widen an interval.
func inOrder(values []Value) []Value {
	slices.SortStableFunc(values, func(a, b Value) int { return cmp.Compare(a.Repetition, b.Repetition) })
	return values
}

// byBoot returns the means of boots, and the boots, in the order of their first repetitions.
func byBoot(values []Value, boots map[string][]float64) (means []float64, order []string) {
	for _, v := range values {
		if v.Boot != "" && !slices.Contains(order, v.Boot) {
			means, order = append(means, geometric(boots[v.Boot])), append(order, v.Boot)
		}
	}
	return means, order
}

// change estimates the ratio of the new side to the base.
func (s sample) change(p *power) stat.Change {
	switch {
	case s.per != perPair:
		return stat.UnpairedChange(s.base, s.next, p.confidence)
	case s.planned > 0:
		return p.sequential(s.planned).Change(s.blocks())
	}
	return stat.PairedChange(logRatios(s.base, s.next), 1-p.confidence)
}

// blocks returns the complete blocks of two pairs of a live comparison, in the order of measurement.
func (s sample) blocks() (list []stat.TwoPairs) {
	for i := 0; i+1 < len(s.base); i++ {
		first, err := strconv.Atoi(s.at[0][i])
		if second := strconv.Itoa(first + 1); err != nil || first%2 == 0 || s.at[0][i+1] != second {
			continue
		}
		var b stat.TwoPairs
		for k := range 2 {
			b.Base[k], b.New[k], b.NewFirst[k] = math.Log(s.base[i+k]), math.Log(s.next[i+k]), s.newFirst[i+k]
		}
		list = append(list, b)
	}
	return list
}

// newFirst reports for each block whether its new side was measured first.
func newFirst(base, next []Value, blocks []string) []bool {
	start := func(values []Value, block string) time.Time {
		i := slices.IndexFunc(values, func(v Value) bool { return strconv.Itoa(v.Block) == block })
		return values[i].Start
	}
	list := make([]bool, len(blocks))
	for i, block := range blocks {
		list[i] = start(next, block).Before(start(base, block))
	}
	return list
}

// inPairs returns the values of the blocks that both sides have, and the blocks: those measured before the verdict of a
// live comparison, or after it.
func inPairs(base, next []Value, confirms bool) (a, b []float64, blocks []string) {
	of := func(v Value) (int, bool) { return v.Block, v.Block > 0 && v.Confirms == confirms }
	x, y := grouped(base, of), grouped(next, of)
	for _, block := range slices.Sorted(maps.Keys(x)) {
		if _, ok := y[block]; ok {
			a, b, blocks = append(a, geometric(x[block])), append(b, geometric(y[block])),
				append(blocks, strconv.Itoa(block))
		}
	}
	return a, b, blocks
}

func logRatios(base, next []float64) []float64 {
	logs := make([]float64, len(base))
	for i := range base {
		logs[i] = math.Log(next[i] / base[i])
	}
	return logs
}

// oneBoot reports whether the two sides were measured in different boots, and one side in only one boot. The effect of
// a reboot can't be separated from the compared change then.
func (s sample) oneBoot() bool {
	return s.per == perRepetition && min(s.boots[0], s.boots[1]) == 1 && !s.shared
}

func bootOf(v Value) (string, bool) { return v.Boot, v.Boot != "" }

func grouped[K comparable](values []Value, by func(Value) (K, bool)) map[K][]float64 {
	groups := map[K][]float64{}
	for _, v := range values {
		if k, ok := by(v); ok {
			groups[k] = append(groups[k], v.Value)
		}
	}
	for _, g := range groups {
		slices.Sort(g)
	}
	return groups
}

// positive removes values that have no logarithm.
func positive(values []Value) []Value {
	return slices.DeleteFunc(slices.Clone(values), func(v Value) bool {
		return !(v.Value > 0) || math.IsInf(v.Value, 1)
	})
}

// geometric returns the geometric mean. For one value it returns exactly that value, so a pair is decided here exactly
// as during its measurement.
func geometric(values []float64) float64 {
	if len(values) == 1 {
		return values[0]
	}
	sum := 0.0
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}
