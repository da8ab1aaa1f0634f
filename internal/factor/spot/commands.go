package spot

import (
	"context"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Commands are the user's commands that change something. In each argument {level} is replaced by the level to set, and
// in Undo {old} by the previous one.
type Commands struct {
	Apply []string `json:"apply"`
	// Verify prints the current level and nothing else.
	Verify []string `json:"verify"`
	Undo   []string `json:"undo,omitempty"`
}

// command returns the command that sets a level: undo if it is the old one.
func (c *Commands) command(level, old string) []string {
	argv := c.Apply
	if len(c.Undo) > 0 && Same(level, old) {
		argv = c.Undo
	}
	filled := slices.Clone(argv)
	for i := range filled {
		filled[i] = strings.NewReplacer("{level}", level, "{old}", old).Replace(filled[i])
	}
	return filled
}

func (c *Commands) read(ctx context.Context, t host.Target, name string) Reading {
	out, err := t.Run(ctx, c.Verify...)
	if err != nil {
		return Reading{Err: err}
	}
	if out.ExitCode != 0 {
		return Reading{Err: &lab.Error{What: "the command that verifies " + name + " failed",
			Target:  host.RemoteName(t),
			Command: c.Verify,
			Output:  strings.TrimSpace(string(out.Stderr))}}
	}
	return Reading{Value: strings.TrimSpace(string(out.Stdout))}
}
