package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
)

// Carrier carries out repetitions on one target, or on several at the same moment.
type Carrier interface {
	Repeat(ctx context.Context, next plan.Repetition) (lab.Repetition, error)
	// Add has cells repeated, too, that were added to an experiment since it was opened.
	Add(e Measurement)
	// LaidOut returns the scratch file, of several targets that of the first, and what it holds.
	LaidOut() SharedScratch
	Close() (Outcome, error)
}

// OpenWithPeers opens the session of a measurement, with those of its peers. The caller closes what it returns, also
// after an error, unless it is nil.
func OpenWithPeers(ctx context.Context, e Measurement, saver Saver) (Carrier, error) {
	if len(e.Peers) > 0 {
		return OpenJoint(ctx, JointMeasurement{Measurements: append([]Measurement{e}, e.Peers...), AsOne: true}, saver)
	}
	s, err := Open(ctx, e, saver)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// repeatAsOne carries out one repetition on all targets. One result is kept: what they did together, with what each has
// printed.
func (t *Joint) repeatAsOne(ctx context.Context, next plan.Repetition) (lab.Repetition, error) {
	s := t.sessions[0]
	cell, err := s.cell(next.Cell)
	if err != nil {
		return lab.Repetition{}, err
	}
	j := newJoint(t.sessions)
	j.repetitionOf = func(*Session) plan.Repetition { return next }
	j.onStart = func() { s.report(Progress{Doing: cell.Title, Begins: true, Cell: &cell, Left: cell.Expected}) }
	var rep lab.Repetition
	err = j.repeat(ctx, func() error {
		var err error
		rep, err = t.saveAsOne(next, cell, j)
		return err
	})
	return rep, err
}

// peerWarnings are those that are not said of the whole already. What several say alike, but for the figures in it, is
// said once, with the figures of the first and who says it; where all do, it is about the whole.
func peerWarnings(j *jointRepetition, whole []lab.Warning) []lab.Warning {
	var all []lab.Warning
	var by [][]string // who says it
	for i, m := range j.sessions {
		for _, w := range j.attempts[i].rep.Warnings {
			if indexOfWarning(whole, w) >= 0 {
				continue
			}
			at := indexOfWarning(all, w)
			if at < 0 {
				at, all, by = len(all), append(all, w), append(by, nil)
			}
			if !slices.Contains(by[at], m.Role) {
				by[at] = append(by[at], m.Role)
			}
		}
	}
	for i, roles := range by {
		switch {
		case len(roles) == len(j.sessions) || roles[0] == "":
		case len(roles) == 1:
			all[i].Text = roles[0] + ": " + all[i].Text
		default:
			all[i].Text = fmt.Sprintf("%s and %d more: %s", roles[0], len(roles)-1, all[i].Text)
		}
	}
	return all
}

// numberPattern are what warnings differ by that say the same.
var numberPattern = prose.Pattern(`[0-9][0-9.]*`)

// indexOfWarning is where a warning is among some, whatever its figures are; below 0 where it is not.
func indexOfWarning(warnings []lab.Warning, w lab.Warning) int {
	text := numberPattern().ReplaceAllString(w.Text, "")
	return slices.IndexFunc(warnings, func(o lab.Warning) bool {
		return o.Code == w.Code && numberPattern().ReplaceAllString(o.Text, "") == text
	})
}

// saveAsOne saves what all of them did as one repetition.
func (t *Joint) saveAsOne(next plan.Repetition, cell Cell, j *jointRepetition) (lab.Repetition, error) {
	ofPorts := checkPorts(j.attempts)
	rep := t.sumRepetition(next, &cell, j)
	rep.Ports, rep.Warnings = portsOfAll(j.sessions, j.attempts), append(rep.Warnings, ofPorts...)
	first := j.attempts[0]
	rep.After, rep.Layout, rep.Did, rep.Command = first.rep.After, first.rep.Layout, first.rep.Did, first.rep.Command
	var errs []error
	for i, m := range j.sessions {
		errs = append(errs, m.results.keepPrinted(j.attempts[i], m.Role))
		rep.Raw = append(rep.Raw, j.attempts[i].rep.Raw...)
	}
	rep.Warnings = append(rep.Warnings, peerWarnings(j, rep.Warnings)...)
	errs = append(errs, t.saver.Repetition(rep), t.saver.Commit())
	whole := &attempt{cell: cell, rep: rep, failed: rep.Failed() ||
		slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.failed })}
	s := t.sessions[0]
	if err := s.results.fault(whole, errors.Join(errs...)); err != nil {
		return lab.Repetition{}, err
	}
	s.markSaved(whole)
	for _, m := range t.sessions[1:] {
		m.previous = cell.ID
	}
	return rep, nil
}
