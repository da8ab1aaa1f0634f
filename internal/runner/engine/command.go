package engine

import (
	"context"
	"fmt"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// Exec runs any command, in a separate folder.
type Exec struct{}

func (Exec) Raw() (output, messages string) { return "stdout", "stderr" }

func (Exec) Collect(ctx context.Context, job host.Job) (Printed, error) {
	return fetchStreams(ctx, job)
}

func OutcomeOf(done Ended) command.Ended {
	return command.Ended{ExitCode: done.State.ExitCode, Signal: done.State.Signal,
		Took:        done.State.Ended.Sub(done.State.Started),
		UserSeconds: done.State.UserSeconds, SystemSeconds: done.State.SystemSeconds, Stdout: done.Output,
		Stderr: []byte(done.Messages)}
}

func (Exec) Read(_ context.Context, done Ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	outcome := OutcomeOf(done)
	rep.Seconds = outcome.Took.Seconds()
	values, err := command.Values(*evidence.Cell.Command, outcome)
	if done.TimedOut {
		values, err = nil, fmt.Errorf("%s was ended after its timeout of %s", done.Argv[0],
			unit.Duration(done.Limit))
	}
	if err != nil {
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "command-failed", Taints: []string{"*"},
			Text: err.Error() +
				"; nothing of this repetition counts, and headroom show --raw shows all that it printed"})
	}
	rep.Values = values
	return err != nil
}
