package qemu

import (
	"context"
	"strings"

	"headroom/internal/lab"
)

// MadeBlank says whether a device of the guest, by its path there, is a disk whose image was made for the guest: blank at first, and gone
// with it. A disk of the description that names a file is none.
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
			err = &lab.Error{What: "can't find the disk " + d.Name, Target: g.Name(), Command: argv, Output: string(out.Stderr)}
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
