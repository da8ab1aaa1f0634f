package runner

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strconv"
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

func (f fioEngine) load(ctx context.Context, s *Session, cell Cell) (load, error) {
	if s.Place.Kind == lab.Device && !fio.OnlyReads(cell.Params) {
		if err := s.mayWrite(); err != nil {
			return load{}, err
		}
	}
	if err := errors.Join(s.makeScratch(ctx), s.checkSameScratch()); err != nil {
		return load{}, err
	}
	l := fioLoad(cell.Job, LoadParams(s.Place, cell.Params, s.Scratch),
		fio.Options{Program: s.Program, Filename: s.filename(), Together: s.Place.Members, Fine: f.step},
		s.passedFilename())
	l.spec.Env, l.argv = cell.Environment, shellCommand(cell.Cell, l.argv)
	l.doing, l.expected, l.cell = cell.Title, cell.Expected, &cell
	l.movesData = movesData(cell.Params, s.Place)
	if l.expected == 0 {
		l.slowest = slowestTime(cell.Params, s.size())
	}
	return l, nil
}

// fioLoad is a job of fio's that works on what the options say, which it is handed by another name.
func fioLoad(name string, params map[string]string, opt fio.Options, handed string) load {
	opt.Output, opt.Logs, opt.Progress = outputName, logPrefix, true
	argv := fio.Argv(name, params, opt)
	opt.Filename = handed
	return load{engine: fioEngine{}, argv: argv, spec: target.JobSpec{Argv: fio.Argv(name, params, opt)}}
}

// LoadParams are a cell's parameters, with the size of the scratch file where the cell names none: it makes the command
// line whole, so that it can be repeated by hand.
func LoadParams(place lab.Place, params map[string]string, scratch int64) map[string]string {
	if place.Kind != lab.Directory || params["size"] != "" {
		return params
	}
	params = maps.Clone(params)
	params["size"] = strconv.FormatInt(scratch, 10)
	return params
}

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
func (f fioEngine) rate(ctx context.Context, _ *Session, a *attempt, clock clockOffset) (lab.Series, timestamp, bool) {
	data, err := a.done.job.Fetch(ctx, logPrefix+"_iops.log")
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
	for want := int(a.rep.Seconds / s.Interval); want-len(s.Values) >= int(time.Second/f.step); {
		s.Values = append(s.Values, 0)
	}
	return s, timestamp{Time: start.Add(-clock.offset), uncertainty: clock.uncertainty + maxFirstSampleDelay}, true
}

// maxFirstSampleDelay is how late fio's thread may be with the first sample, by which the start of its rate is known.
const maxFirstSampleDelay = 10 * time.Millisecond

// progress is what fio said last of how it is getting on.
func (fioEngine) progress(text []byte, expected time.Duration, e *Progress) {
	if eta, ok := fio.LastETA(text); ok {
		e.IOPS, e.Bandwidth = sum(eta.IOPS), sum(eta.Bandwidth)
		if expected == 0 && eta.Known {
			e.Left = eta.Left
		}
	}
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
