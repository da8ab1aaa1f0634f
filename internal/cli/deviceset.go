package cli

import (
	"context"
	"slices"
	"strings"

	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/target"
)

// resolveDevices finds out what several devices are that are to be loaded at the same time: "/dev/sda,/dev/sdb". Their
// nodes are made the kernel's own names.
func resolveDevices(ctx context.Context, t target.Target, names string) (lab.Place, error) {
	all := lab.Place{Kind: lab.Device, Members: []string{}}
	var paths []string
	for name := range strings.SplitSeq(names, ",") {
		p, err := facts.ResolvePlace(ctx, t, name)
		if err != nil {
			return lab.Place{}, err
		}
		if p.Kind != lab.Device {
			return lab.Place{}, usage(name+" is no device, and only devices are loaded at the same time",
				"name the directory by itself")
		}
		if slices.Contains(all.Members, p.Resolved) {
			return lab.Place{}, usage(names + " names " + p.Resolved + " twice")
		}
		paths, all.Members, all.Disks = append(paths, p.Path), append(all.Members, p.Resolved),
			append(all.Disks, p.Disks...)
		if all.Size == 0 || p.Size < all.Size {
			all.Size = p.Size
		}
	}
	slices.Sort(all.Disks)
	all.Path, all.Disks = strings.Join(paths, ","), slices.Compact(all.Disks)
	return all, nil
}

// claimMembers holds each of the devices that are loaded at the same time.
func (m *measurement) claimMembers(ctx context.Context) ([]*device, error) {
	var held []*device
	for i, path := range strings.Split(m.place().Path, ",") {
		place, err := facts.ResolvePlace(ctx, m.target, path)
		if err == nil {
			var d *device
			if d, err = m.hold(ctx, place); err == nil {
				if d != nil { // not one of another machine
					// As for one device: loads are given the kernel's own name of what was inspected.
					m.run.Targets[0].Place.Members[i] = d.claim.Identity().Device
					held = append(held, d)
				}
				continue
			}
		}
		for _, d := range held {
			d.release()
		}
		return nil, err
	}
	return held, nil
}
