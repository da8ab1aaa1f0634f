package engine

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/validity"
)

// Fio runs fio. Its rates are in steps of so long; 0 is a second.
type Fio struct{ step time.Duration }

// The files that fio writes into the folder of its job.
const (
	FioOutput = "fio.json"
	FioLogs   = "series"
)

func (Fio) Raw() (output, messages string) { return FioOutput, "messages" }

// Collect fetches the JSON, with the messages that fio prints among it; the messages are all the rest but the status
// lines.
func (Fio) Collect(ctx context.Context, job host.Job) (Printed, error) {
	var p Printed
	var err error
	p.Output, err = p.fetch(ctx, job, FioOutput)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	for _, name := range []string{"stdout", "stderr"} {
		text, err := p.fetch(ctx, job, name)
		if err != nil {
			return p, err
		}
		p.Messages += withoutStatus(text)
	}
	return p, nil
}

func (f Fio) Read(ctx context.Context, done Ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr, evidence.Wanted = done.State.ExitCode, done.OutputText(),
		fio.WantedRuntime(evidence.Cell.Params)
	documents, err := fio.ParseBytes(done.Output)
	if err != nil || len(documents) == 0 {
		rep.Warnings = append(rep.Warnings, lab.Warning{Code: "no-result", Taints: []string{"*"},
			Text: "fio printed no result (" + done.reason(err) + "); headroom show --raw shows all that it said"})
		return true
	}
	document := documents[len(documents)-1]
	groups := document.Groups()
	evidence.Document = document
	if len(groups) == 0 {
		return true
	}
	group := groups[0]
	evidence.Group = group
	rep.Values, rep.Latency, rep.Seconds = group.Values, group.Latency, group.Seconds
	var logs Printed
	rep.Series = f.series(ctx, done.Job, &logs)
	rep.Warnings = append(rep.Warnings, Ended{Printed: logs}.WarnCut()...)
	return done.State.ExitCode != 0 || len(group.Errors) > 0
}

// series reads the per-second logs that fio wrote into the job's folder. A log that is missing or damaged costs the
// picture of the run inside, not its result.
func (f Fio) series(ctx context.Context, job host.Job, p *Printed) []lab.Series {
	var all []lab.Series
	for _, log := range []struct{ suffix, quantity string }{{"_iops.log", "iops"}, {"_bw.log", "bandwidth"}} {
		cut := len(p.cut)
		data, err := p.fetch(ctx, job, FioLogs+log.suffix)
		if err != nil || len(p.cut) > cut {
			continue
		}
		samples, err := fio.ParseLog(bytes.NewReader(data))
		if err != nil {
			continue
		}
		if f.step == 0 {
			all = append(all, fio.Series(samples, log.quantity, time.Second)...)
			continue
		}
		for _, direction := range lab.Directions() {
			own := slices.DeleteFunc(slices.Clone(samples), func(s fio.LogSample) bool {
				return s.Direction != direction
			})
			if s, _, ok := fio.Fine(own, log.quantity, f.step); ok {
				s.Metric = direction + "." + log.quantity
				all = append(all, bySecond(s))
			}
		}
	}
	return all
}

// Rate returns the rate of all operations. fio writes no samples while nothing is done: those that are missing at the
// end are 0.
func (f Fio) Rate(ctx context.Context, done Ended, seconds float64, ahead Offset) (lab.Series, Timestamp,
	bool) {
	data, err := done.Job.Fetch(ctx, FioLogs+"_iops.log")
	if err != nil {
		return lab.Series{}, Timestamp{}, false
	}
	samples, err := fio.ParseLog(bytes.NewReader(data))
	if err != nil {
		return lab.Series{}, Timestamp{}, false
	}
	s, start, ok := fio.Fine(samples, "iops", f.step)
	if !ok {
		return lab.Series{}, Timestamp{}, false
	}
	for want := int(seconds / s.Interval); want-len(s.Values) >= int(time.Second/f.step); {
		s.Values = append(s.Values, 0)
	}
	return s, Timestamp{Time: start.Add(-ahead.Offset), Uncertainty: ahead.Uncertainty + maxFirstSampleDelay},
		true
}

// maxFirstSampleDelay is how late fio's thread may be with the first sample, by which the start of its rate is known.
const maxFirstSampleDelay = 10 * time.Millisecond

// Progress is what fio said last of how it is getting on.
func (Fio) Progress(text []byte) (Status, bool) {
	eta, ok := fio.LastETA(text)
	return Status{IOPS: sum(eta.IOPS), Bandwidth: sum(eta.Bandwidth), Left: eta.Left, Known: eta.Known}, ok
}

// withoutStatus drops fio's status lines from what it printed; carriage returns separate them.
func withoutStatus(text []byte) string {
	var kept strings.Builder
	for line := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return r == '\r' || r == '\n' }) {
		if _, isStatus := fio.ParseETA(line); !isStatus && strings.TrimSpace(line) != "" {
			kept.WriteString(line + "\n")
		}
	}
	return kept.String()
}

func sum(byDirection map[string]float64) float64 {
	total := 0.0
	for _, v := range byDirection {
		total += v
	}
	return total
}
