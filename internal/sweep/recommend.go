package sweep

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/stat"
)

// recommend returns the level with the smallest largest loss against the best of each row.
func (in *Input) recommend(rows []*row) *Recommended {
	var losses []Loss
	var levels []int
	for i := range in.Levels {
		if l, ok := in.loss(i, rows); ok {
			losses, levels = append(losses, l), append(levels, i)
		}
	}
	if len(losses) == 0 {
		return nil
	}
	least := slices.MinFunc(losses, func(a, b Loss) int { return compareFloat(a.Loss, b.Loss) })
	out := &Recommended{Set: []string{}, Cells: len(rows), Losses: losses}
	chosen := -1
	for at, l := range losses {
		// The margin applies to the share that a level keeps: 2% kept is far less than 4%, though the losses differ
		// little.
		if chosen < 0 && (1-l.Loss)*(1+in.Settings.Margin) >= 1-least.Loss {
			chosen = levels[at]
			out.Loss = l
		}
		if l.Known() && least.Known() && *l.Lo > *least.Hi {
			out.Distinguishable = true // shown to lose more
			continue
		}
		out.Set = append(out.Set, l.Level)
	}
	out.Gain = in.meanGain(chosen, rows)
	return out
}

func compareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// loss returns the largest loss of a level, false if a row lacks it. Its bounds hold if the bounds of all pairs do: the
// level loses at least its largest certain loss against any level in any row, and at most its largest possible loss.
func (in *Input) loss(level int, rows []*row) (Loss, bool) {
	out := Loss{Level: in.name(level), Loss: -1}
	lo, hi := 0.0, 0.0
	for _, r := range rows {
		if !r.measured(level) {
			return out, false
		}
		best := r.score[topOf(r.score[:r.levels])]
		if l := 1 - r.score[level]/best; l > out.Loss {
			out.Loss, out.Cell, out.Metric = l, r.cell.ID, r.metric
		}
		for j := range in.Levels {
			if j == level || !r.measured(j) {
				continue
			}
			c := r.ratios[level][j]
			lo, hi = math.Max(lo, 1-c.Hi), math.Max(hi, 1-c.Lo) // NaN stays NaN
		}
	}
	out.Bounds = stat.BoundsOf(lo, hi)
	return out, out.Loss >= 0
}

// meanGain returns the geometric mean over the rows of a level against the baseline. A block counts once: its rows were
// measured on one machine in one state.
func (in *Input) meanGain(level int, rows []*row) *Ratio {
	sums, counts := map[int]float64{}, map[int]int{}
	for _, r := range rows {
		for b, v := range r.values[level] {
			if base, ok := r.values[in.Baseline][b]; ok {
				sums[b] += r.sign() * math.Log(v/base)
				counts[b]++
			}
		}
	}
	var logs []float64
	for _, b := range sortedKeys(sums) {
		if counts[b] == len(rows) {
			logs = append(logs, sums[b]/float64(len(rows)))
		}
	}
	of := row{margin: in.Settings.Margin}
	if level == in.Baseline {
		if len(logs) == 0 {
			return nil
		}
		return of.published(stat.Change{Ratio: 1, Lo: 1, Hi: 1, Confidence: 1, N: len(logs)})
	}
	confidence := stat.FamilyWise(in.Settings.Alpha, len(in.Levels)-1)
	c := stat.PairedOnce(logs, confidence)
	if in.Settings.Anytime {
		c = stat.PairedChange(logs, 1-confidence)
	}
	if c.N < MinBlocks {
		c.Lo, c.Hi = math.NaN(), math.NaN()
	} else if c.N < FewestBlocks(in.Settings.Alpha) {
		c = c.AllowingForJump(stat.UnseenJump)
	}
	return of.published(c)
}
