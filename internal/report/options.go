package report

import (
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/render"
)

// Options of a report. The zero value is a report for a terminal of 80 columns, without colour and serial numbers.
type Options struct {
	render.Options

	// ShortID shortens the ID of a run as far as it stays unique in its store; nil leaves it unchanged.
	ShortID func(id string) string
	// RepeatCommand are the flags of a comparison, for the suggested command.
	RepeatCommand string
	// Serials prints serial numbers and world wide names. Otherwise they are hidden everywhere.
	Serials bool
	// Names shows the names of targets that distinguish them in a run, even without Serials: for the user who measured
	// them.
	Names bool
	// NoFacts omits the facts of the machines.
	NoFacts bool
	// Stages are comparisons of a run's stages, by the ID of the run.
	Stages map[string]document.Document
	// Profiled has the IDs of runs with profiled loads.
	Profiled map[string]bool
	// Scores are published figures of merit that a sweep is compared with; nil for none.
	Scores *reference.Scores
	// CellAddress returns the address of a page with more about a cell, by its ID; nil for none.
	CellAddress func(cell string) string
	// Keep are settings that must not change in suggestions about a network, and Beside are other ladders of the same
	// ports to show with a ladder.
	Keep, Beside []string
}
