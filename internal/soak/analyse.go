package soak

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/stat/changepoint"
)

// Analyse makes the document of a run of one cell from its repetitions, in any order.
func Analyse(run lab.Run, repetitions []lab.Repetition, warnings []lab.CountedWarning) Document {
	cell := run.Cells[0]
	d := Document{Schema: Schema, Run: run.ID, Job: cell.Job, Params: cell.Params, Target: run.Targets[0].Target,
		Place: run.Targets[0].Place, Planned: cell.Repetitions, Seconds: fio.WantedRuntime(cell.Params).Seconds(),
		Metrics: []Metric{}, Margin: Margin, Alpha: Alpha, Warnings: warnings}
	rounds := slices.SortedFunc(slices.Values(repetitions), func(a, b lab.Repetition) int {
		return a.Start.Compare(b.Start)
	})
	measured := map[string]float64{}
	for _, r := range rounds {
		if r.Failed() {
			d.Failed++
			continue
		}
		for name, v := range r.Values {
			measured[name] = v
		}
	}
	names := lab.Primary(cell.Params, measured)
	search := changepoint.NewChangeSearch(Alpha, len(names))
	for _, name := range names {
		info := lab.MetricOf(cell.Metrics, name)
		m := Metric{Name: name, Unit: info.Unit, Better: info.Better, Rounds: []Round{}, Steps: []Step{}}
		for _, r := range rounds {
			if v, ok := r.Values[name]; ok && !r.Failed() {
				m.Rounds = append(m.Rounds, Round{At: r.Start.Sub(rounds[0].Start).Seconds(), Value: v})
			}
		}
		m.judge(search, stat.FamilyWise(Alpha, len(names)))
		d.Metrics = append(d.Metrics, m)
	}
	return d
}

// judge fills in what the rounds say.
func (m *Metric) judge(search *changepoint.ChangeSearch, confidence float64) {
	values := make([]float64, len(m.Rounds))
	for i, r := range m.Rounds {
		values[i] = r.Value
	}
	from, changes := 0, []stat.Change(nil)
	for _, p := range search.ChangePoints(values) {
		if p.Likely || math.Abs(math.Log(p.Change.Ratio)) <= math.Log(1+Margin) {
			continue
		}
		m.Steps = append(m.Steps, Step{At: m.Rounds[p.Index].At, Before: stat.Median(values[from:p.Index])})
		changes = append(changes, p.Change)
		from = p.Index
	}
	ends := append(slices.Clone(m.Steps), Step{At: math.Inf(1)})
	for i := range m.Steps {
		s := &m.Steps[i]
		s.After = stat.Median(m.between(s.At, ends[i+1].At))
		s.Change = changeOf(changes[i].Agreeing(s.Before, s.After))
	}
	m.settle(values[from:], from)
	quarter := len(values) / 4
	m.Verdict = Undecided
	if quarter == 0 {
		return
	}
	first, last := values[:quarter], values[len(values)-quarter:]
	a, b := stat.Median(first), stat.Median(last)
	change := stat.UnpairedChange(first, last, confidence).Agreeing(a, b)
	m.First, m.Last = &a, &b
	if math.IsNaN(change.Ratio) { // it stood still
		return
	}
	c := changeOf(change)
	m.Change = &c
	m.Verdict = verdictOf(change, len(m.Steps) > 0)
}

// verdictOf is what the change from the first quarter to the last allows to be said.
func verdictOf(c stat.Change, steps bool) Verdict {
	switch c.Decide(Margin) {
	case stat.Above:
		return Rises
	case stat.Below:
		return Falls
	case stat.Same:
		if steps {
			return Varies
		}
		return Holds
	}
	return Undecided
}

// settle sets SteadyFrom and Lasting if the rounds since the last step are a steady state, as SNIA defines one.
func (m *Metric) settle(values []float64, from int) {
	if len(values) < stat.SteadyRounds || !stat.SteadyState(stat.Rounds(values, stat.SteadyRounds)).Steady() {
		return
	}
	at := m.Rounds[from].At
	lasting := stat.MedianInterval(values, 0.95).Estimate()
	m.SteadyFrom, m.Lasting = &at, &lasting
}

// between are the values of the rounds that began from one time on, and before another.
func (m *Metric) between(from, to float64) (values []float64) {
	for _, r := range m.Rounds {
		if r.At >= from && r.At < to {
			values = append(values, r.Value)
		}
	}
	return values
}

func changeOf(c stat.Change) Change {
	return Change{Ratio: c.Ratio, Bounds: stat.BoundsOf(c.Lo, c.Hi)}
}
