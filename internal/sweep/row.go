package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// MinBlocks is the least number of blocks for a claim. A disk that jumps between two levels shows the same difference
// in three blocks so often that a tenth of all sweeps of such a disk would claim something; with four it is fewer than
// one in twenty.
const MinBlocks = 4

// singleConfidence is the confidence of intervals that are printed alone and decide nothing.
const singleConfidence = 0.95

// row is one metric of one cell over the levels, with the ratios of all pairs of levels. Goodness is the value if more
// is better and its inverse if less is better, so a ratio above 1 is always better.
type row struct {
	cell   CellInput
	metric string
	better lab.Better
	// levels is the number of levels of the factor. The reference, if any, follows them.
	levels  int
	values  []map[int]float64 // by level, then by block
	visits  []map[int]int     // likewise, the number of the visit in the run
	ratios  [][]stat.Change   // of goodness: ratios[i][j] is level i against level j
	score   []float64         // goodness by level, NaN if nothing was measured
	margin  float64
	anytime bool
	// rhythm is the rhythm of the machine, and inRhythm is true if it leaves a pair undecided. Set by compare.
	rhythm      stat.Rhythm
	inRhythm    bool
	spreads     [][]float64 // made by spread
	spreadFloor *float64    // made by minSpread
}

// newRow collects the values of a metric, which of takes from the values of a repetition.
func newRow(in *Input, cell CellInput, metric string, of func(map[string]float64) (float64, bool)) *row {
	r := &row{cell: cell, metric: metric, better: cell.Metric(metric).Better, levels: len(in.Levels),
		margin: in.Settings.Margin, anytime: in.Settings.Anytime}
	arms := len(in.Levels)
	if in.Reference != nil {
		arms++
	}
	logs := make([]map[int][]float64, arms)
	for i := range logs {
		logs[i] = map[int][]float64{}
		r.visits = append(r.visits, map[int]int{})
	}
	for _, m := range in.byCell[cell.ID] {
		if m.Level < 0 || m.Level >= arms {
			continue
		}
		if v, ok := of(m.Values); ok && v > 0 && !math.IsInf(v, 1) {
			logs[m.Level][m.Block] = append(logs[m.Level][m.Block], math.Log(v))
			r.visits[m.Level][m.Block] = m.Visit
		}
	}
	for _, blocks := range logs {
		values := map[int]float64{}
		for b, l := range blocks {
			values[b] = math.Exp(mean(l))
		}
		r.values = append(r.values, values)
	}
	return r
}

// pairSpreads returns how much the logarithms of all pairs of levels scatter from block to block: of level i against
// level j < i, NaN below MinBlocks.
func (r *row) pairSpreads() [][]float64 {
	if r.spreads == nil {
		r.spreads = make([][]float64, len(r.values))
		for i := range r.values {
			for j := range i {
				c := stat.PairedOnce(r.logRatios(i, j), singleConfidence)
				if c.N < MinBlocks {
					c.Spread = math.NaN()
				}
				r.spreads[i] = append(r.spreads[i], c.Spread)
			}
		}
	}
	return r.spreads
}

// named returns a function that takes a metric by its name.
func named(metric string) func(map[string]float64) (float64, bool) {
	return func(values map[string]float64) (float64, bool) { v, ok := values[metric]; return v, ok }
}

// compare estimates all pairs, each at the confidence. The intervals allow for the jumps that so few blocks may not
// show, and for a rhythm of the machine.
func (r *row) compare(confidence float64, unseen *jumps) {
	r.rhythm = stat.FindRhythm(r.turns())
	r.ratios = make([][]stat.Change, len(r.values))
	for i := range r.values {
		r.ratios[i] = make([]stat.Change, len(r.values))
		for j := range i + 1 {
			r.ratios[i][j] = r.estimate(i, j, confidence)
			if i != j && r.ratios[i][j].Known() {
				r.ratios[i][j] = r.allowFor(r.ratios[i][j], i, j, unseen)
			}
			r.ratios[j][i] = inverse(r.ratios[i][j])
		}
	}
	r.score = r.scores()
}

// allowFor returns the ratio of level i to level j with an interval that allows for an unseen jump and for the rhythm.
// It notes whether the rhythm leaves a decision undecided.
func (r *row) allowFor(c stat.Change, i, j int, unseen *jumps) stat.Change {
	spread := r.pairSpreads()[i][j]
	wide := unseen.allowFor(r.rhythm.Widen(c, i, j), spread)
	r.inRhythm = r.inRhythm || wide.Decide(r.margin) != unseen.allowFor(c, spread).Decide(r.margin)
	return wide
}

