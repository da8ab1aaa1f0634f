package report

import (
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/render"
)

// Options of a report. The zero value is a report for a terminal of 80 columns, without colour and serial numbers.
type Options struct {
	render.Options

	// ShortID shortens the id of a run as far as it stays the only one of its store; nil leaves it whole.
	ShortID func(id string) string
	// RepeatCommand are the flags of a comparison, for the command that is said next.
	RepeatCommand string
	// Serials prints serial numbers and world wide names. Without it they are hidden wherever they stand.
	Serials bool
	// Names shows what targets are called by which a run tells them apart, also without Serials: for whoever measured
	// them.
	Names bool
	// NoFacts leaves the facts of the machines out.
	NoFacts bool
	// Stages are the stages of runs that have some, beside each other, by the ID of the run.
	Stages map[string]document.Document
	// Profiled has the IDs of runs that have profiled loads.
	Profiled map[string]bool
	// Scores are published figures of merit that a sweep is compared with; nil for none.
	Scores *reference.Scores
	// CellAddress is where more of a cell is to be seen, by its ID; nil for nowhere.
	CellAddress func(cell string) string
	// Keep are settings that must stay in what may be wrong with a network, and Beside other ladders of the same ports
	// that are shown next to one.
	Keep, Beside []string
}
