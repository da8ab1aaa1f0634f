package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/plan"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/sweep"
)

// referenceArm is the arm of a sweep that is no level: the same suite on another place, such as the disk of this
// machine that a guest's disk is kept on. It is visited once a block as the levels are, with the load of the baseline.
// It is the role of its target too.
const referenceArm = "reference"

// newReference adds the reference to a new run, if one was asked for.
func (x *experiment) newReference(ctx context.Context) error {
	if x.options.reference == "" {
		if x.options.referenceOn != "" {
			return usage("--reference-on "+x.options.referenceOn+" names a target, and no place on it",
				"add --reference DIR")
		}
		return nil
	}
	if x.network != nil {
		return usage("a network has no reference to be held against", "leave out --reference")
	}
	on, at := x.options.referenceOn, []string{x.options.reference}
	if x.allKinds().has(x.options.reference) { // what it was made with is measured
		if on != "" {
			return usage("--reference names a target, and --reference-on another",
				"--reference PLACE --reference-on "+on)
		}
		on, at = x.options.reference, nil
	} else if len(x.peers) > 0 {
		return usage("several targets are held against one place "+x.options.reference,
			"name a reference of which there can be as many: --reference 'kube:pod?…'")
	}
	r, err := x.openReference(ctx, on, 1+len(x.peers))
	if err != nil {
		return err
	}
	baseline := x.arm(x.run.Experiment.Baseline).Levels
	r.options = x.options.runOptions()
	r.options.destroy, r.options.sampled = "", "" // those are the consent for the place under test
	for name, value := range factor.LoadParams(nil, baseline) {
		r.options.set = append(r.options.set, name+"="+value)
	}
	if err := r.newHeader(ctx, append([]string{x.suiteName}, at...)); err != nil {
		return err
	}
	r.run.ID, r.run.Targets[0].Role = x.run.ID, referenceArm
	for i := range r.run.Cells {
		c := &r.run.Cells[i]
		c.ID, c.Arm, c.Repetitions = c.ID+"@"+referenceArm, referenceArm, x.options.perVisit()
		c.Environment = factor.LoadEnvironment(baseline)
	}
	if err := x.sameLoads(r.run.Cells); err != nil {
		return err
	}
	if r.target == x.target && r.place().Path == x.place().Path {
		return usage(fmt.Sprintf("the reference %s is the place under test", x.options.reference))
	}
	if err := r.secureAndSnapshot(ctx); err != nil {
		return err
	}
	if err := x.newPeers(ctx, r, referenceArm, []string{x.suiteName}); err != nil {
		return err
	}
	x.run.Experiment.Reference = referenceArm
	x.run.Arms = append(x.run.Arms, lab.Arm{ID: referenceArm, Role: referenceArm, Levels: map[string]string{}})
	x.run.Cells = append(x.run.Cells, r.run.Cells...)
	x.run.Targets = append(x.run.Targets, r.targets()...)
	return nil
}

// openReference begins the measurement of the reference on its target, which may be the one under test where that is
// not made for it. Where there are many of what is held against it, there are as many of it.
func (x *experiment) openReference(ctx context.Context, on string, many int) (*measurement, error) {
	if on == "" {
		on = localTarget
	}
	r := &measurement{program: x.program, store: x.store, target: x.target, concurrent: x.measurement,
		role: referenceArm}
	if on != x.target.Name() || x.traits(on).Scheduled { // two of one name are two targets
		opened, err := x.openConcurrently(ctx, slices.Repeat([]string{on}, many))
		if err != nil {
			return nil, err
		}
		r.target, x.openedEarly = opened[0], opened[1:]
	}
	x.reference = r
	return r, nil
}

// sameLoads refuses a reference that has not the loads of the levels: a suite can have other ones for a directory than
// for a device.
func (x *experiment) sameLoads(cells []lab.Cell) error {
	for _, c := range cells {
		if !slices.ContainsFunc(x.run.Cells, func(o lab.Cell) bool {
			return sweep.SharedID(o.ID) == sweep.SharedID(c.ID)
		}) {
			return usage(fmt.Sprintf("the reference %s has a load %s, which the levels have not", x.options.reference,
				sweep.SharedID(c.ID)))
		}
	}
	return nil
}

