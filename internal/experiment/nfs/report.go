package nfs

import (
	"slices"

	"github.com/headroom/headroom/internal/results"
)

// Report shows what was measured; nothing where no stage has begun.
func (x *Stages) Report() error {
	i := slices.IndexFunc(x.bundles, x.Store.Has)
	if i < 0 {
		return nil
	}
	b, err := x.Store.FindWhole(x.bundles[i])
	if err != nil {
		return err
	}
	return results.ShowRun(x.App, x.Store, b, x.Options.Result)
}
