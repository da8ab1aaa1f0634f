package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/target"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// engine is a load generator as the runner sees it. The order of a repetition is the runner's own, the same for all of
// them.
type engine interface {
	// collect fetches what a job that has ended has printed.
	collect(ctx context.Context, job target.Job) (printed, error)
	// read takes from what was printed the values of the repetition and the evidence for the checks. It says whether
	// the load failed.
	read(ctx context.Context, done ended, rep *lab.Repetition, evidence *validity.Evidence) bool
	// raw names the two files that are kept of what was printed.
	raw() (output, messages string)
}

// fineRateReader is an engine that tells the rate of a load in fine steps, and when the first of them began by this
// machine's clock.
type fineRateReader interface {
	rate(ctx context.Context, done ended, seconds float64, ahead clockOffset) (lab.Series, timestamp, bool)
}

// startLeadReader is an engine that can tell how long its process is there, at least, before what counts begins.
type startLeadReader interface {
	startLead(done ended) (time.Duration, bool)
}

// progressReader is an engine that prints how its load is getting on.
type progressReader interface {
	progress(text []byte) (soFar, bool)
}

// soFar is how a load is getting on: reads and writes together, and how long it goes on where that is known.
type soFar struct {
	iops, bandwidth float64
	left            time.Duration
	known           bool
}

// engineOf is the engine that carries a cell out, and tells its rate in steps of so long; 0 is a second. Runs from
// before there were several name none.
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
	return nil, &lab.Error{What: fmt.Sprintf("%s is for the engine %q, which this headroom does not have",
		cell.ID, cell.Engine)}
}

// printed is what a job has printed: the output that is read, and all the rest.
type printed struct {
	output   []byte
	messages string
	// cut are the files of which there are the ends only, because they are too long.
	cut []*target.Cut
}

// maxPrinted is how much a load may print before it is ended: its files are in the memory of the machine that is
// measured.
const maxPrinted = 4 * target.MaxFetched

// fetch reads a file of the job's. One that is too long is noted, and is no error: what can be parsed of it will show.
func (p *printed) fetch(ctx context.Context, job target.Job, name string) ([]byte, error) {
	data, err := job.Fetch(ctx, name)
	if cut, ok := errors.AsType[*target.Cut](err); ok {
		p.cut, err = append(p.cut, cut), nil
	}
	return data, err
}

// warnCut says of what the load printed which files are kept in part only.
func (e ended) warnCut() []lab.Warning {
	var all []lab.Warning
	for _, c := range e.cut {
		all = append(all, lab.Warning{Code: "output-cut", Taints: []string{}, Text: fmt.Sprintf(
			"the load wrote %s to its file %s, more than the %s that are read; its beginning and its end are kept",
			unit.Bytes(float64(c.Size)), c.Name, unit.Bytes(target.MaxFetched))})
	}
	return all
}

// warnFlood says that a load was ended because it printed too much; nil of another.
func (e ended) warnFlood() []lab.Warning {
	if e.flood == 0 {
		return nil
	}
	return []lab.Warning{{Code: "too-much-output", Taints: []string{"*"}, Text: fmt.Sprintf(
		"%s had printed %s when it was ended, and may print %s: that is kept in the memory of the machine under "+
			"test; nothing of this repetition counts",
		e.argv[0], unit.Bytes(float64(e.flood)), unit.Bytes(maxPrinted))}}
}

// ended is a job that has ended, with what it printed.
type ended struct {
	printed
	job   target.Job
	argv  []string
	state target.JobState
	// timedOut says that it was ended because it took longer than it may, which is the limit.
	timedOut bool
	limit    time.Duration
	// flood is how much it had printed when it was ended because that was too much; 0 where it was not.
	flood int64
}

// floods says whether the job has printed more than it may by now. A target that can't tell is one whose job ends soon,
// or whose counters can't be read any more either.
func (e *ended) floods(ctx context.Context) bool {
	if n, err := e.job.Size(ctx, "stdout", "stderr", outputName); err == nil && n > maxPrinted {
		e.flood = n
	}
	return e.flood > 0
}

// maxSearchedOutput is how much of either end of what was printed is searched for what went wrong.
const maxSearchedOutput = 64 << 10

// outputText is what was printed, apart from status lines: of what is long its ends.
func (e ended) outputText() string {
	output := e.output
	if len(output) > 2*maxSearchedOutput {
		output = slices.Concat(output[:maxSearchedOutput], []byte("\n"), output[len(output)-maxSearchedOutput:])
	}
	return lab.Shorten(e.messages, maxSearchedOutput, maxSearchedOutput) + string(output)
}

// maxQuoted is how much of a line that a load generator printed fits into a warning; the bundle has all of it.
const maxQuoted = 300

// reason is why there is no result, in a line.
func (e ended) reason(err error) string {
	if line := lab.HeadLines(e.outputText(), 1); line != "" {
		return lab.Shorten(strings.ToValidUTF8(line, "?"), maxQuoted, 0)
	}
	if e.state.Signal != "" {
		return "ended by signal: " + e.state.Signal
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("exit status %d", e.state.ExitCode)
}

// cleanup deletes the job's folder. It is in memory, so that nothing is lost but some of that when it can't be deleted.
func (e ended) cleanup(ctx context.Context) { _ = e.job.Remove(context.WithoutCancel(ctx)) }
