package vary

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/store"
)

// WhileMounted does what looks at the place while the first level of what is mounted there is there, and passes on
// where that is: in folder, or in a new one. In an experiment that mounts nothing it does it at once, without a folder.
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
			"headroom nfs --dry-run says what that command would mount")
	case slices.Contains(levels, scheme.Found):
		return app.Usage(mount.NFSFactor + " has no level that could be found: nothing is mounted there")
	}
	if folder == "" {
		folder = mount.NFSFolder(store.NewID())
	}
	return recovery.WhileMounted(ctx, x.under.App, x.under.Store, x.under.Target, store.NewID(), folder, levels[0],
		func() error { return do(folder) })
}

// mountToClean mounts the place once more where an experiment ends between two arms: its scratch file lies on the
// server.
func (x *Experiment) mountToClean(ctx context.Context) error {
	if !x.varies.mounts() || x.enteredLevels == nil || x.settings.changed(mount.NFSFactor) {
		return nil
	}
	err := x.settings.apply(context.WithoutCancel(ctx), mount.NFSFactor, x.varies.mountLevels()[0])
	if err != nil {
		return errors.Join(&lab.Error{What: "can't mount the server again to remove the scratch file of run " +
			x.under.Run.ID + " there", Hints: []string{"remove it by hand"}}, err)
	}
	return nil
}

// sameRoot refuses mounts of different directories: a scratch file that was laid out in one is not in the other. What
// tells them apart is the number of the directory and when it was changed last, to the nanosecond.
func (x *Experiment) sameRoot(ctx context.Context, level string, first *string) error {
	argv := []string{"stat", "-c", "%i %z", "--", x.under.Place().Path}
	out, err := x.under.Target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't tell what is mounted", Target: host.RemoteName(x.under.Target), Command: argv,
			Output: string(out.Stderr)}
	}
	if err != nil {
		return err
	}
	root := strings.TrimSpace(string(out.Stdout))
	if *first == "" {
		*first = root
	}
	if root != *first {
		return &lab.Error{Kind: lab.Refused,
			What:   fmt.Sprintf("%s leads to another directory than the first level of %s", level, mount.NFSFactor),
			Target: host.RemoteName(x.under.Target),
			Hints: []string{"all levels must be mounts of one directory of one server, by whatever address and " +
				"transport"}}
	}
	return nil
}
