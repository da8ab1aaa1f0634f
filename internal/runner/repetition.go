package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strconv"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/plan"
	"headroom/internal/target"
	"headroom/internal/unit"
	"headroom/internal/validity"
)

// repeat carries out one repetition of a cell and saves it. A load that fails is a result too: what it printed is kept,
// with a warning that says so, and the run goes on.
func (s *session) repeat(ctx context.Context, cell Cell, next plan.Repetition) error {
	rep := lab.Repetition{
		Cell: cell.ID, Number: next.Number, Boot: s.boot, Block: next.Block, Position: next.Position,
		After: s.previous, Layout: s.layout,
	}
	if s.Place.Kind == lab.Device && !fio.OnlyReads(cell.Params) {
		if err := s.mayWrite(); err != nil {
			return err
		}
	}
	before, err := s.gauges.Read(ctx)
	if err != nil {
		return err
	}
	s.clock.left -= cell.Expected + perRepetition
	rep.Start = time.Now()
	done, err := s.follow(ctx, cell.Job, s.params(cell), s.filename(), cell.Title, cell.Expected)
	if err != nil {
		return err
	}
	defer done.forget(ctx)
	// From here on the repetition is finished; whatever the user stops now, it is kept.
	ctx = context.WithoutCancel(ctx)
	rep.Command = done.argv
	after, err := s.gauges.Read(ctx)
	if err != nil {
		return err
	}
	evidence := validity.Evidence{
		Cell: cell.Cell, Place: s.Place, Machine: s.Machine, Before: before, During: done.during, After: after,
		ExitCode: done.state.ExitCode, Stderr: done.said(), Wanted: fio.WantedRuntime(cell.Params),
	}
	failed := s.read(ctx, done, &rep, &evidence)
	evidence.Repetition = rep
	rep.Warnings = append(rep.Warnings, validity.Repetition(evidence)...)
	if err := s.save(rep, done); err != nil {
		return err
	}
	s.finished(cell, rep, failed)
	return nil
}

// filename is what the load is pointed at: the scratch file, the device, or nothing.
func (s *session) filename() string {
	if s.Place.Kind == lab.Device {
		return s.Place.Resolved
	}
	return s.scratch
}

// params are the cell's, with the size of the scratch file where the cell names none: it makes the command line whole, so
// that it can be repeated by hand.
func (s *session) params(cell Cell) map[string]string {
	if s.Place.Kind != lab.Directory || cell.Params["size"] != "" {
		return cell.Params
	}
	params := maps.Clone(cell.Params)
	params["size"] = strconv.FormatInt(s.Scratch, 10)
	return params
}

// read takes from what fio printed the values of the repetition and the evidence for the checks. It says whether the
// load failed.
func (s *session) read(ctx context.Context, done ended, rep *lab.Repetition, evidence *validity.Evidence) bool {
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
	rep.Series = s.series(ctx, done.job)
	return done.state.ExitCode != 0 || len(group.Errors) > 0
}

// series reads the per-second logs that fio wrote into the job's folder. A log that is missing or damaged costs the
// picture of the run inside, not its result.
func (s *session) series(ctx context.Context, job target.Job) []lab.Series {
	var all []lab.Series
	for _, log := range []struct{ suffix, quantity string }{{"_iops.log", "iops"}, {"_bw.log", "bandwidth"}} {
		data, err := job.Fetch(ctx, logPrefix+log.suffix)
		if err != nil {
			continue
		}
		samples, err := fio.ParseLog(bytes.NewReader(data))
		if err != nil {
			continue
		}
		all = append(all, fio.Series(samples, log.quantity, time.Second)...)
	}
	return all
}

// The files that fio writes into the folder of its job.
const (
	outputName = "fio.json"
	logPrefix  = "series"
)

// save puts the repetition on stable storage, with what fio printed.
func (s *session) save(rep lab.Repetition, done ended) error {
	folder := fmt.Sprintf("%s/%d/", rep.Cell, rep.Number)
	rep.Raw = []string{folder + outputName, folder + "messages"}
	err := errors.Join(s.saver.Raw(rep.Raw[0], done.output), s.saver.Raw(rep.Raw[1], []byte(done.messages)), s.saver.Repetition(rep), s.saver.Commit())
	if err != nil {
		return &lab.Error{What: fmt.Sprintf("can't save repetition %d of %s", rep.Number, rep.Cell), Err: err,
			Hints: []string{"what was saved before is kept; free some space, then: headroom run --resume " + s.RunID}}
	}
	return nil
}

func (s *session) finished(cell Cell, rep lab.Repetition, failed bool) {
	s.clock.done++
	s.outcome.Measured++
	if failed {
		s.outcome.Failed++
	}
	light := rep
	light.Latency, light.Series = nil, nil
	s.outcome.Repetitions = append(s.outcome.Repetitions, light)
	s.tell(Event{Doing: cell.Title, Ended: &rep, Cell: &cell.Cell})
}

// ended is a job of fio's that has ended, with what it printed.
type ended struct {
	job   target.Job
	argv  []string
	state target.JobState
	// output is the JSON, with the messages that fio prints among it; messages is all the rest but the status lines.
	output   []byte
	messages string
	// during are the machine's counters in the middle of the load; zero when it was too short for a look.
	during validity.Counters
}

// said is everything that fio printed, apart from status lines.
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

// tick is how often a load in progress is looked at. Each look reads the last lines of a file in memory.
const tick = time.Second

