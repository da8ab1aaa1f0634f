package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// buffers are the trace buffers of all CPUs of an instance. They are filled in bursts and read in between, so that
// reading does not disturb the traced load.
type buffers struct {
	*instance
	page []byte // with the size of one read
	room int    // bytes of each
	each []*buffer
}

// buffer is the trace buffer of one CPU.
type buffer struct {
	cpu  int
	raw  rawFile
	read int    // bytes of the last burst
	lost uint64 // since the buffer was created
}

// Sizes in KiB of a CPU's buffer.
const (
	smallestBuffer = 256
	largestBuffer  = 32 << 10
)

// size sets the total size of the buffers in KiB, or less if memory is short.
func (b *buffers) size(all int) error {
	cpus, err := OnlineCPUs()
	if err != nil {
		return err
	}
	for kib := bufferKiB(len(cpus), all, availableMemory()); ; kib /= 2 {
		err := b.set("buffer_size_kb", strconv.Itoa(kib))
		if err == nil {
			b.room = kib << 10
			return nil
		}
		if !errors.Is(err, syscall.ENOMEM) || kib <= smallestBuffer {
			return fmt.Errorf("can't make trace buffers of %d KiB: %w", kib, err)
		}
	}
}

// bufferKiB returns the size of each CPU's buffer on a machine with this much available memory, in bytes.
func bufferKiB(cpus, all int, available int64) int {
	all = min(all, int(available>>10)/8)
	return max(smallestBuffer, min(largestBuffer, all/max(1, cpus)))
}

// availableMemory returns MemAvailable of /proc/meminfo, in bytes; 0 if it can't be read.
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

// open opens the buffers for reading, after which no tracer can be set. page is the size of pages in bytes.
func (b *buffers) open(page int) error {
	b.page = make([]byte, page)
	cpus, err := OnlineCPUs()
	if err != nil {
		return err
	}
	for _, cpu := range cpus {
		folder, err := b.Open(fmt.Sprintf("per_cpu/cpu%d", cpu))
		if err != nil {
			return err
		}
		raw, err := openRaw(folder)
		if err := errors.Join(err, folder.Close()); err != nil {
			return err
		}
		b.each = append(b.each, &buffer{cpu: cpu, raw: raw})
	}
	return nil
}

// remove closes the buffers and ends all tracing of their instance.
func (b *buffers) remove() error {
	var errs []error
	for _, one := range b.each {
		errs = append(errs, one.raw.close())
	}
	b.each = nil
	return errors.Join(append(errs, b.instance.remove())...)
}

// fill traces for a while, or until the context is done, and returns how long that took.
func (b *buffers) fill(ctx context.Context, length time.Duration) (time.Duration, error) {
	if err := b.set("tracing_on", "1"); err != nil {
		return 0, err
	}
	begun := time.Now()
	_ = sleep(ctx, length)
	took := time.Since(begun)
	return took, b.set("tracing_on", "0")
}

// drain passes the pages of the buffers to take, one CPU after the other, and returns how full the fullest buffer was
// and how many events were lost. A page is overwritten by the next.
func (b *buffers) drain(take func(cpu int, page []byte) error) (fill float64, lost uint64, err error) {
	for _, one := range b.each {
		if err := one.drain(b.page, take); err != nil {
			return 0, 0, fmt.Errorf("can't read the trace buffer of CPU %d: %w", one.cpu, err)
		}
		fill = max(fill, float64(one.read)/float64(b.room))
		before := one.lost
		if one.lost, err = b.lost(one.cpu); err != nil {
			return 0, 0, err
		}
		lost += one.lost - before
	}
	return fill, lost, nil
}

func (b *buffer) drain(page []byte, take func(cpu int, page []byte) error) error {
	for b.read = 0; ; {
		n, err := b.raw.read(page)
		if err != nil || n == 0 {
			return err
		}
		b.read += n
		if err := take(b.cpu, page[:n]); err != nil {
			return err
		}
	}
}
