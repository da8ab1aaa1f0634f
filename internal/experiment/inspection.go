package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/progress"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// inspection proves that devices are free for the cells that are measured on them, and holds them.
type inspection struct {
	target host.Target
	cells  []lab.Cell
	// destroy and sampled are what the user has typed for --destroy and --sampled.
	destroy, sampled string
	reading          reading
	// beside are the devices that measurements at the same time hold.
	beside []*device
	// held has the devices that are held so far. warnings begins with the run's; inspecting a device adds its own.
	held     held
	warnings []lab.Warning
}

// hold holds the devices of the place, once they are proved to be free for the cells.
func (m *Measurement) hold(ctx context.Context) error {
	i := inspection{target: m.Target, cells: m.Run.Cells, destroy: m.Options.Destroy, sampled: m.Options.Sampled,
		reading: reading{m.App, m.Options.DryRun.Asked()}, warnings: m.Run.Warnings}
	for other := m.Concurrent; other != nil; other = other.Concurrent {
		i.beside = append(i.beside, other.held.devices()...)
	}
	err := i.hold(ctx, &m.Run.Targets[0].Place)
	m.held, m.Run.Warnings = i.held, i.warnings
	return err
}

// hold holds the devices of a place, and gives the place their names and their size.
func (i *inspection) hold(ctx context.Context, place *lab.Place) (err error) {
	if place.Members != nil {
		err = i.holdMembers(ctx, place)
	} else if i.held.device, err = i.holdOne(ctx, *place); i.held.device != nil {
		// Loads are given the kernel's own name of what was inspected, which the claim watches; a link could lead
		// elsewhere by then.
		is := i.held.device.claim.Identity()
		place.Resolved, place.Size = is.Device, is.Size
	}
	i.warnOfHidden(place.Path)
	return err
}

// holdMembers holds each of the devices that are loaded at the same time.
func (i *inspection) holdMembers(ctx context.Context, place *lab.Place) error {
	for n, path := range strings.Split(place.Path, ",") {
		one, err := storage.ResolvePlace(ctx, i.target, path)
		var d *device
		if err == nil {
			d, err = i.holdOne(ctx, one)
		}
		if err != nil {
			i.held.release()
			i.held.members = nil
			return err
		}
		if d != nil { // not one of another machine
			// As for one device: loads are given the kernel's own name of what was inspected.
			place.Members[n] = d.claim.Identity().Device
			i.held.members = append(i.held.members, d)
		}
	}
	return nil
}

// holdOne has a device judged for every step of every cell, and holds it; nil for one of another machine, which is only
// read.
func (i *inspection) holdOne(ctx context.Context, place lab.Place) (*device, error) {
	if !host.IsLocal(i.target) {
		return nil, i.holdRemote(ctx, place)
	}
	if i.destroy != "" && i.sampled != "" {
		return nil, app.Usage("--destroy and --sampled exclude each other",
			"--destroy needs no look at the content at all")
	}
	d := i.heldBeside(place)
	if d == nil {
		evidence, claim, err := guard.Inspect(ctx, i.target, place.Path)
		if err != nil {
			return nil, err
		}
		d = &device{claim: claim, evidence: evidence}
	}
	var steps []lab.Step
	onlyReads := true
	for _, c := range i.cells {
		steps = append(steps, c.Steps...)
		onlyReads = onlyReads && fio.OnlyReads(c.Params)
	}
	slices.Sort(steps)
	steps = slices.Compact(steps)
	consent := guard.Consent{Destroy: guard.Override(i.destroy), Sampled: guard.Override(i.sampled)}
	var err error
	if guard.MustRead(d.evidence, steps, onlyReads, consent) {
		consent.Later, err = i.readAll(ctx, d)
	}
	if err == nil {
		d.verdict, err = guard.Judge(d.evidence, steps, onlyReads, consent)
	}
	if err != nil {
		d.release()
		return nil, err
	}
	i.warnOfSample(d)
	return d, nil
}

