package record

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/headroom/headroom/internal/profile"
)

// mostStacks is how many different stacks are kept completely. Further ones are stored without the program's functions,
// and beyond twice as many with only the executed function: none is dropped. Stacks of programs differ by address until
// they have names.
const mostStacks = 20_000

// stacks counts equal stacks.
type stacks struct {
	frames  *frames
	threads *taskNames
	counts  map[string]*countedStack
	most    int
	// Buffers for one sample, reused for the next.
	numbers []int32
	marks   []mark
	key     []byte
}

// countedStack is one stack, with its frames by number, the innermost first.
type countedStack struct {
	cpu     int
	context profile.Context
	task    string
	numbers []int32
	count   uint64
	seconds float64
}

func newStacks(proc string, o SampleOptions) *stacks {
	return &stacks{frames: newFrames(o.Kernel, NewProcessSymbols(proc)), threads: newTaskNames(proc, o.Load),
		counts: map[string]*countedStack{}, most: mostStacks}
}

// told records the kernel's information about threads.
func (s *stacks) told(r record) {
	s.threads.told(r)
	if r.kind == recordComm && r.misc&miscExec != 0 {
		pid, _ := r.thread(0)
		s.frames.forget(pid)
	}
}

// of returns the stack of a sample. Functions of interrupted code are not part of it.
func (s *stacks) of(cpu int, from *sample) *countedStack {
	s.numbers = s.frames.kernelStack(s.numbers[:0], from.kernel)
	s.marks = s.marks[:0]
	for _, n := range s.numbers {
		s.marks = append(s.marks, s.frames.marks[n])
	}
	var context profile.Context
	var task string
	user := 0
	switch m, own := interruptedStack(s.marks); m {
	case hardirq:
		context, task, s.numbers = profile.InHardirq, string(profile.InHardirq), s.numbers[:own]
	case softirq:
		context, task, s.numbers = profile.InSoftirq, string(profile.InSoftirq), s.numbers[:own]
	default:
		context, task = s.threads.whose(from, s.marks)
		kernel := len(s.numbers)
		if kernel > 0 && s.marks[kernel-1] == hardirq {
			break // which function of a program was preempted is chance
		}
		s.numbers = s.frames.userStack(s.numbers, from.pid, from.user)
		user = len(s.numbers) - kernel
	}
	if len(s.numbers) == 0 {
		s.numbers = append(s.numbers, s.frames.number(unnamed(from, task), unmarked))
	}
	return s.find(cpu, context, task, user)
}

// unnamed returns a name for executed code without an address.
func unnamed(from *sample, task string) string {
	switch {
	case from.inGuest:
		return unknownGuest
	case from.inProgram:
		return task + ":" + Unknown
	}
	return unknownKernel
}

// find returns the stack of s.numbers, of which user frames belong to a program.
func (s *stacks) find(cpu int, context profile.Context, task string, user int) *countedStack {
	name := s.frames.task(task)
	found := s.counts[string(s.keyOf(cpu, context, name))]
	if found != nil {
		return found
	}
	if cut := s.shortened(user); cut < len(s.numbers) {
		s.numbers = s.numbers[:cut]
		if found = s.counts[string(s.keyOf(cpu, context, name))]; found != nil {
			return found
		}
	}
	found = &countedStack{cpu: cpu, context: context, task: task, numbers: slices.Clone(s.numbers)}
	s.counts[string(s.key)] = found
	return found
}

// shortened returns how many frames a new stack can have.
func (s *stacks) shortened(user int) int {
	switch {
	case len(s.counts) >= 2*s.most:
		return 1
	case len(s.counts) >= s.most:
		return max(len(s.numbers)-user, 1)
	}
	return len(s.numbers)
}

func (s *stacks) keyOf(cpu int, context profile.Context, task int32) []byte {
	s.key = binary.NativeEndian.AppendUint32(s.key[:0], uint32(cpu))
	s.key = append(append(s.key, context...), 0)
	s.key = binary.NativeEndian.AppendUint32(s.key, uint32(task))
	for _, n := range s.numbers {
		s.key = binary.NativeEndian.AppendUint32(s.key, uint32(n))
	}
	return s.key
}

// named adds up stacks that are equal by name, after everything was counted.
func (s *stacks) named() {
	same := s.frames.resolve()
	all := s.counts
	s.counts = map[string]*countedStack{}
	for _, c := range all {
		s.numbers = s.numbers[:0]
		for _, n := range c.numbers {
			s.numbers = append(s.numbers, same[n])
		}
		key := string(s.keyOf(c.cpu, c.context, s.frames.task(c.task)))
		if sum := s.counts[key]; sum != nil {
			sum.count, sum.seconds = sum.count+c.count, sum.seconds+c.seconds
			continue
		}
		c.numbers = slices.Clone(s.numbers)
		s.counts[key] = c
	}
}

// sorted returns all stacks in an order that does not depend on when they were seen, with their frames by name, the
// outermost first.
func (s *stacks) sorted() ([]*countedStack, [][]string) {
	s.named()
	all := make([]*countedStack, 0, len(s.counts))
	named := map[*countedStack][]string{}
	for _, c := range s.counts {
		all = append(all, c)
		names := make([]string, 0, len(c.numbers))
		for _, n := range slices.Backward(c.numbers) {
			names = append(names, s.frames.names[n])
		}
		named[c] = names
	}
	slices.SortFunc(all, func(a, b *countedStack) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.cpu, b.cpu),
			cmp.Compare(a.context, b.context), cmp.Compare(a.task, b.task), slices.Compare(named[a], named[b]))
	})
	frames := make([][]string, len(all))
	for i, c := range all {
		frames[i] = named[c]
	}
	return all, frames
}

// sampled returns the stacks in the form of a recording.
func (s *stacks) sampled() (out []profile.Stack, total uint64) {
	all, frames := s.sorted()
	for i, c := range all {
		out = append(out, profile.Stack{CPU: c.cpu, Context: c.context, Task: c.task, Frames: frames[i],
			Count: c.count})
		total += c.count
	}
	return out, total
}

// waited returns the stacks in which threads waited.
func (s *stacks) waited() (out []profile.WaitStack) {
	all, frames := s.sorted()
	for i, c := range all {
		if c.count > 0 {
			out = append(out, profile.WaitStack{Task: c.task, Frames: frames[i], Count: c.count, Seconds: c.seconds})
		}
	}
	return out
}
