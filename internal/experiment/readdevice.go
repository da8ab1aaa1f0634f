package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
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
	show := progress.NewReading(m.App, path)
	defer show.End()
	err = read(limited, show.Update)
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
		m.App.Print("", w.Text)
	}
	if !slices.ContainsFunc(m.Run.Warnings, func(o lab.Warning) bool {
		return o.Code == w.Code && strings.HasPrefix(o.Text, d.claim.Identity().Path+" ")
	}) {
		m.Run.Warnings = append(m.Run.Warnings, w)
	}
}

// sampleMisses returns how likely the sample misses one stretch of data: "84% for 64.0 KiB, 12% for 1.00 MiB".
func sampleMisses(s guard.Sample) []string {
	var parts []string
	for _, m := range s.Misses {
		parts = append(parts, unit.Percent(m.Chance)+" for "+unit.Bytes(float64(m.Length)))
	}
	return parts
}
