package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/iperf3"
	"github.com/headroom/headroom/internal/load/perftest"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/runner/engine"
	"github.com/headroom/headroom/internal/unit"
)

// Server is the other end of what a network's tests measure: where it runs, and the address and port that it listens
// on.
type Server struct {
	Target  host.Target
	Address string
	Port    int
	// Assigned says that the address was assigned to the target, and not named by the user: a replacement has another.
	Assigned bool
	// Role is the server's role in its run, and ClientRole the role of the other end.
	Role, ClientRole string
}

// find looks for the address that the target has now.
func (s *Server) find(ctx context.Context) error {
	t, ok := s.Target.(host.Addressed)
	if !s.Assigned || !ok {
		return nil
	}
	address, err := t.Address(ctx)
	if err == nil {
		s.Address = address
	}
	return err
}

// networkTests are the loads between the target and a server, which is started for each of them.
type networkTests struct {
	server *Server
	owner  string // in the names of jobs
	// rateStep is the step in which loads print their rates; 0 means that a second is fine enough.
	rateStep time.Duration
	outcome  *Outcome
	// job runs the server of the current test, count is the number of servers so far.
	job   host.Job
	count int
}

func newNetworkTests(m Measurement, rateStep time.Duration, o *Outcome) *networkTests {
	return &networkTests{server: m.Server, owner: m.ownerName(), rateStep: rateStep, outcome: o, count: len(m.Saved)}
}

// load returns the client of a test.
func (n *networkTests) load(_ context.Context, cell Cell, e engine.Engine) (load, error) {
	argv := n.clientArgv(cell)
	if n.rateStep > 0 && cell.Engine == lab.EngineIperf3 {
		argv = iperf3.Finely(argv, n.rateStep)
	}
	return load{engine: e, argv: shellCommand(cell.Cell, argv), spec: host.JobSpec{Argv: argv, Env: cell.Environment},
		doing: cell.Title, expected: cell.Expected, cell: &cell}, nil
}

// clientArgv and serverArgv are the argument vectors of the two ends, after the commands that place them.
func (n *networkTests) clientArgv(cell Cell) []string {
	g, _ := served.Of(cell.Engine)
	return slices.Concat(cell.Placement[ClientEnd],
		g.Client(cell.Params, served.End{Address: n.server.Address, Port: n.server.Port}))
}

func (n *networkTests) serverArgv(cell Cell, at served.End) []string {
	g, _ := served.Of(cell.Engine)
	return slices.Concat(cell.Placement[ServerEnd], g.Server(cell.Params, at, served.Longest(cell.Expected)))
}

// The ends of a network's test, by which a cell places their processes.
const (
	ClientEnd = "client"
	ServerEnd = "server"
)

// listenTimeout is how long a server may take until it listens.
const listenTimeout = 10 * time.Second

// prepare starts the server of a test and waits until it listens.
func (n *networkTests) prepare(ctx context.Context, cell Cell) (preparation, error) {
	return preparation{}, n.listen(ctx, cell)
}