// resumeReference finds the reference of an interrupted run again.
func (x *experiment) resumeReference(ctx context.Context, b *store.Bundle) error {
	if b.Run.Experiment.Reference == "" {
		return nil
	}
	part := ofRole(b.Run, referenceArm)
	r, err := x.openReference(ctx, part.Targets[0].Target, 1+len(peersOfRun(b.Run, referenceArm)))
	if err != nil {
		return err
	}
	if err := r.resumeFrom(ctx, b, part); err != nil {
		return err
	}
	if err := x.resumePeers(ctx, b, r, referenceArm); err != nil {
		return err
	}
	x.run.Cells = b.Run.Cells
	x.run.Targets = append(x.run.Targets, r.targets()...)
	return nil
}

// ofRole is the part of a run that is measured on the target of a role.
func ofRole(run lab.Run, role string) lab.Run {
	has := func(arm string) bool {
		i := slices.IndexFunc(run.Arms, func(a lab.Arm) bool { return a.ID == arm })
		return i >= 0 && run.Arms[i].Role == role
	}
	run.Cells = slices.DeleteFunc(slices.Clone(run.Cells), func(c lab.Cell) bool { return !has(c.Arm) })
	run.Targets = slices.DeleteFunc(slices.Clone(run.Targets), func(t lab.RunTarget) bool { return t.Role != role })
	return run
}

// measurements are what the experiment measures on, by role: the place under test, and the reference where there is
// one.
func (x *experiment) measurements() []*measurement {
	under := *x.measurement
	under.run = ofRole(x.run, x.loadRole())
	if x.reference == nil {
		return []*measurement{&under}
	}
	return []*measurement{&under, x.reference}
}

// unvaried says whether an arm is on a machine where nothing is varied: whatever is in effect elsewhere stays.
func (x *experiment) unvaried(arm lab.Arm) bool {
	return arm.Role == referenceArm && x.reference.target != x.target
}

// sideSessions are the open sessions of the sides.
type sideSessions struct {
	underTest *runner.Session
	// reference is nil where the experiment has none.
	reference *runner.Session
}

// open begins the sessions of all sides. Those that were opened before an error are in it, to be closed.
func (s *sideSessions) open(ctx context.Context, x *experiment, w *store.Writer, progress func(runner.Progress)) error {
	var saver runner.Saver = w
	for _, side := range x.measurements() {
		e := side.runnerMeasurement()
		e.Enter, e.Progress = x.enter, progress // those of peers have their own, and are not told of
		if x.builds != nil {
			e.Tree = x.builds.Link()
		}
		session, err := runner.Open(ctx, e, saver)
		if err != nil {
			return err
		}
		if side == x.reference {
			s.reference = session
		} else {
			s.underTest = session
		}
	}
	return nil
}

// of is the session that an arm is measured in.
func (s *sideSessions) of(arm lab.Arm) *runner.Session {
	if arm.Role == referenceArm {
		return s.reference
	}
	return s.underTest
}

// each are those that are open.
func (s *sideSessions) each() []*runner.Session {
	return slices.DeleteFunc([]*runner.Session{s.underTest, s.reference}, func(o *runner.Session) bool {
		return o == nil
	})
}

// done are the repetitions of all sides.
func (s *sideSessions) done() []plan.Done {
	var all []plan.Done
	for _, session := range s.each() {
		all = append(all, session.Done()...)
	}
	return all
}

// close ends all sessions, and joins how they went.
func (s *sideSessions) close() (runner.Outcome, error) {
	var all runner.Outcome
	var errs []error
	for _, session := range s.each() {
		o, err := session.Close()
		errs = append(errs, err)
		all.Measured, all.Failed, all.Aborted = all.Measured+o.Measured, all.Failed+o.Failed, all.Aborted || o.Aborted
		all.Warnings = append(all.Warnings, o.Warnings...)
		all.Repetitions = append(all.Repetitions, o.Repetitions...)
	}
	return all, errors.Join(errs...)
}

// savedOfAll are the repetitions that an earlier part of the run has saved, of all sides.
func (x *experiment) savedOfAll() []lab.Repetition {
	if x.reference == nil {
		return x.saved
	}
	return slices.Concat(x.saved, x.reference.saved)
}

// endReference leaves the place of the reference clean after a run that ended with runErr, and says what changed on its
// machine.
func (x *experiment) endReference(ctx context.Context, runErr error) error {
	r := x.reference
	if r == nil {
		return nil
	}
	err := r.cleanDevice(ctx)
	if err == nil && runErr == nil && r.target != x.target {
		err = r.compareAfterwards(ctx, x.writer)
	}
	x.run.Warnings = append(x.run.Warnings, r.run.Warnings...)
	return err
}
