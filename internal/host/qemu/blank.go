package qemu

import (
	"context"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// MadeBlank reports whether a device of the guest, given by its path there, is a disk whose image was created for the
// guest: blank at first, and removed with it. A disk that names a file in the description is not.
func (g *Guest) MadeBlank(ctx context.Context, device string) (bool, error) {
	if g.file.Image != "" {
		return false, nil // the system of the image names its disks
	}
	for _, d := range g.file.Disks {
		if d.File != "" {
			continue
		}
		argv := []string{"readlink", "-f", "/dev/disk/by-id/" + d.Name}
		out, err := g.Run(ctx, argv...)
		if err == nil && out.ExitCode != 0 {
			err = &lab.Error{What: "can't find the disk " + d.Name, Target: g.Name(), Command: argv,
				Output: string(out.Stderr)}
		}
		if err != nil {
			return false, err
		}
		if strings.TrimSpace(string(out.Stdout)) == device {
			return true, nil
		}
	}
	return false, nil
}

// Stored reports whether a disk's data is on storage of this machine, rather than in memory or nowhere.
func (d Disk) Stored() bool { return d.Backing == onImage || d.Backing == onFile }

// Blank reports whether a disk is created for the guest with space that must be written before reads of it mean
// anything.
func (d Disk) Blank() bool { return d.Backing == onImage || d.Backing == onMemory }

// Unseen is false: headroom created the images.
func (g *Guest) Unseen() bool { return false }
