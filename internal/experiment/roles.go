package experiment

import (
	"context"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// ResolveDevices resolves several devices that are loaded at the same time: "/dev/sda,/dev/sdb". It replaces their
// nodes by the kernel's names.
func ResolveDevices(ctx context.Context, t host.Target, names string) (lab.Place, error) {
	all := lab.Place{Kind: lab.Device, Members: []string{}}
	var paths []string
	for name := range strings.SplitSeq(names, ",") {
		p, err := storage.ResolvePlace(ctx, t, name)
		if err != nil {
			return lab.Place{}, err
		}
		if p.Kind != lab.Device {
			return lab.Place{}, app.Usage(name+" is no device, and only devices are loaded at the same time",
				"name the directory by itself")
		}
		if slices.Contains(all.Members, p.Resolved) {
			return lab.Place{}, app.Usage(names + " names " + p.Resolved + " twice")
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

// PrefixRole gives the cells of a draft the names that they have among those of other targets.
func (m *Measurement) PrefixRole() {
	m.Run.Targets[0].Role = m.Role
	m.Run.Arms = []lab.Arm{{ID: m.Role, Role: m.Role, Levels: map[string]string{lab.TargetLevel: m.Role}}}
	for i, c := range m.Run.Cells {
		m.Run.Cells[i].ID, m.Run.Cells[i].Arm = lab.CellIn(c.ID, m.Role), m.Role
	}
}

// Location are a machine, empty where it is unknown, and the place on it, whatever its name is.
type Location struct{ Machine, place string }

// Locate returns where a place is, so that two names of one place are noticed.
func Locate(ctx context.Context, t host.Target, place lab.Place) (Location, error) {
	files, err := t.ReadFiles(ctx, host.BootIDFile)
	if err != nil {
		return Location{}, err
	}
	w := Location{Machine: strings.TrimSpace(string(files[host.BootIDFile].Data))}
	if w.Machine == "" || place.Kind == lab.NoPlace {
		return w, nil
	}
	format, path := "directory %d %i", place.Path
	if place.Kind == lab.Device {
		format, path = "device %t %T", place.Resolved
	}
	argv := []string{"stat", "-L", "-c", format, "--", path}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't find out what " + path + " is",
			Target: host.RemoteName(t), Command: argv,
			Output: string(out.Stderr)}
	}
	w.place = string(out.Stdout)
	return w, err
}

// Targets are the targets of a measurement and of its peers, as the run keeps them.
func (m *Measurement) Targets() []lab.RunTarget {
	all := []lab.RunTarget{m.Run.Targets[0]}
	for _, o := range m.Peers {
		all = append(all, o.Run.Targets[0])
	}
	return all
}
