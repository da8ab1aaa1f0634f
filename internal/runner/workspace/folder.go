package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Folder is the path of the folder of a run's commands in a directory. The run's id is in the name, so that no other
// folder is taken for it.
func Folder(dir, runID string) string { return filepath.Join(dir, "headroom-"+runID+".work") }

// environmentMark is the variable in the environment of everything that a command starts.
const environmentMark = "HEADROOM_RUN"

// MarkFor is the mark of a run, or of one of its targets. The id comes last, so that no mark is the start of another.
func MarkFor(owner string) string {
	id, role, several := strings.Cut(owner, "-")
	if !several {
		return environmentMark + "=" + id
	}
	return environmentMark + "=" + role + "-" + id
}

// noUser is the number of no user: the one for whom chown changes nothing.
const noUser = -1

// MakeLocalFolder makes a folder of this machine for a user, each step in what the one before it has opened.
func MakeLocalFolder(folder string, user int) error {
	outer := filepath.Dir(folder)
	return inFolder(filepath.Dir(outer), func(place *safepath.Folder) error {
		work, err := place.Mkdir(filepath.Base(outer), 0o755)
		if errors.Is(err, fs.ErrExist) {
			work, err = place.Own(filepath.Base(outer))
		}
		if err != nil {
			return err
		}
		defer work.Close()
		made, err := work.Mkdir(filepath.Base(folder), 0o700)
		if err != nil {
			return err
		}
		defer made.Close()
		return made.Give(user)
	})
}

// inFolder does something in a folder of this machine that is held open meanwhile. One that is not there has nothing in
// it to be removed.
func inFolder(name string, do func(*safepath.Folder) error) error {
	f, err := safepath.OpenFolder(name)
	if err != nil {
		return err
	}
	return errors.Join(do(f), f.Close())
}

// RemoveFolder ends what still runs for a run's commands, deletes the folder that they worked in, and reports whether
// there was one. On a file system that doesn't answer it leaves the folder and returns an error.
func RemoveFolder(ctx context.Context, t host.Target, of host.Started) (bool, error) {
	if err := EndProcesses(ctx, t, of); err != nil {
		return false, err
	}
	if err := Answers(ctx, t, of.Folder); err != nil {
		return false, err
	}
	out, err := t.Run(ctx, "test", "-d", of.Folder)
	if err != nil || out.ExitCode != 0 {
		return false, err
	}
	g, err := ReadAccess(ctx, t, filepath.Dir(of.Folder))
	if err == nil && g.Root && g.Unsafe != nil {
		err = refused(t, of.Folder+" is not removed as root", g.Unsafe)
	}
	if err != nil {
		return false, err
	}
	return true, RemoveTree(ctx, t, of.Folder)
}

// StartedBy is what the commands of some cells have started on a target.
func StartedBy(ctx context.Context, t host.Target, cells []lab.Cell, owner, folder string) (host.Started, error) {
	of := host.Started{Mark: MarkFor(owner), Folder: folder}
	var names []string
	for _, c := range cells {
		if c.Command == nil || c.Command.User == "" || slices.Contains(names, c.Command.User) {
			continue
		}
		names = append(names, c.Command.User)
		out, err := t.Run(ctx, "id", "-u", c.Command.User)
		if err != nil {
			return of, err
		}
		if out.ExitCode == 0 { // a user who is not there runs nothing
			of.Users = append(of.Users, strings.TrimSpace(string(out.Stdout)))
		}
	}
	return of, nil
}

// RemoveTree deletes a folder of ours. A command may have mounted something in it, which is not ours to delete. On a
// file system that doesn't respond it leaves the folder and returns an error.
func RemoveTree(ctx context.Context, t host.Target, folder string) error {
	if err := Answers(ctx, t, folder); err != nil {
		return err
	}
	files, err := t.ReadFiles(ctx, collect.MountInfoPath)
	if err != nil {
		return err
	}
	table := files[collect.MountInfoPath]
	if table.Err != nil {
		return table.Err
	}
	if point := mountedBelow(table.Data, folder); point != "" {
		return &lab.Error{What: "can't remove " + folder + ": something is mounted on " + point, Target: t.Name(),
			Hints: []string{"unmount it, then: headroom restore"}}
	}
	if _, here := t.(host.LocalFiles); here {
		err := inFolder(filepath.Dir(folder), func(f *safepath.Folder) error {
			return f.RemoveAll(filepath.Base(folder))
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &lab.Error{What: "can't remove " + folder, Err: err,
				Hints: []string{"headroom restore tries it again; or remove it by hand"}}
		}
		return nil
	}
	argv := []string{"rm", "-rf", "--", folder}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't remove " + folder, Target: t.Name(), Command: argv,
			Output: lab.HeadLines(string(out.Stderr), 3),
			Hints:  []string{"headroom restore tries it again; or remove it by hand"}}
	}
	return err
}

