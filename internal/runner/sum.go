package runner

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/validity"
)

// sumRepetition is what everybody did in one repetition. Doubts about their start are added to their own repetitions,
// too.
func (t *Joint) sumRepetition(next plan.Repetition, cell *Cell, j *jointRepetition) lab.Repetition {
	sum := t.newSum(next, cell, j)
	if slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.done.State.Started.IsZero() }) ||
		len(j.withoutClock()) > 0 {
		return j.sumMembers(sum, allMembers(j))
	}
	at := startTimes(j.attempts, j.offsets)
	maps.Copy(sum.Values, timing(at, j.attempts))
	for _, w := range timingWarnings(at, j.repetitions()) {
		sum.Warnings = append(sum.Warnings, w)
		for _, a := range j.attempts {
			a.rep.Warnings = append(a.rep.Warnings, w)
		}
	}
	return j.sumMembers(sum, allMembers(j))
}

// groupSums are the sums of the groups that carry out a cell.
func (t *Joint) groupSums(next plan.Repetition, j *jointRepetition) []lab.Repetition {
	var sums []lab.Repetition
	for _, group := range slices.Sorted(maps.Keys(t.Groups)) {
		cell := t.sumCell(lab.CellIn(next.Cell, group))
		if cell == nil {
			continue
		}
		var members []int
		for i, s := range j.sessions {
			if slices.Contains(t.Groups[group], s.Role) {
				members = append(members, i)
			}
		}
		sums = append(sums, j.sumMembers(t.newSum(next, cell, j), members))
	}
	return sums
}

// newSum is a sum before anything is added up.
func (t *Joint) newSum(next plan.Repetition, cell *Cell, j *jointRepetition) lab.Repetition {
	sum := lab.Repetition{Cell: cell.ID, Number: next.Number, Block: next.Block, Position: next.Position,
		Start: j.attempts[0].rep.Start, Values: map[string]float64{}}
	if n := len(t.sums); n > 0 {
		sum.After = t.sums[n-1].Cell
	}
	var boots []string
	for _, a := range j.attempts {
		if !slices.Contains(boots, a.rep.Boot) {
			boots = append(boots, a.rep.Boot)
		}
		sum.Took = max(sum.Took, a.rep.Took)
	}
	sum.Boot = strings.Join(boots, "+") // another boot of any of them is another of the whole
	if len(boots) >= MinFleet {
		sum.Boot = fmt.Sprintf("%x", sha256.Sum256([]byte(sum.Boot)))
	}
	return sum
}

// sumMembers adds up what some did in the seconds in which everybody was running, or says why that can't be done.
func (j *jointRepetition) sumMembers(sum lab.Repetition, members []int) lab.Repetition {
	refuse := func(why string) lab.Repetition {
		sum.Warnings = append(sum.Warnings, validity.NoSum(why))
		return sum
	}
	if timeless := j.withoutClock(); len(timeless) > 0 {
		sum.Warnings = append(sum.Warnings, validity.NoClock(timeless))
		return refuse("the clocks can't be compared")
	}
	var failed []string
	for i, a := range j.attempts {
		if a.failed {
			failed = append(failed, j.sessions[i].Role)
		}
	}
	if len(failed) > 0 {
		return refuse("the load of " + strings.Join(failed, " and ") + " failed")
	}
	if slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.cell.Engine == lab.EngineExec }) {
		return refuse("a command has no rates by the second")
	}
	if slices.ContainsFunc(members, func(i int) bool {
		return j.attempts[i].cell.Engine != j.attempts[members[0]].cell.Engine
	}) {
		return sum // loads of different kinds have no rates to add up
	}
	if slices.ContainsFunc(j.attempts, func(a *attempt) bool { return a.cell.Engine == lab.EnginePerftest }) {
		return refuse("perftest has no rates by the second, and the means of each are not of the same time")
	}
	parts := j.repetitions()
	sum.Series = totalSeries(parts, startTimes(j.attempts, j.offsets), members)
	if len(sum.Series) == 0 {
		return refuse("there is no second in which all have a rate")
	}
	var own []lab.Repetition
	for _, i := range members {
		own = append(own, parts[i])
	}
	sum.Seconds = float64(len(sum.Series[0].Values)) * sum.Series[0].Interval
	sum.Values[lab.CommonSeconds] = sum.Seconds
	sum.Latency = totalLatency(own)
	maps.Copy(sum.Values, totalValues(sum, own))
	return sum
}

