package qemu

import (
	"context"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// MadeBlank says whether a device of the guest, by its path there, is a disk whose image was made for the guest: blank
// at first, and gone with it. A disk of the description that names a file is none.
func (g *Guest) MadeBlank(ctx context.Context, device string) (bool, error) {
	if g.file.Image != "" {
		return false, nil // its own system names its disks
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

// Stored says whether a disk's data lies on storage of this machine, rather than in memory or nowhere.
func (d Disk) Stored() bool { return d.Backing == onImage || d.Backing == onFile }

// Blank says whether a disk is made for the guest with room for data, which must be written before reading it says
// anything.
func (d Disk) Blank() bool { return d.Backing == onImage || d.Backing == onMemory }

// Unseen is false: headroom itself has made the images.
func (g *Guest) Unseen() bool { return false }
