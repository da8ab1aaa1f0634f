package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/profile"
)

// mostThreads is how many threads are followed, each with a separate ring. A thread can wait 100,000 times a second,
// with some 300 bytes each time: mostRing has space for a tenth of a second, and all rings together are limited to
// allRings.
const (
	mostThreads = 128
	mostRing    = 4 << 20
	allRings    = 32 << 20
)

// SampleWaits follows threads off the CPUs until the time is up or the context is done. Threads that start later are
// not followed. A thread that has been waiting before counts from its next wait, and one that still waits at the end
// counts until then. A preempted thread, or one that made way for interrupt work, also waits: its stack shows that.
func SampleWaits(ctx context.Context, o SampleOptions, threads []int) (*profile.Waits, []profile.Missing) {
	var missing []profile.Missing
	if len(threads) > mostThreads {
		missing = append(missing, profile.Missing{What: switches,
			Why:  fmt.Sprintf("the load has %d threads, of which %d are followed", len(threads), mostThreads),
			Hint: "fewer jobs (numjobs) in the load"})
		threads = threads[:mostThreads]
	}
	rs, of, err := openSwitches(threads)
	if err != nil {
		return nil, append(missing, refused(switches, "/proc", err))
	}
	defer rs.close()
	out, err := rs.waits(ctx, o, of)
	if err != nil {
		return nil, append(missing, refused(switches, "/proc", err))
	}
	return out, missing
}

// openSwitches opens an event for each existing thread: a sample with its stack when it leaves a CPU, and a record of
// either switch.
func openSwitches(threads []int) (rings, map[*ring]*waiter, error) {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CONTEXT_SWITCHES, Sample: 1,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN,
		Clockid:     unix.CLOCK_MONOTONIC,
		Bits: unix.PerfBitDisabled | unix.PerfBitContextSwitch | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID |
			unix.PerfBitComm | unix.PerfBitCommExec}
	bytes := mostRing
	for bytes*len(threads) > allRings && bytes > os.Getpagesize() {
		bytes /= 2
	}
	var rs rings
	of := map[*ring]*waiter{}
	for _, thread := range threads {
		r, err := openRing(&attr, thread, -1, bytes)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			rs.close()
			return nil, nil, err
		}
		rs = append(rs, r)
		of[r] = &waiter{}
	}
	return rs, of, nil
}

// waits adds up how long each thread was off the CPUs.
func (rs rings) waits(ctx context.Context, o SampleOptions, of map[*ring]*waiter) (*profile.Waits, error) {
	seen := newStacks("/proc", o)
	take := func(r *ring, rec record) {
		if !of[r].take(rec, seen) {
			r.lost++
		}
	}
	start, err := monotonic()
	if err != nil {
		return nil, err
	}
	if err := rs.enable(); err != nil {
		return nil, err
	}
	if err := rs.follow(ctx, time.Now().Add(o.For), take); err != nil {
		return nil, err
	}
	rs.disable()
	end, err := monotonic()
	if err != nil {
		return nil, err
	}
	rs.drain(take)
	for _, w := range of {
		w.ends(end)
	}
	return &profile.Waits{Seconds: time.Duration(end - start).Seconds(), Threads: len(rs), Lost: rs.lost(),
		Stacks: seen.waited()}, nil
}

// monotonic returns the time of the clock of the records.
func monotonic() (uint64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0, os.NewSyscallError("clock_gettime", err)
	}
	return uint64(t.Nano()), nil
}
