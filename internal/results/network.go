package results

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// NetworkLadder judges the rungs of a network. It adds possible faults at its ends, except settings that must stay
// unchanged, and compares with other ladders of the same ports.
func NetworkLadder(s *store.Store, b *store.Bundle, keep, beside []string) (ladder.Document, error) {
	d, err := networkRates(b)
	if err != nil {
		return d, err
	}
	if d.Suspects, err = suspects(b, &d, keep); err != nil {
		return d, err
	}
	d.TuningRuns, err = otherLadders(s, b, keep, beside)
	return d, err
}

// networkRates judges the rates of the rungs of a network.
func networkRates(b *store.Bundle) (ladder.Document, error) {
	terms := termsOf(b.Run)
	rungs := NetworkRungs(b.Run)
	steps := make([]ladder.Step, len(rungs))
	visits := map[string]combinationLoad{}
	for i, r := range rungs {
		steps[i] = stepOfNetwork(b.Run, rungs, i)
		for _, o := range r.Combinations {
			directions := []string{o.Direction}
			if o.Direction == BothDirections || r.Kind == ladder.Loopback {
				directions = []string{lab.Send, lab.Receive}
			}
			visits[o.ID] = combinationLoad{i, directions}
		}
	}
	repetitions, found, err := app.ReadMeasured(b)
	if err != nil {
		return ladder.Document{}, err
	}
	var measured []ladder.Measured
	for _, rep := range repetitions {
		id, allTargets := strings.CutSuffix(rep.Cell, lab.CellIn("", runner.AllTargets))
		if !allTargets || rep.Failed() {
			continue
		}
		for _, direction := range visits[id].directions {
			values := rep.Values
			if rungs[visits[id].rung].Kind == ladder.Loopback { // a loopback has one direction
				values = map[string]float64{lab.Bitrate(direction): rep.Values[lab.Bitrate(lab.Send)]}
			}
			measured = append(measured, ladder.Measured{Rung: visits[id].rung, Cell: direction, Block: rep.Block,
				Values: values})
		}
	}
	var warnings []ladder.RungWarning
	for _, w := range found {
		id, _, _ := strings.Cut(w.Cell, "@")
		v, about := visits[id]
		if !about {
			warnings = append(warnings, ladder.RungWarning{Rung: ladder.WholeRun, CellWarning: w.In("", 0, 0)})
			continue
		}
		for _, direction := range v.directions {
			printed := func(o ladder.RungWarning) bool {
				return o.Rung == v.rung && o.Cell == direction && o.Code == w.Code
			}
			if !slices.ContainsFunc(warnings, printed) { // many pairs of a rung have the same warning
				w.Cell = direction
				warnings = append(warnings, ladder.RungWarning{Rung: v.rung, CellWarning: w})
			}
		}
	}
	return ladder.Analyze(steps, directionLoads(b.Run), measured, warnings, podNotes(b.Run), terms), nil
}

// combinationLoad is what a combination measures: a rung, in one direction or in both.
type combinationLoad struct {
	rung       int
	directions []string
}

// directionLoads returns the two loads of a ladder.
func directionLoads(run lab.Run) []ladder.Load {
	var loads []ladder.Load
	titles := map[string]string{lab.Send: "to the server", lab.Receive: "from the server"}
	params := map[string]string{}
	for _, c := range run.Cells {
		if c.Params["reverse"] == "" && c.Params["bidir"] == "" && !strings.HasPrefix(c.ID, string(ladder.Flow)+"-") {
			params = c.Params
			break
		}
	}
	for _, direction := range []string{lab.Send, lab.Receive} {
		if !slices.ContainsFunc(run.Concurrent.Combinations, func(o lab.Combination) bool {
			return o.Direction == direction && o.Kind != string(ladder.Loopback)
		}) {
			continue
		}
		loads = append(loads, ladder.Load{Title: iperf3.Title(params) + " " + titles[direction],
			Metric: lab.Bitrate(direction), Cell: lab.Cell{ID: direction, Params: params}})
	}
	return loads
}
