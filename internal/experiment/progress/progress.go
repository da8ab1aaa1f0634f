package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"headroom/internal/app"
	"headroom/internal/runner"
	"headroom/internal/unit"
	"headroom/internal/visible"
)

// Progress shows what goes on. On a terminal it is one line that is painted over, below the table where there is one.
// Elsewhere it is a line for each finished repetition, and the table once.
type Progress struct {
	Source
	started       time.Time
	out           io.Writer
	key           visible.Key // of out
	width, height int         // 0 when out is no terminal
	drawn         int         // lines above the last one
	tabled        bool
}

// New shows on standard error how far something has come, as its source knows it.
func New(p *app.App, s Source) *Progress {
	return &Progress{Source: s, started: time.Now(), out: p.Stderr, key: p.Key, width: app.Columns(p.Stderr),
		height: app.Lines(p.Stderr)}
}

// Print shows what happens now.
func (s *Progress) Print(e runner.Progress) {
	s.Update(e)
	if s.width == 0 {
		s.printLine(e)
		return
	}
	table := s.ResultTable()
	if most := max(0, s.height-2); len(table) > most {
		table = table[:most]
	}
	text := s.clear()
	for _, line := range table {
		text += app.Fit(line, s.width-1) + "\n"
	}
	s.drawn = len(table)
	fmt.Fprint(s.out, text+app.Fit(s.statusLine(e), s.width-1))
}

// clear goes to where the drawing began and clears it.
func (s *Progress) clear() string {
	if s.drawn == 0 {
		return s.key.Own("\r\x1b[J")
	}
	return s.key.Own(fmt.Sprintf("\r\x1b[%dA\x1b[J", s.drawn))
}

// printLine writes a line when something has ended, or when something begins of which nobody knows how long it takes.
func (s *Progress) printLine(e runner.Progress) {
	switch {
	case e.Ended != nil:
		fmt.Fprintf(s.out, "%s  %s  %s\n", s.CountText(), e.Doing, outcomeText(e.Cell, *e.Ended))
		if table := s.ResultTable(); table != nil && !s.tabled {
			s.tabled = true
			fmt.Fprintln(s.out, strings.Join(table, "\n"))
		}
	case e.Begins && e.Left == 0 || e.Profiling:
		fmt.Fprintln(s.out, e.Doing)
	}
}

// Note writes a line that stays.
func (s *Progress) Note(line string) {
	s.End()
	s.drawn = 0
	fmt.Fprintln(s.out, line)
}

// Painted says whether what goes on is a line that is painted over, and not a line for each thing.
func (s *Progress) Painted() bool { return s.width > 0 }

// End clears what was painted.
func (s *Progress) End() {
	if s.width > 0 {
		fmt.Fprint(s.out, s.clear())
	}
}

// statusLine is one line of what goes on:
//
//	1m 12s of about 9m 40s ▕██▌            ▏ 3/24 randwrite 4k q128 x4 (42s left)  1.02M IOPS  3.98 GiB/s
func (s *Progress) statusLine(e runner.Progress) string {
	elapsed := time.Since(s.started)
	line := unit.Duration(elapsed.Truncate(time.Second))
	if left, known := s.Left(e); known {
		total := elapsed + left
		line += " " + s.BoundText() + " " + unit.Duration(total.Truncate(time.Second)) + " " +
			bar(elapsed.Seconds()/max(total.Seconds(), 1e-9), 16)
	}
	line += " " + s.CountText() + " " + e.Doing
	if e.Ended != nil {
		return line + "  " + outcomeText(e.Cell, *e.Ended)
	}
	if e.Left > 0 {
		line += " (" + unit.Duration(e.Left.Round(time.Second)) + " left)"
	}
	if e.IOPS > 0 || e.Bandwidth > 0 {
		line += "  " + unit.IOPS(e.IOPS) + " IOPS  " + unit.Bandwidth(e.Bandwidth)
	}
	return line
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
