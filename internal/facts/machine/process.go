package machine

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

const (
	// maxProcesses bounds the processes that are looked at, at about 20 microseconds each. A machine with 1,024 CPUs
	// has 15,000 threads of the kernel.
	maxProcesses = 20000
	// maxGuests bounds the virtual machines that are described.
	maxGuests = 64
	// busiest is how many of the processes with most I/O are named.
	busiest = 5
	// maxCommandLine is the most that is read of a command line; libvirt's have 10 kB.
	maxCommandLine = 1 << 20
)

// process is a running process, or a thread of the kernel.
type process struct{ Pid, comm string }

// Processes are the processes that this user can see.
type Processes struct {
	running []process
	// More is set if there are more than the collector reads.
	More bool
}

// ProcessesOf returns the processes of a snapshot.
func ProcessesOf(r collect.Reader, in collect.Scope) Processes {
	return collect.ReadOnce(in, func() Processes { return readProcesses(r) })
}

// readProcesses reads the names of all processes, fifteen characters each, some more of the kernel's workers.
//
//	/proc/1123/comm:   ext4lazyinit
//	/proc/4101/comm:   kworker/u64:3-btrfs-scrub
func readProcesses(r collect.Reader) Processes {
	var found Processes
	seen := 0
	for _, name := range r.Names("/proc") {
		if _, err := strconv.ParseUint(name, 10, 32); err != nil {
			continue
		}
		if seen++; seen > maxProcesses {
			found.More = true
			break
		}
		if comm, err := r.Text("/proc/" + name + "/comm"); err == nil { // otherwise it has ended
			found.running = append(found.running, process{name, collect.OneLine(comm)})
		}
	}
	return found
}

// Called finds a process by a condition on its name.
func (p Processes) Called(match func(comm string) bool) (process, bool) {
	i := slices.IndexFunc(p.running, func(one process) bool { return match(one.comm) })
	if i < 0 {
		return process{}, false
	}
	return p.running[i], true
}

// CollectProcesses looks at every process once: which did most I/O, and which are virtual machines. A process that
// calls itself something else than qemu or kvm is not taken for one, because the memory of a process that hangs, where
// its command line lies, can't be read without hanging, too.
func CollectProcesses(r collect.Reader, in collect.Scope) []lab.Fact {
	type work struct {
		name          string
		read, written int64
	}
	var top []work
	var guests []guest
	for _, p := range ProcessesOf(r, in).running {
		dir := "/proc/" + p.Pid
		if len(guests) < maxGuests && (strings.HasPrefix(p.comm, "qemu") || strings.HasPrefix(p.comm, "kvm")) {
			if g, ok := parseGuest(commandLine(r, dir)); ok {
				g.pid = p.Pid
				guests = append(guests, g)
			}
		}
		text, err := r.Bytes(dir + "/io")
		if err != nil {
			continue // another user's, or ended
		}
		if read, written := parseProcessIO(text); read > 0 || written > 0 {
			top = append(top, work{p.comm + "/" + p.Pid, read, written})
		}
	}
	slices.SortStableFunc(top, func(a, b work) int { return cmp.Compare(b.read+b.written, a.read+a.written) })
	var facts []lab.Fact
	for _, p := range top[:min(busiest, len(top))] {
		source := "/proc/" + p.name[strings.LastIndexByte(p.name, '/')+1:] + "/io"
		facts = append(facts, collect.About(p.name, collect.Whole("busy.read", p.read, source),
			collect.Whole("busy.written", p.written, source))...)
	}
	return append(facts, guestFactsOf(r, guests)...)
}

// parseProcessIO reads what a process has had read from and written to disks. Source: proc_pid_io(5).
//
//	rchar: 323934931
//	read_bytes: 16384
//	write_bytes: 323932160
func parseProcessIO(text []byte) (read, written int64) {
	value := func(line []byte, name string, to *int64) {
		if rest, ok := bytes.CutPrefix(line, []byte(name)); ok {
			if n, err := strconv.ParseInt(string(bytes.TrimSpace(rest)), 10, 64); err == nil && n >= 0 &&
				n <= math.MaxInt64/2 {
				*to = n
			}
		}
	}
	for line := range bytes.Lines(text) {
		value(line, "read_bytes:", &read)
		value(line, "write_bytes:", &written)
	}
	return read, written
}

// commandLine reads the arguments of a process, each ended by a zero.
func commandLine(r collect.Reader, dir string) []string {
	f, err := r.Open(dir + "/cmdline")
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxCommandLine))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
}

// pinned reports whether any thread of a process can run only on some of the online CPUs.
func pinned(r collect.Reader, pid string, online CPUSet) lab.Fact {
	const key = "guest.pinned"
	source := "/proc/" + pid + "/task"
	threads := r.Names(source)
	read := false
	for _, thread := range threads[:min(len(threads), maxThreads)] {
		text, err := r.Text(source + "/" + thread + "/status")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(text, "\nCpus_allowed_list:")
		list, _, _ := strings.Cut(rest, "\n")
		allowed, err := ParseCPUList(list)
		if err != nil || allowed.Count() == 0 {
			continue
		}
		if read = true; online.Without(allowed).Count() > 0 {
			return collect.OnOff(key, true, source)
		}
	}
	if !read || online.Count() == 0 {
		return collect.Unknown(key, source, "its threads' CPUs can't be read")
	}
	return collect.OnOff(key, false, source)
}

// maxThreads bounds the threads of one virtual machine that are looked at.
const maxThreads = 512
