package runner

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"headroom/internal/lab"
	"headroom/internal/load/sockperf"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// sockperfEngine runs sockperf: a client on the session's target, whose server is started before each test and ended
// with it. The rates of events are in steps of so long; 0 is a second. There is one for each repetition.
type sockperfEngine struct {
	step time.Duration
	// log is of the repetition's requests, once it was fetched, and doubt why there is none. It is not kept: it has 40
	// bytes a request.
	log      sockperf.Log
	logError error
}

func (*sockperfEngine) raw() (output, messages string) { return "sockperf.txt", "messages" }

func (e *sockperfEngine) collect(ctx context.Context, job target.Job) (printed, error) {
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

func (e *sockperfEngine) read(_ context.Context, done ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr = done.state.ExitCode, done.messages
	r, err := sockperf.Parse(done.output)
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

// rate is that of the answers, from the first request that counts on.
func (e *sockperfEngine) rate(_ context.Context, done ended, _ float64, _ clockOffset) (lab.Series, timestamp, bool) {
	if len(e.log) == 0 {
		return lab.Series{}, timestamp{}, false
	}
	lead, _ := e.startLead(done)
	slack := (done.state.Ended.Sub(done.state.Started) - secondsOf(e.log.Ends())) / 2
	return e.log.Rates(e.step.Seconds()), timestamp{Time: done.state.Started.Add(lead + max(0, slack)),
		uncertainty: max(0, slack) + jobTimeStep}, true
}

// startLead is when what counts began, from the start of the process on: by the client's clock, which starts with the
// process or a little later.
func (e *sockperfEngine) startLead(done ended) (time.Duration, bool) {
	if len(e.log) == 0 || secondsOf(e.log.Ends()) > done.state.Ended.Sub(done.state.Started) {
		return 0, false // a clock that did not start with the process
	}
	return secondsOf(e.log.Begins()), true
}
