package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/unit"
)

// commandState is what a session knows of the cells that run commands; zero where there are none.
type commandState struct {
	tools workspace.Toolbox
	// folder that holds those of the cells; empty without a directory.
	folder string
	// started is what they start.
	started host.Started
	// begun is the cell that was prepared and not cleaned up yet.
	begun string
}

// openCommands finds out what the cells that run commands need, and in which folder they work.
func (s *Session) openCommands(ctx context.Context) error {
	if !slices.ContainsFunc(s.Cells, func(c Cell) bool { return c.Command != nil }) {
		return nil
	}
	var cells []lab.Cell
	for _, c := range s.Cells {
		cells = append(cells, c.Cell)
	}
	var err error
	if s.Tree == "" && slices.ContainsFunc(cells, func(c lab.Cell) bool {
		return c.Command != nil && slices.Contains(command.Uses(*c.Command), command.Tree)
	}) {
		return &lab.Error{Kind: lab.Usage, What: "{tree} is a folder of this machine, where commits are built",
			Target: host.RemoteName(s.Target),
			Hints:  []string{"give the suite a parameter of that name, and set it: --set tree=/srv/src"}}
	}
	if s.commands.tools, err = workspace.FindTools(ctx, s.Target, cells); err != nil {
		return err
	}
	if s.commands.started, err = workspace.StartedBy(ctx, s.Target, cells, s.ownerName(), ""); err != nil {
		return err
	}
	s.commands.started.OwnedByJob = true
	if s.Place.Kind != lab.Directory {
		return nil
	}
	// The kernel tells working directories without links.
	argv := []string{"readlink", "-f", "--", s.Place.Path}
	out, err := s.Target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't find " + s.Place.Path, Target: host.RemoteName(s.Target), Command: argv,
			Output: string(out.Stderr)}
	}
	s.commands.folder = workspace.Folder(strings.TrimSuffix(string(out.Stdout), "\n"), s.ownerName())
	s.commands.started.Folder = s.commands.folder
	return err
}

// enterFolder goes to the job's folder ($1), adds folders to the path ($2), and becomes the command.
const enterFolder = `cd -- "$1" && PATH="$PATH$2" && shift 2 && exec "$@"`

// commandCell is the command that a cell measures.
func (s *Session) commandCell(ctx context.Context, cell Cell) (load, error) {
	filled, err := s.filledCommand(ctx, cell)
	if err != nil {
		return load{}, err
	}
	l := s.commandLoad(cell, filled, filled.Argv)
	l.doing, l.expected, l.cell = cell.Title, cell.Expected, &cell
	return l, nil
}

// commandLoad is a job that runs one of a cell's argument vectors.
func (s *Session) commandLoad(cell Cell, filled lab.Command, argv []string) load {
	env := append([]string{workspace.MarkFor(s.ownerName())}, environmentOf(cell.Cell, filled.Environment)...)
	argv = slices.Concat(s.commands.tools.CommandPrefix(filled.User), argv)
	folder := s.folderOf(cell)
	if folder == "" {
		folder = "." // the job's own
	}
	spec := host.JobSpec{Argv: slices.Concat([]string{"sh", "-c", enterFolder, "sh", folder,
		s.commands.tools.Path(filled)}, argv), Env: env}
	return load{engine: engine.Exec{}, spec: spec, argv: shellCommand(cell.Cell, argv),
		timeout: time.Duration(filled.Timeout * float64(time.Second)), started: s.commands.started}
}

// folderOf is the folder that a cell's commands work in; empty where there is no directory.
func (s *Session) folderOf(cell Cell) string {
	if s.commands.folder == "" {
		return ""
	}
	return filepath.Join(s.commands.folder, cell.ID)
}

