package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"headroom/internal/profile"
)

// Bursts begin short, since nobody knows how many functions a kernel calls in a second. The longest is short against
// the change of a load, and the shortest is what a busy machine keeps to.
const (
	firstBurst    = 20 * time.Millisecond
	longestBurst  = 100 * time.Millisecond
	shortestBurst = time.Millisecond
	// aimedFill is the share of the fullest CPU's buffer that a burst may take.
	aimedFill = 0.4
)

// nextBurst is how long the next burst should be after one that filled the fullest buffer so far, or more than that.
func nextBurst(last time.Duration, fill float64, lost bool) time.Duration {
	next := last * 2
	switch {
	case lost:
		next = last / 4
	case fill > aimedFill/2:
		next = time.Duration(float64(last) * aimedFill / fill)
	}
	return max(shortestBurst, min(longestBurst, next))
}

// mostEvents is how many events are enough, however short they took: reading them takes CPUs from the load.
const mostEvents = 3_000_000

// trace waits for the load and traces it in bursts.
func (c *calls) trace(ctx context.Context) error {
	if err := c.load.wait(ctx, c.request.WaitFor, c.request.Delay); err != nil {
		return err
	}
	traced := time.Duration(0)
	for length := firstBurst; traced < c.request.Trace && c.total.events < mostEvents && c.load.look(); {
		took, err := c.burst(ctx, min(length, c.request.Trace-traced))
		if err != nil {
			return err
		}
		fill, lost, err := c.drain()
		if err != nil {
			return err
		}
		if lost == 0 || length == shortestBurst {
			c.total.add(c.counter.tally)
			traced += took
			c.traced.Bursts++
			c.traced.Lost += lost
		} // else its counts are too low; a shorter one follows
		length = nextBurst(length, fill, lost > 0)
	}
	c.traced.Seconds = traced.Seconds()
	return nil
}

// burst traces for a while, and says how long that took.
func (c *calls) burst(ctx context.Context, length time.Duration) (time.Duration, error) {
	if err := c.instance.set("tracing_on", "1"); err != nil {
		return 0, err
	}
	begun := time.Now()
	err := sleep(ctx, length)
	took := time.Since(begun)
	return took, errors.Join(err, c.instance.set("tracing_on", "0"))
}

// drain counts what is in the buffers, and says how full the fullest one was and how many events were lost.
func (c *calls) drain() (fill float64, lost uint64, err error) {
	c.counter.begin()
	page := make([]byte, c.layout.Size)
	for _, b := range c.buffers {
		if err := c.drainOne(b, page); err != nil {
			return 0, 0, fmt.Errorf("can't read the trace buffer of CPU %d: %w", b.cpu, err)
		}
		fill = max(fill, float64(b.read)/float64(c.room))
		before := b.lost
		if b.lost, err = c.instance.lost(b.cpu); err != nil {
			return 0, 0, err
		}
		lost += b.lost - before
	}
	return fill, max(lost, c.counter.lost), nil
}

func (c *calls) drainOne(b *buffer, page []byte) error {
	for b.read = 0; ; {
		n, err := b.raw.read(page)
		if err != nil || n == 0 {
			return err
		}
		b.read += n
		p, err := c.layout.Page(page[:n])
		if err != nil {
			return err
		}
		for e := range p.Events {
			c.counter.count(e)
		}
		if err := p.Err(); err != nil {
			return err
		}
	}
}

// report names what was counted.
func (c *calls) report() error {
	if c.traced.Bursts == 0 {
		c.miss(profile.Missing{What: functionCalls + " and " + staticTracepoints,
			Why: "the load ended before any burst", Hint: "let the load run longer, with --runtime"})
		return nil
	}
	kernel := c.kernelSymbols()
	c.traced.Functions = c.traced.Functions && kernel != nil
	c.counter.tally = c.total
	c.traced.Calls, c.recording.Modules = c.counter.callCounts(c.threads(), kernel)
	c.traced.Completed = c.total.completions()
	c.recording.Traced = &c.traced
	return nil
}

// initialPIDs is the namespace of processes that the kernel began with, whose numbers its events have. Source:
// PROC_PID_INIT_INO in include/linux/proc_ns.h.
const initialPIDs = "pid:[4026531836]"

func (c *calls) threads() threads {
	namespace, err := os.Readlink("/proc/self/ns/pid")
	return threads{load: c.load.threads, own: threadsOf("/proc/self"), nested: err == nil && namespace != initialPIDs,
		names: c.counter.names, look: readThread}
}
