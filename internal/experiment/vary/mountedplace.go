package vary

import (
	"context"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/store"
)

// whileMounted runs do with the first level of the mount in place. It passes the mount's folder: folder, or a new one.
// In an experiment that mounts nothing it runs do at once, without a folder.
func (x *Experiment) whileMounted(ctx context.Context, folder string, do func(folder string) error) (err error) {
	if !x.varies.mounts() {
		return do("")
	}
	levels := x.varies.mountLevels()
	switch {
	case x.varies.kind != app.SweepKind:
		return app.Usage(mount.NFSFactor+" is for sweeps: other experiments compare a level with the state found, and "+
			"nothing is mounted there", "headroom sweep SUITE --factor '"+mount.NFSFactor+"=…'")
	case x.options.DryRun.Asked():
		return app.Usage("a dry run mounts nothing, so the place can't be inspected",
			"headroom nfs --dry-run lists the mounts of that command")
	case slices.Contains(levels, scheme.Found):
		return app.Usage(mount.NFSFactor + " has no level that could be found: nothing is mounted there")
	}
	if folder == "" {
		folder = mount.NFSFolder(store.NewID())
	}
	return recovery.WhileMounted(ctx, x.under.App, x.under.Store, x.under.Target, store.NewID(), folder, levels[0],
		func() error { return do(folder) })
}
