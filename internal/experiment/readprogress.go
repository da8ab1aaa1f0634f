package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"headroom/internal/app"
	"headroom/internal/guard"
	"headroom/internal/lab"
	"headroom/internal/unit"
	"headroom/internal/validity"
	"headroom/internal/visible"
)

// dryRunReads is how long a dry run reads a device: who wants to know what would be done does not wait until all of a
// large drive is read.
const dryRunReads = 10 * time.Second

// readAll has the guard read all of a device. later says that a dry run left off before the end.
func (m *Measurement) readAll(ctx context.Context, d *device) (later bool, err error) {
	later, err = m.whileRead(ctx, d.claim.Identity().Path, func(ctx context.Context, tell func(guard.Progress)) error {
		return d.claim.ReadAll(ctx, &d.evidence, tell)
	})
	if d.owner != nil {
		d.owner.evidence = d.evidence // so that the next beside it need not read again
	}
	return later, err
}

// whileRead shows how far the reading of a device has come. later says that a dry run left off before the end.
func (m *Measurement) whileRead(ctx context.Context, path string,
	read func(context.Context, func(guard.Progress)) error) (later bool, err error) {
	limited := ctx
	if m.Options.DryRun.Asked() {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, dryRunReads)
		defer cancel()
	}
	show := newReadProgress(m.App, path)
	defer show.end()
	err = read(limited, show.update)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// warnOfSample says before the first write what a sample can have missed, and has the run carry that.
func (m *Measurement) warnOfSample(d *device) {
	if !d.verdict.Sampled {
		return
	}
	w := validity.DeviceSampled(d.claim.Identity().Path, d.verdict.String(), sampleMisses(d.verdict.Sample))
	if d.owner == nil {
		m.Print("", w.Text)
	}
	if !slices.ContainsFunc(m.Run.Warnings, func(o lab.Warning) bool {
		return o.Code == w.Code && strings.HasPrefix(o.Text, d.claim.Identity().Path+" ")
	}) {
		m.Run.Warnings = append(m.Run.Warnings, w)
	}
}

// sampleMisses says how likely one stretch of data is to have gone unseen: "84% for 64.0 KiB, 12% for 1.00 MiB".
func sampleMisses(s guard.Sample) []string {
	var parts []string
	for _, m := range s.Misses {
		parts = append(parts, unit.Percent(m.Chance)+" for "+unit.Bytes(float64(m.Length)))
	}
	return parts
}

// readProgressDelay is how long a device is read before anything is said about it.
const readProgressDelay = 2 * time.Second

// readProgress shows how far the reading of a device has come: on a terminal as a line that is painted over, elsewhere
// as a line now and then.
type readProgress struct {
	path    string
	out     io.Writer
	key     visible.Key // of out
	width   int         // 0 when out is no terminal
	started time.Time
	shown   bool
	// tenths of the device that were read when the last line was written, where out is no terminal.
	tenths int
}

func newReadProgress(p *app.App, path string) *readProgress {
	return &readProgress{path: path, out: p.Stderr, key: p.Key, width: app.Columns(p.Stderr), started: time.Now()}
}

func (r *readProgress) update(p guard.Progress) { r.updateAfter(time.Since(r.started), p) }

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

// line says how far it is:
//
//	reading all of /dev/nvme1n1, to see whether it is empty ▕██▌            ▏ 16%  5.98 GiB/s (17m 20s left)
func (r *readProgress) line(elapsed time.Duration, share float64, p guard.Progress) string {
	line := fmt.Sprintf("reading all of %s, to see whether it is empty ", r.path)
	if r.width > 0 {
		line += bar(share, 16) + " "
	}
	line += unit.Percent(share) + "  " + unit.Bandwidth(float64(p.Read)/elapsed.Seconds())
	if share > 0 {
		left := SecondsToDuration(elapsed.Seconds() / share * (1 - share))
		line += " (" + unit.Duration(left.Round(time.Second)) + " left)"
	}
	return line
}

// end clears what was painted.
func (r *readProgress) end() {
	if r.shown && r.width > 0 {
		fmt.Fprint(r.out, r.key.Own("\r\x1b[J"))
	}
}
