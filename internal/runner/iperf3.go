package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/load/iperf3"
	"headroom/internal/load/served"
	"headroom/internal/load/sockperf"
	"headroom/internal/target"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// Server is the other end of what a network's tests measure: where it runs, and the address and port that it listens
// on.
type Server struct {
	Target  target.Target
	Address string
	Port    int
	// Assigned says that the address is what the target was given where it was made, and not what somebody has named:
	// another one in its place has another.
	Assigned bool
	// Role is that of the server in its run, and ClientRole that of the other end.
	Role, ClientRole string
}

// find looks for the address that the target has now.
func (s *Server) find(ctx context.Context) error {
	t, ok := s.Target.(target.Addressed)
	if !s.Assigned || !ok {
		return nil
	}
	address, err := t.Address(ctx)
	if err == nil {
		s.Address = address
	}
	return err
}

// iperf3Engine runs iperf3: a client on the session's target, whose server is started before each test and ends with
// it. Its rates are in steps of so long; 0 is a second.
type iperf3Engine struct{ step time.Duration }

// clientArgv and serverArgv are the argument vectors of the two ends, behind what places them.
func (s *Session) clientArgv(cell Cell) []string {
	g, _ := served.Of(cell.Engine)
	return slices.Concat(cell.Placement[ClientEnd],
		g.Client(cell.Params, served.End{Address: s.Server.Address, Port: s.Server.Port}))
}

func (s *Session) serverArgv(cell Cell, at served.End) []string {
	g, _ := served.Of(cell.Engine)
	return slices.Concat(cell.Placement[ServerEnd], g.Server(cell.Params, at, served.Longest(cell.Expected)))
}

// The ends of a network's test, by which a cell says where their processes run.
const (
	ClientEnd = "client"
	ServerEnd = "server"
)

func (iperf3Engine) raw() (output, messages string) { return "iperf3.json", "messages" }

func (iperf3Engine) collect(ctx context.Context, job target.Job) (printed, error) {
	return fetchStreams(ctx, job)
}

func (iperf3Engine) read(_ context.Context, done ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr = done.state.ExitCode, done.messages
	r, err := iperf3.Parse(done.output)
	if err != nil {
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "iperf3 printed no result (" + done.reason(err) + "); headroom show --raw shows all that it said"})
		return true
	}
	rep.Values, rep.Seconds = r.Values(), r.Ran()
	evidence.Reported = reportedTraffic(r, evidence.Cell.Params)
	for _, s := range r.Series() {
		rep.Series = append(rep.Series, bySecond(s))
	}
	rep.Warnings = append(rep.Warnings, r.Warnings()...)
	return r.Failed != "" || len(rep.Values) == 0
}

// rate is that of both directions. iperf3 does not tell exactly when the time that counts began. It did after the
// process was there and its connection was made, and so long before the process ended that the test fits in between.
func (iperf3Engine) rate(_ context.Context, done ended, _ float64, ahead clockOffset) (lab.Series, timestamp, bool) {
	r, err := iperf3.Parse(done.output)
	if err != nil {
		return lab.Series{}, timestamp{}, false
	}
	var sum lab.Series
	for i, s := range r.Series() {
		if i == 0 {
			sum = lab.Series{Metric: "bitrate", Interval: s.Interval, Values: slices.Clone(s.Values)}
			continue
		}
		sum.Values = sum.Values[:min(len(sum.Values), len(s.Values))]
		for k := range sum.Values {
			sum.Values[k] += s.Values[k]
		}
	}
	earliest, latest := done.state.Started, done.state.Ended.Add(-secondsOf(r.Ran()+r.Omit))
	if printed := r.Start.Add(-ahead.offset); !r.Start.IsZero() && printed.After(earliest) {
		earliest = printed
	}
	if latest.Before(earliest) {
		latest = earliest
	}
	half := latest.Sub(earliest) / 2
	return sum, timestamp{Time: earliest.Add(half + secondsOf(r.Omit)), uncertainty: half + ahead.uncertainty +
			jobTimeStep},
		len(sum.Values) > 0
}

// listenTimeout is how long a server may take until it listens.
const listenTimeout = 10 * time.Second

