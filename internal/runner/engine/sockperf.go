package engine

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/sockperf"
	"github.com/headroom/headroom/internal/validity"
)

// Sockperf runs sockperf: a client on the session's target, whose server is started before each test and ended
// with it. The rates of events are in steps of so long; 0 is a second. There is one for each repetition.
type Sockperf struct {
	step time.Duration
	// log is of the repetition's requests, once it was fetched, and doubt why there is none. It is not kept: it has 40
	// bytes a request.
	log      sockperf.Log
	logError error
}

func (*Sockperf) Raw() (output, messages string) { return "sockperf.txt", "messages" }

func (e *Sockperf) Collect(ctx context.Context, job host.Job) (Printed, error) {
	p, err := fetchStreams(ctx, job)
	if err != nil {
		return p, err
	}
	cut := len(p.cut)
	text, err := p.fetch(ctx, job, sockperf.LogName)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil // a test without answers
	}
	if err == nil && len(p.cut) == cut { // a part of the log would be taken for all requests
		e.log, e.logError = sockperf.ParseLog(text)
	}
	return p, err
}

func (e *Sockperf) Read(_ context.Context, done Ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr = done.State.ExitCode, done.Messages
	r, err := sockperf.Parse(done.Output)
	if err != nil {
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "sockperf printed no result (" + done.reason(err) + "); headroom show --raw shows all that it said"})
		return true
	}
	rep.Values, rep.Seconds = r.Values(), r.Ran()
	if len(e.log) > 0 {
		rep.Series = []lab.Series{e.log.Rates(1)}
		rep.Latency = map[string]lab.Histogram{lab.Request: e.log.Latency()}
	}
	rep.Warnings = append(rep.Warnings, r.Warnings(evidence.Cell.Params)...)
	return r.Failed != "" || len(rep.Values) == 0
}

// Rate returns the rate of the answers, from the first request that counts on.
func (e *Sockperf) Rate(_ context.Context, done Ended, _ float64, _ Offset) (lab.Series, Timestamp,
	bool) {
	if len(e.log) == 0 {
		return lab.Series{}, Timestamp{}, false
	}
	lead, _ := e.StartLead(done)
	slack := (done.State.Ended.Sub(done.State.Started) - SecondsOf(e.log.Ends())) / 2
	return e.log.Rates(e.step.Seconds()), Timestamp{Time: done.State.Started.Add(lead + max(0, slack)),
		Uncertainty: max(0, slack) + JobTimeStep}, true
}

// StartLead is when what counts began, from the start of the process on: by the client's clock, which starts with the
// process or a little later.
func (e *Sockperf) StartLead(done Ended) (time.Duration, bool) {
	if len(e.log) == 0 || SecondsOf(e.log.Ends()) > done.State.Ended.Sub(done.State.Started) {
		return 0, false // a clock that did not start with the process
	}
	return SecondsOf(e.log.Begins()), true
}
