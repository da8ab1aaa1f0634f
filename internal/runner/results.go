package runner

import (
	"errors"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner/engine"
)

// results are the repetitions of a session: those that an earlier part of the run has saved, and its own, which it
// saves.
type results struct {
	saver   Saver
	runID   string
	outcome *Outcome
	// done is what plans look at.
	done []plan.Done
}

// newResults begins with what an earlier part of the run has saved.
func newResults(m Measurement, saver Saver, o *Outcome) (*results, error) {
	r := &results{saver: saver, runID: m.RunID, outcome: o}
	o.Repetitions, o.Measured = slices.Clone(m.Saved), len(m.Saved)
	for _, rep := range m.Saved {
		if rep.Failed() {
			o.Failed++
		}
		cell, err := m.cell(rep.Cell)
		if err != nil {
			return nil, err
		}
		r.done = append(r.done, Done(cell.Cell, rep))
	}
	return r, nil
}

// save gives a repetition to the saver, with what was printed. It is safe with the next commit.
func (r *results) save(a *attempt) error {
	return errors.Join(r.keepPrinted(a, ""), r.saver.Repetition(a.rep))
}

// keepPrinted gives the saver what was printed, once, and frees it here. A role is in the names by which it is kept,
// where there are several.
func (r *results) keepPrinted(a *attempt, role string) error {
	if a.done.Job == nil || a.rep.Raw != nil { // nothing was printed, or it is kept already
		return nil
	}
	output, messages := a.engine.Raw()
	folder := fmt.Sprintf("%s/%d/", a.rep.Cell, a.rep.Number)
	if role != "" {
		folder += role + "/"
	}
	a.rep.Raw = []string{folder + output, folder + messages}
	err := errors.Join(r.saver.Raw(a.rep.Raw[0], a.done.Output), r.saver.Raw(a.rep.Raw[1], []byte(a.done.Messages)))
	a.done.Printed = engine.Printed{}
	return err
}

// fault returns the error of saving a repetition, as people read it.
func (r *results) fault(a *attempt, err error) error {
	if err == nil {
		return nil
	}
	return &lab.Error{What: fmt.Sprintf("can't save repetition %d of %s", a.rep.Number, a.rep.Cell), Err: err,
		Hints: []string{"what was saved before is kept; free some space, then: headroom run --resume " + r.runID}}
}

// add takes note of a repetition that is safe.
func (r *results) add(a *attempt) {
	r.outcome.Measured++
	if a.failed {
		r.outcome.Failed++
	}
	light := a.rep
	light.Latency, light.Series = nil, nil
	r.outcome.Repetitions = append(r.outcome.Repetitions, light)
	r.done = append(r.done, Done(a.cell.Cell, light))
}

// repetition returns one that was carried out.
func (r *results) repetition(cell string, number int) lab.Repetition {
	i := slices.IndexFunc(r.outcome.Repetitions, func(o lab.Repetition) bool {
		return o.Cell == cell && o.Number == number
	})
	return r.outcome.Repetitions[i]
}

// has reports whether a repetition of a cell was carried out.
func (r *results) has(cell string, number int) bool {
	return slices.ContainsFunc(r.done, func(d plan.Done) bool { return d.Cell == cell && d.Number == number })
}

// Done is a repetition as plans see it: of its values only those that the cell is decided by.
func Done(cell lab.Cell, r lab.Repetition) plan.Done {
	d := plan.Done{
		Repetition: plan.Repetition{Cell: r.Cell, Arm: cell.Arm, Number: r.Number, Block: r.Block,
			Position: r.Position},
		Values: map[string]float64{}, Seconds: r.Took,
	}
	for _, name := range lab.Deciding(cell.Metrics, cell.Params, r.Values) {
		d.Values[name] = r.Values[name]
	}
	return d
}

// addCosts adds to the values of a load what an I/O of it cost the host. Nothing is added of a load whose I/Os are not
// counted.
func addCosts(values map[string]float64, spent counters.Spent, ios float64) {
	if values == nil || ios <= 0 {
		return
	}
	for metric, v := range map[string]float64{lab.HostCPUPerIO: spent.CPUSeconds, lab.EnergyPerIO: spent.Joules} {
		if v > 0 {
			values[metric] = v / ios
		}
	}
}
