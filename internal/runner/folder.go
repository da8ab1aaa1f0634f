package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/workspace"
)

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
