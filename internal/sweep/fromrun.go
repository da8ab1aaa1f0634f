package sweep

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
)

// Known holds facts about a run that its header does not hold.
type Known struct {
	// Ceilings are by the ID of the cell.
	Ceilings map[string][]ceiling.Ceiling
	// Facts are by the ID of the arm, if arms differ in them (kernels).
	Facts map[string][]lab.Fact
	// Settings apply where the run's experiment has none, such as a limit of latency.
	Settings Settings
}

// FromRun makes an input of a saved sweep. Its arms are the levels, except the reference. Cells of different arms are
// one cell if their IDs agree up to the last "@". Repetitions that failed, or that belong to no block, are left out.
func FromRun(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], known Known) (Input, error) {
	e := run.Experiment
	if e == nil || len(e.Factors) == 0 {
		return Input{}, &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s varies no factor", run.ID)}
	}
	in := Input{Run: run.ID, Factor: factorName(e.Factors), Settings: known.Settings, Baseline: -1}
	in.Settings.Margin, in.Settings.Alpha, in.Settings.Share, in.Settings.Anytime = e.Margin, e.Alpha,
		e.Share, run.Anytime
	if in.Settings.Looks = e.Looks; e.Looks > 0 {
		in.Settings.LookedAt = max(MinBlocks, e.MinBlocks) // runs of older versions looked after MinBlocks
	}
	if e.Limit > 0 {
		in.Settings.Limit, in.Settings.Quantile = e.Limit, e.Quantile
	}
	at := in.addArms(run, known)
	if in.Baseline < 0 {
		return Input{}, &lab.Error{What: fmt.Sprintf("run %s has no arm %q, which should be the baseline of its levels",
			run.ID, e.Baseline)}
	}
	cells := in.addCells(run, at, known)
	failures, blockless := 0, 0
	counts, visits := newWarningCounts(), plan.RecordVisits(run)
	visit, last := 0, Measured{}
	err := run.Read(repetitions, func(c lab.Cell, r lab.Repetition) error {
		place := cells[c.ID]
		counts.add(place, r.Warnings)
		visits.Add(r, r.Failed())
		m := Measured{Level: place.level, Cell: place.cell, Block: r.Block, Values: r.Values}
		if m.Level != last.Level || m.Block != last.Block || visit == 0 {
			visit++
		}
		m.Visit, last = visit, m
		switch {
		case r.Failed():
			failures++
			m.Values = nil
			in.Measured = append(in.Measured, m)
		case r.Block < 1:
			blockless++
		default:
			in.Measured = append(in.Measured, m)
		}
		return nil
	})
	if err != nil {
		return Input{}, err
	}
	in.addWarnings(run, cells, counts)
	in.index()
	in.PerVisit = visits.PerVisit(in.deciding)
	if failures > 0 {
		in.Notes = append(in.Notes, fmt.Sprintf("%d repetitions failed and are left out", failures))
	}
	if blockless > 0 {
		in.Notes = append(in.Notes, fmt.Sprintf("%d repetitions belong to no block and are left out", blockless))
	}
	return in, nil
}

// deciding returns the deciding metrics of a cell, by its ID.
func (in *Input) deciding(cell string) []string {
	i := slices.IndexFunc(in.Cells, func(c CellInput) bool { return c.ID == cell })
	if i < 0 {
		return nil
	}
	return metricsOf(in.Cells[i], in.byCell[cell])
}

// factorName returns the name of one factor, or of several that were varied together.
func factorName(factors []lab.VariedFactor) string {
	var names []string
	for _, f := range factors {
		names = append(names, f.Factor)
	}
	return strings.Join(names, " + ")
}

