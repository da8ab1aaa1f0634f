package progress

import (
	"fmt"
	"io"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

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
