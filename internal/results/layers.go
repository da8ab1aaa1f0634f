package results

import (
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
)

// LayersOf returns what each layer of a host's storage adds to the layer below. The parts are in order from the bottom
// up.
func LayersOf(parts []*store.Bundle) (layers.Document, error) {
	var list []layers.Layer
	var measured []layers.Measured
	var warnings []layers.LayerWarning
	err := eachPart(parts, func(i int, run lab.Run, repetitions []lab.Repetition, found []lab.CellWarning) {
		place := run.Targets[0].Place
		list = append(list, layers.Layer{Name: LayerName(run), Kind: place.Kind, Filesystem: place.Filesystem,
			Run: run.ID})
		for _, r := range repetitions {
			measured = append(measured, layers.Measured{Layer: i, Cell: r.Cell, Block: r.Block, Values: r.Values})
		}
		for _, w := range found {
			warnings = append(warnings, layers.LayerWarning{Layer: i, CellWarning: w})
		}
	})
	if err != nil {
		return layers.Document{}, err
	}
	var cells []layers.Cell
	for _, c := range parts[0].Run.Cells {
		cells = append(cells, layers.Cell{Cell: c, Title: suite.TitleOf(c)})
	}
	return layers.Compare(list, cells, measured, warnings, parts[0].Run.Notes), nil
}

// LayerName returns the name of a layer, or otherwise its place.
func LayerName(run lab.Run) string {
	levels := run.Arms[0].Levels
	if name := levels[NameLevel]; name != "" {
		return name
	}
	words := strings.Fields(run.Label) // older versions saved it here
	if len(words) > 0 && words[len(words)-1] != levels[LayerLevel] {
		return words[len(words)-1]
	}
	t := run.Targets[0]
	if on := t.Remote(); on != "" {
		return t.Place.Path + " of " + on
	}
	return t.Place.Path
}
