package app

import (
	"context"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/lab"
)

// Bootable is a target with the power to start it again, and the way in which it is.
func Bootable(ctx context.Context, t host.Target, o bootloader.Options) (host.Booter, string, error) {
	if OnThisMachine(ctx, t) {
		return nil, "", &lab.Error{Kind: lab.Refused,
			What: "headroom runs on this machine itself, so it can't restart it", Target: t.Name(),
			Hints: []string{"run it on another machine"}}
	}
	return bootloader.Find(ctx, t, o)
}
