package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// commands are the loads of cells that run commands, with all that is done before and after them.
type commands struct {
	target host.Target
	loads  *loads
	owner  string // in all names
	place  lab.Place
	tree   string // the folder that {tree} stands for; empty where there is none
	tools  workspace.Toolbox
	// folder has the folders of the cells; empty without a directory.
	folder string
	// started describes what the commands start.
	started host.Started
	// begun is the cell that was prepared and not cleaned up yet.
	begun string
}

func newCommands(m Measurement, ls *loads) *commands {
	return &commands{target: m.Target, loads: ls, owner: m.ownerName(), place: m.Place, tree: m.Tree}
}

// open looks for the tools that the commands of some cells need, and for the folder that they work in.
func (c *commands) open(ctx context.Context, of []Cell) error {
	var cells []lab.Cell
	for _, cell := range of {
		if cell.Command != nil {
			cells = append(cells, cell.Cell)
		}
	}
	if len(cells) == 0 {
		return nil
	}
	var err error
	if c.tree == "" && slices.ContainsFunc(cells, func(cell lab.Cell) bool {
		return slices.Contains(command.Uses(*cell.Command), command.Tree)
	}) {
		return &lab.Error{Kind: lab.Usage, What: "{tree} is a folder of this machine, where commits are built",
			Target: host.RemoteName(c.target),
			Hints:  []string{"give the suite a parameter of that name, and set it: --set tree=/srv/src"}}
	}
	if c.tools, err = workspace.FindTools(ctx, c.target, cells); err != nil {
		return err
	}
	if c.started, err = workspace.StartedBy(ctx, c.target, cells, c.owner, ""); err != nil {
		return err
	}
	c.started.OwnedByJob = true
	if c.place.Kind != lab.Directory {
		return nil
	}
	// The kernel tells working directories without links.
	argv := []string{"readlink", "-f", "--", c.place.Path}
	out, err := c.target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't find " + c.place.Path, Target: host.RemoteName(c.target), Command: argv,
			Output: string(out.Stderr)}
	}
	c.folder = workspace.Folder(strings.TrimSuffix(string(out.Stdout), "\n"), c.owner)
	c.started.Folder = c.folder
	return err
}

// enterFolder goes to the job's folder ($1), adds folders to the path ($2), and becomes the command.
const enterFolder = `cd -- "$1" && PATH="$PATH$2" && shift 2 && exec "$@"`

// load returns the command that a cell measures.
func (c *commands) load(ctx context.Context, cell Cell, _ engine.Engine) (load, error) {
	filled, err := c.filled(ctx, cell)
	if err != nil {
		return load{}, err
	}
	l := c.job(cell, filled, filled.Argv)
	l.doing, l.expected, l.cell = cell.Title, cell.Expected, &cell
	return l, nil
}

// job returns a load that runs one of a cell's argument vectors.
func (c *commands) job(cell Cell, filled lab.Command, argv []string) load {
	env := append([]string{workspace.MarkFor(c.owner)}, environmentOf(cell.Cell, filled.Environment)...)
	argv = slices.Concat(c.tools.CommandPrefix(filled.User), argv)
	folder := c.folderOf(cell)
	if folder == "" {
		folder = "." // the job's own
	}
	spec := host.JobSpec{Argv: slices.Concat([]string{"sh", "-c", enterFolder, "sh", folder,
		c.tools.Path(filled)}, argv), Env: env}
	return load{engine: engine.Exec{}, spec: spec, argv: shellCommand(cell.Cell, argv),
		timeout: time.Duration(filled.Timeout * float64(time.Second)), started: c.started}
}

// folderOf is the folder that a cell's commands work in; empty where there is no directory.
func (c *commands) folderOf(cell Cell) string {
	if c.folder == "" {
		return ""
	}
	return filepath.Join(c.folder, cell.ID)
}

// filled returns a cell's command with all that only the target knows. The CPUs are counted again each time: a setting
// may switch some off.
func (c *commands) filled(ctx context.Context, cell Cell) (lab.Command, error) {
	values := map[string]string{command.Job: cell.Job}
	if c.tree != "" {
		values[command.Tree] = c.tree
	}
	if folder := c.folderOf(cell); folder != "" {
		values[command.Dir] = folder
	}
	uses := command.Uses(*cell.Command)
	if slices.Contains(uses, command.CPUs) {
		out, err := c.target.Run(ctx, "nproc")
		if err != nil {
			return lab.Command{}, err
		}
		values[command.CPUs] = strings.TrimSpace(string(out.Stdout))
	}
	return command.FillAll(*cell.Command, values), nil
}

// Unprepared is the error of a command whose preparation failed. Where each arm has another program, the others may be
// fine, so that the run continues with them.
type Unprepared struct{ fault *lab.Error }

func (e *Unprepared) Error() string { return e.fault.Error() }

