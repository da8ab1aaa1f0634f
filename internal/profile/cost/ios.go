package cost

import (
	"slices"

	"headroom/internal/lab"
	"headroom/internal/profile"
	"headroom/internal/profile/layer"
)

// rate is how many I/Os a load did in a second while something was recorded, by what the kernel counted then. What the
// load generator says of all of its time is taken for recordings from before the kernel's counts were read.
func (w *work) rate(l profile.Load, counted *profile.Counted) float64 {
	if counted != nil {
		return counted.Rate(w.block(l))
	}
	sum := 0.0
	for _, d := range lab.Directions() {
		if d != lab.Sync {
			sum += l.Values[lab.IOPS(d)]
		}
	}
	if sum > 0 {
		return sum
	}
	return l.Values[lab.RequestRate]
}

// block is how many bytes an I/O of a load moves. Where blocks differ, it is what its device completed for each I/O in
// all loads whose calls were counted; 0 where there are none.
func (w *work) block(l profile.Load) float64 {
	if l.Block > 0 {
		return float64(l.Block)
	}
	bytes, done := 0.0, 0.0
	for _, other := range w.loads {
		if other.Failed != "" || other.Traced == nil || len(other.Traced.Completed) == 0 {
			continue
		}
		if o := w.operations(other); len(o.functions) > 0 {
			bytes, done = bytes+float64(other.Traced.Completed[0].Bytes), done+o.done
		}
	}
	if done == 0 {
		return 0
	}
	return bytes / done
}

// movedIOs are the I/Os of a load by the bytes that its topmost device completed, which others may use as well: they
// are no more than what the kernel counted of the load.
func (w *work) movedIOs(l profile.Load) float64 {
	if len(l.Traced.Completed) == 0 {
		return 0
	}
	top := l.Traced.Completed[0]
	block := blockOf(l)
	if block <= 0 {
		return float64(max(top.Requests, top.Bios))
	}
	moved := float64(top.Bytes) / block
	if l.Traced.Counted != nil && !uncounted(l) {
		moved = min(moved, l.Traced.Counted.Rate(block)*l.Traced.Seconds)
	}
	return moved
}

// uncounted says whether the kernel does not count the I/O of processes.
func uncounted(l profile.Load) bool {
	return slices.ContainsFunc(l.Missing, func(m profile.Missing) bool { return m.What == profile.CountsOfIO })
}

// blockOf is how many bytes each I/O of a load moves; 0 where they differ. Recordings of before do not have it, but
// what the load generator says.
func blockOf(l profile.Load) float64 {
	if l.Block > 0 || l.Traced.Counted != nil {
		return float64(l.Block)
	}
	iops, bandwidth := 0.0, 0.0
	for _, d := range lab.Directions() {
		if b := l.Values[lab.Bandwidth(d)]; b > 0 {
			iops, bandwidth = iops+l.Values[lab.IOPS(d)], bandwidth+b
		}
	}
	if iops == 0 {
		return 0
	}
	return bandwidth / iops
}

// Idle says whether a load did no I/O at all while it was recorded: the kernel counted none, and no function that
// begins an I/O was seen. It is unknown, and false, of a load of which nothing was recorded, and where the kernel does
// not count the I/O of processes.
func Idle(l profile.Load) (bool, error) {
	layers, err := layer.Load()
	if err != nil {
		return false, err
	}
	w := &work{layers: layers, loads: []profile.Load{l}}
	var counts []*profile.Counted
	if l.Traced != nil && l.Traced.Counted != nil {
		if w.begun(l).done >= fewestIOs {
			return false, nil
		}
		counts = append(counts, l.Traced.Counted)
	}
	if l.Sampled != nil && l.Sampled.Counted != nil {
		if slices.ContainsFunc(l.Sampled.Stacks, w.begins) {
			return false, nil
		}
		counts = append(counts, l.Sampled.Counted)
	}
	if l.Waits != nil && l.Waits.Counted != nil {
		counts = append(counts, l.Waits.Counted)
	}
	for _, c := range counts {
		if c.Operations(max(w.block(l), 512)) >= 1 {
			return false, nil
		}
	}
	return len(counts) > 0 && !uncounted(l), nil
}

// begins says whether the load began an I/O where a stack was sampled.
func (w *work) begins(s profile.Stack) bool {
	return s.Context == profile.InLoad && slices.ContainsFunc(s.Frames, func(frame string) bool {
		return slices.ContainsFunc(w.layers.Operations(), func(functions []string) bool {
			return slices.Contains(functions, layer.Name(frame))
		})
	})
}
