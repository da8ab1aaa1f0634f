package record

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/profile"
)

// ringOfCPU returns the size of a CPU's ring: enough for a second of stacks of 128 addresses, at most what any user can
// lock for each CPU, minus one page (kernel.perf_event_mlock_kb). A machine can have hundreds of CPUs.
func ringOfCPU(hz int) int {
	const least, most = 64 << 10, 512 << 10
	bytes := least
	for bytes < most && bytes < hz<<10 {
		bytes *= 2
	}
	return bytes
}

// every is the longest time between readings of records: the mappings of a process are read while it exists.
const every = 200 * time.Millisecond

// last is the time in which a CPU is sampled twice or more at 99 Hz.
const last = 25 * time.Millisecond

// Sample samples the stacks of all CPUs until the time is up or the context is done. Without samples it returns only
// what is missing.
func Sample(ctx context.Context, o SampleOptions) (*profile.Sampled, []profile.Missing) {
	cpus, err := OnlineCPUs()
	if err != nil {
		return nil, []profile.Missing{refused(samples, "/proc", err)}
	}
	var missing []profile.Missing
	event := "cycles"
	rs, err := openSampling(cyclesOf(o.Hz), cpus, ringOfCPU(o.Hz))
	if unsupported(err) {
		missing = append(missing, noCounter(err))
		event = "cpu-clock"
		rs, err = openSampling(clockOf(o.Hz), cpus, ringOfCPU(o.Hz))
	}
	if err != nil {
		return nil, append(missing, refused(samples, "/proc", err))
	}
	defer rs.close()
	seen := newStacks("/proc", o)
	out, err := rs.sample(ctx, o, seen)
	if err != nil {
		return nil, append(missing, refused(samples, "/proc", err))
	}
	out.Event = event
	out.Stacks, out.Samples = seen.sampled()
	return out, missing
}

// unsupported reports whether an event is not available on this machine, or not on all of its CPUs, or whether another
// program uses the counters.
func unsupported(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.EOPNOTSUPP, unix.ENODEV, unix.EINVAL, unix.EBUSY},
		func(kind error) bool { return errors.Is(err, kind) })
}

// clockOf is a timer of each CPU, which also runs while the CPU idles.
func clockOf(hz int) unix.PerfEventAttr {
	return unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK,
		Sample: uint64(time.Second) / uint64(hz)}
}

// cyclesOf counts the cycles of each CPU while it does not idle. The distance of samples is the number of cycles in
// 1/hz seconds at the nominal frequency, so that each represents the same work. The kernel's mode with a fixed rate
// (the bit freq) would take more samples on a CPU that idles much.
func cyclesOf(hz int) unix.PerfEventAttr {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES}
	if nominal := nominalHz("/sys", "/proc"); nominal > 0 {
		attr.Sample = nominal / uint64(hz)
	} else {
		attr.Sample, attr.Bits = uint64(hz), unix.PerfBitFreq
	}
	return attr
}

// openSampling opens an event on each CPU. CPUs that went offline meanwhile are omitted.
func openSampling(attr unix.PerfEventAttr, cpus []int, bytes int) (rings, error) {
	attr.Sample_type = unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_CALLCHAIN
	attr.Bits |= unix.PerfBitDisabled | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask
	var rs rings
	for _, cpu := range cpus {
		r, err := openRing(&attr, -1, cpu, bytes)
		if errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV) && len(rs) > 0 {
			continue
		}
		if err != nil {
			rs.close()
			return nil, err
		}
		rs = append(rs, r)
	}
	if len(rs) == 0 {
		return nil, fmt.Errorf("no CPU of %v can be sampled: %w", cpus, unix.ENODEV)
	}
	return rs, nil
}

// sample counts stacks until the time is up or the context is done.
func (rs rings) sample(ctx context.Context, o SampleOptions, seen *stacks) (*profile.Sampled, error) {
	out := &profile.Sampled{Hz: o.Hz}
	var stack sample
	take := func(r *ring, rec record) {
		switch rec.kind {
		case recordSample:
			if stack.decode(rec, false) {
				seen.of(r.cpu, &stack).count++
			} else {
				r.lost++
			}
		case recordThrottle:
			out.Throttled++
		default:
			seen.told(rec)
		}
	}
	start := time.Now()
	if err := rs.enable(); err != nil {
		return nil, err
	}
	if err := rs.follow(ctx, start.Add(o.For), take); err != nil {
		return nil, err
	}
	rs.disable()
	out.Seconds = time.Since(start).Seconds()
	rs.drain(take)
	out.Lost = rs.lost()
	return out, nil
}

// follow takes records until the time is up or the context is done. A ring reports lost records with the next one for
// which there is space, so all rings are emptied shortly before the time is up.
func (rs rings) follow(ctx context.Context, until time.Time, take func(*ring, record)) error {
	for {
		left := time.Until(until)
		if left <= 0 || ctx.Err() != nil {
			return nil
		}
		if left > 2*last {
			left -= last
		}
		if err := rs.wait(min(left, every)); err != nil {
			return err
		}
		rs.drain(take)
	}
}
