package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// load are the threads of the processes that work in a folder.
type load struct {
	folder string
	// threads that were seen; some have ended meanwhile.
	threads map[int32]thread
}

func newLoad(folder string) *load {
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	return &load{folder, map[int32]thread{}}
}

// look notes the threads that there are now, and says whether there are any.
func (l *load) look() bool {
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return false
	}
	found := false
	for _, p := range processes {
		cwd, err := os.Readlink(p + "/cwd")
		if err != nil || cwd != l.folder && cwd != l.folder+" (deleted)" {
			continue
		}
		maps.Copy(l.threads, threadsOf(p))
		found = true
	}
	return found
}

// threadsOf are the threads of a process, whose folder in /proc is given, with their names.
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

// thread is one of a process, or of the kernel.
type thread struct {
	name   string // comm; empty when it has ended
	kernel bool
}

// ofKernel is the flag of a thread of the kernel: PF_KTHREAD in include/linux/sched.h.
const ofKernel = 0x00200000

// readThread reads /proc/ID/stat. The name in brackets can hold anything; what follows it are a letter and numbers.
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

// lookEvery is how often the load's processes are looked for while they are waited for.
const lookEvery = 20 * time.Millisecond

// errNoLoad is why nothing was recorded of a load that never began.
var errNoLoad = errors.New("no process of the load was seen")

// wait waits for the first process, at most for limit, then for delay.
func (l *load) wait(ctx context.Context, limit, delay time.Duration) error {
	for begun := time.Now(); !l.look(); {
		if time.Since(begun) > limit {
			return errNoLoad
		}
		if err := sleep(ctx, lookEvery); err != nil {
			return err
		}
	}
	return sleep(ctx, delay)
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
