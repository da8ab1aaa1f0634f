package sampler

import "github.com/headroom/headroom/internal/profile/record/symbols"

// Names for what has none.
const (
	unknownKernel = "kernel:" + symbols.Unknown
	unknownGuest  = "guest:" + symbols.Unknown
)

// mostUser is how many functions of a program are kept of a stack. Programs that are compiled without frame pointers
// have an innermost function, and below it what happens to lie on the stack.
const mostUser = 32

// mostKnown is how many addresses are remembered before all are forgotten: many programs have many.
const mostKnown = 1 << 17

// frames gives each function a number, so that a stack is a short key.
type frames struct {
	kernel    *symbols.Kernel
	processes *symbols.Processes
	numbers   map[string]int32
	tasks     map[string]int32 // a thread may be called as a function is
	names     []string
	marks     []mark
	ofKernel  map[uint64]int32
	ofUser    map[address]int32
	// places are those of programs, whose names are read in the end: that takes time which a load needs.
	places map[symbols.Place]int32
}

// address is one of a process.
type address struct {
	pid int
	at  uint64
}

// nowhere is the number of an address where nothing executable is.
const nowhere = -1

func newFrames(kernel *symbols.Kernel, processes *symbols.Processes) *frames {
	return &frames{kernel: kernel, processes: processes, numbers: map[string]int32{}, tasks: map[string]int32{},
		ofKernel: map[uint64]int32{}, ofUser: map[address]int32{}, places: map[symbols.Place]int32{}}
}

// number is that of a function's name; m is what it says of those that it calls.
func (f *frames) number(name string, m mark) int32 {
	n, ok := f.numbers[name]
	if !ok {
		n = f.add(name, m)
		f.numbers[name] = n
	}
	return n
}

func (f *frames) add(name string, m mark) int32 {
	f.names, f.marks = append(f.names, name), append(f.marks, m)
	return int32(len(f.names) - 1)
}

// task is the number of a thread's name.
func (f *frames) task(name string) int32 {
	n, ok := f.tasks[name]
	if !ok {
		n = int32(len(f.tasks))
		f.tasks[name] = n
	}
	return n
}

// inKernel is the number of the function at an address of the kernel.
func (f *frames) inKernel(address uint64) int32 {
	if n, ok := f.ofKernel[address]; ok {
		return n
	}
	name, _, ok := f.kernel.Name(address)
	if !ok {
		name = unknownKernel
	}
	if len(f.ofKernel) >= mostKnown {
		clear(f.ofKernel)
	}
	n := f.number(name, markOf(name))
	f.ofKernel[address] = n
	return n
}

// inProcess is the number of an address of a process. It has no name yet.
func (f *frames) inProcess(pid int, at uint64) int32 {
	if n, ok := f.ofUser[address{pid, at}]; ok {
		return n
	}
	n := int32(nowhere)
	if place, ok := f.processes.Find(pid, at); ok {
		if n, ok = f.places[place]; !ok {
			n = f.add("", unmarked)
			f.places[place] = n
		}
	}
	if len(f.ofUser) >= mostKnown {
		clear(f.ofUser)
	}
	f.ofUser[address{pid, at}] = n
	return n
}

// resolve gives each place its name. What it returns has for each number the first one of the same name.
func (f *frames) resolve() []int32 {
	defer f.processes.Close()
	same := make([]int32, len(f.names))
	for n := range same {
		same[n] = int32(n)
	}
	for place, n := range f.places {
		f.names[n] = place.Name()
		same[n] = f.number(f.names[n], unmarked)
	}
	return same
}

// forget is for a process that executes another program.
func (f *frames) forget(pid int) {
	f.processes.Forget(pid)
	clear(f.ofUser)
}

// kernelStack appends the numbers of a stack's functions of the kernel, the innermost first. All addresses but the
// first are where a function returns to, which may be behind the end of the one that called.
func (f *frames) kernelStack(to []int32, addresses []uint64) []int32 {
	for i, address := range addresses {
		if i > 0 {
			address--
		}
		to = append(to, f.inKernel(address))
	}
	return to
}

// userStack appends those of a program, as far as they are addresses of something executable.
func (f *frames) userStack(to []int32, pid int, addresses []uint64) []int32 {
	for i, address := range addresses {
		if i == mostUser {
			break
		}
		if i > 0 {
			address--
		}
		n := f.inProcess(pid, address)
		if n == nowhere {
			break
		}
		to = append(to, n)
	}
	return to
}
