package record

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

// countEvery is how often the counts of a load are read. Counts of a process since the last reading are lost when it
// ends.
const countEvery = 250 * time.Millisecond

// ioCounts are the kernel's counts of a process, of one of its rings, or of a device.
type ioCounts struct{ calls, callBytes, deviceBytes, completions, trimmed uint64 }

// ioCounter reads the kernel's counts of a load's I/O until it is stopped.
type ioCounter struct {
	load        *load
	devices     []string            // whose discards are counted
	first, last map[string]ioCounts // by the file that has them, or the device
	begun, seen time.Time           // seen is when a process of the load last existed
	reading     sync.Mutex          // guards the load, the counts and the times
	stop        context.CancelFunc
	stopped     chan struct{}
}

// countIO starts a counter of the load's I/O.
func (s *session) countIO(ctx context.Context) *ioCounter {
	c := &ioCounter{load: newLoad(s.request.Folder), first: map[string]ioCounts{}, last: map[string]ioCounts{},
		stopped: make(chan struct{})}
	if s.request.Trims {
		c.devices = s.request.Devices
	}
	c.read()
	c.begun = time.Now()
	c.seen = c.begun
	ctx, c.stop = context.WithCancel(ctx)
	go func() {
		defer close(c.stopped)
		for sleep(ctx, countEvery) == nil {
			c.read()
		}
	}()
	return c
}

// endCount ends a counter and returns its counts. If the kernel does not count the I/O of processes, that is recorded
// as missing.
func (s *session) endCount(c *ioCounter) *profile.Counted {
	c.stop()
	<-c.stopped
	sum := c.sum()
	known := false
	for name := range c.last {
		known = known || strings.HasSuffix(name, "/io")
	}
	if !known && len(c.load.processes) > 0 {
		s.miss(profile.Missing{What: profile.CountsOfIO,
			Why:  "the kernel shows no /proc/PID/io of the load's processes",
			Hint: "a kernel with CONFIG_TASK_IO_ACCOUNTING"})
	}
	return sum
}

// sum reads all counts once more and returns the counts since the counter was created.
func (c *ioCounter) sum() *profile.Counted {
	c.read()
	c.reading.Lock()
	defer c.reading.Unlock()
	sum := &profile.Counted{Seconds: c.seen.Sub(c.begun).Seconds()}
	for name, to := range c.last {
		from := c.first[name]
		sum.Calls += to.calls - from.calls
		sum.CallBytes += to.callBytes - from.callBytes
		sum.DeviceBytes += to.deviceBytes - from.deviceBytes
		sum.Completions += uint64(uint32(to.completions) - uint32(from.completions)) // 32-bit counters
		sum.TrimmedBytes = max(sum.TrimmedBytes, to.trimmed-from.trimmed)            // devices are stacked
	}
	return sum
}

// read reads all counts. A ring counts from the first time that it could be read. A process that began after the
// counter was created counts from its start.
func (c *ioCounter) read() {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.load.look()
	note := func(name string, n ioCounts) {
		if _, known := c.first[name]; !known {
			c.first[name] = n
			if strings.HasSuffix(name, "/io") && !c.begun.IsZero() {
				c.first[name] = ioCounts{}
			}
		}
		c.last[name] = n
	}
	for _, p := range c.load.processes {
		if text, err := os.ReadFile(p + "/io"); err == nil {
			note(p+"/io", parseIO(string(text)))
			c.seen = time.Now()
		}
		for _, file := range ringsOf(p) {
			if n, ok := readRing(file); ok {
				note(file, ioCounts{completions: n})
			}
		}
	}
	if text, err := os.ReadFile("/proc/diskstats"); err == nil && len(c.devices) > 0 {
		for device, bytes := range parseTrimmed(string(text), c.devices) {
			note(device, ioCounts{trimmed: bytes})
		}
	}
}

// parseIO parses the counts of a process. Source: proc_pid_io(5).
//
//	rchar: 4292
//	wchar: 0
//	syscr: 13
//	…
//	write_bytes: 323932160
func parseIO(text string) (c ioCounts) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.ParseUint(value, 10, 64)
		switch name {
		case "syscr", "syscw":
			c.calls += n
		case "rchar", "wchar":
			c.callBytes += n
		case "read_bytes", "write_bytes":
			c.deviceBytes += n
		}
	}
	return c
}

// ringsOf returns the files with the state of a process's io_uring rings.
func ringsOf(process string) (files []string) {
	opened, err := os.ReadDir(process + "/fd")
	if err != nil {
		return nil
	}
	for _, f := range opened {
		if to, err := os.Readlink(filepath.Join(process, "fd", f.Name())); err == nil && to == "anon_inode:[io_uring]" {
			files = append(files, filepath.Join(process, "fdinfo", f.Name()))
		}
	}
	return files
}

// readRing returns how many operations of a ring have completed, modulo 2^32. The kernel prints nothing while it works
// on the ring, and old kernels never do.
func readRing(file string) (uint64, bool) {
	for range 20 {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, false
		}
		if n, ok := parseRing(string(text)); ok {
			return n, true
		}
		time.Sleep(time.Millisecond)
	}
	return 0, false
}

// parseRing parses the state of a ring. Source: io_uring/fdinfo.c.
//
//	SqTail:	65524
//	CqMask:	0xf
//	CqTail:	65516
func parseRing(text string) (uint64, bool) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "CqTail:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
			return n, err == nil
		}
	}
	return 0, false
}

// parseTrimmed parses how many bytes devices have discarded since boot, by their numbers. Source:
// Documentation/admin-guide/iostats.rst.
//
//	259       0 nvme0n1 2173 0 158746 91 340 0 2720 25 0 60 117 4 0 8192 1 0 0
//	   7       1 loop1 97 0 1480 5 13 0 8 1 0 10 6 0 0 0 0 0 0
func parseTrimmed(text string, devices []string) map[string]uint64 {
	const sectorsDiscarded = 16
	all := map[string]uint64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) <= sectorsDiscarded {
			continue
		}
		for _, device := range devices {
			if f[0]+":"+f[1] == device {
				n, _ := strconv.ParseUint(f[sectorsDiscarded], 10, 64)
				all[device] = sector * n
			}
		}
	}
	return all
}
