package record

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/profile"
)

// recordTime records the part Time: samples of all CPUs, then requests and threads that wait.
func (s *session) recordTime(ctx context.Context) error {
	kernel := s.kernelSymbols()
	r := s.armRequests()
	s.say(profile.Ready)
	err := s.load.wait(ctx, s.request.WaitFor, s.request.Delay)
	if err == nil {
		s.takeTimes(ctx, kernel, r)
		err = context.Cause(ctx)
	}
	if r != nil {
		err = errors.Join(err, r.close())
	}
	s.say(profile.Done)
	if err == nil {
		s.recording.Modules = kernel.Modules(s.functions())
	}
	return err
}

// takeTimes samples and follows until the end of the load.
func (s *session) takeTimes(ctx context.Context, kernel *KernelSymbols, r *requests) {
	ctx, cancel := s.load.whileItRuns(ctx)
	defer cancel()
	o := SampleOptions{Hz: s.request.Hz, For: s.request.Sample, Kernel: kernel, Load: s.load.ofProcess}
	if o.For > 0 && o.Hz > 0 {
		counts := s.countIO(ctx)
		sampled, missing := Sample(ctx, o)
		io := s.endCount(counts)
		if sampled != nil {
			sampled.Counted = io
		}
		s.recording.Sampled = sampled
		s.miss(missing...)
	}
	if s.request.Follow <= 0 {
		return
	}
	s.load.look()
	threads := slices.Sorted(maps.Keys(s.load.now()))
	if ctx.Err() != nil || len(threads) == 0 {
		s.miss(endedEarly("waiting threads and requests"))
		return
	}
	counts := s.countIO(ctx)
	waited := make(chan struct{})
	var missing []profile.Missing
	go func() {
		defer close(waited)
		o.For = s.request.Follow
		s.recording.Waits, missing = SampleWaits(ctx, o, ints(threads))
	}()
	if r != nil {
		if err := r.follow(ctx); err != nil {
			s.miss(broken(blockTracepoints, err))
		}
	}
	<-waited
	if io := s.endCount(counts); s.recording.Waits != nil {
		s.recording.Waits.Counted = io
	}
	s.miss(missing...)
}

func ints(numbers []int32) []int {
	all := make([]int, 0, len(numbers))
	for _, n := range numbers {
		all = append(all, int(n))
	}
	return all
}

// functions returns the kernel's functions in the recorded stacks.
func (s *session) functions() map[string]bool {
	all := map[string]bool{}
	note := func(frames []string) {
		for _, f := range frames {
			if !strings.Contains(f, ":") {
				all[f] = true
			}
		}
	}
	if s.recording.Sampled != nil {
		for _, stack := range s.recording.Sampled.Stacks {
			note(stack.Frames)
		}
	}
	if s.recording.Waits != nil {
		for _, stack := range s.recording.Waits.Stacks {
			note(stack.Frames)
		}
	}
	return all
}
