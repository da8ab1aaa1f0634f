package qemu

import (
	"github.com/headroom/headroom/internal/host"
)

// Scheme is the prefix of the name of a guest as a target, followed by the path of the file that describes it.
const Scheme = "qemu:"

// Traits are the traits of every guest.
func Traits() host.Traits {
	return host.Traits{Noun: "guest", HostedHere: true, OwnBoot: true, Ephemeral: true, LosesSettings: true}
}

// Provided returns the disks that a guest will have.
func (f File) Provided() []host.Disk {
	var all []host.Disk
	for _, d := range f.Disks {
		all = append(all, host.Disk{Name: d.Name, Kind: d.Kind, Backing: d.Backing, File: d.File, Size: d.Size,
			Image: d.Backing == onImage, Stored: d.Stored(), Blank: d.Blank(), Queues: d.Queues,
			IOThreads: d.IOThreads})
	}
	return all
}

var (
	_ host.Booter           = (*Guest)(nil)
	_ host.Closer           = (*Guest)(nil)
	_ host.Disposable       = (*Guest)(nil)
	_ host.MaybeEmulated    = (*Guest)(nil)
	_ host.HasBootArguments = (*Guest)(nil)
	_ host.LosesDataOnBoot  = (*Guest)(nil)
)
