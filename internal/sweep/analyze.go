package sweep

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Analyze makes the document.
func Analyze(in Input) Document {
	in.Settings = in.Settings.orDefaults()
	in.orderKernels()
	in.index()
	s := in.Settings
	d := Document{Schema: Schema, Run: in.Run, Factor: in.Factor, Levels: []Level{}, Share: s.Share, Margin: s.Margin,
		Alpha:     s.Alpha,
		MeansOnly: s.MeansOnly, PerVisit: in.PerVisit, Cells: []Cell{}, Groups: []Group{}, Totals: []Group{},
		Warnings: []LevelWarning{}, Notes: append([]string{}, in.Notes...)}
	for _, l := range in.Levels {
		d.Levels = append(d.Levels, Level{Name: l.Name, Arm: l.ID, Number: numberOf(l.Name),
			NotVerified: l.NotVerified})
	}
	if len(in.Levels) > 0 {
		d.Baseline = in.Levels[in.Baseline].Name
	}
	if in.Reference != nil {
		d.Reference = in.Reference.Name
	}
	blocks := map[int]bool{}
	for _, m := range in.Measured {
		if !m.failed() {
			blocks[m.Block] = true
		}
	}
	d.Blocks = len(blocks)
	for _, w := range in.Warnings {
		d.Warnings = append(d.Warnings, LevelWarning{in.name(w.Level), w.CellWarning})
	}
	d.Curves = curves(&in)
	if isRate(in.Factor) {
		return d // no level of a requested rate is better than another
	}
	d.Outages = in.outages()
	rows := in.rows()
	d.Claims = len(rows) * in.pairs()
	d.Looks, d.LookedAt = s.Looks, s.LookedAt
	d.Confidence = stat.FamilyWise(s.Alpha, d.Claims*max(1, s.Looks))
	unseen := jumpsOf(rows, s.Alpha, s.Margin)
	for _, r := range rows {
		r.compare(d.Confidence, unseen)
		d.Cells = append(d.Cells, in.cell(r))
		if r.inRhythm {
			d.Warnings = append(d.Warnings, r.rhythmWarning())
		}
	}
	d.BlocksNeeded = unseen.needed
	d.withhold()
	d.countSettled()
	d.Recommended = in.recommend(rows)
	d.Groups = in.groups(rows, d.Cells)
	_, loads := ofLoads(rows, d.Cells)
	d.Totals = totals(d.Levels, loads, operation)
	d.Chain = in.chain(rows)
	return d
}

// countSettled counts the loads that got no blocks after the look because all of their numbers were settled. A load
// that is short of blocks because the run was interrupted has an open number and is not counted.
func (d *Document) countSettled() {
	if d.Looks < 2 || d.Blocks <= d.LookedAt {
		return
	}
	open := map[string]bool{}
	for i := range d.Cells {
		c := &d.Cells[i]
		more := slices.ContainsFunc(c.Levels, func(p Point) bool { return p.N > d.LookedAt })
		open[c.Cell] = open[c.Cell] || more || !c.Settled()
	}
	for _, o := range open {
		if !o {
			d.Settled++
		}
	}
}

// pairs returns how many statements are made about a row: one for each pair of levels, and one for each level against
// the reference. The best level, and the best of the lower levels, are found by looking, so every pair must hold.
func (in *Input) pairs() int {
	n := len(in.Levels)
	claims := n * (n - 1) / 2
	if in.Reference != nil {
		claims += n
	}
	return claims
}

func (in *Input) name(level int) string {
	switch {
	case level >= 0 && level < len(in.Levels):
		return in.Levels[level].Name
	case level == len(in.Levels) && in.Reference != nil:
		return in.Reference.Name
	}
	return ""
}

