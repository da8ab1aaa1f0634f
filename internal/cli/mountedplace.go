package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/target"
)

// mounts says whether the place under test is mounted for each arm: NFS with other options, over another transport.
func (x *experiment) mounts() bool {
	return slices.ContainsFunc(x.choices, func(c factor.Choice) bool { return c.Factor() == factor.NFSFactor })
}

// whileMounted does what looks at the place while the first level of what is mounted there is there, and passes on
// where that is: in folder, or in a new one. In an experiment that mounts nothing it does it at once, without a folder.
func (x *experiment) whileMounted(ctx context.Context, folder string, do func(folder string) error) (err error) {
	if !x.mounts() {
		return do("")
	}
	levels := x.mountLevels()
	switch {
	case x.kind != sweepKind:
		return usage(factor.NFSFactor+" is for sweeps: what others hold a level against is what was found, and "+
			"nothing is mounted there", "headroom sweep SUITE --factor '"+factor.NFSFactor+"=…'")
	case x.options.dryRun.asked():
		return usage("where nothing is to be done nothing is mounted, so that nothing is known of the place",
			"headroom nfs --dry-run says what that command would mount")
	case slices.Contains(levels, factor.Found):
		return usage(factor.NFSFactor + " has no level that could be found: nothing is mounted there")
	}
	if folder == "" {
		folder = factor.NFSFolder(store.NewID())
	}
	return whileMounted(ctx, x.measurement.program, x.store, x.target, folder, levels[0], func() error {
		return do(folder)
	})
}

func (x *experiment) mountLevels() []string {
	return x.choices[slices.IndexFunc(x.choices, func(c factor.Choice) bool {
		return c.Factor() == factor.NFSFactor
	})].Levels
}

// mountedOn does something while a level of NFS is mounted on a folder, with a journal of its own.
func whileMounted(ctx context.Context, p *program, s *store.Store, t target.Target, folder, level string,
	do func() error) (err error) {
	journal, err := factor.Create(s.Changes(), store.NewID(), t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.Undo(context.WithoutCancel(ctx)), journal.Close()) }()
	if p.AtStep != nil {
		journal.AtStep(p.AtStep)
	}
	setting, err := factor.Bind(ctx, factor.Scope{Target: t, Place: lab.Place{Kind: lab.Directory, Path: folder}},
		factor.NFSFactor)
	if err != nil {
		return err
	}
	if err := journal.Change(ctx, setting, level); err != nil {
		return err
	}
	return do()
}

// mountToClean mounts the place once more where an experiment ends between two arms: its scratch file lies on the
// server.
func (x *experiment) mountToClean(ctx context.Context) error {
	if !x.mounts() || x.enteredLevels == nil || slices.Contains(x.variedMachines[0].journal.Open(), factor.NFSFactor) {
		return nil
	}
	err := x.applyLevel(context.WithoutCancel(ctx), factor.NFSFactor, x.mountLevels()[0])
	if err != nil {
		return errors.Join(&lab.Error{What: "can't mount the server again to remove the scratch file of run " +
			x.run.ID + " there", Hints: []string{"remove it by hand"}}, err)
	}
	return nil
}

// mountOfRun is the first level of what a run mounts for its arms; empty where it mounts nothing.
func mountOfRun(run lab.Run) string {
	if run.Experiment == nil {
		return ""
	}
	for _, v := range run.Experiment.Factors {
		if v.Factor == factor.NFSFactor && len(v.Levels) > 0 {
			return v.Levels[0]
		}
	}
	return ""
}

// sameRoot refuses mounts of different directories: a scratch file that was laid out in one is not in the other. What
// tells them apart is the number of the directory and when it was changed last, to the nanosecond.
func (x *experiment) sameRoot(ctx context.Context, level string, first *string) error {
	argv := []string{"stat", "-c", "%i %z", "--", x.place().Path}
	out, err := x.target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't tell what is mounted", Target: target.RemoteName(x.target), Command: argv,
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
			What:   fmt.Sprintf("%s leads to another directory than the first level of %s", level, factor.NFSFactor),
			Target: target.RemoteName(x.target),
			Hints: []string{"all levels must be mounts of one directory of one server, by whatever address and " +
				"transport"}}
	}
	return nil
}
