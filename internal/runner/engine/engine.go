// Package engine reads what load generators print: which files of a job are fetched, and which values, rates and
// warnings come of them. It starts no load. It compares points in time of several machines, as far as their clocks can
// be compared.
package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// Engine is a load generator as the runner sees it. The order of a repetition is the runner's own, the same for all of
// them.
type Engine interface {
	// Collect fetches what a job that has ended has printed.
	Collect(ctx context.Context, job host.Job) (Printed, error)
	// Read takes the values of the repetition and the evidence for the checks from the output. It reports whether the
	// load failed.
	Read(ctx context.Context, done Ended, rep *lab.Repetition, evidence *validity.Evidence) bool
	// Raw names the two files that are kept of what was printed.
	Raw() (output, messages string)
}

// FineRateReader is an engine that tells the rate of a load in fine steps, and when the first of them began by this
// machine's clock.
type FineRateReader interface {
	Rate(ctx context.Context, done Ended, seconds float64, ahead Offset) (lab.Series, Timestamp, bool)
}

// StartLeadReader is an engine that can tell how long its process is there, at least, before what counts begins.
type StartLeadReader interface {
	StartLead(done Ended) (time.Duration, bool)
}

// ProgressReader is an engine that prints how its load is getting on.
type ProgressReader interface {
	Progress(text []byte) (Status, bool)
}

// Status is the progress of a load: reads and writes together, and the time left where it is known.
type Status struct {
	IOPS, Bandwidth float64
	Left            time.Duration
	Known           bool
}

// Of is the engine that carries a cell out, and tells its rate in steps of so long; 0 is a second. Runs from
// before there were several name none.
func Of(cell lab.Cell, step time.Duration) (Engine, error) {
	switch cell.Engine {
	case lab.EngineFio, "":
		return Fio{step: step}, nil
	case lab.EngineExec:
		return Exec{}, nil
	case lab.EngineIperf3:
		return Iperf3{step: step}, nil
	case lab.EngineSockperf:
		return &Sockperf{step: step}, nil
	case lab.EnginePerftest:
		return Perftest{}, nil
	}
	return nil, &lab.Error{What: fmt.Sprintf("%s is for the engine %q, which this headroom does not have",
		cell.ID, cell.Engine)}
}

// Printed is what a job has printed: the output that is read, and all the rest.
type Printed struct {
	Output   []byte
	Messages string
	// cut are the files of which there are the ends only, because they are too long.
	cut []*host.Cut
}

// maxPrinted is how much a load may print before it is ended: its files are in the memory of the machine that is
// measured.
const maxPrinted = 4 * host.MaxFetched

// fetch reads a file of the job's. One that is too long is noted, and is no error: what can be parsed of it will show.
func (p *Printed) fetch(ctx context.Context, job host.Job, name string) ([]byte, error) {
	data, err := job.Fetch(ctx, name)
	if cut, ok := errors.AsType[*host.Cut](err); ok {
		p.cut, err = append(p.cut, cut), nil
	}
	return data, err
}

// WarnCut says of what the load printed which files are kept in part only.
func (e Ended) WarnCut() []lab.Warning {
	var all []lab.Warning
	for _, c := range e.cut {
		all = append(all, lab.Warning{Code: "output-cut", Taints: []string{}, Text: fmt.Sprintf(
			"the load wrote %s to its file %s, more than the %s that are read; its beginning and its end are kept",
			unit.Bytes(float64(c.Size)), c.Name, unit.Bytes(host.MaxFetched))})
	}
	return all
}

// WarnFlood says that a load was ended because it printed too much; nil of another.
func (e Ended) WarnFlood() []lab.Warning {
	if e.Flood == 0 {
		return nil
	}
	return []lab.Warning{{Code: "too-much-output", Taints: []string{"*"}, Text: fmt.Sprintf(
		"%s had printed %s when it was ended, and may print %s: that is kept in the memory of the machine under "+
			"test; nothing of this repetition counts",
		e.Argv[0], unit.Bytes(float64(e.Flood)), unit.Bytes(maxPrinted))}}
}

// Ended is a job that has ended, with what it printed.
type Ended struct {
	Printed
	Job   host.Job
	Argv  []string
	State host.JobState
	// TimedOut says that it was ended because it took longer than it may, which is the limit.
	TimedOut bool
	Limit    time.Duration
	// Flood is how much it had printed when it was ended because that was too much; 0 where it was not.
	Flood int64
}

// Floods reports whether the job has printed more than it may by now. Where a target can't tell, its job ends soon, or
// its counters can't be read any more either.
func (e *Ended) Floods(ctx context.Context) bool {
	if n, err := e.Job.Size(ctx, "stdout", "stderr", FioOutput); err == nil && n > maxPrinted {
		e.Flood = n
	}
	return e.Flood > 0
}

// MaxSearchedOutput is how much of either end of what was printed is searched for what went wrong.
const MaxSearchedOutput = 64 << 10

// OutputText is what was printed, apart from status lines: of what is long its ends.
func (e Ended) OutputText() string {
	output := e.Output
	if len(output) > 2*MaxSearchedOutput {
		output = slices.Concat(output[:MaxSearchedOutput], []byte("\n"), output[len(output)-MaxSearchedOutput:])
	}
	return lab.Shorten(e.Messages, MaxSearchedOutput, MaxSearchedOutput) + string(output)
}

// MaxQuoted is how much of a line that a load generator printed fits into a warning; the bundle has all of it.
const MaxQuoted = 300

// reason is why there is no result, in a line.
func (e Ended) reason(err error) string {
	if line := lab.HeadLines(e.OutputText(), 1); line != "" {
		return lab.Shorten(strings.ToValidUTF8(line, "?"), MaxQuoted, 0)
	}
	if e.State.Signal != "" {
		return "ended by signal: " + e.State.Signal
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("exit status %d", e.State.ExitCode)
}

// Cleanup deletes the job's folder. It is in memory, so that nothing is lost but some of that when it can't be deleted.
func (e Ended) Cleanup(ctx context.Context) { _ = e.Job.Remove(context.WithoutCancel(ctx)) }