// mountedBelow is a mount point in a folder, or the folder itself; empty when there is none.
func mountedBelow(table []byte, folder string) string {
	for _, m := range collect.ParseMounts(table) {
		if collect.Below(m.Point, folder) {
			return m.Point
		}
	}
	return ""
}

// The times that processes are given to end by themselves, and to be gone when they were killed.
const (
	killGrace   = 5 * time.Second
	killTimeout = 20 * time.Second
)

// EndProcesses ends everything that a run's commands have started: what carries the run's mark in its environment, and
// what works below their folder, since some programs overwrite their environment. First they are asked to end. It looks
// until nothing is found twice in a row: one look misses a process that another one starts meanwhile.
func EndProcesses(ctx context.Context, t host.Target, of host.Started) error {
	began := time.Now()
	signal, asked := syscall.SIGTERM, []string(nil)
	for missed := 0; missed < 2; {
		found, err := host.SignalStarted(ctx, t, of, signal, asked)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			missed++
			continue
		}
		missed = 0
		if time.Since(began) > killTimeout {
			return &lab.Error{What: "processes that the run's commands started can't be ended: " +
				strings.Join(found, " "), Target: t.Name(),
				Hints: []string{"they are likely waiting for a device; end them, then: headroom restore"}}
		}
		if asked = found; time.Since(began) > killGrace {
			signal, asked = syscall.SIGKILL, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// Access is what other users of a machine can do to a directory under test.
type Access struct {
	// Local says that it is on this machine, so that it can be held open.
	Local bool
	// Shared says that others can make names in it, so that one could be taken before headroom comes.
	Shared bool
	// Unsafe describes how others can replace what headroom has made; nil if they can't.
	Unsafe *safepath.Unsafe
	// Root says that headroom is root there, who may write wherever a link leads.
	Root bool
}

// ReadAccess finds out what others can do to a directory. A target that was made with it has no other users.
func ReadAccess(ctx context.Context, t host.Target, dir string) (Access, error) {
	if _, made := t.(host.HasTestPath); made {
		return Access{}, nil
	}
	argv := []string{"id", "-u"}
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return Access{}, err
	}
	user, err := strconv.Atoi(strings.TrimSpace(string(out.Stdout)))
	if err != nil {
		return Access{}, &lab.Error{What: "can't tell who headroom is there", Target: t.Name(), Command: argv,
			Output: string(out.Stderr), Err: err}
	}
	g := Access{Root: user == 0}
	_, g.Local = t.(host.LocalFiles)
	files := host.Owners(ctx, t)
	err = safepath.Check(files, dir, user)
	if _, g.Shared = errors.AsType[*safepath.Unsafe](err); g.Shared {
		err = safepath.CheckFolder(files, dir, user)
		if unsafe, ok := errors.AsType[*safepath.Unsafe](err); ok {
			g.Unsafe, err = unsafe, nil
		}
	}
	return g, err
}

// CheckPlace refuses a directory in which others could have root write to files of their choice: who may rename what
// headroom has made there can put a link in its place. A scratch file on this machine is held open, which no other
// machine does for us; and where commands write is unknown.
func CheckPlace(ctx context.Context, t host.Target, place lab.Place, cells []lab.Cell) error {
	if place.Kind != lab.Directory {
		return nil
	}
	g, err := ReadAccess(ctx, t, place.Path)
	commands := slices.ContainsFunc(cells, func(c lab.Cell) bool { return c.Command != nil })
	if err != nil || g.Unsafe == nil || !g.Root || g.Local && !commands {
		return err
	}
	return refused(t, "nothing is written to "+place.Path+" as root", g.Unsafe)
}

// refused is the error of what root does not do where others can change the way.
func refused(t host.Target, what string, unsafe *safepath.Unsafe) error {
	return &lab.Error{Kind: lab.Refused, Target: host.RemoteName(t),
		What: fmt.Sprintf("%s: %s, and who can change that can put a link there", what, unsafe),
		Hints: []string{"make a directory that only root can change, all the way up: install -d -m 755 DIR",
			"or run headroom as the user whom the directory belongs to, without root's rights"}}
}
