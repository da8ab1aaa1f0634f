package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
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

// held is what a measurement holds of its place.
type held struct {
	device *device // nil for a directory
	// blank is a device that was made for the target; nil for all others.
	blank *blankDevice
	// members are the devices of a place that is several, which are only read.
	members []*device
}

// devices are all that are held.
func (h held) devices() []*device {
	if h.device == nil {
		return h.members
	}
	return append([]*device{h.device}, h.members...)
}

func (h held) release() {
	for _, d := range h.devices() {
		d.release()
	}
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