// filledCommand is a cell's command with all that only the target knows. The CPUs are counted again each time: a
// setting may switch some off.
func (s *Session) filledCommand(ctx context.Context, cell Cell) (lab.Command, error) {
	values := map[string]string{command.Job: cell.Job}
	if s.Tree != "" {
		values[command.Tree] = s.Tree
	}
	if folder := s.folderOf(cell); folder != "" {
		values[command.Dir] = folder
	}
	uses := command.Uses(*cell.Command)
	if slices.Contains(uses, command.CPUs) {
		out, err := s.Target.Run(ctx, "nproc")
		if err != nil {
			return lab.Command{}, err
		}
		values[command.CPUs] = strings.TrimSpace(string(out.Stdout))
	}
	return command.FillAll(*cell.Command, values), nil
}

// Unprepared is the error of a command whose preparation failed. Where each arm has a program of its own it is that
// arm's, and no reason to give up the others.
type Unprepared struct{ fault *lab.Error }

func (e *Unprepared) Error() string { return e.fault.Error() }

func (e *Unprepared) Unwrap() error { return e.fault }

// beginCommand makes the folder of a cell and carries out the steps before its command. Without that the
// command would measure something else, so its failure ends the run.
func (s *Session) beginCommand(ctx context.Context, cell Cell) error {
	s.commands.begun = cell.ID
	filled, err := s.filledCommand(ctx, cell)
	if err != nil {
		return err
	}
	if folder := s.folderOf(cell); folder != "" {
		if err := s.makeFolder(ctx, folder, filled.User); err != nil {
			return err
		}
	}
	for _, argv := range filled.Prepare {
		done, err := s.runCommand(ctx, cell, filled, argv, "preparing "+cell.Title+": "+argv[0])
		if err != nil {
			return err
		}
		if done != nil {
			return &Unprepared{&lab.Error{What: "preparing " + cell.Title + " failed",
				Target:  host.RemoteName(s.Target),
				Command: argv, Output: done.Error(),
				Hints: []string{"headroom suites show prints all its command lines, to try by hand"}}}
		}
		s.entrySteps = append(s.entrySteps, lab.ShellQuote(s.commandLoad(cell, filled, argv).argv))
	}
	return nil
}

// runCommand runs what is done before or after a measurement. The first error is how the command failed, the second
// that it could not be carried out.
func (s *Session) runCommand(ctx context.Context, cell Cell, filled lab.Command, argv []string, doing string) (failed,
	err error) {
	l := s.commandLoad(cell, filled, argv)
	l.doing = doing
	done, err := s.loads.run(ctx, l)
	if err != nil {
		return nil, err
	}
	defer done.Cleanup(ctx)
	if done.TimedOut {
		return fmt.Errorf("it was ended after its timeout of %s", unit.Duration(done.Limit)), nil
	}
	if flood := done.WarnFlood(); flood != nil {
		return errors.New(flood[0].Text), nil
	}
	_, failed = command.Values(lab.Command{Argv: argv}, engine.OutcomeOf(done.Ended))
	return failed, nil
}

// endCommand carries out the steps after a cell's command, ends all that still runs, and removes the folder.
// It does so after an error too, and once. Its warnings taint nothing: what was measured was measured before.
func (s *Session) endCommand(ctx context.Context, cell Cell) []lab.Warning {
	if s.commands.begun != cell.ID || s.outcome.Aborted {
		return nil
	}
	s.commands.begun = ""
	var warnings []lab.Warning
	warn := func(err error) {
		if err != nil {
			warnings = append(warnings, lab.Warning{Code: "cleanup-failed", Taints: []string{},
				Text: "cleaning up after it failed: " + err.Error() +
					"; the next repetition began in a new folder all the same"})
		}
	}
	filled, err := s.filledCommand(ctx, cell)
	warn(err)
	for _, argv := range filled.CleanUp {
		failed, err := s.runCommand(ctx, cell, filled, argv, "cleaning up after "+cell.Title+": "+argv[0])
		warn(failed)
		warn(err)
	}
	warn(workspace.EndProcesses(ctx, s.Target, s.commands.started))
	if folder := s.folderOf(cell); folder != "" {
		warn(workspace.RemoveTree(ctx, s.Target, folder))
	}
	return warnings
}