func (e *Unprepared) Unwrap() error { return e.fault }

// prepare makes the folder of a cell and carries out the steps before its command, which it returns. Without them the
// command would measure something else, so their failure ends the run.
func (c *commands) prepare(ctx context.Context, cell Cell) (p preparation, err error) {
	c.begun = cell.ID
	filled, err := c.filled(ctx, cell)
	if err != nil {
		return p, err
	}
	if folder := c.folderOf(cell); folder != "" {
		if err := c.makeFolder(ctx, folder, filled.User); err != nil {
			return p, err
		}
	}
	for _, argv := range filled.Prepare {
		done, err := c.run(ctx, cell, filled, argv, "preparing "+cell.Title+": "+argv[0])
		if err != nil {
			return p, err
		}
		if done != nil {
			return p, &Unprepared{&lab.Error{What: "preparing " + cell.Title + " failed",
				Target:  host.RemoteName(c.target),
				Command: argv, Output: done.Error(),
				Hints: []string{"headroom suites show prints all its command lines, to try by hand"}}}
		}
		p.did = append(p.did, lab.ShellQuote(c.job(cell, filled, argv).argv))
	}
	return p, nil
}

// run runs a step before or after a measurement. The first error is how the command failed, the second that it could
// not be carried out.
func (c *commands) run(ctx context.Context, cell Cell, filled lab.Command, argv []string, doing string) (failed,
	err error) {
	l := c.job(cell, filled, argv)
	l.doing = doing
	done, err := c.loads.run(ctx, l)
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

// end carries out the steps after a cell's command, ends all that still runs, and removes the folder. It does so after
// an error too, and once. Its warnings taint nothing: the measurement was over before.
func (c *commands) end(ctx context.Context, cell Cell) []lab.Warning {
	if c.begun != cell.ID || c.loads.outcome.Aborted {
		return nil
	}
	c.begun = ""
	var warnings []lab.Warning
	warn := func(err error) {
		if err != nil {
			warnings = append(warnings, lab.Warning{Code: "cleanup-failed", Taints: []string{},
				Text: "cleaning up after it failed: " + err.Error() +
					"; the next repetition began in a new folder all the same"})
		}
	}
	filled, err := c.filled(ctx, cell)
	warn(err)
	for _, argv := range filled.CleanUp {
		failed, err := c.run(ctx, cell, filled, argv, "cleaning up after "+cell.Title+": "+argv[0])
		warn(failed)
		warn(err)
	}
	warn(workspace.EndProcesses(ctx, c.target, c.started))
	if folder := c.folderOf(cell); folder != "" {
		warn(workspace.RemoveTree(ctx, c.target, folder))
	}
	return warnings
}

// remove ends all that still runs, and removes the folder of the commands.
func (c *commands) remove(ctx context.Context) error {
	if c.folder == "" {
		return nil
	}
	_, err := workspace.RemoveFolder(ctx, c.target, c.started)
	return err
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

// makeFolder makes a new folder for the commands of a cell, which a user must be able to write to.
func (c *commands) makeFolder(ctx context.Context, folder, user string) error {
	behind := c.tools.CommandPrefix(user)
	owner := ""
	if len(behind) > 0 {
		owner = user
	}
	if _, here := c.target.(host.LocalFiles); here {
		id, err := c.tools.Number(owner)
		if err == nil {
			err = workspace.MakeLocalFolder(folder, id)
		}
		if err != nil {
			return &lab.Error{What: "can't make the folder " + folder, Err: err}
		}
	} else if err := c.makeRemoteFolder(ctx, folder, owner); err != nil {
		return err
	}
	if len(behind) == 0 {
		return nil
	}
	argv := slices.Concat(behind, []string{"test", "-w", folder})
	out, err := c.target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: fmt.Sprintf("the user %s can't get to %s", user, c.place.Path),
			Target:  host.RemoteName(c.target),
			Command: argv,
			Hints: []string{"a tool of this suite refuses to be root, so it runs as " + user +
				": name a directory that everybody may enter (chmod o+x, all the way up)"}}
	}
	return err
}

// makeRemoteFolder makes a folder of another machine for a user; empty for none. Root has none made where others can
// change the way.
func (c *commands) makeRemoteFolder(ctx context.Context, folder, user string) error {
	steps := [][]string{{"mkdir", "-p", "-m", "0755", "--", filepath.Dir(folder)},
		{"mkdir", "-m", "0700", "--", folder}}
	if user != "" {
		steps = append(steps, []string{"chown", "-h", "--", user, folder})
	}
	for _, argv := range steps {
		out, err := c.target.Run(ctx, argv...)
		if err == nil && out.ExitCode != 0 {
			err = &lab.Error{What: "can't make the folder " + folder,
				Target: host.RemoteName(c.target), Command: argv,
				Output: string(out.Stderr)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
