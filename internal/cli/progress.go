package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"headroom/internal/lab"
	"headroom/internal/runner"
	"headroom/internal/unit"
)

// progress shows what goes on: one line that is painted over on a terminal, a line for each finished repetition
// elsewhere.
type progress struct {
	out   io.Writer
	width int // 0 when out is no terminal
}

func (p *program) newProgress() *progress {
	return &progress{out: p.Stderr, width: columns(p.Stderr)}
}

func (s *progress) tell(e runner.Event) {
	if s.width == 0 {
		s.plain(e)
		return
	}
	fmt.Fprint(s.out, "\r\x1b[K"+fit(statusLine(e), s.width-1))
}

// plain writes a line when something has ended, or when something begins of which nobody knows how long it takes.
func (s *progress) plain(e runner.Event) {
	switch {
	case e.Ended != nil:
		fmt.Fprintf(s.out, "%s  %s  %s\n", count(e), e.Doing, outcomeOf(*e.Ended))
	case e.Begins && e.CellLeft == 0:
		fmt.Fprintln(s.out, e.Doing)
	}
}

// end clears the line.
func (s *progress) end() {
	if s.width > 0 {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}

// statusLine is one line of what goes on:
//
//	1m 12s of about 9m 40s ▕██▌            ▏ 3/24 randwrite 4k q128 x4 (42s left)  1.02M IOPS  3.98 GiB/s
func statusLine(e runner.Event) string {
	line := unit.Duration(e.Elapsed.Truncate(time.Second))
	if e.Left >= 0 {
		total := e.Elapsed + e.Left
		line += " of about " + unit.Duration(total.Truncate(time.Second)) + " " + bar(e.Elapsed.Seconds()/max(total.Seconds(), 1e-9), 16)
	}
	line += " " + count(e) + " " + e.Doing
	if e.Ended != nil {
		return line + "  " + outcomeOf(*e.Ended)
	}
	if e.CellLeft > 0 {
		line += " (" + unit.Duration(e.CellLeft.Round(time.Second)) + " left)"
	}
	if e.IOPS > 0 || e.Bandwidth > 0 {
		line += "  " + unit.IOPS(e.IOPS) + " IOPS  " + unit.Bandwidth(e.Bandwidth)
	}
	return line
}

func count(e runner.Event) string { return fmt.Sprintf("%d/%d", e.Done, e.Total) }

// outcomeOf is a repetition in a few words.
func outcomeOf(r lab.Repetition) string {
	var parts []string
	for _, d := range lab.Directions() {
		iops, ok := r.Values[lab.IOPS(d)]
		if !ok {
			continue
		}
		text := d + " " + unit.IOPS(iops) + " IOPS"
		if bw, ok := r.Values[lab.Bandwidth(d)]; ok {
			text += " " + unit.Bandwidth(bw)
		}
		if p99, ok := r.Values[lab.Latency(d, "p99")]; ok {
			text += " p99 " + unit.Latency(p99)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = []string{"no result"}
	}
	if n := len(r.Warnings); n == 1 {
		parts = append(parts, "! "+r.Warnings[0].Code)
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("! %s and %d more", r.Warnings[0].Code, n-1))
	}
	return strings.Join(parts, "  ")
}

// bar draws a share of a line, in eighths of a character.
func bar(share float64, width int) string {
	eighths := int(min(1, max(0, share)) * float64(width) * 8)
	full := strings.Repeat("█", eighths/8)
	if part := eighths % 8; part > 0 {
		full += string([]rune("▏▎▍▌▋▊▉")[part-1])
	}
	return "▕" + full + strings.Repeat(" ", width-len([]rune(full))) + "▏"
}

// fit cuts a line to a number of columns; every character that is used here is one column wide.
func fit(line string, width int) string {
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	return string(r[:max(0, width-1)]) + "…"
}

func secondsToDuration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
