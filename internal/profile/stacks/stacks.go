// Package stacks adds up the sampled stacks of profiled loads, each with its time per I/O, and writes them for programs
// that draw them: folded, for pprof, for speedscope. It is pure.
package stacks

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/profile"
)

// Set has the stacks of one cell in one arm.
type Set struct {
	Cell, Arm, Role string
	// Loads that were sampled, and PeriodNS, the time between two samples of a CPU.
	Loads    int
	PeriodNS float64
	Stacks   []Stack
}

// Stack is what a CPU was executing.
type Stack struct {
	// Frames from the outermost, which is the thread, or the kind of context if it is not a thread.
	Frames []string
	// NS is nanoseconds of CPU time per I/O in each load, and Samples the number of samples of all loads.
	NS      []float64
	Samples uint64
}

// Of adds up the samples of the loads of one cell, without idling and other programs. The CPU time of an I/O in each
// load that has samples, in their order, is divided among the load's stacks; if it is unknown, stacks are only counted.
func Of(loads []profile.Load, cpuNS []float64) Set {
	var set Set
	sampled := slices.DeleteFunc(slices.Clone(loads), func(l profile.Load) bool {
		return l.Failed != "" || l.Sampled == nil || busy(l.Sampled.Stacks) == 0
	})
	byKey := map[string]*Stack{}
	for i, l := range sampled {
		set.Cell, set.Arm, set.Role, set.PeriodNS = l.Cell, l.Arm, l.Role, 1e9/float64(max(l.Sampled.Hz, 1))
		perSample := 0.0
		if len(cpuNS) == len(sampled) {
			perSample = cpuNS[i] / float64(busy(l.Sampled.Stacks))
		}
		for _, s := range l.Sampled.Stacks {
			if !s.Context.ForLoad() {
				continue
			}
			frames := append([]string{outermost(s)}, s.Frames...)
			key := strings.Join(frames, "\x00")
			if byKey[key] == nil {
				byKey[key] = &Stack{Frames: frames, NS: make([]float64, len(sampled))}
			}
			byKey[key].NS[i] += float64(float64(s.Count) * perSample)
			byKey[key].Samples += s.Count
		}
	}
	set.Loads = len(sampled)
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		set.Stacks = append(set.Stacks, *byKey[key])
	}
	slices.SortStableFunc(set.Stacks, func(a, b Stack) int {
		return cmp.Or(cmp.Compare(b.Mean(), a.Mean()), cmp.Compare(b.Samples, a.Samples))
	})
	return set
}

func busy(all []profile.Stack) uint64 {
	var n uint64
	for _, s := range all {
		if s.Context.ForLoad() {
			n += s.Count
		}
	}
	return n
}

// outermost returns the outermost frame of a stack. Threads of one program differ only by numbers.
func outermost(s profile.Stack) string {
	switch s.Context {
	case profile.InSoftirq:
		return "(softirq)"
	case profile.InHardirq:
		return "(interrupt)"
	case profile.InWorker:
		return "(kworker)"
	}
	name, _, _ := strings.Cut(s.Task, "/")
	return cmp.Or(strings.TrimRight(name, "0123456789-:_"), "(thread)")
}

// Mean returns the time per I/O in nanoseconds.
func (s Stack) Mean() float64 { return mean(s.NS) }

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(max(len(values), 1))
}

// Total returns the time of all stacks per I/O in nanoseconds; 0 if unknown.
func (s Set) Total() float64 {
	sum := 0.0
	for _, stack := range s.Stacks {
		sum += stack.Mean()
	}
	return sum
}

// name identifies a set among others.
func (s Set) name() string {
	parts := []string{s.Cell}
	if s.Arm != "" {
		parts = append(parts, s.Arm)
	}
	if s.Role != "" {
		parts = append(parts, s.Role)
	}
	return strings.Join(parts, ", ")
}

// Folded writes a line per stack in the format of flamegraph.pl and similar programs: frames separated by semicolons,
// then an integer. That is nanoseconds of CPU time per thousand I/Os, since a stack may cost less than one per I/O; or
// the number of samples if the time per I/O is unknown. With several sets, their names are the outermost frames.
//
//	fio;entry_SYSCALL_64_after_hwframe;do_syscall_64;__x64_sys_io_submit 215000
func Folded(w io.Writer, sets []Set) error {
	out := bufio.NewWriter(w)
	for _, set := range sets {
		for _, s := range set.Stacks {
			if len(sets) > 1 {
				out.WriteString(foldedFrame(set.name()) + ";")
			}
			for i, frame := range s.Frames {
				if i > 0 {
					out.WriteByte(';')
				}
				out.WriteString(foldedFrame(frame))
			}
			fmt.Fprintf(out, " %d\n", set.whole(s))
		}
	}
	return out.Flush() // keeps the first error of all writes
}

