package vary

import (
	"context"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// ReferenceArm is the arm of a sweep that is not a level: the same suite on another place, such as the disk of this
// machine that stores a guest's disk. It is visited once a block like the levels, with the load of the baseline. It is
// also the role of its target.
const ReferenceArm = "reference"

// newReference adds the reference to a new run, if requested.
func (x *Experiment) newReference(ctx context.Context) error {
	if x.options.Reference == "" {
		if x.options.ReferenceOn != "" {
			return app.Usage("--reference-on "+x.options.ReferenceOn+" names a target, and no place on it",
				"add --reference DIR")
		}
		return nil
	}
	if x.network != nil {
		return app.Usage("a network has no reference to compare with", "leave out --reference")
	}
	on, at := x.options.ReferenceOn, []string{x.options.Reference}
	if x.under.App.AllKinds().Has(x.options.Reference) { // the place that the target was made with is measured
		if on != "" {
			return app.Usage("--reference names a target, and --reference-on another",
				"--reference PLACE --reference-on "+on)
		}
		on, at = x.options.Reference, nil
	} else if len(x.under.Peers) > 0 {
		return app.Usage("several targets can't be compared with one place, "+x.options.Reference,
			"name a reference that can be opened as often: --reference 'kube:pod?…'")
	}
	r, err := x.openReference(ctx, on, 1+len(x.under.Peers))
	if err != nil {
		return err
	}
	baseline := x.sides().arm(x.under.Run.Experiment.Baseline).Levels
	r.Options = x.options.runOptions()
	r.Options.Destroy, r.Options.Sampled = "", "" // that consent is for the place under test
	r.Options.Profile = experiment.ProfileOptions{}
	for name, value := range factor.JobParams(nil, baseline) {
		r.Options.Set = append(r.Options.Set, name+"="+value)
	}
	if err := r.NewHeader(ctx, append([]string{x.suiteName}, at...)); err != nil {
		return err
	}
	r.Run.ID, r.Run.Targets[0].Role = x.under.Run.ID, ReferenceArm
	for i := range r.Run.Cells {
		c := &r.Run.Cells[i]
		c.ID, c.Arm, c.Repetitions = lab.CellIn(c.ID, ReferenceArm), ReferenceArm, x.options.perVisit()
		c.Environment = factor.Environment(baseline)
	}
	if err := x.sameLoads(r.Run.Cells); err != nil {
		return err
	}
	if r.Target == x.under.Target && r.Place().Path == x.under.Place().Path {
		return app.Usage(fmt.Sprintf("the reference %s is the place under test", x.options.Reference))
	}
	if err := r.SecureAndSnapshot(ctx); err != nil {
		return err
	}
	if err := x.newPeers(ctx, r, ReferenceArm, []string{x.suiteName}); err != nil {
		return err
	}
	run := &x.under.Run
	run.Experiment.Reference = ReferenceArm
	run.Arms = append(run.Arms, lab.Arm{ID: ReferenceArm, Role: ReferenceArm, Levels: map[string]string{}})
	run.Cells = append(run.Cells, r.Run.Cells...)
	run.Targets = append(run.Targets, r.Targets()...)
	return nil
}

// openReference begins the measurement of the reference on its target. It reuses the target under test if the names
// agree, unless two targets can have one name (pods). There are as many references as targets that are compared with
// them.
func (x *Experiment) openReference(ctx context.Context, on string, many int) (*experiment.Measurement, error) {
	if on == "" {
		on = app.LocalTarget
	}
	r := &experiment.Measurement{App: x.under.App, Store: x.under.Store, Target: x.under.Target, Concurrent: x.under,
		Role: ReferenceArm}
	if on != x.under.Target.Name() || x.under.App.Traits(on).Scheduled { // two of one name are two
		opened, err := x.under.App.OpenConcurrently(ctx, slices.Repeat([]string{on}, many))
		if err != nil {
			return nil, err
		}
		r.Target, x.openedEarly = opened[0], opened[1:]
	}
	x.reference = r
	x.carried.Add(ReferenceArm, r)
	return r, nil
}

// sameLoads refuses a reference without the loads of the levels: a suite can have other loads for a directory than for
// a device.
func (x *Experiment) sameLoads(cells []lab.Cell) error {
	for _, c := range cells {
		if !slices.ContainsFunc(x.under.Run.Cells, func(o lab.Cell) bool {
			return o.Load() == c.Load()
		}) {
			return app.Usage(fmt.Sprintf("the reference %s has a load %s, which the levels have not",
				x.options.Reference,
				c.Load()))
		}
	}
	return nil
}

// resumeReference restores the reference of an interrupted run.
func (x *Experiment) resumeReference(ctx context.Context, b *store.Bundle) error {
	if b.Run.Experiment.Reference == "" {
		return nil
	}
	part := experiment.OfRole(b.Run, ReferenceArm)
	part.Profile = nil
	r, err := x.openReference(ctx, part.Targets[0].Target, 1+len(experiment.PeersOfRun(b.Run, ReferenceArm)))
	if err != nil {
		return err
	}
	if err := r.ResumeFrom(ctx, b, part); err != nil {
		return err
	}
	if err := x.resumePeers(ctx, b, r, ReferenceArm); err != nil {
		return err
	}
	x.under.Run.Cells = b.Run.Cells
	x.under.Run.Targets = append(x.under.Run.Targets, r.Targets()...)
	return nil
}
