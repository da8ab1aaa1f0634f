package stacks

import (
	"cmp"
	"slices"
)

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
