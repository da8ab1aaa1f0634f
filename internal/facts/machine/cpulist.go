package machine

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
)

// MaxCPUs is more than any kernel is built for (NR_CPUS is 8192 on amd64); it keeps a damaged file from asking for
// memory.
const MaxCPUs = 1 << 16

// CPUSet is a set of CPU numbers, a bit each.
type CPUSet []uint64

// ParseCPUList reads the way in which the kernel writes sets of CPUs; an empty text is an empty set. Source: the
// kernel's Documentation/core-api/printk-formats.rst, "bitmap and its derivatives".
//
//	0-7
//	0-15,32-47
//	3,5,9-11
func ParseCPUList(text string) (CPUSet, error) {
	var set CPUSet
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		to := from
		if isRange && err == nil {
			to, err = strconv.Atoi(last)
		}
		if err != nil || from < 0 || to < from || to >= MaxCPUs {
			return nil, fmt.Errorf("not a list of CPUs: %s", collect.OneLine(part))
		}
		for len(set) <= to/64 {
			set = append(set, 0)
		}
		for word := from / 64; word <= to/64; word++ {
			mask := ^uint64(0)
			if word == from/64 {
				mask &= ^uint64(0) << (from % 64)
			}
			if word == to/64 {
				mask &= ^uint64(0) >> (63 - to%64)
			}
			set[word] |= mask
		}
	}
	return set, nil
}

// ReadCPUSet reads a file that holds a list of CPUs.
func ReadCPUSet(r collect.Reader, name string) (CPUSet, error) {
	text, err := r.Text(name)
	if err != nil {
		return nil, err
	}
	return ParseCPUList(text)
}

func (s CPUSet) Count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Without are the CPUs of s that are not in other.
func (s CPUSet) Without(other CPUSet) CPUSet {
	left := make(CPUSet, len(s))
	for i, word := range s {
		if left[i] = word; i < len(other) {
			left[i] &^= other[i]
		}
	}
	return left
}

// with are the CPUs of either.
func (s CPUSet) with(other CPUSet) CPUSet {
	all := make(CPUSet, max(len(s), len(other)))
	copy(all, s)
	for i, word := range other {
		all[i] |= word
	}
	return all
}

// And are the CPUs of both.
func (s CPUSet) And(other CPUSet) CPUSet {
	both := make(CPUSet, min(len(s), len(other)))
	for i := range both {
		both[i] = s[i] & other[i]
	}
	return both
}

// each calls do with every number, in order.
func (s CPUSet) each(do func(cpu int)) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			do(i*64 + bits.TrailingZeros64(word))
		}
	}
}

// String writes the set as the kernel does, an empty one as "none".
func (s CPUSet) String() string {
	var parts []string
	first, last := -1, -2
	end := func() {
		switch {
		case last < first:
		case first == last:
			parts = append(parts, strconv.Itoa(first))
		default:
			parts = append(parts, strconv.Itoa(first)+"-"+strconv.Itoa(last))
		}
	}
	s.each(func(cpu int) {
		if cpu != last+1 || first < 0 {
			if first >= 0 {
				end()
			}
			first = cpu
		}
		last = cpu
	})
	if first < 0 {
		return catalogue.None
	}
	end()
	return strings.Join(parts, ",")
}
