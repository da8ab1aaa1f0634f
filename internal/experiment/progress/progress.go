package progress

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/unit"
)

// Progress shows the current step. On a terminal it is one line that is painted over, below the table if
// there is one. Elsewhere it is a line for each finished repetition, and the table once.
type Progress struct {
	Source
	started       time.Time
	out           io.Writer
	key           prose.Key // of out
	width, height int       // 0 when out is no terminal
	drawn         int       // lines above the last one
	tabled        bool
	kept          Keeper // nil where the run's bundle is not open yet
}

// Keeper keeps what is shown for others who look at the run.
type Keeper interface{ Progress(lab.Progress) error }

// Display prints the progress of a run, and lets an open run keep it.
type Display interface {
	Print(runner.Progress)
	KeepIn(Keeper)
}

// KeepIn has what is shown from now on kept, too.
func (s *Progress) KeepIn(k Keeper) { s.kept = k }

// New shows on standard error how far something has come, as its source knows it.
func New(p *app.App, s Source) *Progress {
	return &Progress{Source: s, started: time.Now(), out: p.Stderr, key: p.Key, width: app.Columns(p.Stderr),
		height: app.Lines(p.Stderr)}
}

// Print shows what happens now.
func (s *Progress) Print(e runner.Progress) {
	s.Update(e)
	s.keep(e)
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

// keep keeps what begins and what has ended: what happens in between is not worth a file. That it can't be kept is no
// reason to measure no further.
func (s *Progress) keep(e runner.Progress) {
	if s.kept == nil || !e.Begins && e.Ended == nil {
		return
	}
	now := lab.Progress{At: time.Now().UTC(), Count: s.CountText(), Doing: strings.TrimSpace(e.Doing),
		Elapsed: math.Round(time.Since(s.started).Seconds()*1000) / 1000, AtMost: s.AtMost()}
	if left, known := s.Left(e); known {
		now.Left = left.Seconds()
	}
	_ = s.kept.Progress(now)
}

// clear goes to where the drawing began and clears it.
func (s *Progress) clear() string {
	if s.drawn == 0 {
		return s.key.Own("\r\x1b[J")
	}
	return s.key.Own(fmt.Sprintf("\r\x1b[%dA\x1b[J", s.drawn))
}

// printLine writes a line when a step has ended, or when a step of unknown duration begins.
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
	fmt.Fprintln(s.out, line)
}

// Painted reports whether progress is one line that is painted over, instead of a line for each step.
func (s *Progress) Painted() bool { return s.width > 0 }

// End clears what was painted.
func (s *Progress) End() {
	if s.width > 0 {
		fmt.Fprint(s.out, s.clear())
		s.drawn = 0
	}
}