// listen starts the server of a test and waits until it listens.
func (s *Session) listen(ctx context.Context, cell Cell) error {
	port := s.Server.Port
	fault := func(what string, hints ...string) *lab.Error {
		return &lab.Error{What: what, Target: target.RemoteName(s.Server.Target), Hints: hints}
	}
	g, _ := served.Of(cell.Engine)
	listening := map[served.Listening]func(context.Context, target.Target, int) (bool, error){
		served.TCP: facts.Listening, served.UDP: facts.ListeningUDP,
		served.RDMA: facts.ListeningRDMA}[g.Listens(cell.Params)]
	at := served.End{Address: s.Server.Address, Port: port}
	if cell.Engine == lab.EnginePerftest {
		var err error
		if at.Unbound, err = s.unbound(ctx, g.Program(cell.Params)); err != nil {
			return err
		}
	}
	taken, err := listening(ctx, s.Server.Target, port)
	if err != nil {
		return err
	}
	if taken {
		return fault(fmt.Sprintf("something listens on port %d of the server already, and it may not be what is to "+
			"be measured", port),
			"end it, or take another port: --port 5301", "who it is: ss -lntup, and rdma resource show cm_id for RDMA")
	}
	s.serverCount++
	spec := target.JobSpec{ID: fmt.Sprintf("%s-server-%d", s.ownerName(), s.serverCount), Argv: s.serverArgv(cell, at),
		Env: cell.Environment}
	if step := s.rateStep(); step > 0 && cell.Engine == lab.EngineIperf3 {
		spec.Argv = iperf3.Finely(spec.Argv, step)
	}
	if s.serverJob, err = s.Server.Target.Start(ctx, spec); err != nil {
		return err
	}
	end := time.NewTimer(listenTimeout)
	defer end.Stop()
	for {
		up, err := listening(ctx, s.Server.Target, port)
		if up || err != nil {
			return err
		}
		select {
		case <-s.serverJob.Done():
			printed := ""
			for _, name := range []string{"stdout", "stderr"} {
				text, err := s.serverJob.Tail(ctx, name, maxSearchedOutput)
				if err != nil {
					return err
				}
				printed += string(text)
			}
			printed = cmp.Or(g.ErrorText([]byte(printed)), printed)
			e := fault(fmt.Sprintf("%s can't listen on %s, port %d", g.Program(cell.Params), s.Server.Address, port),
				"the address must be one of the server's own: ip address; name another with --address")
			e.Command, e.Output = spec.Argv, strings.TrimSpace(printed)
			return e
		case <-end.C:
			e := fault(fmt.Sprintf("%s does not listen on %s, port %d, after %s", g.Program(cell.Params),
				s.Server.Address, port, unit.Duration(listenTimeout)))
			e.Command = spec.Argv
			return e
		case <-ctx.Done():
			return cancelled(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// addServerOutput adds to why a test has no result what its server said, which is nowhere else.
func (s *Session) addServerOutput(ctx context.Context, warnings []lab.Warning) {
	if s.serverJob == nil {
		return
	}
	text, err := s.serverJob.Tail(ctx, "stderr", maxSearchedOutput)
	printed := strings.TrimSpace(string(text))
	if err != nil || printed == "" {
		return
	}
	for i, w := range warnings {
		if w.Code == "no-result" {
			warnings[i].Text += "; its server said: " +
				lab.Shorten(strings.Join(strings.Fields(lab.HeadLines(printed, 5)), " "), maxQuoted, maxQuoted)
		}
	}
}

// stopServer ends the server of a test, whatever became of it. A server of one test has ended by itself where all went
// well.
func (s *Session) stopServer(ctx context.Context) []lab.Warning {
	job := s.serverJob
	if job == nil {
		return nil
	}
	s.serverJob = nil
	err := job.Kill(ctx, time.Second)
	if err == nil {
		err = job.Remove(ctx)
	}
	if err == nil {
		return nil
	}
	s.outcome.Aborted = true
	return []lab.Warning{{Code: "cleanup-failed", Taints: []string{},
		Text: fmt.Sprintf("the server of the test on %s may still listen: %v; it ends by itself within %s of when "+
			"the test would have",
			s.Server.Target.Name(), err, unit.Duration(served.Longest(0)))}}
}

// endServerAndCommand ends what a repetition has running beside its load, and carries out what comes after it.
func (s *Session) endServerAndCommand(ctx context.Context, cell Cell) []lab.Warning {
	if _, network := served.Of(cell.Engine); network {
		return s.stopServer(ctx)
	}
	return s.endCommand(ctx, cell)
}

// RampOf is how long a load runs before what counts.
func RampOf(cell lab.Cell) time.Duration {
	if cell.Engine == lab.EngineIperf3 {
		omit, _ := unit.ParseDuration(cell.Params["omit"])
		return omit
	}
	if cell.Engine == lab.EngineSockperf {
		return sockperf.Ramp
	}
	return fio.Ramp(cell.Params)
}