// thousand is the number of I/Os that integers refer to.
const thousand = 1000

// whole returns the weight of a stack as an integer.
func (s Set) whole(stack Stack) int64 {
	if s.Total() == 0 {
		return int64(stack.Samples)
	}
	return int64(math.Round(stack.Mean() * thousand))
}

// foldedFrame replaces the characters in a frame that separate frames and lines.
func foldedFrame(name string) string {
	return strings.NewReplacer(";", ",", "\n", " ", "\r", " ").Replace(name)
}

// Node is a function at a place in the call tree, with the functions that it called.
type Node struct {
	Name string
	// NS is nanoseconds of CPU time per I/O in each load, including the functions that it called; NSBefore is the same
	// of the set that is compared with.
	NS, NSBefore []float64
	// Width is its width in a drawing: NS, or for a difference the larger of both, such that no frame is narrower than
	// the frames on top of it.
	Width    float64
	Children []*Node
}

// Tree returns the stacks of a set, merged where they begin alike. The root has no name.
func (s Set) Tree() *Node {
	root := &Node{NS: make([]float64, s.Loads)}
	for _, stack := range s.Stacks {
		root.add(stack.Frames, func(n *Node) { n.NS = sum(n.NS, stack.NS) })
	}
	root.measure()
	return root
}

// Difference returns the stacks of two sets in one tree.
func Difference(before, after Set, renamed map[string]string) *Node {
	root := &Node{}
	for _, stack := range before.Stacks {
		frames := slices.Clone(stack.Frames)
		for i, frame := range frames {
			frames[i] = cmp.Or(renamed[frame], frame)
		}
		root.add(frames, func(n *Node) { n.NSBefore = sum(n.NSBefore, stack.NS) })
	}
	for _, stack := range after.Stacks {
		root.add(stack.Frames, func(n *Node) { n.NS = sum(n.NS, stack.NS) })
	}
	root.fill(before.Loads, after.Loads)
	root.measure()
	return root
}

// add adds a stack to the root, and to a node for each of its frames.
func (n *Node) add(frames []string, to func(*Node)) {
	to(n)
	if len(frames) == 0 {
		return
	}
	i := slices.IndexFunc(n.Children, func(c *Node) bool { return c.Name == frames[0] })
	if i < 0 {
		i = len(n.Children)
		n.Children = append(n.Children, &Node{Name: frames[0]})
	}
	n.Children[i].add(frames[1:], to)
}

// fill adds zeros, one for each load, on a side that has no such frame.
func (n *Node) fill(before, after int) {
	n.NSBefore, n.NS = sum(make([]float64, before), n.NSBefore), sum(make([]float64, after), n.NS)
	for _, c := range n.Children {
		c.fill(before, after)
	}
}

// measure sets the widths from the innermost frames outwards, and sorts the widest first.
func (n *Node) measure() {
	children, childrenNS, childrenBefore := 0.0, 0.0, 0.0
	for _, c := range n.Children {
		c.measure()
		children += c.Width
		childrenNS, childrenBefore = childrenNS+mean(c.NS), childrenBefore+mean(c.NSBefore)
	}
	n.Width = children + max(mean(n.NS)-childrenNS, mean(n.NSBefore)-childrenBefore, 0)
	slices.SortStableFunc(n.Children, func(a, b *Node) int { return cmp.Compare(b.Width, a.Width) })
}

// Mean is the time per I/O in nanoseconds, and MeanBefore the time of the set that is compared with.
func (n *Node) Mean() float64       { return mean(n.NS) }
func (n *Node) MeanBefore() float64 { return mean(n.NSBefore) }

func sum(a, b []float64) []float64 {
	out := make([]float64, max(len(a), len(b)))
	for i := range out {
		if i < len(a) {
			out[i] = a[i]
		}
		if i < len(b) {
			out[i] += b[i]
		}
	}
	return out
}
