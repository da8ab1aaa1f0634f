package runner

import (
	"context"
	"fmt"
	"time"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// engine is a load generator as the runner sees it. The order of a repetition is the runner's own, the same for all of them.
type engine interface {
	// load is what a cell runs.
	load(ctx context.Context, s *Session, cell Cell) (load, error)
	// collect fetches what a job that has ended has printed.
	collect(ctx context.Context, job target.Job) (printed, error)
	// read takes from what was printed the values of the repetition and the evidence for the checks. It says whether the load
	// failed.
	read(ctx context.Context, done ended, rep *lab.Repetition, evidence *validity.Evidence) bool
	// progress adds to an event what a load in progress printed last.
	progress(text []byte, expected time.Duration, e *Event)
	// raw names the two files that are kept of what was printed.
	raw() (output, messages string)
}

// engineOf is the engine that carries a cell out, and tells its rate in steps of so long; 0 is a second. Runs from before there were several name none.
func engineOf(cell lab.Cell, step time.Duration) (engine, error) {
	switch cell.Engine {
	case lab.EngineFio, "":
		return fioEngine{step: step}, nil
	case lab.EngineExec:
		return execEngine{}, nil
	case lab.EngineIperf3:
		return iperf3Engine{step: step}, nil
	case lab.EngineSockperf:
		return &sockperfEngine{step: step}, nil
	case lab.EnginePerftest:
		return perftestEngine{}, nil
	}
	return nil, &lab.Error{What: fmt.Sprintf("%s is for the engine %q, which this headroom does not have", cell.ID, cell.Engine)}
}

// load is one job that is to be run.
type load struct {
	engine engine
	// spec of the job, without its ID.
	spec target.JobSpec
	// argv as one would type it.
	argv  []string
	doing string // for people
	// expected time; 0 when it is not known.
	expected time.Duration
	// overdue is when it is ended, and the run with it, because something must be wrong; 0 is never.
	overdue time.Duration
	// timeout after which it is ended, which is a result too; 0 is none.
	timeout time.Duration
	// cell that it measures; nil for what is done before and after.
	cell *Cell
}

// printed is what a job has printed: the output that is read, and all the rest.
type printed struct {
	output   []byte
	messages string
}

// ended is a job that has ended, with what it printed.
type ended struct {
	printed
	job   target.Job
	argv  []string
	state target.JobState
	// timedOut says that it was ended because it took longer than it may.
	timedOut bool
	// during are the machine's counters in the middle of the load; zero when it was too short for a look.
	during validity.Counters
	// happened is what became of the events of the load.
	happened []happening
	// spent is what the host spent while it ran.
	spent facts.Spent
}

// said is everything that was printed, apart from status lines.
func (e ended) said() string { return e.messages + string(e.output) }

// reason is why there is no result, in a line.
func (e ended) reason(err error) string {
	if line := firstLines(e.said(), 1); line != "" {
		return line
	}
	if e.state.Signal != "" {
		return "ended by signal: " + e.state.Signal
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("exit status %d", e.state.ExitCode)
}

// forget deletes the job's folder. It is in memory, so that nothing is lost but some of that when it can't be deleted.
func (e ended) forget(ctx context.Context) { _ = e.job.Remove(context.WithoutCancel(ctx)) }
