package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/load/perftest"
	"headroom/internal/plan"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// perftestEngine runs a program of perftest: a client on the session's target, whose server is started before each test
// and ends with it. It has no rates by the second, so that several pairs have no sum.
type perftestEngine struct{}

// unbound says that a server of perftest can't be told an address to listen on, and makes sure that it listens on no
// port of an adapter but that under test even so.
func (s *Session) unbound(ctx context.Context, program string) (bool, error) {
	links, err := facts.RDMALinks(ctx, s.Server.Target)
	if err != nil {
		return false, err
	}
	own, err := facts.InterfaceOf(ctx, s.Server.Target, s.Server.Address)
	if err != nil {
		return false, err
	}
	var others []string
	found := false
	for _, l := range links {
		// The interface of a port of InfiniBand is not told: that may be the one.
		if l.Interface == own || l.Interface == "" {
			found = true
		}
		if l.State == "ACTIVE" {
			others = append(others, strings.TrimSpace(l.Device+" "+l.Interface))
		}
	}
	fault := &lab.Error{Target: s.Server.Target.Name()}
	if !found {
		fault.What = fmt.Sprintf("%s is an address of %s, and there is no RDMA on it", s.Server.Address,
			cmp.Or(own, "no interface"))
		fault.Hints = []string{"take an address of an interface that has it, which rdma link shows: --address"}
		return false, fault
	}
	argv := []string{program, "--help"}
	out, err := s.Server.Target.Run(ctx, argv...)
	if err != nil {
		return false, err
	}
	if bytes.Contains(append(out.Stdout, out.Stderr...), []byte(perftest.Bind)) {
		return false, nil
	}
	if len(others) > 1 {
		fault.Kind, fault.What = lab.Refused,
			fmt.Sprintf("this perftest has no %s, so that its server would listen on all ports with RDMA: %s",
				perftest.Bind, strings.Join(others, ", "))
		fault.Hints = []string{"install perftest 23.07 or newer there", "or take the others down for the test"}
		return false, fault
	}
	return true, nil
}

// maxMissed is how often a repetition is carried out again because its client missed its server: a machine on which it
// does so four times is no place to measure on.
const maxMissed = 3

// errMissed is why a repetition is carried out again: nothing was measured in it, and nothing is wrong with what is
// measured.
var errMissed = errors.New("perftest's client came before its server listened again")

// missed says whether perftest's client came before its server listened again.
func (a *attempt) missed() bool {
	return a.failed && a.cell.Engine == lab.EnginePerftest && perftest.Missed(a.done.messages)
}

// warnMissed keeps in the run that a repetition was carried out again.
func (s *Session) warnMissed(next plan.Repetition, times int) {
	s.outcome.Warnings = append(s.outcome.Warnings, lab.Warning{Code: "connection-missed",
		Text: fmt.Sprintf("repetition %d of %s was repeated (%d of at most %d times): perftest connects "+
			"twice, and its client came before its server listened for the second time",
			next.Number, next.Cell, times, maxMissed)})
}

func (perftestEngine) raw() (output, messages string) { return "perftest.txt", "messages" }

func (perftestEngine) collect(ctx context.Context, job target.Job) (printed, error) {
	return fetchStreams(ctx, job)
}

// fetchStreams are what a job printed: its standard output is read, its standard error has messages.
func fetchStreams(ctx context.Context, job target.Job) (printed, error) {
	var p printed
	var err error
	if p.output, err = p.fetch(ctx, job, "stdout"); err != nil {
		return p, err
	}
	messages, err := p.fetch(ctx, job, "stderr")
	p.messages = string(messages)
	return p, err
}

func (perftestEngine) read(_ context.Context, done ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr = done.state.ExitCode, done.messages
	r, err := perftest.Parse(done.output)
	switch {
	case err != nil || done.state.ExitCode != 0:
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "perftest printed no result (" + done.reason(err) + "); headroom show --raw shows all that it said"})
		return true
	case r.Iterations == 0:
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "perftest counted nothing: no operation came to its end between the 2 s that it leaves out at " +
				"either end; make duration longer, or size smaller"})
		return true
	}
	rep.Values, rep.Seconds = r.Values(), r.Ran()
	return false
}
