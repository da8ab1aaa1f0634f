// Package recorder records what the kernel does during a load, by a separate job on the target that is started before
// the load, and read after it.
package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/profile"
)

// How long a recorder may take to get ready, to see the load, and to end after its time. Emulated machines take tens of
// seconds to arm the tracer.
const (
	maxReady    = 2 * time.Minute
	maxUnseen   = time.Minute
	maxFinished = 5 * time.Minute
)

// File is the name of the recorder's program where it is copied to a target.
const File = "headroom"

// arguments returns the arguments of the command that records.
func arguments(program string) []string { return []string{program, "profile", "record"} }

// CleanUp are the arguments of the command that removes what recorders have left whose owners begin so.
func CleanUp(program, owners string) []string { return append(arguments(program), "--clean", owners) }

// Owners begins the names of all that the recorders of an owner make in the kernel.
func Owners(owner string) string { return ownerOf(owner + "-") }

func ownerOf(job string) string { return "headroom-" + job }

// Recorder is a job that records a load.
type Recorder struct {
	target  host.Target
	job     host.Job
	program string
	owner   string
	window  Window
}

// Spec describes a recording: the ID of the job that records, its program on the target, and the ID of the load's job.
type Spec struct {
	Target   host.Target
	Program  string
	ID, Load string
	Part     profile.Part
	Hz       int
	Window   Window
	Place    lab.Place
	Trims    bool // the load discards
}

// Start starts a recorder and waits until it is ready for its load. A recorder that is returned must be ended, also
// after an error.
func Start(ctx context.Context, s Spec) (*Recorder, error) {
	w := s.Window
	r := &Recorder{target: s.Target, program: s.Program, owner: ownerOf(s.ID), window: w}
	request, err := json.Marshal(profile.Request{Owner: r.owner, Part: s.Part, WaitFor: maxUnseen, Folder: s.Load + ".",
		Delay: w.Delay, Sample: w.Sample, Follow: w.Follow, Trace: w.Trace, Hz: s.Hz,
		Devices: deviceNumbers(ctx, s.Target, s.Place), Trims: s.Trims})
	if err != nil {
		return nil, err
	}
	job := host.JobSpec{ID: s.ID, Argv: arguments(s.Program), Stdin: request}
	if r.job, err = s.Target.Start(ctx, job); err != nil {
		return nil, err
	}
	return r, r.awaitReady(ctx)
}

// maxSaid is how much is read of the end of what a recorder says.
const maxSaid = 4 << 10

// awaitReady waits until a load may start.
func (r *Recorder) awaitReady(ctx context.Context) error {
	late := time.NewTimer(maxReady)
	defer late.Stop()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for {
		if r.says(ctx, profile.Ready) {
			return nil
		}
		select {
		case <-r.job.Done():
			if r.says(ctx, profile.Ready) {
				return nil
			}
			return r.ended(ctx)
		case <-late.C:
			return fmt.Errorf("the recorder was not ready after %s", maxReady)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-look.C:
		}
	}
}

// says reports whether the recorder has printed a line to its standard error.
func (r *Recorder) says(ctx context.Context, line string) bool {
	said, err := r.job.Tail(ctx, "stderr", maxSaid)
	if err != nil {
		return false
	}
	for l := range strings.Lines(string(said)) {
		if strings.TrimSpace(l) == line {
			return true
		}
	}
	return false
}

// ended returns why a recorder has ended too early, or in another way than it should.
func (r *Recorder) ended(ctx context.Context) error {
	said, _ := r.job.Tail(context.WithoutCancel(ctx), "stderr", maxSaid)
	var lines []string
	for l := range strings.Lines(string(said)) {
		if l = strings.TrimSpace(l); l != "" && l != profile.Ready && l != profile.Done {
			lines = append(lines, strings.TrimPrefix(l, "headroom: "))
		}
	}
	state, err := r.job.Poll(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		return fmt.Errorf("the recorder has ended for an unknown reason: %w", err)
	case len(lines) == 0:
		return fmt.Errorf("the recorder has ended by itself (exit status %d, %s)", state.ExitCode, state.Signal)
	}
	return errors.New("the recorder has ended: " + lab.Shorten(strings.Join(lines, "; "), 300, 0))
}

// Done reports whether the recording is complete, so that the load may end.
func (r *Recorder) Done(ctx context.Context) bool { return r.says(ctx, profile.Done) }

