package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ClockOffset estimates how far the host's clock is ahead of ours. Of several queries it uses the quickest, and assumes
// that the host read its clock in the middle of the round trip: the error is at most half of the round trip.
func (s *Shell) ClockOffset(ctx context.Context) (offset, uncertainty time.Duration, err error) {
	argv := []string{"date", "+%s.%N"}
	for i := range 5 {
		before := time.Now()
		out, err := s.Run(ctx, argv...)
		took := time.Since(before)
		if err != nil {
			return 0, 0, err
		}
		there, step, err := parseDate(string(out.Stdout))
		if err != nil && i > 0 {
			break // it has no such stat: only the seconds of its date are known
		}
		if err != nil {
			return 0, 0, err
		}
		if step == time.Second {
			argv = processTime()
		}
		if off := took/2 + step; i == 0 || off < uncertainty {
			offset, uncertainty = there.Add(step/2).Sub(before.Add(took/2)), off
		}
	}
	return offset, uncertainty, nil
}

// processTime is a command that prints when the answering process was first looked up, which is now: the kernel gives
// that time to its folder in /proc. It is for a BusyBox whose date has only seconds, and whose stat has fractions.
// Source: new_inode of fs/proc/base.c, proc_pid_make_inode.
func processTime() []string { return []string{"stat", "-L", "-c", "%y", "/proc/self"} }

// tickStep is the longest step of the clock that sets the times of inodes: a tick of a kernel with CONFIG_HZ=100.
const tickStep = 10 * time.Millisecond

// parseDate parses seconds since 1970 with nanoseconds, which some versions of BusyBox lack, or the time of a file.
//
//	1763763960.123456789
//	1763763960.%N
//	2025-11-21 22:26:00.123456789 +0000
func parseDate(text string) (at time.Time, step time.Duration, err error) {
	if at, err := time.Parse("2006-01-02 15:04:05 -0700", strings.TrimSpace(text)); err == nil {
		return at, tickStep, nil
	}
	whole, fraction, _ := strings.Cut(strings.TrimSpace(text), ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return time.Time{}, 0, fmt.Errorf("date printed %q, where seconds are due", text)
	}
	if ns, err := strconv.ParseInt(fraction, 10, 64); err == nil && len(fraction) == 9 {
		return time.Unix(seconds, ns), 0, nil
	}
	return time.Unix(seconds, 0), time.Second, nil
}
