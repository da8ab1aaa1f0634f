package cost

import (
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/layer"
)

// rate returns a load's I/Os per second while a part was recorded, from the kernel's counts. Without counts (older
// recordings, and loads that the kernel does not count) it is the rate that the load generator reports for its whole
// run.
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

// block returns the bytes of one I/O of a load. Where block sizes differ, it is the average over all loads whose calls
// were counted: bytes that the device completed, divided by I/Os. It is 0 without such loads.
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

// movedIOs returns the I/Os of a load by the bytes that its topmost device completed. Other programs may use the
// device, so the kernel's counts of the load are an upper bound.
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

// uncounted reports whether the kernel lacks counts of processes' I/O.
func uncounted(l profile.Load) bool {
	return slices.ContainsFunc(l.Missing, func(m profile.Missing) bool { return m.What == profile.CountsOfIO })
}

// blockOf returns the bytes of each I/O of a load; 0 if sizes differ. For older recordings it is computed from the
// rates that the load generator reports.
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

// Idle reports whether a load did no I/O while it was recorded: the kernel counted none, and no call of a function that
// begins an I/O was recorded. It is false without a recording, and if the kernel does not count the load's I/O.
func Idle(l profile.Load) (bool, error) {
	layers, err := layer.Load()
	if err != nil {
		return false, err
	}
	w := &work{layers: layers, loads: []profile.Load{l}}
	var counts []*profile.Counted
	if l.Traced != nil && l.Traced.Counted != nil {
		if w.begun(l).done >= profile.FewestIOs {
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

// begins reports whether a sampled stack of the load contains a function that begins an I/O.
func (w *work) begins(s profile.Stack) bool {
	return s.Context == profile.InLoad && slices.ContainsFunc(s.Frames, func(frame string) bool {
		return slices.ContainsFunc(w.layers.Operations(), func(functions []string) bool {
			return slices.Contains(functions, layer.Name(frame))
		})
	})
}
