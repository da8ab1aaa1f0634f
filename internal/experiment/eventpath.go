package experiment

import (
	"context"
	"path"
	"strings"

	"github.com/headroom/headroom/internal/host"
)

// stateScript writes the state of a SCSI disk. Source: the kernel's drivers/scsi/scsi_sysfs.c, where "offline" and
// "running" can be set.
const stateScript = `echo "$2" > "/sys/block/$1/device/state"`

// losePath disables one path of a multipath device, like a disk that stops answering.
func losePath(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	disk := words[0]
	state, err := stateOf(ctx, w.Target, disk)
	if err != nil {
		return EventPlan{}, err
	}
	switch {
	case strings.HasPrefix(disk, "nvme"):
		return EventPlan{}, refused("lose-port takes the port that it goes over",
			"a path of NVMe can't be put offline and back")
	case state == "" || disk != path.Base(disk):
		return EventPlan{}, refused("multipath -l, or ls /sys/block, shows the disks that are paths: lose-path sdb",
			"%s is no SCSI disk", disk)
	case state != "running":
		return EventPlan{}, refused("multipath -l shows the paths", "%s is %s already", disk, state)
	}
	maps, err := names(ctx, w.Target, "/sys/block/"+disk+"/holders")
	if err != nil {
		return EventPlan{}, err
	}
	for _, m := range maps {
		uuid := "/sys/block/" + m + "/dm/uuid"
		files, err := w.Target.ReadFiles(ctx, uuid)
		if err != nil {
			return EventPlan{}, err
		}
		if !strings.HasPrefix(string(files[uuid].Data), "mpath-") {
			continue
		}
		paths, err := names(ctx, w.Target, "/sys/block/"+m+"/slaves")
		if err != nil {
			return EventPlan{}, err
		}
		for _, other := range paths {
			if state, err := stateOf(ctx, w.Target, other); err != nil {
				return EventPlan{}, err
			} else if other != disk && state == "running" {
				return EventPlan{Command: []string{"sh", "-c", stateScript, "headroom", disk, "offline"},
					Undo: []string{"sh", "-c", stateScript, "headroom", disk, "running"}}, nil
			}
		}
		return EventPlan{}, refused("multipath -l shows the paths",
			"%s is the only path of %s that is running", disk, m)
	}
	return EventPlan{}, refused("multipath -l, or /sys/block/dm-*/slaves, shows the disks that are paths",
		"%s is no path of a multipath: all of its I/O would fail", disk)
}

// stateOf returns the state of a SCSI disk: "running", "offline", "blocked"; empty if it is not one.
func stateOf(ctx context.Context, t host.Target, disk string) (string, error) {
	name := "/sys/block/" + disk + "/device/state"
	files, err := t.ReadFiles(ctx, name)
	return strings.TrimSpace(string(files[name].Data)), err
}

// names returns the names in a folder; none if it does not exist.
func names(ctx context.Context, t host.Target, folder string) ([]string, error) {
	text, _, err := output(ctx, t, "ls", folder)
	return strings.Fields(text), err
}
