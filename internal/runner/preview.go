package runner

import (
	"context"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/runner/workspace"
)

// Preview says what the cells of an experiment would run, and runs none of it.
type Preview struct{ session *Session }

// Lines are the command lines of one repetition of a cell, as one would type them.
type Lines struct {
	// Prepare and CleanUp are what a command has done before and after it.
	Prepare, CleanUp []string
	Load             string
}

// NewPreview looks up what the commands of an experiment need on its target. A tool that is not installed is an error.
func NewPreview(ctx context.Context, e Measurement) (Preview, error) {
	s := &Session{Measurement: e, commands: newCommands(e, nil), network: newNetworkTests(e, 0, nil)}
	if e.Place.Kind == lab.Directory {
		s.scratch = workspace.ScratchFile(e.Place.Path, e.ownerName())
	}
	return Preview{s}, s.commands.open(ctx, e.Cells)
}

// Lines of a cell. How many CPUs there are is what it is now: a setting may change that.
func (p Preview) Lines(ctx context.Context, cell Cell) (Lines, error) {
	s := p.session
	if _, ok := served.Of(cell.Engine); ok && s.Server != nil {
		server := s.network.serverArgv(cell, served.End{Address: s.Server.Address, Port: s.Server.Port})
		return Lines{Prepare: []string{s.Server.Target.Name() + ": " + lab.ShellQuote(shellCommand(cell.Cell, server))},
			Load: lab.ShellQuote(shellCommand(cell.Cell, s.network.clientArgv(cell)))}, nil
	}
	if cell.Command == nil {
		argv := fio.Argv(cell.Job, LoadParams(s.Place, cell.Params, s.Scratch),
			fio.Options{Filename: s.filename(), Together: s.Place.Members})
		return Lines{Load: lab.ShellQuote(shellCommand(cell.Cell, argv))}, nil
	}
	filled, err := s.commands.filled(ctx, cell)
	if err != nil {
		return Lines{}, err
	}
	all := func(list [][]string) (lines []string) {
		for _, argv := range list {
			lines = append(lines, lab.ShellQuote(s.commands.job(cell, filled, argv).argv))
		}
		return lines
	}
	return Lines{Prepare: all(filled.Prepare), Load: all([][]string{filled.Argv})[0], CleanUp: all(filled.CleanUp)}, nil
}

// shellCommand is an argument vector with the variables that are set for it, as one would type it.
func shellCommand(cell lab.Cell, argv []string) []string {
	if len(cell.Environment) == 0 {
		return argv
	}
	return slices.Concat([]string{"env"}, cell.Environment, argv)
}

// environmentOf a cell's commands: their own, and over it what the arm sets.
func environmentOf(cell lab.Cell, own map[string]string) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(own)) {
		env = append(env, name+"="+own[name])
	}
	return append(env, cell.Environment...)
}