// rhythmWarning returns the warning that the rhythm leaves levels undecided.
func (r *row) rhythmWarning() LevelWarning {
	return LevelWarning{CellWarning: lab.Warning{Code: "rhythm", Taints: []string{},
		Text: fmt.Sprintf("the machine is slow and fast in a rhythm of %.1f visits, and the order of the levels "+
			"resembles it, so differences of %s that the rhythm may have caused are undecided; let each visit take longer than the "+
			"rhythm, or sweep again in another random order", r.rhythm.Period, r.metric)}.In(r.cell.ID, 0, 0)}
}

// turns returns the values as goodness, each with its level and the number of its visit.
func (r *row) turns() (turns []stat.Turn) {
	for level, values := range r.values {
		for _, b := range slices.Sorted(maps.Keys(values)) {
			turns = append(turns, stat.Turn{Value: math.Exp(r.sign() * math.Log(values[b])),
				At: r.visits[level][b], Arm: level})
		}
	}
	return turns
}

// inverse returns the change in the other direction.
func inverse(c stat.Change) stat.Change {
	c.Ratio, c.Lo, c.Hi = 1/c.Ratio, 1/c.Hi, 1/c.Lo
	return c
}

// estimate returns how many times as good level i is as level j, within a block.
func (r *row) estimate(i, j int, confidence float64) stat.Change {
	logs := r.logRatios(i, j)
	if i == j && len(logs) > 0 {
		return stat.Change{Ratio: 1, Lo: 1, Hi: 1, Confidence: 1, N: len(logs)}
	}
	var c stat.Change
	if r.anytime {
		c = stat.PairedChange(logs, 1-confidence)
	} else {
		c = stat.PairedOnceSpread(logs, r.minSpread(), confidence)
	}
	if c.N < MinBlocks {
		c.Lo, c.Hi, c.Confidence = math.NaN(), math.NaN(), 0
	}
	return c.Agreeing(math.Exp(r.sign()*mean(r.logs(j))), math.Exp(r.sign()*mean(r.logs(i))))
}

// spreadFloorShare of the lower quartile is the least scatter assumed for a pair. The whole quartile would hide gains.
// With this share as many gains are found as without a floor, and 4.0% instead of 6.1% of sweeps of equal levels on a
// recorded disk with heavy tails distinguish some (scripts/bench sweep: sweep/found/*, sweep/wrong/*).
const spreadFloorShare = 0.7

// minSpread returns the least scatter assumed for a pair of levels, from the lower quartile of all pairs. Of dozens of
// pairs some scatter little by chance, and would be distinguished. A level that really scatters more than the others
// must not hide their differences.
func (r *row) minSpread() float64 {
	if r.spreadFloor == nil {
		spreads := slices.DeleteFunc(slices.Concat(r.pairSpreads()...), math.IsNaN)
		slices.Sort(spreads)
		quiet := 0.0
		if len(spreads) > 0 {
			quiet = spreadFloorShare * spreads[(len(spreads)-1)/4]
		}
		r.spreadFloor = &quiet
	}
	return *r.spreadFloor
}

// logRatios returns the logarithms of goodness in the blocks that both levels have, in the order of the blocks.
func (r *row) logRatios(i, j int) []float64 {
	var logs []float64
	for _, b := range slices.Sorted(maps.Keys(r.values[i])) {
		if other, ok := r.values[j][b]; ok {
			logs = append(logs, r.sign()*math.Log(r.values[i][b]/other))
		}
	}
	return logs
}

func (r *row) sign() float64 {
	if r.better == lab.Lower {
		return -1
	}
	return 1
}

// scores returns the means of the levels over the blocks that all of them have: a level that lacks a block in which the
// machine was slow would otherwise look better. If they have no block in common, each level counts with its own blocks.
func (r *row) scores() []float64 {
	common := r.commonBlocks()
	out := make([]float64, len(r.values))
	for i, values := range r.values {
		var logs []float64
		for b, v := range values {
			if len(common) == 0 || common[b] || i >= r.levels {
				logs = append(logs, r.sign()*math.Log(v))
			}
		}
		slices.Sort(logs) // the order of a map would change the last digit of the sum
		out[i] = math.Exp(mean(logs))
	}
	return out
}

