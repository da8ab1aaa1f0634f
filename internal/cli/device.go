package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"headroom/internal/guard"
	"headroom/internal/lab"
	"headroom/internal/load/fio"
	"headroom/internal/target"
)

// device is a block device under test, held for this run.
type device struct {
	claim   *guard.Claim
	verdict guard.Verdict
}

// claim takes the device and has it judged for every step of every cell.
func (m *measurement) claim(ctx context.Context, place lab.Place) (*device, error) {
	evidence, claim, err := guard.Inspect(ctx, m.target, place.Path)
	if err != nil {
		return nil, err
	}
	var steps []lab.Step
	onlyReads := true
	for _, c := range m.run.Cells {
		steps = append(steps, c.Steps...)
		onlyReads = onlyReads && fio.OnlyReads(c.Params)
	}
	slices.Sort(steps)
	verdict, err := guard.Judge(evidence, slices.Compact(steps), onlyReads, guard.Override(m.options.destroy))
	if err != nil {
		return nil, errors.Join(err, claim.Close())
	}
	// Loads are given the kernel's own name of what was inspected, which the claim watches; a link could lead elsewhere by
	// then.
	target := &m.run.Targets[0].Place
	target.Resolved, target.Size = claim.Identity().Device, claim.Identity().Size
	return &device{claim: claim, verdict: verdict}, nil
}

// sameDrive refuses a drive with another serial number than the one that an interrupted run was on.
func (d *device) sameDrive(run lab.Run) error {
	is := d.claim.Identity().Serial
	for _, f := range run.Targets[0].Facts {
		if f.Key == "disk.under-test.serial" && f.Value != "" && is != "" && f.Value != is {
			return errors.Join(&lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s is another drive (%s) than the one that run %s was on", d.claim.Identity().Path, is, run.ID),
				Hints: []string{"start a new run"}}, d.claim.Close())
		}
	}
	return nil
}

// describe is the drive and what the guard found: "Samsung PM9A3 7.68 TB (S6CK…), empty: checked 9 ways".
func (d *device) describe() string {
	return fmt.Sprintf("%s, %s", d.claim.Identity(), d.verdict)
}

// MayWrite is asked before each step that writes.
func (d *device) MayWrite() error {
	if !d.verdict.MayWrite {
		return &lab.Error{Kind: lab.Refused, What: d.claim.Identity().Path + " was not judged to be free to write to"}
	}
	return d.claim.StillTheSame()
}

// Discard discards the whole device.
func (d *device) Discard(ctx context.Context) error {
	return d.claim.Discard(ctx, d.verdict) // its EOPNOTSUPP is errors.ErrUnsupported
}

// leaveClean leaves a device that was written to without anything that could be taken for data. It returns what to say
// about it.
func (d *device) leaveClean(ctx context.Context, t target.Target) (string, error) {
	if !d.verdict.MayWrite {
		return "", nil
	}
	done, err := d.claim.LeaveClean(ctx, t, d.verdict)
	text := fmt.Sprintf("%s was left %s", d.claim.Identity().Path, done.How)
	if err == nil && !done.Blank {
		text += "; the next run on it must name it, because test data are still on it"
	}
	return text, err
}

func (d *device) release() { _ = d.claim.Close() } // it was opened for reading; there is nothing to lose
