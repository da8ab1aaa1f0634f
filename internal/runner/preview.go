package runner

import (
	"context"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/served"
)

// Preview has what the cells of an experiment would run, and runs none of it.
type Preview struct {
	of       Measurement
	commands *commands
	network  *networkTests
	filename string // of what fio works on
}

// Lines are the command lines of one repetition of a cell, as one would type them.
type Lines struct {
	// Prepare and CleanUp are what a command has done before and after it.
	Prepare, CleanUp []string
	Load             string
}

// NewPreview looks up what the commands of an experiment need on its target. A tool that is not installed is an error.
func NewPreview(ctx context.Context, e Measurement) (Preview, error) {
	e.SharedScratch = nil
	p := Preview{e, newCommands(e, nil), newNetworkTests(e, 0, nil), newStorage(e, 0, nil).filename()}
	return p, p.commands.open(ctx, e.Cells)
}

// Lines returns the command lines of a cell, with the present number of CPUs, which a setting may change.
func (p Preview) Lines(ctx context.Context, cell Cell) (Lines, error) {
	if _, ok := served.Of(cell.Engine); ok && p.of.Server != nil {
		at := p.of.Server
		server := p.network.serverArgv(cell, served.End{Address: at.Address, Port: at.Port})
		return Lines{Prepare: []string{at.Target.Name() + ": " + lab.ShellQuote(shellCommand(cell.Cell, server))},
			Load: lab.ShellQuote(shellCommand(cell.Cell, p.network.clientArgv(cell)))}, nil
	}
	if cell.Command == nil {
		argv := fio.Argv(cell.Job, LoadParams(p.of.Place, cell.Params, p.of.Scratch),
			fio.Options{Filename: p.filename, Together: p.of.Place.Members})
		return Lines{Load: lab.ShellQuote(shellCommand(cell.Cell, argv))}, nil
	}
	filled, err := p.commands.filled(ctx, cell)
	if err != nil {
		return Lines{}, err
	}
	all := func(list [][]string) (lines []string) {
		for _, argv := range list {
			lines = append(lines, lab.ShellQuote(p.commands.job(cell, filled, argv).argv))
		}
		return lines
	}
	return Lines{Prepare: all(filled.Prepare), Load: all([][]string{filled.Argv})[0], CleanUp: all(filled.CleanUp)}, nil
}
