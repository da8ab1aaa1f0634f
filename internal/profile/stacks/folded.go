package stacks

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"
)

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
