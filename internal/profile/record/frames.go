package record

// Names for addresses without a name.
const (
	unknownKernel = "kernel:" + Unknown
	unknownGuest  = "guest:" + Unknown
)

// mostUser is how many functions of a program are kept of a stack. In programs compiled without frame pointers, only
// the innermost function is correct, followed by random data of the stack.
const mostUser = 32

// mostKnown is how many addresses are cached before the cache is cleared: many programs have many.
const mostKnown = 1 << 17

// frames assigns each function a number, so that a stack is a short key.
type frames struct {
	kernel    *KernelSymbols
	processes *ProcessSymbols
	numbers   map[string]int32
	tasks     map[string]int32 // separate, as a thread and a function can have the same name
	names     []string
	marks     []mark
	ofKernel  map[uint64]int32
	ofUser    map[address]int32
	// places are addresses in programs, whose names are looked up at the end: that takes CPU time that a load needs.
	places map[SymbolPlace]int32
}

// address is an address in a process.
type address struct {
	pid int
	at  uint64
}

// nowhere is the number of an address that is not executable.
const nowhere = -1

func newFrames(kernel *KernelSymbols, processes *ProcessSymbols) *frames {
	return &frames{kernel: kernel, processes: processes, numbers: map[string]int32{}, tasks: map[string]int32{},
		ofKernel: map[uint64]int32{}, ofUser: map[address]int32{}, places: map[SymbolPlace]int32{}}
}

// number returns the number of a function's name; m is its mark.
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

// task returns the number of a thread's name.
func (f *frames) task(name string) int32 {
	n, ok := f.tasks[name]
	if !ok {
		n = int32(len(f.tasks))
		f.tasks[name] = n
	}
	return n
}

// inKernel returns the number of the function at an address of the kernel.
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

// inProcess returns the number of an address of a process. It has no name yet.
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

// resolve looks up the name of each place. It returns for each number the first one with the same name.
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

// forget is called when a process executes another program.
func (f *frames) forget(pid int) {
	f.processes.Forget(pid)
	clear(f.ofUser)
}

// kernelStack appends the numbers of a stack's kernel functions, the innermost first. All addresses but the first are
// return addresses, which can be after the end of the calling function.
func (f *frames) kernelStack(to []int32, addresses []uint64) []int32 {
	for i, address := range addresses {
		if i > 0 {
			address--
		}
		to = append(to, f.inKernel(address))
	}
	return to
}

// userStack appends the numbers of a program's functions, for addresses that are executable.
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
