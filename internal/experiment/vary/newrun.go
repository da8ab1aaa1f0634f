package vary

import (
	"context"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/suite"
)

// newRunOnPlace makes the new run of a suite on a place, which the experiment may have to mount.
func (x *Experiment) newRunOnPlace(ctx context.Context, args []string, terms *lab.Experiment) error {
	if x.varies.mounts() && len(args) > 1 {
		return app.Usage(mount.NFSFactor+" makes a separate folder for its mounts, so there is no "+
			args[1]+" to measure", "headroom "+x.varies.kind+" "+args[0]+" "+x.options.flag(x.varies.kind)+" …")
	}
	return x.whileMounted(ctx, "", func(folder string) error {
		if folder != "" {
			args = append(args, folder)
		}
		return x.newRunOn(ctx, args, nil, terms)
	})
}

// newRunOn makes the new run of a network's suite, or without one of the suite and place in args.
func (x *Experiment) newRunOn(ctx context.Context, args []string, network *suite.Suite, terms *lab.Experiment) error {
	var err error
	if network != nil {
		err = x.under.NewHeaderOn(*network, lab.Place{Kind: lab.NoPlace})
	} else {
		err = x.under.NewHeader(ctx, args)
	}
	if err != nil {
		return err
	}
	x.under.Run.Experiment, x.under.Run.Design, x.suiteName = terms, lab.Design(x.varies.kind), args[0]
	if x.options.SettableOnly {
		if err := x.excludeUnavailable(ctx); err != nil {
			return err
		}
	}
	x.fitBudget()
	if x.under.Run.Arms, err = x.varies.arms(&x.options, &x.under.Run, x.sides().role()); err != nil {
		return err
	}
	if err := x.recordPriors(); err != nil {
		return err
	}
	if x.under.Run.Cells, err = x.inArms(x.under.Run.Cells); err != nil {
		return err
	}
	x.under.Run.Order, x.under.Run.Repetitions, x.under.Run.Budget = "visits", 0, x.options.Budget.Seconds()
	if network != nil {
		x.newPairs()
	} else if err := x.under.SecureAndSnapshot(ctx); err != nil {
		return err
	}
	if network == nil {
		if err := x.newPeers(ctx, x.under, app.StorageRole, args); err != nil {
			return err
		}
		x.under.Run.Targets = x.under.Targets()
	}
	return x.newReference(ctx)
}

// recordPriors records what a search leaves out, and the prior knowledge of its settings, so that a newer headroom
// resumes the same search.
func (x *Experiment) recordPriors() error {
	x.under.Run.Experiment.Excluded = x.options.Excluded
	if x.varies.kind != app.BisectKind {
		return nil
	}
	if x.options.NoPriors {
		x.under.Run.Experiment.PriorsFrom = lab.PriorsFromNothing
		return nil
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	x.under.Run.Experiment.Priors = bisection.PriorsBeside(knowledge, x.under.Run.Experiment, x.options.Profiles)
	switch {
	case len(x.options.Profiles.Cells) > 0:
		x.under.Run.Experiment.PriorsFrom = lab.PriorsFromProfiles
	case x.under.Run.Experiment.Priors != nil:
		x.under.Run.Experiment.PriorsFrom = lab.PriorsFromKnowledge
	}
	return nil
}