// overdue is how long a load may take beyond what was expected before it is ended: longer than any flush at its end.
const overdue = 10 * time.Minute

// follow starts fio and tells of its progress until it ends. When ctx is cancelled fio is killed first.
func (s *session) follow(ctx context.Context, name string, params map[string]string, path, doing string, expected time.Duration) (ended, error) {
	if ctx.Err() != nil {
		return ended{}, cancelled(ctx)
	}
	s.jobs++
	done := ended{argv: fio.Argv(name, params, fio.Options{Filename: path, Output: outputName, Logs: logPrefix, Progress: true})}
	job, err := s.Target.Start(ctx, target.JobSpec{ID: fmt.Sprintf("%s-%d", s.RunID, s.jobs), Argv: done.argv})
	if err != nil {
		return ended{}, err
	}
	done.job = job
	if err := s.await(ctx, &done, doing, expected); err != nil {
		// The job's processes are gone when Kill returns; its folder has nothing that is still needed.
		after := context.WithoutCancel(ctx)
		if kill := job.Kill(after, 3*time.Second); kill != nil {
			s.outcome.Stuck = true
			return ended{}, errors.Join(err, kill)
		}
		return ended{}, errors.Join(err, job.Remove(after))
	}
	if err := done.fetch(context.WithoutCancel(ctx)); err != nil {
		done.forget(ctx)
		return ended{}, err
	}
	return done, nil
}

func (e *ended) fetch(ctx context.Context) error {
	state, err := e.job.Poll(ctx)
	if err != nil {
		return err
	}
	e.state = state
	e.output, err = e.job.Fetch(ctx, outputName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range []string{"stdout", "stderr"} {
		text, err := e.job.Fetch(ctx, name)
		if err != nil {
			return err
		}
		e.messages += withoutStatus(text)
	}
	return nil
}

// await tells of a load's progress until it ends. An error says that the load must be ended now.
func (s *session) await(ctx context.Context, load *ended, doing string, expected time.Duration) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	started := time.Now()
	s.lastLook = validity.Counters{}
	s.tell(Event{Doing: doing, Begins: true, CellLeft: expected})
	for {
		select {
		case <-load.job.Done():
			return nil
		case <-ctx.Done():
			select {
			case <-load.job.Done():
				return nil // both at once: it has finished, so it counts
			default:
				return cancelled(ctx)
			}
		case <-ticker.C:
			taken := time.Since(started)
			before := s.lastLook
			if err := s.look(ctx, load, taken, expected); err != nil {
				return err
			}
			e := s.progress(ctx, load.job, doing, taken, expected)
			if e.IOPS == 0 {
				// For its first seconds fio has no rates to show; the disks have.
				e.IOPS, e.Bandwidth = rates(before, s.lastLook)
			}
			s.tell(e)
		}
	}
}

// look reads the machine's counters, and ends a load that has gone too far.
func (s *session) look(ctx context.Context, load *ended, taken, expected time.Duration) error {
	if expected > 0 && taken > expected+overdue {
		return &lab.Error{What: fmt.Sprintf("a load of %s has not ended after %s", expected, taken.Truncate(time.Second)), Target: s.elsewhere(), Command: load.argv,
			Hints: []string{"look at the kernel's log for a device that does not answer"}}
	}
	middle := load.during.Time.IsZero() && taken >= expected/2
	read := s.gauges.ReadDisks
	if middle {
		read = s.gauges.Read
	}
	now, err := read(ctx)
	if err != nil {
		return err
	}
	s.lastLook = now
	if middle {
		load.during = now
	}
	if n := s.written(now); s.MaxWrites > 0 && n > s.MaxWrites {
		return &lab.Error{Kind: lab.Gate, What: fmt.Sprintf("%s have been written, more than --max-writes %s", unit.Capacity(float64(n)), unit.Capacity(float64(s.MaxWrites))),
			Hints: []string{"what was finished is kept; headroom run --resume " + s.RunID + " --max-writes N goes on, and counts from there"}}
	}
	return nil
}

// written is how much the disks under test have been written since the run began.
func (s *session) written(now validity.Counters) int64 {
	var n int64
	for disk, c := range now.Disks {
		n += c.WriteBytes - s.atStart.Disks[disk].WriteBytes
	}
	return n
}

// rates are what the disks did a second between two looks, reads and writes together; 0 when there was only one.
func rates(before, now validity.Counters) (iops, bandwidth float64) {
	seconds := now.Time.Sub(before.Time).Seconds()
	if before.Time.IsZero() || seconds <= 0 {
		return 0, 0
	}
	for disk, c := range now.Disks {
		b := before.Disks[disk]
		iops += float64(c.ReadIOs + c.WriteIOs - b.ReadIOs - b.WriteIOs)
		bandwidth += float64(c.ReadBytes + c.WriteBytes - b.ReadBytes - b.WriteBytes)
	}
	return iops / seconds, bandwidth / seconds
}

// progress is what fio said last of how it is getting on.
func (s *session) progress(ctx context.Context, job target.Job, doing string, taken, expected time.Duration) Event {
	e := Event{Doing: doing, CellLeft: max(0, expected-taken)}
	text, err := job.Tail(ctx, "stdout", 1024)
	if err != nil {
		return e
	}
	if eta, ok := fio.LastETA(text); ok {
		e.IOPS, e.Bandwidth = sum(eta.IOPS), sum(eta.Bandwidth)
		if expected == 0 && eta.Known {
			e.CellLeft = eta.Left
		}
	}
	return e
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
