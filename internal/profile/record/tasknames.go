package record

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/profile"
)

// taskNames has the names of threads, and which processes belong to the load.
type taskNames struct {
	proc  string
	load  func(pid int) bool
	names map[int]string
	loads map[int]bool
}

func newTaskNames(proc string, load func(pid int) bool) *taskNames {
	return &taskNames{proc: proc, load: load, names: map[int]string{}, loads: map[int]bool{}}
}

// name returns a thread's name, from the kernel's records, else from /proc; "?" if it ended before it was looked up.
func (t *taskNames) name(tid int) string {
	if name, ok := t.names[tid]; ok {
		return name
	}
	name := Unknown
	if text, err := os.ReadFile(filepath.Join(t.proc, strconv.Itoa(tid), "comm")); err == nil {
		name = strings.TrimSuffix(string(text), "\n")
	}
	t.set(tid, name)
	return name
}

// set stores a name. It limits how many are stored: a machine can start thousands of threads a second.
func (t *taskNames) set(tid int, name string) {
	if len(t.names) >= mostKnown {
		clear(t.names)
	}
	t.names[tid] = name
}

// ofLoad reports whether a process belongs to the load.
func (t *taskNames) ofLoad(pid int) bool {
	is, ok := t.loads[pid]
	if !ok {
		if len(t.loads) >= mostKnown {
			clear(t.loads)
		}
		is = t.load(pid)
		t.loads[pid] = is
	}
	return is
}

// told records the kernel's information about threads.
func (t *taskNames) told(r record) {
	switch r.kind {
	case recordComm:
		pid, tid := r.thread(0)
		t.set(tid, r.name())
		if r.misc&miscExec != 0 {
			delete(t.loads, pid)
		}
	case recordFork:
		tid, parent := r.forked()
		if name, ok := t.names[parent]; ok {
			t.set(tid, name)
		} else {
			delete(t.names, tid)
		}
	}
}

// whose returns on whose behalf the kernel ran outside interrupts, and that thread's name. Processes that this process
// can't see, because it is in a container, have the ID 0 like the idle task; but they have a program, or begin like
// kernel threads. All kworkers have one name, because the work of each changes all the time.
func (t *taskNames) whose(s *sample, kernel []mark) (profile.Context, string) {
	ofKernel := !s.inProgram && slices.Contains(kernel, start)
	if s.pid == 0 && !s.inProgram && !ofKernel {
		return profile.InIdle, "swapper"
	}
	name := Unknown
	if s.pid != 0 {
		name = t.name(s.tid)
	}
	switch {
	case s.pid > 0 && t.ofLoad(s.pid):
		return profile.InLoad, name
	case strings.HasPrefix(name, "kworker/"):
		return profile.InWorker, "kworker"
	case ofKernel: // and not a process whose program is gone, because it is ending
		return profile.InThread, name
	}
	return profile.InTask, name
}