func (r *row) commonBlocks() map[int]bool {
	counts, measured := map[int]int{}, 0
	for _, values := range r.values[:r.levels] {
		if len(values) > 0 {
			measured++
		}
		for b := range values {
			counts[b]++
		}
	}
	common := map[int]bool{}
	for b, n := range counts {
		if n == measured {
			common[b] = true
		}
	}
	return common
}

// measured reports whether a level has any value.
func (r *row) measured(level int) bool { return len(r.values[level]) > 0 }

// isWorse is a claim: the interval excludes "no change" and does not lie within the margin.
func (r *row) isWorse(i, j int) bool { return r.ratios[i][j].Decide(r.margin) == stat.Below }

// isWorseThanAny reports whether a level is shown to be worse than some other. It can't be the best then, even if the
// level with the best mean scatters so much that nothing follows from it.
func (r *row) isWorseThanAny(i int) bool {
	for j := range r.levels {
		if j != i && r.measured(j) && r.isWorse(i, j) {
			return true
		}
	}
	return false
}

// published returns a ratio of goodness in the metric's own direction.
func (r *row) published(c stat.Change) *Ratio {
	if c.N == 0 || math.IsNaN(c.Ratio) {
		return nil
	}
	verdict := Undecided
	switch c.Decide(r.margin) {
	case stat.Same:
		verdict = Same
	case stat.Above:
		verdict = Better
	case stat.Below:
		verdict = Worse
	}
	if r.better == lab.Lower {
		c = inverse(c)
	}
	return &Ratio{RatioEstimate: c.Estimate(), N: c.N, Verdict: verdict}
}

// logs returns the logarithms of a level's values, in the order of the blocks.
func (r *row) logs(i int) (logs []float64) {
	for _, block := range slices.Sorted(maps.Keys(r.values[i])) {
		logs = append(logs, math.Log(r.values[i][block]))
	}
	return logs
}

// level returns the value at a level, with Student's interval on logarithms, for this level alone.
func (r *row) level(i int, confidence float64) (value float64, b stat.Bounds) {
	logs := r.logs(i)
	e := stat.MeanInterval(logs, confidence)
	if len(logs) < MinBlocks {
		return math.Exp(e.Center), stat.Bounds{}
	}
	return math.Exp(e.Center), stat.BoundsOf(math.Exp(e.Lo), math.Exp(e.Hi))
}

// mean returns the mean of the values; NaN for none.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// FewestBlocks returns how many blocks it takes to claim a difference of any size, where no level is seen to jump.
func FewestBlocks(alpha float64) int { return max(MinBlocks, stat.FewestAgreeing(alpha)) }

// jumps are the levels that may jump between two rates.
type jumps struct {
	stat.JumpingArms
	// needed is how many blocks it takes until no interval has to allow for an unseen jump; 0 if none has to.
	needed int
}

// jumpsOf collects the levels of all rows except the steadiest of each row, which is the reference. The scatter of a
// level is its scatter against the level with which it scatters least.
func jumpsOf(rows []*row, alpha, margin float64) *jumps {
	j := &jumps{JumpingArms: stat.JumpingArms{Alpha: alpha, Margin: margin}}
	for _, r := range rows {
		var levels []stat.Scatter
		for i := range r.values {
			if with := r.steadiest(i); with >= 0 {
				levels = append(levels, stat.ScatterOf(r.logRatios(i, with)))
			}
		}
		slices.SortFunc(levels, func(a, b stat.Scatter) int { return cmp.Compare(a.Spread, b.Spread) })
		j.Scatters = append(j.Scatters, levels[min(1, len(levels)):]...)
	}
	return j
}

// steadiest returns the level that a level scatters least against; -1 where none has enough blocks in common with it.
func (r *row) steadiest(i int) int {
	least, with := math.Inf(1), -1
	for k := range r.values {
		if k == i {
			continue
		}
		if s := r.pairSpreads()[max(i, k)][min(i, k)]; s < least { // false for NaN
			least, with = s, k
		}
	}
	return with
}

// allowFor returns the ratio of a pair of levels with an interval that allows for a jump that was not seen.
func (j *jumps) allowFor(c stat.Change, spread float64) stat.Change {
	unseen := j.Unseen(c.N, spread)
	if unseen > 1 {
		j.needed = max(j.needed, j.Fewest(spread))
	}
	return c.AllowingForJump(unseen)
}
