package experiment

import (
	"context"
	"errors"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/unit"
)

// dryRunReads is how long a dry run reads a device: who wants to know what would be done does not wait until all of a
// large drive is read.
const dryRunReads = 10 * time.Second

// reading shows how far the reading of devices has come.
type reading struct {
	app    *app.App
	dryRun bool
}

// while shows the progress of reading one device. later reports whether a dry run stopped before the end.
func (r reading) while(ctx context.Context, path string,
	read func(context.Context, func(guard.Progress)) error) (later bool, err error) {
	limited := ctx
	if r.dryRun {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, dryRunReads)
		defer cancel()
	}
	show := progress.NewReading(r.app, path)
	defer show.End()
	err = read(limited, show.Update)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// sampleMisses returns how likely the sample misses one stretch of data: "84% for 64.0 KiB, 12% for 1.00 MiB".
func sampleMisses(s guard.Sample) []string {
	var parts []string
	for _, m := range s.Misses {
		parts = append(parts, unit.Percent(m.Chance)+" for "+unit.Bytes(float64(m.Length)))
	}
	return parts
}
