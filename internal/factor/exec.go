package factor

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// Commands are the user's own way of changing something. In each argument {level} stands for the level to set, and in
// Undo {old} for the one to go back to.
type Commands struct {
	Apply []string `json:"apply"`
	// Verify prints the level in effect and nothing else.
	Verify []string `json:"verify"`
	Undo   []string `json:"undo,omitempty"`
}

var execName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// execScheme is exec:, anything, by commands of the experiment file.
func execScheme() Scheme {
	return Scheme{Name: "exec", Title: "anything, by commands of the experiment file", Class: Live, Needs: "nothing",
		Syntax:   "exec:NAME",
		Examples: []string{"exec:tuned-profile=balanced,throughput-performance"}, Levels: "what the commands take",
		Verified: "what its verify command prints", check: checkExec, bind: bindExec}
}

func checkExec(name, _ string) error {
	if !execName.MatchString(name) {
		return errors.New("exec: takes a name of letters, figures, dots and dashes, not " + strconv.Quote(name))
	}
	return nil
}

func bindExec(ctx context.Context, w Scope, name string) (Setting, error) {
	c, ok := w.Commands[name]
	factorName := "exec:" + name
	switch {
	case !ok:
		return Setting{}, &lab.Error{Kind: lab.Usage, What: factorName + " has no commands",
			Hints: []string{"an experiment file says how to apply, verify and undo it"}}
	case len(c.Apply) == 0 || len(c.Verify) == 0:
		return Setting{}, &lab.Error{Kind: lab.Usage, What: factorName + " needs apply and verify"}
	}
	s := Setting{Spots: []Spot{{Kind: byCommands, Name: factorName, Commands: &c}}}
	if len(c.Undo) == 0 {
		if !w.allows(factorName) {
			return Setting{}, refusal(factorName, "it has no undo command")
		}
		s.Spots[0].OneWay = "it has no undo command"
	}
	return s.Readable(ctx, w.Target)
}

// command is the one that goes to a level: undo where it goes back to the old one.
func (c *Commands) command(level, old string) []string {
	argv := c.Apply
	if len(c.Undo) > 0 && same(level, old) {
		argv = c.Undo
	}
	filled := slices.Clone(argv)
	for i := range filled {
		filled[i] = strings.NewReplacer("{level}", level, "{old}", old).Replace(filled[i])
	}
	return filled
}

func (c *Commands) read(ctx context.Context, t target.Target, name string) reading {
	out, err := t.Run(ctx, c.Verify...)
	if err != nil {
		return reading{err: err}
	}
	if out.ExitCode != 0 {
		return reading{err: &lab.Error{What: "the command that verifies " + name + " failed",
			Target:  target.RemoteName(t),
			Command: c.Verify,
			Output:  strings.TrimSpace(string(out.Stderr))}}
	}
	return reading{value: strings.TrimSpace(string(out.Stdout))}
}