func (n *networkTests) listen(ctx context.Context, cell Cell) error {
	port := n.server.Port
	fault := func(what string, hints ...string) *lab.Error {
		return &lab.Error{What: what, Target: host.RemoteName(n.server.Target), Hints: hints}
	}
	g, _ := served.Of(cell.Engine)
	listening := map[served.Listening]func(context.Context, host.Target, int) (bool, error){
		served.TCP: network.Listening, served.UDP: network.ListeningUDP,
		served.RDMA: network.ListeningRDMA}[g.Listens(cell.Params)]
	at := served.End{Address: n.server.Address, Port: port}
	if cell.Engine == lab.EnginePerftest {
		var err error
		if at.Unbound, err = n.unbound(ctx, g.Program(cell.Params)); err != nil {
			return err
		}
	}
	taken, err := listening(ctx, n.server.Target, port)
	if err != nil {
		return err
	}
	if taken {
		return fault(fmt.Sprintf("something listens on port %d of the server already, and it may not be what is to "+
			"be measured", port),
			"end it, or take another port: --port 5301", "who it is: ss -lntup, and rdma resource show cm_id for RDMA")
	}
	n.count++
	spec := host.JobSpec{ID: fmt.Sprintf("%s-server-%d", n.owner, n.count), Argv: n.serverArgv(cell, at),
		Env: cell.Environment}
	if n.rateStep > 0 && cell.Engine == lab.EngineIperf3 {
		spec.Argv = iperf3.Finely(spec.Argv, n.rateStep)
	}
	if n.job, err = n.server.Target.Start(ctx, spec); err != nil {
		return err
	}
	end := time.NewTimer(listenTimeout)
	defer end.Stop()
	for {
		up, err := listening(ctx, n.server.Target, port)
		if up || err != nil {
			return err
		}
		select {
		case <-n.job.Done():
			printed := ""
			for _, name := range []string{"stdout", "stderr"} {
				text, err := n.job.Tail(ctx, name, engine.MaxSearchedOutput)
				if err != nil {
					return err
				}
				printed += string(text)
			}
			printed = cmp.Or(g.ErrorText([]byte(printed)), printed)
			e := fault(fmt.Sprintf("%s can't listen on %s, port %d", g.Program(cell.Params), n.server.Address, port),
				"the address must be one of the server's own: ip address; name another with --address")
			e.Command, e.Output = spec.Argv, strings.TrimSpace(printed)
			return e
		case <-end.C:
			e := fault(fmt.Sprintf("%s does not listen on %s, port %d, after %s", g.Program(cell.Params),
				n.server.Address, port, unit.Duration(listenTimeout)))
			e.Command = spec.Argv
			return e
		case <-ctx.Done():
			return cancelled(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// addOutput adds the server's output to the reason why a test has no result: it is kept nowhere else.
func (n *networkTests) addOutput(ctx context.Context, warnings []lab.Warning) {
	if n.job == nil {
		return
	}
	text, err := n.job.Tail(ctx, "stderr", engine.MaxSearchedOutput)
	printed := strings.TrimSpace(string(text))
	if err != nil || printed == "" {
		return
	}
	for i, w := range warnings {
		if w.Code == "no-result" {
			warnings[i].Text += "; its server said: " +
				lab.Shorten(strings.Join(strings.Fields(lab.HeadLines(printed, 5)), " "), engine.MaxQuoted,
					engine.MaxQuoted)
		}
	}
}

// end ends the server of a test in any case. One that serves a single test has ended where all went well.
func (n *networkTests) end(ctx context.Context, _ Cell) []lab.Warning {
	job := n.job
	if job == nil {
		return nil
	}
	n.job = nil
	err := job.Kill(ctx, time.Second)
	if err == nil {
		err = job.Remove(ctx)
	}
	if err == nil {
		return nil
	}
	n.outcome.Aborted = true
	return []lab.Warning{{Code: "cleanup-failed", Taints: []string{},
		Text: fmt.Sprintf("the server of the test on %s may still listen: %v; it ends by itself within %s of when "+
			"the test would have",
			n.server.Target.Name(), err, unit.Duration(served.Longest(0)))}}
}

// unbound reports whether a server of perftest can't be given an address to listen on. It fails where such a server
// would listen on a port of an adapter that is not under test.
func (n *networkTests) unbound(ctx context.Context, program string) (bool, error) {
	links, err := network.RDMALinks(ctx, n.server.Target)
	if err != nil {
		return false, err
	}
	own, err := network.InterfaceOf(ctx, n.server.Target, n.server.Address)
	if err != nil {
		return false, err
	}
	var others []string
	found := false
	for _, l := range links {
		// The interface of an InfiniBand port is unknown: it may be this one.
		if l.Interface == own || l.Interface == "" {
			found = true
		}
		if l.State == "ACTIVE" {
			others = append(others, strings.TrimSpace(l.Device+" "+l.Interface))
		}
	}
	fault := &lab.Error{Target: n.server.Target.Name()}
	if !found {
		fault.What = fmt.Sprintf("%s is an address of %s, and there is no RDMA on it", n.server.Address,
			cmp.Or(own, "no interface"))
		fault.Hints = []string{"take an address of an interface that has it, which rdma link shows: --address"}
		return false, fault
	}
	argv := []string{program, "--help"}
	out, err := n.server.Target.Run(ctx, argv...)
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
// does so four times is unfit to measure on.
const maxMissed = 3

// errMissed is why a repetition is repeated: it measured nothing, and the target is not at fault.
var errMissed = errors.New("perftest's client came before its server listened again")

// missed reports whether perftest's client came before its server listened again.
func (a *attempt) missed() bool {
	return a.failed && a.cell.Engine == lab.EnginePerftest && perftest.Missed(a.done.Messages)
}

// missedWarning is kept in the run where a repetition was carried out again.
func missedWarning(next plan.Repetition, times int) lab.Warning {
	return lab.Warning{Code: "connection-missed",
		Text: fmt.Sprintf("repetition %d of %s was repeated (%d of at most %d times): perftest connects "+
			"twice, and its client came before its server listened for the second time",
			next.Number, next.Cell, times, maxMissed)}
}
