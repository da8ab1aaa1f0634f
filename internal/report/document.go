package report

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/render"
)

// WarningBlocks returns marks as blocks.
func WarningBlocks(all []Mark) []document.Block {
	const most = 3
	var blocks []document.Block
	for _, m := range all {
		w := document.WarningBlock{Sign: m.Sign(), Code: m.Code, Explained: Explained(m.Code)}
		for _, t := range m.Texts {
			w.Texts = append(w.Texts, document.WarningText{Text: t.Text, About: t.aboutText(most),
				All: t.aboutText(len(t.about))})
		}
		blocks = append(blocks, w)
	}
	return blocks
}

// Sentences returns texts of one role.
func Sentences(role document.Role, texts []string) []document.Block {
	var blocks []document.Block
	for _, text := range texts {
		blocks = append(blocks, document.Sentence{Role: role, Text: text})
	}
	return blocks
}

// SavedAs tells users of a terminal the ID under which a run is saved; empty if it has no ID.
func SavedAs(run string, o Options) []document.Block {
	if run == "" {
		return nil
	}
	id := o.ID(run)
	return []document.Block{document.Terminal{Blocks: []document.Block{document.Command{
		What: "saved as " + id + "; as a page", Text: "headroom report " + id + " -o page.html"}}}}
}

// EndedText describes how far a run got within its budget.
func EndedText(after string) string { return "The budget ended the run after " + after + "." }

// MoreOfRun returns commands that show more of a run whose result is not its table.
func MoreOfRun(run lab.Run, o Options) document.Terminal {
	id := o.ID(run.ID)
	var t document.Terminal
	if run.Unfinished() {
		t.Blocks = append(t.Blocks, document.Command{What: "continue", Text: run.MadeBy().Resume(id)})
	}
	if run.Pair == "" { // older versions saved an arm under this ID
		what := "each load"
		if len(run.Arms) > 1 {
			what += " in each arm"
		}
		t.Blocks = append(t.Blocks, document.Command{What: what, Text: "headroom show " + id + " --cells"})
	}
	return t
}

// ProfilesOf returns the command that shows the profiled loads of a run.
func ProfilesOf(run string, o Options) document.Command {
	return document.Command{What: "what each I/O costs, by profiled loads", Text: "headroom profile show " + o.ID(run)}
}

// ID returns a run's ID as one types it.
func (o Options) ID(run string) string {
	if o.ShortID == nil {
		return run
	}
	return o.ShortID(run)
}

func TextValue(name, text string) document.Value {
	return document.Value{Name: name, Cell: document.Cell{Text: text}}
}

// FirstNames returns the first few names, and how many more there are.
func FirstNames(list []string) string {
	const most = 3
	if more := len(list) - most; more > 1 {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return prose.List(list)
}

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
