package stacks

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
)

// Folded writes a line a stack, as flamegraph.pl and its relatives read it: frames parted by semicolons, then a whole
// number. That is nanoseconds of CPU time per thousand I/Os, since a stack may cost less than one of an I/O; samples
// where the time per I/O is not known. Of several sets, their names are the outermost frames.
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

// thousand I/Os are what whole numbers are of.
const thousand = 1000

// whole is the weight of a stack as a whole number, of those that this package writes.
func (s Set) whole(stack Stack) int64 {
	if s.Total() == 0 {
		return int64(stack.Samples)
	}
	return int64(math.Round(stack.Mean() * thousand))
}

// foldedFrame is a frame without what parts frames and lines.
func foldedFrame(name string) string {
	return strings.NewReplacer(";", ",", "\n", " ", "\r", " ").Replace(name)
}
