package results

import (
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/staged"
	"github.com/headroom/headroom/internal/store"
)

func interferenceResult(_ *app.App, b *store.Bundle, _ report.Options) (ResultDocument, error) {
	d, err := interferenceOf(b)
	return ResultDocument{Published: d, Runs: []lab.Run{b.Run}, Document: func(o report.Options) document.Document {
		return staged.Interference(d, o)
	}}, err
}

// interferenceOf returns the document of a saved run.
func interferenceOf(b *store.Bundle) (interference.Document, error) {
	design := *b.Run.Concurrent
	terms := interference.Terms{Margin: interference.DefaultMargin, Alpha: interference.DefaultAlpha,
		Passes: b.Run.Repetitions}
	if t := b.Run.Terms; t != nil {
		terms.Margin, terms.Alpha = t.Margin, t.Alpha
	}
	var groups []interference.Group
	place := map[string]int{} // of groups, and of their arms
	for i, g := range design.Groups {
		kind := "network"
		if strings.HasPrefix(g.Over[0], "/") {
			kind = "storage"
		}
		groups = append(groups, interference.Group{Name: g.Name, Kind: kind, Over: g.Over})
		place[g.Name] = i
		for _, arm := range g.Arms {
			place[arm] = i
		}
	}
	combinations := map[string][]int{}
	for _, o := range design.Combinations {
		for _, name := range o.Groups {
			combinations[o.ID] = append(combinations[o.ID], place[name])
		}
	}
	type visit struct {
		combination string
		block       int
	}
	rates := map[visit]map[int]float64{}
	repetitions, found, err := app.ReadMeasured(b)
	if err != nil {
		return interference.Document{}, err
	}
	for _, rep := range repetitions {
		i := strings.LastIndex(rep.Cell, "@")
		id, arm := rep.Cell[:max(i, 0)], rep.Cell[i+1:]
		if !slices.ContainsFunc(design.Groups, func(g lab.DesignGroup) bool { return g.Name == arm }) {
			continue
		}
		at := visit{id, rep.Block}
		if rates[at] == nil {
			rates[at] = map[int]float64{}
		}
		if rates[at][place[arm]] = bitsOf(rep.Values); rep.Failed() {
			rates[at][place[arm]] = math.NaN() // so the whole visit does not count
		}
	}
	var measured []interference.Measured
	for at, of := range rates {
		measured = append(measured, interference.Measured{Block: at.block, Rates: of})
	}
	var warnings []interference.GroupWarning
	for _, w := range found {
		if !ofRates(w.Warning) {
			continue
		}
		i := strings.LastIndex(w.Cell, "@")
		groups, about := append([]int{}, combinations[w.Cell[:max(i, 0)]]...), -1
		if g, ok := place[w.Cell[i+1:]]; ok && i >= 0 {
			about = g
		}
		warnings = append(warnings, interference.GroupWarning{Groups: groups, About: about,
			CountedWarning: w.CountedWarning})
	}
	d := interference.Analyse(groups, measured, warnings, nil, terms)
	d.Run = b.Run.ID
	return d, nil
}

// ofRates reports whether a warning is about the whole run, or about the rates that are compared. It excludes the
// warning about few repetitions: the intervals show that.
func ofRates(w lab.Warning) bool {
	if w.Code == "few-repetitions" {
		return false
	}
	return len(w.Taints) == 0 ||
		slices.ContainsFunc([]string{lab.Bitrate(lab.Send), lab.Bitrate(lab.Receive), lab.Bandwidth(lab.Read)},
			w.Tainted)
}

// bitsOf returns the rate of a load in bit/s, the sum of all directions; NaN if it has no such rate.
func bitsOf(values map[string]float64) float64 {
	const bits = 8 // of a byte
	sum, known := 0.0, false
	for _, rate := range []struct {
		metric string
		scale  float64
	}{{lab.Bitrate(lab.Send), 1}, {lab.Bitrate(lab.Receive), 1}, {lab.Bandwidth(lab.Read), bits},
		{lab.Bandwidth(lab.Write), bits}} {
		if v, ok := values[rate.metric]; ok {
			sum, known = sum+rate.scale*v, true
		}
	}
	if !known {
		return math.NaN()
	}
	return sum
}