// Recording is what it has recorded, once its load has ended.
func (r *Recorder) Recording(ctx context.Context) (profile.Recording, error) {
	w := r.window
	late := time.NewTimer(w.Delay + w.Sample + w.Follow + w.Trace + maxFinished)
	defer late.Stop()
	select {
	case <-r.job.Done():
	case <-late.C:
		return profile.Recording{}, errors.New("the recorder did not end in time")
	case <-ctx.Done():
		return profile.Recording{}, context.Cause(ctx)
	}
	if state, err := r.job.Poll(ctx); err != nil || state.ExitCode != 0 {
		return profile.Recording{}, r.ended(ctx)
	}
	data, err := r.job.Fetch(ctx, "stdout")
	if err != nil {
		return profile.Recording{}, fmt.Errorf("what was recorded can't be fetched: %w", err)
	}
	var found profile.Recording
	if err := json.Unmarshal(data, &found); err != nil {
		return profile.Recording{}, fmt.Errorf("what was recorded is damaged: %w", err)
	}
	return found, nil
}

// End ends the recorder, and removes all that it has made and its folder. After an error it may still run.
func (r *Recorder) End(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	state, err := r.job.Poll(ctx)
	if err != nil || !state.Done || state.ExitCode != 0 {
		if err := r.job.Kill(ctx, 5*time.Second); err != nil {
			return &lab.Error{What: "the recorder of a load can't be ended", Target: host.RemoteName(r.target),
				Err: err, Hints: []string{"headroom restore ends it when the machine can be reached"}}
		}
		// One that was killed could not remove it. What is left nevertheless is removed by whoever looks next.
		_, _ = r.target.Run(ctx, CleanUp(r.program, r.owner)...)
	}
	return r.job.Remove(ctx)
}

// Around is the time that a recorder takes before and after the load: to get ready, and to find the names of functions.
const Around = 3 * time.Second

// The parts of a recorder's time. It waits until a load is under way, then samples and follows, or traces: in all
// bursts together enough for thousands of I/Os of a slow disk.
const (
	settling    = time.Second
	sampledTime = 4 * time.Second
	followed    = 2 * time.Second
	tracedTime  = 600 * time.Millisecond
	// reading is what bursts take longer than they trace, on a machine that is neither busy nor emulated.
	reading = 2 * time.Second
)

// MaxProfiled is how long a load with a set time runs while its recorder is not done: emulated machines take many times
// as long as others.
const MaxProfiled = time.Minute

// Window is what a recorder does of the time of a load.
type Window struct{ Delay, Sample, Follow, Trace time.Duration }

// Profiled is a load of fio's as it is profiled, by its parameters, with the time that it takes, ramp included, which
// is 0 for one that ends by size. One with a set time is ended when the recorder is done.
func Profiled(params map[string]string, part profile.Part) (profiled map[string]string, takes time.Duration, w Window) {
	ramp := fio.Ramp(params)
	w.Delay = ramp + settling
	if part == profile.Calls {
		w.Trace, takes = tracedTime, w.Delay+tracedTime+reading
	} else {
		w.Sample, w.Follow, takes = sampledTime, followed, w.Delay+sampledTime+followed
	}
	if fio.WantedRuntime(params) == 0 {
		return params, 0, w
	}
	params = maps.Clone(params)
	delete(params, "timeout") // another name of it
	params["runtime"] = fmt.Sprintf("%gs", MaxProfiled.Seconds())
	return params, takes, w
}

// deviceNumbers returns the numbers of the block devices under a place, from the top down, as far as they can be found:
// partitions are part of their disks.
func deviceNumbers(ctx context.Context, t host.Target, place lab.Place) []string {
	var files []string
	for _, p := range places(place) {
		found, err := storage.DevicesUnder(ctx, t, p)
		if err != nil {
			return nil
		}
		for _, name := range found {
			files = append(files, "/sys/class/block/"+name+"/dev", "/sys/class/block/"+name+"/partition")
		}
	}
	read, err := t.ReadFiles(ctx, files...)
	if err != nil {
		return nil
	}
	var numbers []string
	for i := 0; i < len(files); i += 2 {
		if read[files[i]].Err == nil && read[files[i+1]].Err != nil {
			numbers = append(numbers, strings.TrimSpace(string(read[files[i]].Data)))
		}
	}
	return numbers
}

// places are the one, or those that are loaded together.
func places(p lab.Place) []lab.Place {
	if p.Kind == lab.NoPlace {
		return nil
	}
	if p.Members == nil {
		return []lab.Place{p}
	}
	var all []lab.Place
	for _, device := range p.Members {
		all = append(all, lab.Place{Kind: lab.Device, Path: device, Resolved: device})
	}
	return all
}