// statusLine returns one line about the current step:
//
//	1m 12s of about 9m 40s ▕██▌            ▏ 3/24 randwrite 4k q128 x4 (42s left)  1.02M IOPS  3.98 GiB/s
func (s *Progress) statusLine(e runner.Progress) string {
	elapsed := time.Since(s.started)
	line := unit.Duration(elapsed.Truncate(time.Second))
	if left, known := s.Left(e); known {
		total := elapsed + left
		bound := " of about "
		if s.AtMost() {
			bound = " of at most "
		}
		line += bound + unit.Duration(total.Truncate(time.Second)) + " " +
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

// Source knows how far a run has come.
type Source interface {
	Update(runner.Progress)
	// Left is how long it takes from now on, where that is known, and AtMost whether it may end before.
	Left(runner.Progress) (time.Duration, bool)
	AtMost() bool
	// CountText of the repetitions that have ended.
	CountText() string
	// ResultTable is what has been measured, once there is something of every cell; nil before.
	ResultTable() []string
}

// Counter is the source of progress where the total is unknown. It returns a text about the work done so far.
type Counter func() string

// Update does nothing: what is counted is looked up.
func (c Counter) Update(runner.Progress) {}

// Left is not known.
func (c Counter) Left(runner.Progress) (time.Duration, bool) { return 0, false }

// AtMost is of no time.
func (c Counter) AtMost() bool { return false }

// CountText is what was counted.
func (c Counter) CountText() string { return c() }

// ResultTable is nil: a line says it all.
func (c Counter) ResultTable() []string { return nil }

// profiling adds the time of profiled loads to what another source knows.
type profiling struct {
	Source
	// later is what those take that have not begun.
	later time.Duration
}

// WithProfiles has a source know of profiled loads, which take so long altogether.
func WithProfiles(s Source, all time.Duration) Source {
	if all == 0 {
		return s
	}
	return &profiling{s, all}
}

func (p *profiling) Update(e runner.Progress) {
	if e.Profiling {
		p.later -= e.Left
	}
	p.Source.Update(e)
}

func (p *profiling) Left(e runner.Progress) (time.Duration, bool) {
	left, known := p.Source.Left(e)
	return left + max(0, p.later), known
}

// outcomeText is a repetition in a few words.
func outcomeText(c *runner.Cell, r lab.Repetition) string {
	var parts []string
	if c != nil && c.Command != nil {
		for _, name := range lab.Deciding(c.Metrics, c.Params, r.Values) {
			parts = append(parts, name+" "+quantity(c.Metric(name), name, r.Values[name]))
		}
	}
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
	for _, d := range []string{lab.Send, lab.Receive} {
		if v, ok := r.Values[lab.Bitrate(d)]; ok {
			parts = append(parts, d+" "+unit.Bitrate(v))
		}
	}
	if v, ok := r.Values[lab.RequestRate]; ok {
		parts = append(parts, "answers "+unit.IOPS(v)+"/s")
	}
	for _, part := range []string{"mean", "p99"} {
		if v, ok := r.Values[lab.Latency(lab.Request, part)]; ok {
			parts = append(parts, part+" "+unit.Latency(v))
		}
	}
	if _, sum := r.Values[lab.StartSkew]; len(parts) == 0 && sum &&
		!slices.ContainsFunc(r.Warnings, func(w lab.Warning) bool { return w.Code == "no-sum" }) {
		parts = []string{"measured"} // loads of several kinds, which have no sum
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

func quantity(info lab.MetricInfo, metric string, v float64) string {
	switch {
	case info.Unit == lab.Seconds:
		return unit.Latency(v)
	case info.Unit == lab.BitsPerSecond:
		return unit.Bitrate(v)
	case info.Unit == lab.BytesPerSecond:
		return unit.Bandwidth(v)
	case strings.HasSuffix(metric, ".iops"):
		return unit.IOPS(v) + " IOPS"
	case info.Unit == lab.PerSecond:
		return unit.IOPS(v) + "/s"
	default:
		return fmt.Sprintf("%.4g %s", v, info.Unit)
	}
}

// OrderClock estimates how long a run still takes, from an order that is known beforehand.
type OrderClock struct {
	done, total int
	LaterTime   time.Duration // without the current repetition
	unknown     bool          // a load ends by size, so its duration is unknown
	pause       time.Duration
}

// RepetitionOverhead is the time that a repetition takes in addition to its load: fio's start and end, counters,
// saving.
const RepetitionOverhead = 400 * time.Millisecond

// NewOrderClock is for loads in a fixed order, with a pause between two.
func NewOrderClock(cells []runner.Cell, order []plan.Repetition, pause time.Duration) *OrderClock {
	c := &OrderClock{total: len(order), pause: pause}
	expected := map[string]time.Duration{}
	for _, cell := range cells {
		expected[cell.ID] = cell.Expected
	}
	for _, r := range order {
		if expected[r.Cell] == 0 {
			c.unknown = true
		}
		c.LaterTime += expected[r.Cell] + RepetitionOverhead + pause
	}
	c.LaterTime -= min(c.LaterTime, pause) // none before the first
	return c
}

// Within has no more time be left than a limit; 0 is none.
func (c *OrderClock) Within(limit time.Duration) *OrderClock {
	if limit > 0 {
		c.LaterTime = min(c.LaterTime, limit)
	}
	return c
}

// Update takes note of a load that begins or has ended.
func (c *OrderClock) Update(e runner.Progress) {
	switch {
	case e.Cell == nil:
	case e.Begins:
		c.LaterTime -= e.Cell.Expected + RepetitionOverhead + c.pause
	case e.Ended != nil:
		c.done++
	}
}

// Left is how long it takes from now on, where that is known.
func (c *OrderClock) Left(e runner.Progress) (time.Duration, bool) {
	return max(0, c.LaterTime) + max(0, e.Left), !c.unknown
}

// AtMost is false: the order is known.
func (c *OrderClock) AtMost() bool { return false }

// ResultTable is nil: a line says it all.
func (c *OrderClock) ResultTable() []string { return nil }

func (c *OrderClock) CountText() string { return fmt.Sprintf("%d/%d", c.done, c.total) }

// readProgressDelay is how long a device is read before anything is said about it.
const readProgressDelay = 2 * time.Second

// readProgress shows how far the reading of a device has come: on a terminal as a line that is painted over, elsewhere
// as a line now and then.
type readProgress struct {
	path    string
	out     io.Writer
	key     prose.Key // of out
	width   int       // 0 when out is no terminal
	started time.Time
	shown   bool
	// tenths of the device that were read when the last line was written, where out is no terminal.
	tenths int
}

func NewReading(p *app.App, path string) *readProgress {
	return &readProgress{path: path, out: p.Stderr, key: p.Key, width: app.Columns(p.Stderr), started: time.Now()}
}

func (r *readProgress) Update(p guard.Progress) { r.updateAfter(time.Since(r.started), p) }

func (r *readProgress) updateAfter(elapsed time.Duration, p guard.Progress) {
	if elapsed < readProgressDelay {
		return
	}
	share := float64(p.Done) / float64(max(1, p.Size))
	if r.width > 0 {
		r.shown = true
		fmt.Fprint(r.out, r.key.Own("\r\x1b[J")+app.Fit(r.line(elapsed, share, p), r.width-1))
		return
	}
	tenths := int(10*share + 1e-9)
	if r.shown && tenths <= r.tenths {
		return
	}
	r.shown, r.tenths = true, tenths
	fmt.Fprintln(r.out, r.line(elapsed, share, p))
}

// line returns the line that shows the share read so far:
//
//	reading all of /dev/nvme1n1, to see whether it is empty ▕██▌            ▏ 16%  5.98 GiB/s (17m 20s left)
func (r *readProgress) line(elapsed time.Duration, share float64, p guard.Progress) string {
	line := fmt.Sprintf("reading all of %s, to see whether it is empty ", r.path)
	if r.width > 0 {
		line += bar(share, 16) + " "
	}
	line += unit.Percent(share) + "  " + unit.Bandwidth(float64(p.Read)/elapsed.Seconds())
	if share > 0 {
		left := unit.SecondsToDuration(elapsed.Seconds() / share * (1 - share))
		line += " (" + unit.Duration(left.Round(time.Second)) + " left)"
	}
	return line
}

// End clears what was painted.
func (r *readProgress) End() {
	if r.shown && r.width > 0 {
		fmt.Fprint(r.out, r.key.Own("\r\x1b[J"))
	}
}
