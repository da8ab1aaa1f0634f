package workspace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// Access is what other users of a machine can do to a directory under test.
type Access struct {
	// Local says that it is on this machine, so that it can be held open.
	Local bool
	// Shared says that others can make names in it, so that one could be taken before headroom comes.
	Shared bool
	// Unsafe says how others can put something else in the place of what headroom has made; nil where they can't.
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