// heldBeside is the device if a measurement beside this one holds it; nil otherwise.
func (i *inspection) heldBeside(place lab.Place) *device {
	for _, d := range i.beside {
		if d.owner == nil && d.claim.Identity().Device == place.Resolved && d.claim.StillTheSame() == nil {
			return &device{claim: d.claim, evidence: d.evidence, owner: d}
		}
	}
	return nil
}

// holdRemote sees to a device of another machine: the guard opens devices itself, so that it can only look at those of
// this one. There, devices are only read, unless they were made for the target.
func (i *inspection) holdRemote(ctx context.Context, place lab.Place) error {
	n := slices.IndexFunc(i.cells, writes)
	if n < 0 {
		return nil
	}
	b := &blankDevice{i.target, place.Resolved}
	err := b.mayWrite(ctx)
	if err == nil {
		err = b.look(ctx, i.reading, place.Size)
	}
	if err == nil {
		i.held.blank = b
		return nil
	}
	if _, data := errors.AsType[*notBlank](err); data || lab.KindOf(err) != lab.Refused {
		return err
	}
	return &lab.Error{Kind: lab.Refused, What: i.cells[n].ID + " writes to " + place.Path +
		", and devices of another machine can't be proved to be empty", Target: i.target.Name(),
		Hints: []string{"measure a directory there, or take a suite whose jobs only read what is there (steps: [load])",
			"or run headroom on that machine"}}
}

// readAll has the guard read all of a device. later says that a dry run left off before the end.
func (i *inspection) readAll(ctx context.Context, d *device) (later bool, err error) {
	later, err = i.reading.while(ctx, d.claim.Identity().Path,
		func(ctx context.Context, tell func(guard.Progress)) error {
			return d.claim.ReadAll(ctx, &d.evidence, tell)
		})
	if d.owner != nil {
		d.owner.evidence = d.evidence // so that the next beside it need not read again
	}
	return later, err
}

// warnOfSample says before the first write what a sample can have missed, and has the run carry that.
func (i *inspection) warnOfSample(d *device) {
	if !d.verdict.Sampled {
		return
	}
	w := validity.DeviceSampled(d.claim.Identity().Path, d.verdict.String(), sampleMisses(d.verdict.Sample))
	if d.owner == nil {
		i.reading.app.Print("", w.Text)
	}
	if !slices.ContainsFunc(i.warnings, func(o lab.Warning) bool {
		return o.Code == w.Code && strings.HasPrefix(o.Text, d.claim.Identity().Path+" ")
	}) {
		i.warnings = append(i.warnings, w)
	}
}

// warnOfHidden warns if programs that have the device open could not be looked for.
func (i *inspection) warnOfHidden(path string) {
	for _, d := range i.held.devices() {
		var w lab.Warning
		switch {
		case !d.evidence.ProgramsHidden && d.evidence.ProgramsUnread == 0:
			continue
		case d.evidence.ProgramsHidden:
			w = validity.ProgramsHidden(path)
		default:
			w = validity.ProgramsUnread(path, d.evidence.ProgramsUnread)
		}
		// a resumed run has it
		if !slices.ContainsFunc(i.warnings, func(o lab.Warning) bool { return o.Code == w.Code }) {
			i.warnings = append(i.warnings, w)
		}
	}
}

// dryRunReads is how long a dry run reads a device: who wants to know what would be done does not wait until all of a
// large drive is read.
const dryRunReads = 10 * time.Second

// reading shows how far the reading of devices has come.
type reading struct {
	app    *app.App
	dryRun bool
}

// while shows the progress of reading one device. later reports whether a dry run stopped before the end.
func (r reading) while(ctx context.Context, path string,
	read func(context.Context, func(guard.Progress)) error) (later bool, err error) {
	limited := ctx
	if r.dryRun {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, dryRunReads)
		defer cancel()
	}
	show := progress.NewReading(r.app, path)
	defer show.End()
	err = read(limited, show.Update)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// sampleMisses returns how likely the sample misses one stretch of data: "84% for 64.0 KiB, 12% for 1.00 MiB".
func sampleMisses(s guard.Sample) []string {
	var parts []string
	for _, m := range s.Misses {
		parts = append(parts, unit.Percent(m.Chance)+" for "+unit.Bytes(float64(m.Length)))
	}
	return parts
}