// rows returns the deciding metrics of all cells that were measured at two levels or more.
func (in *Input) rows() []*row {
	var rows []*row
	for _, c := range in.Cells {
		for _, metric := range metricsOf(c, in.byCell[c.ID]) {
			r := newRow(in, c, metric, named(metric))
			measured := 0
			for i := range r.values {
				if in.stands(c, metric, i) { // the rest would hide that it measured 0
					r.values[i] = map[int]float64{}
				}
				if i < len(in.Levels) && r.measured(i) {
					measured++
				}
			}
			if measured > 1 {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

// metricsOf returns the metrics that decide about a cell: bandwidth instead of IOPS if its blocks are large.
func metricsOf(c CellInput, measured []Measured) []string {
	seen := map[string]bool{}
	for _, m := range measured {
		for name := range m.Values {
			seen[name] = true
		}
	}
	names := lab.Deciding(c.Metrics, c.Params, seen)
	for i, name := range names {
		if direction, rate := strings.CutSuffix(name, ".iops"); rate && large(c.Params["bs"]) &&
			seen[lab.Bandwidth(direction)] {
			names[i] = lab.Bandwidth(direction)
		}
	}
	return names
}

// large reports whether results for a block size are read as bandwidth: from 64 KiB, as in reports and comparisons.
func large(bs string) bool {
	n, err := unit.ParseBytes(bs)
	return err == nil && n >= 64<<10
}

// numberOf returns a level as a number, plain or with a unit ("64k"); nil for a word.
func numberOf(name string) *float64 {
	if v, err := strconv.ParseFloat(name, 64); err == nil && v-v == 0 {
		return &v
	}
	if n, err := unit.ParseBytes(name); err == nil {
		v := float64(n)
		return &v
	}
	return nil
}

// cell returns the figures of merit of a row.
func (in *Input) cell(r *row) Cell {
	score := r.score[:r.levels]
	top := topOf(score)
	c := Cell{Cell: r.cell.ID, Title: r.cell.Title, Job: r.cell.Job, Params: maps.Clone(r.cell.Params),
		Metric: r.metric, Unit: r.cell.Metric(r.metric).Unit,
		Better: r.better, Top: in.name(top), BestSet: []string{}, Share: in.Settings.Share, Harm: []Harm{}}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	costs := in.costs(r.cell)
	for i := range in.Levels {
		c.Levels = append(c.Levels, in.point(r, i, top, costs))
		if !r.measured(i) {
			continue
		}
		if i == top || !r.isWorseThanAny(i) {
			c.BestSet = append(c.BestSet, in.name(i))
		} else {
			c.Distinguishable = true
		}
	}
	c.Best = c.BestSet[0]
	c.SmallestForShare = in.name(smallestFor(in.Settings.Share, score))
	c.SmallestBetween = in.smallestBetween(r)
	c.Verdict = in.verdict(r)
	c.Gain = r.published(r.ratios[top][in.Baseline])
	if in.Reference != nil && r.measured(r.levels) {
		p := in.point(r, r.levels, top, costs)
		c.Reference = &p
		c.ToReference = r.published(r.ratios[top][r.levels])
	}
	c.NoLongerPays = in.noLongerPays(r)
	c.Harm = append(c.Harm, in.harm(r)...)
	c.AtCeiling, c.Ceiling = in.atCeiling(r, top)
	return c
}

// verdict returns whether any level is better than the baseline.
func (in *Input) verdict(r *row) Verdict {
	out := Same
	for i := range in.Levels {
		if i == in.Baseline || !r.measured(i) {
			continue
		}
		switch r.ratios[i][in.Baseline].Decide(r.margin) {
		case stat.Above:
			return Better
		case stat.Undecided:
			out = Undecided
		}
	}
	return out
}

func (in *Input) point(r *row, i, top int, costs []*row) Point {
	p := Point{Level: in.name(i), N: len(r.values[i])}
	if p.N == 0 {
		return p
	}
	v, b := r.level(i, singleConfidence)
	p.Value, p.Bounds = &v, b
	p.ToBaseline, p.ToTop = r.published(r.ratios[i][in.Baseline]), r.published(r.ratios[i][top])
	p.Warnings = in.tainting(i, r.cell.ID, r.metric)
	for _, cost := range costs {
		if !cost.measured(i) {
			continue
		}
		p.Costs = cost.among(p.Costs, i)
		if one := p.Costs[cost.metric]; i != in.Baseline {
			one.ToBaseline = cost.published(cost.estimate(i, in.Baseline, singleConfidence))
			p.Costs[cost.metric] = one
		}
	}
	return p
}

// costs returns the costs of an operation of a cell: CPU time of the load's process, CPU time of a guest's host, and
// energy.
func (in *Input) costs(cell CellInput) []*row {
	var out []*row
	for _, metric := range []string{lab.CPUPerIO, lab.HostCPUPerIO, lab.EnergyPerIO} {
		out = append(out, newRow(in, cell, metric, named(metric)))
	}
	return out
}

// tainting returns the codes of the warnings that cast doubt on a metric of a cell at a level.
func (in *Input) tainting(level int, cell, metric string) []string {
	var codes []string
	for _, w := range in.Warnings {
		about := w.Level == level && (w.Cell == "" || w.Cell == cell)
		if about && w.Tainted(metric) && !slices.Contains(codes, w.Code) {
			codes = append(codes, w.Code)
		}
	}
	return codes
}

// smallestBetween bounds the smallest level that reaches the share of the best level, whichever that is.
func (in *Input) smallestBetween(r *row) Between {
	var out Between
	for i := range in.Levels {
		if !r.measured(i) {
			continue
		}
		reaches, falls := true, false
		for j := range in.Levels {
			if !r.measured(j) || j == i {
				continue
			}
			c := r.ratios[i][j]
			reaches = reaches && c.Known() && c.Lo >= in.Settings.Share
			falls = falls || c.Known() && c.Hi < in.Settings.Share
		}
		if out.From == "" && !falls {
			out.From = in.name(i)
		}
		if reaches {
			out.To = in.name(i)
			return out
		}
	}
	return out
}

// noLongerPays decides by the means. It is certain if the intervals of this level and of all levels before it agree.
func (in *Input) noLongerPays(r *row) *Step {
	level, before := noLongerPays(in.Settings.Margin, r.score[:r.levels])
	if level < 0 {
		return nil
	}
	ratio := r.published(r.ratios[level][before])
	if ratio == nil {
		return nil // the two levels have no block in common
	}
	pays := 1 + in.Settings.Margin
	certain := r.ratios[level][before].Known() && r.ratios[level][before].Hi < pays
	last := -1
	for i := range level {
		if !r.measured(i) {
			continue
		}
		if last >= 0 {
			certain = certain && r.ratios[i][last].Lo >= pays
		}
		last = i
	}
	return &Step{Level: in.name(level), After: in.name(before), Certain: certain, Ratio: *ratio}
}

// harm returns the levels that are worse than the baseline or than a lower level, each with the best level that it is
// worse than.
func (in *Input) harm(r *row) []Harm {
	var out []Harm
	for i := range in.Levels {
		if !r.measured(i) {
			continue
		}
		if r.isWorse(i, in.Baseline) {
			out = append(out, Harm{in.name(i), in.name(in.Baseline), *r.published(r.ratios[i][in.Baseline])})
			continue
		}
		best := -1
		for j := range i {
			if r.isWorse(i, j) && (best < 0 || r.score[j] > r.score[best]) {
				best = j
			}
		}
		if best >= 0 {
			out = append(out, Harm{in.name(i), in.name(best), *r.published(r.ratios[i][best])})
		}
	}
	return out
}

// nearCeiling is the share below a ceiling within which a result counts as at it: overheads that no formula knows cost
// some per cent.
const nearCeiling = 0.10

// atCeiling looks at all rates of the row's direction, since ceilings are often known in bytes alone.
func (in *Input) atCeiling(r *row, top int) (bool, *ReachedCeiling) {
	direction, _, _ := strings.Cut(r.metric, ".")
	var nearest *ReachedCeiling
	for _, metric := range []string{lab.Bandwidth(direction), lab.IOPS(direction)} {
		limit, known := r.cell.Ceilings[metric]
		if !known || !(limit.Value > 0) {
			continue
		}
		of := newRow(in, r.cell, metric, named(metric))
		if !of.measured(top) {
			continue
		}
		v, _ := of.level(top, singleConfidence)
		if share := v / limit.Value; nearest == nil || share > nearest.Share {
			nearest = &ReachedCeiling{Ceiling: limit, Metric: metric, Share: share}
		}
	}
	return nearest != nil && nearest.Share >= 1-nearCeiling, nearest
}

// The functions below define the figures of merit on the mean result of each level: more is better, NaN was not
// measured. The definitions follow the IOThreads report: the best result of any level, and the smallest number of
// threads that reaches 90% of it, where 0 threads is the baseline itself. The intervals tell whether noise could
// explain them.

// topOf returns the level with the best result, the first of equals; -1 for none.
func topOf(score []float64) int {
	top := -1
	for i, s := range score {
		if !math.IsNaN(s) && (top < 0 || s > score[top]) {
			top = i
		}
	}
	return top
}

// smallestFor returns the first level that reaches a share of the best result; -1 for none.
func smallestFor(share float64, score []float64) int {
	top := topOf(score)
	for i, s := range score {
		if s >= share*score[top] {
			return i
		}
	}
	return -1
}

// noLongerPays returns the first level that gains less than the margin over the level measured before it; -1 if each
// gains more.
func noLongerPays(margin float64, score []float64) (level, before int) {
	last := -1
	for i, s := range score {
		if math.IsNaN(s) {
			continue
		}
		if last >= 0 && s < score[last]*(1+margin) {
			return i, last
		}
		last = i
	}
	return -1, -1
}

// halfUp rounds a mean half up: 2.5 threads are 3.
func halfUp(v float64) float64 { return math.Floor(v + 0.5 + 1e-9) }
