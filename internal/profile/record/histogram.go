package record

import (
	"math/bits"

	"github.com/headroom/headroom/internal/lab"
)

// histogram counts times in bins like fio's: times up to 127 ns have one each, others keep the seven highest bits.
type histogram struct {
	counts []uint64
}

// keptBits make bins that are at most 1/64 wide.
const keptBits = 7

// add counts a time. The clocks of two CPUs can differ: a time that ends before it begins counts as 0.
func (h *histogram) add(from, to uint64) {
	ns := to - from
	if to < from {
		ns = 0
	}
	drop := max(0, bits.Len64(ns)-keptBits)
	bin := drop<<(keptBits-1) + int(ns>>drop)
	for len(h.counts) <= bin {
		h.counts = append(h.counts, 0)
	}
	h.counts[bin]++
}

// result returns the middle of each bin.
func (h *histogram) result() lab.Histogram {
	result := lab.Histogram{Nanoseconds: []int64{}, Counts: []uint64{}}
	for bin, count := range h.counts {
		if count == 0 {
			continue
		}
		drop := max(0, bin>>(keptBits-1)-1)
		low := int64(bin-drop<<(keptBits-1)) << drop
		result.Nanoseconds = append(result.Nanoseconds, low+(int64(1)<<drop)/2)
		result.Counts = append(result.Counts, count)
	}
	return result
}
