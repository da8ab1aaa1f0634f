package engine

import (
	"context"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/perftest"
	"github.com/headroom/headroom/internal/validity"
)

// Perftest runs a program of perftest: a client on the session's target, whose server is started before each test
// and ends with it. It has no rates by the second, so that several pairs have no sum.
type Perftest struct{}

func (Perftest) Raw() (output, messages string) { return "perftest.txt", "messages" }

func (Perftest) Collect(ctx context.Context, job host.Job) (Printed, error) {
	return fetchStreams(ctx, job)
}

// fetchStreams are what a job printed: its standard output is read, its standard error has messages.
func fetchStreams(ctx context.Context, job host.Job) (Printed, error) {
	var p Printed
	var err error
	if p.Output, err = p.fetch(ctx, job, "stdout"); err != nil {
		return p, err
	}
	messages, err := p.fetch(ctx, job, "stderr")
	p.Messages = string(messages)
	return p, err
}

func (Perftest) Read(_ context.Context, done Ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr = done.State.ExitCode, done.Messages
	r, err := perftest.Parse(done.Output)
	switch {
	case err != nil || done.State.ExitCode != 0:
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "perftest printed no result (" + done.reason(err) + "); headroom show --raw shows all that it said"})
		return true
	case r.Iterations == 0:
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "perftest counted nothing: no operation ended between the 2 s that it leaves out at " +
				"either end; make duration longer, or size smaller"})
		return true
	}
	rep.Values, rep.Seconds = r.Values(), r.Ran()
	return false
}
