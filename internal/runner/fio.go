package runner

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/target"
	"headroom/internal/validity"
)

// fioEngine runs fio. Its rates are in steps of so long; 0 is a second.
type fioEngine struct{ step time.Duration }

// The files that fio writes into the folder of its job.
const (
	outputName = "fio.json"
	logPrefix  = "series"
)

func (fioEngine) raw() (output, messages string) { return outputName, "messages" }

// collect fetches the JSON, with the messages that fio prints among it; the messages are all the rest but the status
// lines.
func (fioEngine) collect(ctx context.Context, job target.Job) (printed, error) {
	var p printed
	var err error
	p.output, err = p.fetch(ctx, job, outputName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	for _, name := range []string{"stdout", "stderr"} {
		text, err := p.fetch(ctx, job, name)
		if err != nil {
			return p, err
		}
		p.messages += withoutStatus(text)
	}
	return p, nil
}

func (f fioEngine) read(ctx context.Context, done ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
	evidence.ExitCode, evidence.Stderr, evidence.Wanted = done.state.ExitCode, done.outputText(),
		fio.WantedRuntime(evidence.Cell.Params)
	documents, err := fio.ParseBytes(done.output)
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
	var logs printed
	rep.Series = f.series(ctx, done.job, &logs)
	rep.Warnings = append(rep.Warnings, ended{printed: logs}.warnCut()...)
	return done.state.ExitCode != 0 || len(group.Errors) > 0
}

// series reads the per-second logs that fio wrote into the job's folder. A log that is missing or damaged costs the
// picture of the run inside, not its result.
func (f fioEngine) series(ctx context.Context, job target.Job, p *printed) []lab.Series {
	var all []lab.Series
	for _, log := range []struct{ suffix, quantity string }{{"_iops.log", "iops"}, {"_bw.log", "bandwidth"}} {
		cut := len(p.cut)
		data, err := p.fetch(ctx, job, logPrefix+log.suffix)
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

// rate is that of all operations. fio writes no samples while nothing is done, so that one that did nothing any more
// ends with the load.
func (f fioEngine) rate(ctx context.Context, done ended, seconds float64, ahead clockOffset) (lab.Series, timestamp, bool) {
	data, err := done.job.Fetch(ctx, logPrefix+"_iops.log")
	if err != nil {
		return lab.Series{}, timestamp{}, false
	}
	samples, err := fio.ParseLog(bytes.NewReader(data))
	if err != nil {
		return lab.Series{}, timestamp{}, false
	}
	s, start, ok := fio.Fine(samples, "iops", f.step)
	if !ok {
		return lab.Series{}, timestamp{}, false
	}
	for want := int(seconds / s.Interval); want-len(s.Values) >= int(time.Second/f.step); {
		s.Values = append(s.Values, 0)
	}
	return s, timestamp{Time: start.Add(-ahead.offset), uncertainty: ahead.uncertainty + maxFirstSampleDelay}, true
}

// maxFirstSampleDelay is how late fio's thread may be with the first sample, by which the start of its rate is known.
const maxFirstSampleDelay = 10 * time.Millisecond

// progress is what fio said last of how it is getting on.
func (fioEngine) progress(text []byte) (soFar, bool) {
	eta, ok := fio.LastETA(text)
	return soFar{iops: sum(eta.IOPS), bandwidth: sum(eta.Bandwidth), left: eta.Left, known: eta.Known}, ok
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
