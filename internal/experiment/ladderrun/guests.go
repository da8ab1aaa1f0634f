package ladderrun

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// ladderGuest is a virtual machine whose disks are rungs.
type ladderGuest struct {
	// name is the name of the target: "qemu:FILE".
	name  string
	disks []host.Disk
}

// checkGuests refuses early what is not a guest.
func checkGuests(p *app.App, names []string) error {
	for i, name := range names {
		if kind := p.AllKinds().Of(name); kind == nil || kind.Disks == nil {
			return app.Usage(fmt.Sprintf("--guest %s is no guest that could be started", name),
				"write --guest qemu:FILE; docs/reference/targets.md describes the file")
		}
		if slices.Contains(names[:i], name) {
			return app.Usage("--guest " + name + " is given twice")
		}
	}
	return nil
}

// guestRungs returns the disks of the guests: for each guest first the disks without storage, then the others. The
// guests are started once the host's own rungs are known to be possible.
func (s *storageLadder) guestRungs(ctx context.Context, host []rung) ([]rung, error) {
	for _, r := range host {
		if r.kind == ladder.Files {
			s.images = r.place.Path // the highest: the same storage through the guest
		}
	}
	var all []rung
	for _, name := range s.Options.Guests {
		t, err := s.open(ctx, name)
		if err != nil {
			return nil, err
		}
		rungs, err := s.disksOf(ctx, t, s.guest(name), host)
		if err != nil {
			return nil, err
		}
		all = append(all, rungs...)
	}
	return all, nil
}

// guest returns a started guest by the name of its target; nil for none.
func (s *storageLadder) guest(name string) *ladderGuest {
	i := slices.IndexFunc(s.guests, func(g *ladderGuest) bool { return g.name == name })
	if i < 0 {
		return nil
	}
	return s.guests[i]
}

// startGuest reads the disks of a guest, and starts the guest if it can serve as rungs.
func (s *storageLadder) startGuest(ctx context.Context, name string) (host.Target, error) {
	disks, err := s.app.AllKinds().Of(name).Disks(name)
	if err != nil {
		return nil, err
	}
	if len(disks) == 0 {
		return nil, app.Usage(s.app.AllKinds().Rest(name)+" has no disks that could be rungs",
			`add disks: [{name: data, kind: virtio-blk, size: 4g}, {name: none, kind: virtio-blk, size: 4g, backing: "null"}]`)
	}
	g := &ladderGuest{name: name, disks: disks}
	s.guests = append(s.guests, g)
	if err := s.checkImages(ctx); err != nil {
		return nil, err
	}
	return s.app.OpenIn(ctx, name, s.images)
}

// checkImages checks that all images of the guests can be filled next to the scratch files: QEMU stops a guest whose
// image can't grow.
func (s *storageLadder) checkImages(ctx context.Context) error {
	need := int64(0)
	for _, g := range s.guests {
		for _, d := range g.disks {
			if d.Image {
				need += d.Size
			}
		}
	}
	if need == 0 {
		return nil
	}
	what := "the blank images of the guests (" + unit.Bytes(float64(need)) + ")"
	under, err := s.open(ctx, app.LocalTarget)
	if err != nil {
		return err
	}
	images, err := storage.ResolvePlace(ctx, under, s.images)
	if err != nil {
		return err
	}
	for _, arm := range s.plan.Names {
		m := s.plan.Parts[arm]
		if !host.IsLocal(m.Target) {
			continue
		}
		shared, err := experiment.OnOneFilesystem(ctx, m.Target, images, m.Place())
		if err != nil {
			return err
		}
		if shared {
			need += m.Place().Size
		}
	}
	space, err := storage.Free(ctx, under, s.images)
	if err != nil {
		return err
	}
	if space.Available < need+experiment.Spare {
		return &lab.Error{What: fmt.Sprintf("%s and scratch files need %s in %s, where %s are free", what,
			unit.Bytes(float64(need)), s.images, unit.Bytes(float64(space.Available))),
			Hints: []string{"make the guest's disks smaller"}}
	}
	return nil
}

