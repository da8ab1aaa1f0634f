package qemu

import (
	"headroom/internal/target"
)

// Scheme begins the name of a guest as a target; the path of the file that describes it follows.
const Scheme = "qemu:"

// Traits are what is so of every guest.
func Traits() target.Traits {
	return target.Traits{Noun: "guest", HostedHere: true, OwnBoot: true, Ephemeral: true, LosesSettings: true}
}

// Provided are the disks that a guest will have.
func (f File) Provided() []target.Disk {
	var all []target.Disk
	for _, d := range f.Disks {
		all = append(all, target.Disk{Name: d.Name, Kind: d.Kind, Backing: d.Backing, File: d.File, Size: d.Size,
			Image: d.Backing == onImage, Stored: d.Stored(), Blank: d.Blank(), Queues: d.Queues,
			IOThreads: d.IOThreads})
	}
	return all
}

var (
	_ target.Booter           = (*Guest)(nil)
	_ target.Closer           = (*Guest)(nil)
	_ target.Disposable       = (*Guest)(nil)
	_ target.MaybeEmulated    = (*Guest)(nil)
	_ target.HasBootArguments = (*Guest)(nil)
	_ target.LosesDataOnBoot  = (*Guest)(nil)
)
