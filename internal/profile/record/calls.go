package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"headroom/internal/profile"
	"headroom/internal/profile/record/ringbuffer"
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
	instance *instance
	layout   ringbuffer.Layout
	counter  *counter
	total    *tally
	buffers  []*buffer
	room     int // bytes of each CPU's buffer
	traced   profile.Traced
}

// buffer is that of one CPU.
type buffer struct {
	cpu  int
	raw  rawFile
	read int    // bytes of the last burst
	lost uint64 // since it is there
}

// recordCalls is the part of calls. What the machine refuses is missing in the recording.
func (s *session) recordCalls(ctx context.Context) error {
	t, err := openTracefs()
	m := readMachine(t)
	if err != nil {
		s.miss(m.noTracefs(err))
		return nil
	}
	defer t.Close()
	c := &calls{session: s, total: newTally()}
	if err := c.arm(t, m); err != nil {
		s.miss(profile.Missing{What: functionCalls + " and " + staticTracepoints, Why: err.Error(),
			Hint: "look into the kernel's log"})
		return nil
	}
	s.say(profile.Ready)
	err = c.trace(ctx)
	err = errors.Join(err, c.closeBuffers(), c.instance.remove())
	s.say(profile.Done)
	if err != nil {
		return err
	}
	return c.report()
}

// arm makes the instance and prepares all that takes long.
func (c *calls) arm(t *tracefs, m machine) (err error) {
	if c.instance, err = newInstance(t, c.request.Owner); err != nil {
		return fmt.Errorf("can't make an instance of the tracer: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.closeBuffers(), c.instance.remove())
		}
	}()
	events := expanded(t.FS(), countedEvents())
	formats, err := ringbuffer.ReadFormats(t.FS(), append([]string{functionEvent}, events...)...)
	if err != nil {
		return err
	}
	if formats, err = formats.OfInstance(c.instance.FS()); err != nil {
		return err
	}
	c.counter, c.layout = newCounter(formats, events...), formats.Layout
	if err := c.sizeBuffers(); err != nil {
		return err
	}
	for _, e := range events {
		if err := c.instance.set(eventFolder(e)+"/enable", "1"); err != nil {
			return fmt.Errorf("can't have the event %s: %w", e, err)
		}
	}
	c.traceFunctions(m)
	return c.openBuffers() // no tracer can be set while they are open
}

// traceFunctions arms the function tracer, or says why it can't be.
func (c *calls) traceFunctions(m machine) {
	if miss, refused := m.withoutFunctions(); refused {
		c.miss(miss)
		return
	}
	if err := c.instance.set("current_tracer", "function"); err != nil {
		c.miss(m.refusedFunctions(err))
		return
	}
	c.traced.Functions = true
}

func eventFolder(event string) string { return "events/" + strings.Replace(event, ":", "/", 1) }

// expanded are the events that the kernel has of those that are asked for, "nvme:*" being all of a system.
func expanded(tracefs fs.FS, events []string) []string {
	var all []string
	for _, e := range events {
		found, err := fs.Glob(tracefs, eventFolder(e)+"/format")
		if err != nil {
			continue
		}
		for _, file := range found {
			parts := strings.Split(file, "/")
			all = append(all, parts[1]+":"+parts[2])
		}
	}
	return all
}

// sizeBuffers makes the buffers of all CPUs as large as memory allows.
func (c *calls) sizeBuffers() error {
	cpus, err := c.instance.cpus()
	if err != nil {
		return err
	}
	for kib := bufferKiB(len(cpus), availableMemory()); ; kib /= 2 {
		err := c.instance.set("buffer_size_kb", strconv.Itoa(kib))
		if err == nil {
			c.room = kib << 10
			return nil
		}
		if !errors.Is(err, syscall.ENOMEM) || kib <= smallestBuffer {
			return fmt.Errorf("can't make trace buffers of %d KiB: %w", kib, err)
		}
	}
}

func (c *calls) openBuffers() error {
	cpus, err := c.instance.cpus()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		folder, err := c.instance.Open(fmt.Sprintf("per_cpu/cpu%d", cpu))
		if err != nil {
			return err
		}
		raw, err := openRaw(folder)
		if err := errors.Join(err, folder.Close()); err != nil {
			return err
		}
		c.buffers = append(c.buffers, &buffer{cpu: cpu, raw: raw})
	}
	return nil
}

func (c *calls) closeBuffers() error {
	var errs []error
	for _, b := range c.buffers {
		errs = append(errs, b.raw.close())
	}
	c.buffers = nil
	return errors.Join(errs...)
}

// Sizes of a CPU's buffer in KiB.
const (
	smallestBuffer = 256
	largestBuffer  = 32 << 10
	// allBuffers is what those of all CPUs take together.
	allBuffers = 256 << 10
)

// bufferKiB is how large each CPU's buffer is to be on a machine with so much memory available, in bytes.
func bufferKiB(cpus int, available int64) int {
	all := min(allBuffers, int(available>>10)/8)
	return max(smallestBuffer, min(largestBuffer, all/max(1, cpus)))
}

// availableMemory is what /proc/meminfo says, in bytes; 0 where it can't be read.
func availableMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
