package host

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ClockOffset estimates how far the host's clock is ahead of ours: from the quickest of several questions, the middle
// between asking and hearing, and off by half of the time between at most.
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
			break // it has no such stat: the seconds of its date are all that is known
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

// processTime asks for the time at which the process that answers was first looked at, which is now: the kernel gives
// its folder that time. It is for the date of a BusyBox that tells seconds only, whose stat tells more. Source:
// new_inode of fs/proc/base.c, proc_pid_make_inode.
func processTime() []string { return []string{"stat", "-L", "-c", "%y", "/proc/self"} }

// tickStep is the longest step of the clock that inodes have their times from: a tick of a kernel with CONFIG_HZ=100.
const tickStep = 10 * time.Millisecond

// parseDate reads seconds since 1970 and the nanoseconds, which some a BusyBox does not know, or the time of a file.
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
