package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/prose"
)

// device is a block device under test, held for this run.
type device struct {
	claim    *guard.Claim
	evidence guard.Evidence
	verdict  guard.Verdict
	// owner holds the claim, where another measurement has the same device: then this one was only judged, by the same
	// evidence.
	owner *device
}

// claim takes the device, unless the measurement beside this one holds it, and has it judged for every step of every
// cell.
func (m *Measurement) claim(ctx context.Context, place lab.Place) (*device, error) {
	d, err := m.hold(ctx, place)
	if err != nil || d == nil {
		return nil, err
	}
	// Loads are given the kernel's own name of what was inspected, which the claim watches; a link could lead elsewhere
	// by then.
	target := &m.Run.Targets[0].Place
	target.Resolved, target.Size = d.claim.Identity().Device, d.claim.Identity().Size
	return d, nil
}

// hold is claim for a device of any number; nil for one of another machine, which is only read.
func (m *Measurement) hold(ctx context.Context, place lab.Place) (*device, error) {
	if !host.IsLocal(m.Target) {
		return nil, m.holdRemote(ctx, place)
	}
	if m.Options.Destroy != "" && m.Options.Sampled != "" {
		return nil, app.Usage("--destroy and --sampled exclude each other",
			"--destroy needs no look at the content at all")
	}
	d := m.heldByConcurrent(place)
	if d == nil {
		evidence, claim, err := guard.Inspect(ctx, m.Target, place.Path)
		if err != nil {
			return nil, err
		}
		d = &device{claim: claim, evidence: evidence}
	}
	var steps []lab.Step
	onlyReads := true
	for _, c := range m.Run.Cells {
		steps = append(steps, c.Steps...)
		onlyReads = onlyReads && fio.OnlyReads(c.Params)
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	consent := guard.Consent{Destroy: guard.Override(m.Options.Destroy), Sampled: guard.Override(m.Options.Sampled)}
	var err error
	if guard.MustRead(d.evidence, steps, onlyReads, consent) {
		consent.Later, err = m.readAll(ctx, d)
	}
	if err == nil {
		d.verdict, err = guard.Judge(d.evidence, steps, onlyReads, consent)
	}
	if err != nil {
		d.release()
		return nil, err
	}
	m.warnOfSample(d)
	return d, nil
}

// heldByConcurrent is the device if a measurement beside this one holds it; nil otherwise.
func (m *Measurement) heldByConcurrent(place lab.Place) *device {
	for other := m.Concurrent; other != nil; other = other.Concurrent {
		for _, d := range append([]*device{other.device}, other.members...) {
			if d != nil && d.owner == nil && d.claim.Identity().Device == place.Resolved &&
				d.claim.StillTheSame() == nil {
				return &device{claim: d.claim, evidence: d.evidence, owner: d}
			}
		}
	}
	return nil
}

// sameDrive refuses a drive with another serial number than the one that an interrupted run was on.
func (d *device) sameDrive(run lab.Run) error {
	is := d.claim.Identity().Serial
	for _, f := range run.Targets[0].Facts {
		if f.Key == "disk.under-test.serial" && f.Value != "" && is != "" && f.Value != is {
			return errors.Join(&lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("%s is another drive (%s) than the one that run %s was on", d.claim.Identity().Path,
					is, run.ID),
				Hints: []string{"start a new run"}}, d.claim.Close())
		}
	}
	return nil
}

// describe is the drive and what the guard found: "Samsung PM9A3 7.68 TB (S6CK…), empty: checked 9 ways".
func (d *device) describe() string {
	text := fmt.Sprintf("%s, %s", d.claim.Identity(), d.verdict)
	if d.evidence.ProgramsHidden {
		text += "; whether a program outside of this container has it open can't be seen"
	}
	if d.evidence.ProgramsUnread > 0 {
		text += fmt.Sprintf("; what %d of the other programs have open can't be seen", d.evidence.ProgramsUnread)
	}
	if d.evidence.FilesUnseen > 0 {
		text += fmt.Sprintf("; %s on network file systems, which programs write to, could not be looked at",
			prose.Count(d.evidence.FilesUnseen, "file"))
	}
	return text
}

// MayWrite is asked before each step that writes.
func (d *device) MayWrite() error {
	if !d.verdict.MayWrite {
		return &lab.Error{Kind: lab.Refused, What: d.claim.Identity().Path + " was not judged to be free to write to"}
	}
	return d.claim.StillFree()
}

// Discard discards the whole device.
func (d *device) Discard(ctx context.Context) error {
	return d.claim.Discard(ctx, d.verdict) // its EOPNOTSUPP is errors.ErrUnsupported
}

// leaveClean leaves a device that was written to without anything that could be taken for data. It returns what to say
// about it.
func (d *device) leaveClean(ctx context.Context, t host.Target) (string, error) {
	if !d.verdict.MayWrite || d.owner != nil && d.owner.verdict.MayWrite {
		return "", nil // nothing was written, or the owner cleans
	}
	done, err := d.claim.CleanUp(ctx, t, d.verdict)
	text := fmt.Sprintf("%s was left %s", d.claim.Identity().Path, done.How)
	if err == nil && !done.Blank {
		text += "; the next run on it must name it, because test data are still on it"
	}
	return text, err
}

func (d *device) release() {
	if d.owner == nil {
		_ = d.claim.Close() // it was opened for reading; there is nothing to lose
	}
}