// disksOf returns the rungs of one guest.
func (s *storageLadder) disksOf(ctx context.Context, t host.Target, g *ladderGuest, host []rung) ([]rung, error) {
	top := 0 // the rung of the host with which disks without storage are compared
	for i, r := range host {
		if r.kind != ladder.Memory && r.kind != ladder.Null {
			top = i + 1
		}
	}
	var bare, stored []rung
	highest := 0
	for i := range g.disks {
		d := &g.disks[i]
		path := "/dev/disk/by-id/" + d.Name
		place, err := storage.ResolvePlace(ctx, t, path)
		if err != nil {
			return nil, err
		}
		r := rung{name: d.Name + " of " + g.name, kind: ladder.Guest, place: place, guest: g, disk: d}
		if !d.Stored {
			bare = append(bare, r)
			continue
		}
		if r.below, err = s.lowerRung(ctx, d, host); err != nil {
			return nil, err
		}
		highest = max(highest, r.below)
		stored = append(stored, r)
	}
	// Null disks first, then memory.
	slices.SortStableFunc(bare, func(a, b rung) int { return strings.Compare(b.disk.Backing, a.disk.Backing) })
	if highest == 0 {
		highest = top
	}
	for i := range bare {
		bare[i].below = highest
	}
	rungs := append(bare, stored...)
	for i := range rungs {
		// The queue depth is the same as on the rung that it is compared with.
		on := rungs[i].below
		if on == 0 {
			on = top
		}
		rungs[i].jobs = 1
		if on > 0 {
			rungs[i].jobs = host[on-1].jobs
		}
	}
	return rungs, nil
}

// lowerRung returns the number, from 1, of the rung of the host that stores the data of a guest's disk; 0 for none.
func (s *storageLadder) lowerRung(ctx context.Context, d *host.Disk, host []rung) (int, error) {
	data, err := s.dataOf(ctx, d)
	if err != nil {
		return 0, err
	}
	m := experiment.Measurement{App: s.app, Target: s.base}
	for i := len(host) - 1; i >= 0; i-- {
		r := host[i]
		if r.kind == ladder.Memory || r.kind == ladder.Null || r.place.Members != nil {
			continue
		}
		same := r.place.Kind == lab.Device && data.Kind == lab.Device && r.place.Resolved == data.Resolved
		if !same {
			if same, err = experiment.OnOneFilesystem(ctx, m.Target, r.place, data); err != nil {
				return 0, err
			}
		}
		if !same && r.place.Kind == lab.Device {
			on, known, err := storage.Stacked(ctx, s.base, r.place, data)
			if err != nil {
				return 0, err
			}
			same = on && known
		}
		if same {
			return i + 1, nil
		}
	}
	s.notes = append(s.notes,
		fmt.Sprintf("the guest's disk %s is stored on %s, which is on none of the rungs, so it is compared with none",
			d.Name, data.Path))
	return 0, nil
}

// dataOf returns where this machine stores the data of a guest's disk: a block device, or the folder of an image.
func (s *storageLadder) dataOf(ctx context.Context, d *host.Disk) (lab.Place, error) {
	if d.Image {
		return storage.ResolvePlace(ctx, s.base, s.images)
	}
	file, err := filepath.EvalSymlinks(d.File)
	if err != nil {
		return lab.Place{}, &lab.Error{What: "can't find the data of the guest's disk " + d.Name, Err: err}
	}
	info, err := os.Stat(file)
	if err != nil {
		return lab.Place{}, &lab.Error{What: "can't find the data of the guest's disk " + d.Name, Err: err}
	}
	if info.Mode().IsRegular() {
		file = filepath.Dir(file)
	}
	return storage.ResolvePlace(ctx, s.base, file)
}

// diskLevels records in a run which disk of a guest it measured: the interface that the guest sees, and how QEMU serves
// it. Two disks with the same levels are alike.
func diskLevels(d host.Disk) map[string]string {
	queues := "as QEMU has them"
	if d.Queues > 0 {
		queues = strconv.Itoa(d.Queues)
	}
	return map[string]string{results.InterfaceLevel: d.Kind, results.BackingLevel: d.Backing,
		results.QueuesLevel: fmt.Sprintf("queues: %s, iothreads: %d", queues, d.IOThreads)}
}

// Rebuild resumes a ladder. A guest ends with the headroom that started it; a new one is started, and must have the
// same disks.
func (s *storageLadder) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	s.plan = p
	found, err := s.savedParts(saved)
	if err != nil {
		return err
	}
	for _, b := range found {
		if b.Run.Arms[0].Levels[results.KindLevel] == string(ladder.Files) {
			s.images = b.Run.Targets[0].Place.Path // the highest
		}
	}
	if err := s.resume(ctx, saved, ""); err != nil {
		return err
	}
	for _, arm := range s.plan.Names {
		run := s.plan.Parts[arm].Run
		g := s.guest(app.TargetOfRun(run))
		if g == nil {
			continue
		}
		disk := filepath.Base(run.Targets[0].Place.Path)
		same := slices.ContainsFunc(g.disks, func(d host.Disk) bool {
			levels := maps.Clone(run.Arms[0].Levels)
			maps.Copy(levels, diskLevels(d))
			return d.Name == disk && maps.Equal(levels, run.Arms[0].Levels)
		})
		if !same {
			return &lab.Error{Kind: lab.Refused,
				What: fmt.Sprintf("the disk %s of %s is another than the one that run %s was on", disk, g.name,
					run.ID),
				Hints: []string{"undo what was changed in the guest's file, or start a new ladder"}}
		}
	}
	return s.checkImages(ctx)
}