// repetitions are the repetitions of all.
func (j *jointRepetition) repetitions() []lab.Repetition {
	var parts []lab.Repetition
	for _, a := range j.attempts {
		parts = append(parts, a.rep)
	}
	return parts
}

// withoutClock are the roles of those whose clocks can't be compared.
func (j *jointRepetition) withoutClock() []string {
	var roles []string
	for i, o := range j.offsets {
		if !o.Known {
			roles = append(roles, j.sessions[i].Role)
		}
	}
	return roles
}

func allMembers(j *jointRepetition) []int {
	all := make([]int, len(j.attempts))
	for i := range all {
		all[i] = i
	}
	return all
}

// timing is how far apart the loads started, and when the first and the last of them was done, from the first start on.
func timing(at []engine.Timestamp, attempts []*attempt) map[string]float64 {
	distance, uncertainty := engine.Skew(at)
	first, _ := engine.FirstAndLast(at)
	values := map[string]float64{lab.StartSkew: distance.Seconds(), lab.StartUncertainty: uncertainty.Seconds()}
	firstDone, lastDone := math.Inf(1), 0.0
	for i, a := range attempts {
		if a.failed {
			continue // how long it really ran is unknown
		}
		done := at[i].Sub(first.Time).Seconds() + engine.Ramp(a.cell.Cell).Seconds() + a.rep.Seconds
		firstDone, lastDone = min(firstDone, done), max(lastDone, done)
	}
	if lastDone > 0 {
		values[lab.FirstDone], values[lab.LastDone] = firstDone, lastDone
	}
	return values
}

// timingWarnings about loads that are said to have run together.
func timingWarnings(at []engine.Timestamp, parts []lab.Repetition) []lab.Warning {
	distance, uncertainty := engine.Skew(at)
	shortest := math.Inf(1)
	for _, p := range parts {
		if p.Seconds > 0 {
			shortest = min(shortest, p.Seconds)
		}
	}
	if math.IsInf(shortest, 0) {
		return nil // none of them measured anything
	}
	return validity.StartSkew(distance, uncertainty, time.Duration(shortest*float64(time.Second)))
}

// startTimes are when loads really started: by what fio prints, or, where one of them does not say, by the starts of
// all processes. The two differ by the time that fio takes to start, which must not look like a skew.
func startTimes(attempts []*attempt, offsets []engine.Offset) []engine.Timestamp {
	printed := !slices.ContainsFunc(attempts, func(a *attempt) bool { return a.started.IsZero() })
	storage := !slices.ContainsFunc(attempts, func(a *attempt) bool { return !lab.ByFio(a.cell.Engine) })
	timestamps := make([]engine.Timestamp, len(attempts))
	for i, a := range attempts {
		if printed {
			timestamps[i] = engine.Timestamp{Time: a.started.Add(-offsets[i].Offset),
				Uncertainty: offsets[i].Uncertainty +
					time.Millisecond}
			continue
		}
		// Targets report the times of jobs by this machine's clock already.
		timestamps[i] = engine.Timestamp{Time: a.done.State.Started, Uncertainty: offsets[i].Uncertainty}
		// What fio needs to get going is much the same everywhere; a test of a network waits for its other end, before
		// and after.
		lead := leadOf(a)
		if s := spread(a, lead); s > 0 && !storage {
			timestamps[i].Time, timestamps[i].Spread = timestamps[i].Add(lead+s), s
		}
		if offsets[i].Uncertainty > 0 {
			timestamps[i].Uncertainty += engine.JobTimeStep
		}
	}
	return timestamps
}

// leadOf is how long the process of a load was there before its ramp began; 0 where it does not tell.
func leadOf(a *attempt) time.Duration {
	if e, ok := a.engine.(engine.StartLeadReader); ok {
		if lead, known := e.StartLead(a.done.Ended); known {
			return lead - engine.Ramp(a.cell.Cell)
		}
	}
	return 0
}

// spread is half of the time in which the process of a load existed and the load did not run, beyond its lead: it
// connected, or printed results.
func spread(a *attempt, lead time.Duration) time.Duration {
	if a.done.State.Ended.IsZero() || a.rep.Seconds == 0 {
		return 0
	}
	ran := engine.Ramp(a.cell.Cell) + time.Duration(a.rep.Seconds*float64(time.Second))
	return (a.done.State.Ended.Sub(a.done.State.Started) - lead - ran) / 2
}