// addArms makes levels of the arms, in the order in which the factor lists them, and returns the level of each arm.
func (in *Input) addArms(run lab.Run, known Known) (at map[string]int) {
	e := run.Experiment
	var arms []lab.Arm
	for _, a := range run.Arms {
		if a.ID == e.Reference && a.ID != "" {
			in.Reference = &Arm{Name: a.ID, ID: a.ID, Facts: known.Facts[a.ID]}
			continue
		}
		arms = append(arms, a)
	}
	if len(e.Factors) == 1 {
		rank := func(a lab.Arm) int { return slices.Index(e.Factors[0].Levels, levelName(a, e.Factors)) }
		slices.SortStableFunc(arms, func(a, b lab.Arm) int { return rank(a) - rank(b) })
	}
	at = map[string]int{}
	for i, a := range arms {
		at[a.ID] = i
		in.Levels = append(in.Levels, Arm{Name: levelName(a, e.Factors), ID: a.ID,
			NotVerified: notVerified(run.NotVerified, a), Facts: known.Facts[a.ID]})
		if a.ID == e.Baseline {
			in.Baseline = i
		}
	}
	if in.Reference != nil {
		at[in.Reference.ID] = len(arms)
	}
	return at
}

// levelName returns the level of the factor in an arm: "found" if the arm left it unchanged.
func levelName(a lab.Arm, factors []lab.VariedFactor) string {
	var names []string
	for _, f := range factors {
		level, ok := a.Levels[f.Factor]
		if !ok || level == "" {
			level = "found"
		}
		names = append(names, level)
	}
	return strings.Join(names, " + ")
}

// place is the level of a cell of the run, and the ID that the cell shares with the cells of other arms.
type place struct {
	level int
	cell  string
}

// addCells joins the cells of all arms.
func (in *Input) addCells(run lab.Run, at map[string]int, known Known) map[string]place {
	own := map[string]bool{}
	for _, f := range run.Experiment.Factors {
		if name, ok := strings.CutPrefix(f.Factor, "job:"); ok {
			own[name] = true
		}
	}
	places := map[string]place{}
	index := map[string]int{}
	for _, c := range run.Cells {
		level, ok := at[c.Arm]
		if !ok {
			continue
		}
		id := c.Load()
		places[c.ID] = place{level, id}
		i, seen := index[id]
		if !seen {
			i = len(in.Cells)
			index[id] = i
			shared := c
			shared.ID, shared.Arm, shared.Warnings = id, "", nil
			shared.Params = maps.Clone(c.Params)
			maps.DeleteFunc(shared.Params, func(name, _ string) bool { return own[name] })
			in.Cells = append(in.Cells, CellInput{Cell: shared, Ceilings: map[string]Ceiling{}})
		}
		in.Cells[i].lower(known.Ceilings[c.ID])
	}
	title(in.Cells)
	return places
}

// lower keeps the least ceiling of each metric over the arms.
func (c *CellInput) lower(ceilings []ceiling.Ceiling) {
	for _, one := range ceilings {
		tightest, ok := ceiling.Tightest(ceilings, one.Metric)
		if have, known := c.Ceilings[one.Metric]; ok && (!known || tightest.Value < have.Value) {
			c.Ceilings[one.Metric] = Ceiling{Value: tightest.Value, Limiter: tightest.Limiter}
		}
	}
}

// warningCounts counts the warnings of repetitions by place, in the order in which places appear.
type warningCounts struct {
	order []place
	at    map[place]*lab.WarningCounts
}

func newWarningCounts() *warningCounts { return &warningCounts{at: map[place]*lab.WarningCounts{}} }

func (w *warningCounts) add(at place, warnings []lab.Warning) {
	if w.at[at] == nil {
		w.order, w.at[at] = append(w.order, at), &lab.WarningCounts{}
	}
	w.at[at].AddRepetition(warnings)
}

// addWarnings adds the warnings of the run, of its cells, and of its repetitions.
func (in *Input) addWarnings(run lab.Run, cells map[string]place, counts *warningCounts) {
	for _, w := range lab.OfRun(run.Warnings) {
		in.Warnings = append(in.Warnings, WarningInput{Level: -1, CellWarning: w.In("", 0, 0)})
	}
	for _, c := range run.Cells {
		at, ok := cells[c.ID]
		for _, w := range c.Warnings {
			if ok {
				in.Warnings = append(in.Warnings, WarningInput{Level: at.level, CellWarning: w.In(at.cell, 0, 0)})
			}
		}
	}
	for _, at := range counts.order {
		for _, w := range counts.at[at].Counted() {
			in.Warnings = append(in.Warnings, WarningInput{at.level, lab.CellWarning{Cell: at.cell, CountedWarning: w}})
		}
	}
}
