package factor

import (
	"context"
	"errors"
	"strconv"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

var execName = prose.Pattern(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// execScheme is exec:, anything, by commands of the experiment file.
func execScheme() scheme.Scheme {
	return scheme.Scheme{Name: "exec", Title: "anything, by commands of the experiment file", Class: scheme.Live,
		Needs:    "nothing",
		Syntax:   "exec:NAME",
		Examples: []string{"exec:tuned-profile=balanced,throughput-performance"}, Levels: "what the commands take",
		Verified: "what its verify command prints", Check: checkExec, Bind: bindExec}
}

func checkExec(name, _ string) error {
	if !execName().MatchString(name) {
		return errors.New("exec: takes a name of letters, figures, dots and dashes, not " + strconv.Quote(name))
	}
	return nil
}

func bindExec(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	c, ok := w.Commands[name]
	factorName := "exec:" + name
	switch {
	case !ok:
		return scheme.Setting{}, &lab.Error{Kind: lab.Usage, What: factorName + " has no commands",
			Hints: []string{"an experiment file defines how to apply, verify and undo it"}}
	case len(c.Apply) == 0 || len(c.Verify) == 0:
		return scheme.Setting{}, &lab.Error{Kind: lab.Usage, What: factorName + " needs apply and verify"}
	case len(c.Undo) == 0:
		return scheme.Setting{}, &lab.Error{Kind: lab.Refused, What: factorName + " is refused: it has no undo command",
			Hints: []string{"add undo: and a list of arguments to the experiment file, in which {old} stands for the " +
				"level to go back to"}}
	}
	s := scheme.Setting{Spots: []spot.Spot{{Kind: spot.ByCommands, Name: factorName, Commands: &c}}}
	return s.Readable(ctx, w.Target)
}
