package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// load is the threads of the processes whose working directory has a name with this prefix.
type load struct {
	folder string
	// threads that were seen; some may have ended.
	threads map[int32]thread
	// processes that existed at the last search.
	processes []string
	looked    time.Time
}

func newLoad(folder string) *load { return &load{folder: folder, threads: map[int32]thread{}} }

// works reports whether a process belongs to the load.
func (l *load) works(process string) bool {
	cwd, err := os.Readlink(process + "/cwd")
	return err == nil && strings.HasPrefix(path.Base(cwd), l.folder)
}

// ofProcess reports the same for a process ID.
func (l *load) ofProcess(id int) bool { return l.works("/proc/" + strconv.Itoa(id)) }

// look searches all processes for those of the load, and reports whether there are any.
func (l *load) look() bool {
	l.processes, l.looked = nil, time.Now()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	own := strconv.Itoa(os.Getpid())
	for _, e := range entries {
		process := "/proc/" + e.Name()
		if _, err := strconv.Atoi(e.Name()); err == nil && e.Name() != own && l.works(process) {
			l.processes = append(l.processes, process)
		}
	}
	return len(l.now()) > 0
}

// now returns the threads of the processes that were found.
func (l *load) now() map[int32]thread {
	all := map[int32]thread{}
	for _, p := range l.processes {
		maps.Copy(all, threadsOf(p))
	}
	maps.Copy(l.threads, all)
	return all
}

// runs reports whether the load still has a thread. A machine can have thousands of processes, so all of them are only
// searched from time to time.
func (l *load) runs() bool {
	const each = 250 * time.Millisecond
	return time.Since(l.looked) < each && len(l.now()) > 0 || l.look()
}

// whileItRuns returns a context that is done when the load has no more threads.
func (l *load) whileItRuns(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	watched := newLoad(l.folder) // l must not be used by another goroutine
	go func() {
		for watched.runs() && sleep(ctx, endEvery) == nil {
		}
		cancel()
	}()
	return ctx, cancel
}

// threadsOf returns the threads of a process, given by its folder in /proc, with their names.
func threadsOf(process string) map[int32]thread {
	entries, err := os.ReadDir(process + "/task")
	if err != nil {
		return nil // it has ended
	}
	all := map[int32]thread{}
	for _, e := range entries {
		if id, err := strconv.ParseInt(e.Name(), 10, 32); err == nil {
			all[int32(id)] = readThread(int32(id))
		}
	}
	return all
}

// thread is a thread of a process, or of the kernel.
type thread struct {
	name   string // comm; empty if it has ended
	kernel bool
}

// ofKernel is the flag of a kernel thread: PF_KTHREAD in include/linux/sched.h.
const ofKernel = 0x00200000

// readThread reads /proc/ID/stat. The name in brackets can contain any characters; the fields after it are a letter and
// numbers.
//
//	4711 (kworker/0:1-events) I 2 0 0 0 -1 69238880 0 0 …
func readThread(id int32) thread {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return thread{}
	}
	return parseThread(string(text))
}

func parseThread(stat string) thread {
	from, to := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return thread{}
	}
	const flags = 6 // state, parent, group, session, terminal and its group come before
	t := thread{name: stat[from+1 : to]}
	if fields := strings.Fields(stat[to+1:]); len(fields) > flags {
		n, _ := strconv.ParseUint(fields[flags], 10, 32)
		t.kernel = n&ofKernel != 0
	}
	return t
}

// lookEvery is how often the load's processes are searched for until they start, endEvery how often until they end.
const (
	lookEvery = 20 * time.Millisecond
	endEvery  = 100 * time.Millisecond
)

// errNoLoad is the error for a load that never began.
var errNoLoad = errors.New("no process of the load was seen")

// wait waits for the first process, at most for limit, until one does I/O, and then for delay. Processes that began
// since then also belong to the load: fio starts one for each job.
func (l *load) wait(ctx context.Context, limit, delay time.Duration) error {
	for begun := time.Now(); !l.look(); {
		if time.Since(begun) > limit {
			return errNoLoad
		}
		if err := sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	if err := l.waitForIO(ctx); err != nil {
		return err
	}
	if err := sleep(ctx, delay); err != nil {
		return err
	}
	l.look()
	return nil
}

// A load is working when one of its processes has moved data in each of several readings. Before that it starts, which
// takes tens of seconds in an emulated guest on a busy machine, and reads files. fio has two threads then, and later
// one more for each job. They have the same name, which the shell that started fio does not. For a load that does
// little, or whose I/O the kernel does not count, the wait ends idleLimit after its jobs began.
const (
	idleLimit  = 20 * time.Second
	startEvery = 100 * time.Millisecond
	startLooks = 3
	jobThreads = 3
)

func (l *load) waitForIO(ctx context.Context) error {
	moved, looks := map[string]ioCounts{}, map[string]int{}
	var jobs time.Time
	for l.look() {
		if jobs.IsZero() && l.alike() >= jobThreads {
			jobs = time.Now()
		}
		if !jobs.IsZero() && time.Since(jobs) > idleLimit {
			return nil
		}
		for _, p := range l.processes {
			before, known := moved[p]
			moved[p] = readIO(p)
			if !known || !moved[p].beyond(before, !jobs.IsZero()) {
				looks[p] = 0
			} else if looks[p]++; looks[p] >= startLooks {
				return nil
			}
		}
		if err := sleep(ctx, startEvery); err != nil {
			return err
		}
	}
	return nil
}

// alike returns the size of the largest group of threads with the same name.
func (l *load) alike() int {
	most, named := 0, map[string]int{}
	for _, t := range l.now() {
		named[t.name]++
		most = max(most, named[t.name])
	}
	return most
}

// shortestCall is the minimum average size of a load's calls, in bytes. A load generator that reads counters and prints
// progress makes shorter calls, also while its jobs start.
const shortestCall = 512

// beyond reports whether the load moved data since before. Calls count only after the start, and only if they are large
// enough for I/Os of the load.
func (c ioCounts) beyond(before ioCounts, started bool) bool {
	calls, bytes := c.calls-before.calls, c.callBytes-before.callBytes
	return c.deviceBytes > before.deviceBytes || c.completions != before.completions ||
		started && calls > 0 && bytes >= calls*shortestCall
}

// readIO reads the counts of a process, which may have ended.
func readIO(process string) ioCounts {
	text, err := os.ReadFile(process + "/io")
	if err != nil {
		return ioCounts{}
	}
	c := parseIO(string(text))
	for _, file := range ringsOf(process) {
		n, _ := readRing(file)
		c.completions += n
	}
	return c
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
