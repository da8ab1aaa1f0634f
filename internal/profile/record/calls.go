package record

import (
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

// countedEvents are the static tracepoints that are counted: names, or whole systems.
func countedEvents() []string {
	return []string{"block:block_rq_issue", "block:block_rq_complete", "block:block_bio_queue",
		"block:block_bio_complete", "block:block_rq_insert", "block:block_rq_merge", "block:block_bio_backmerge",
		"block:block_split", "nvme:*", "irq:*", "sched:sched_switch", "sched:sched_wakeup"}
}

// calls counts calls of functions and occurrences of events while a load runs.
type calls struct {
	*session
	buffers
	layout  PageLayout
	counter *counter
	bursts  tallies
	events  uint64 // in all of them
	traced  profile.Traced
}

// callBuffers is the size of the buffers of all CPUs, in KiB: some tens of milliseconds of all functions.
const callBuffers = 256 << 10

// recordCalls records the part Calls. Data that the machine refuses are listed as missing in the recording.
func (s *session) recordCalls(ctx context.Context) error {
	const what = functionCalls + " and " + staticTracepoints
	t, err := openTracefs()
	m := readMachine(t)
	if err != nil {
		s.miss(m.noTracefs(what, err))
		return nil
	}
	defer t.Close()
	c := &calls{session: s}
	if err := c.arm(t, m); err != nil {
		s.miss(broken(what, err))
		return nil
	}
	s.say(profile.Ready)
	err = errors.Join(c.trace(ctx), c.remove())
	s.say(profile.Done)
	if err != nil {
		return err
	}
	c.report()
	return nil
}

// arm creates the instance and does all slow preparations.
func (c *calls) arm(t *tracefs, m machine) (err error) {
	if c.instance, err = newInstance(t, c.request.Owner); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.remove())
		}
	}()
	// A burst whose buffers are full is discarded. Writing more would take time from the load.
	if err := c.set("options/overwrite", "0"); err != nil {
		return err
	}
	formats, events, err := c.enable(countedEvents())
	if err != nil {
		return err
	}
	c.counter, c.layout = newCounter(formats, events...), formats.Layout
	if err := c.size(callBuffers); err != nil {
		return err
	}
	c.traceFunctions(m)
	return c.open(c.layout.Size)
}

// traceFunctions arms the function tracer, or records why that is impossible.
func (c *calls) traceFunctions(m machine) {
	if miss, refused := m.withoutFunctions(); refused {
		c.miss(miss)
		return
	}
	if err := c.set("current_tracer", "function"); err != nil {
		c.miss(m.refusedFunctions(err))
		return
	}
	c.traced.Functions = true
}

// trace waits for the load and traces it in bursts.
func (c *calls) trace(ctx context.Context) error {
	if err := c.load.wait(ctx, c.request.WaitFor, c.request.Delay); err != nil {
		return err
	}
	counts := c.countIO(ctx)
	defer func() { c.traced.Counted = c.endCount(counts) }()
	traced := time.Duration(0)
	for length := firstBurst; ctx.Err() == nil && c.load.runs(); {
		left := c.left(traced, counts)
		if left <= 0 {
			break
		}
		took, err := c.fill(ctx, min(length, left))
		if err != nil {
			return err
		}
		c.counter.begin()
		fill, lost, err := c.drain(c.count)
		if err != nil {
			return err
		}
		lost = max(lost, c.counter.lost)
		if lost == 0 || length == shortestBurst {
			c.events += c.counter.events
			c.bursts.add(c.counter.tally)
			traced += took
			c.traced.Bursts++
			c.traced.Lost += lost
		} // otherwise its counts are too low; a shorter one follows
		length = nextBurst(length, fill, lost > 0, longestBurst)
	}
	c.traced.Seconds = traced.Seconds()
	return context.Cause(ctx)
}

// longer is the factor by which the limits of time and of events grow while too few I/Os have completed.
const longer = 4

// left returns for how much longer the load should be traced, after bursts that took this long in total. On a busy
// machine a load can sleep during most bursts, so that few of its I/Os complete in them. If it moves bytes of devices,
// it is then traced for longer than requested.
func (c *calls) left(traced time.Duration, counts *ioCounter) time.Duration {
	window, events := c.request.Trace, uint64(mostEvents)
	if (traced >= window || c.events >= events) && c.completed() < profile.FewestIOs && counts.sum().DeviceBytes > 0 {
		window, events = longer*window, longer*events
	}
	if c.events >= events {
		return 0
	}
	return window - traced
}

// completed returns the number of I/Os that completed in all bursts, on the device under test with the most.
func (c *calls) completed() (most uint64) {
	for _, d := range c.bursts.all().completions() {
		if slices.Contains(c.request.Devices, d.Device) {
			most = max(most, d.Requests, d.Bios)
		}
	}
	return most
}

// count counts the events of a page.
func (c *calls) count(_ int, page []byte) error {
	p, err := c.layout.Page(page)
	if err != nil {
		return err
	}
	for e := range p.Events {
		c.counter.count(e)
	}
	return p.Err()
}

// report converts the counts to names.
func (c *calls) report() {
	if c.traced.Bursts == 0 {
		c.miss(endedEarly(functionCalls + " and " + staticTracepoints))
		return
	}
	kernel := c.kernelSymbols()
	c.traced.Functions = c.traced.Functions && kernel != nil
	c.traced.Calls, c.recording.Modules = c.counter.callCounts(c.bursts, c.threads(), kernel)
	c.traced.Completed = c.bursts.all().completions()
	c.recording.Traced = &c.traced
}

// initialPIDs is the initial PID namespace, whose IDs the kernel's events have. Source: PROC_PID_INIT_INO in
// include/linux/proc_ns.h.
const initialPIDs = "pid:[4026531836]"

func (c *calls) threads() threads {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return threads{load: c.load.threads, own: threadsOf("/proc/self"), nested: err == nil && namespace != initialPIDs,
		names: c.counter.names, look: readThread}
}
