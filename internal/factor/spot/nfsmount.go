package spot

import (
	"context"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// The values of a mount point and of a mount, besides Absent.
const (
	IsThere   = "there"
	IsMounted = "mounted"
)

// nfsReading says whether NFS is mounted on a point.
func nfsReading(s Spot, f host.File) Reading {
	if f.Err != nil {
		return Reading{Err: f.Err}
	}
	m, err := MountAt(f, s.Path)
	switch {
	case err != nil:
		return Reading{Value: Absent}
	case m.Kind != "nfs" && m.Kind != "nfs4":
		return Reading{Err: &lab.Error{What: s.Path + " is not headroom's NFS mount, but " + m.Kind}}
	}
	return Reading{Value: IsMounted}
}

// folderReading says whether a mount point is there. One that something is mounted on is not asked for itself: a server
// that does not answer would keep it waiting.
func folderReading(ctx context.Context, t host.Target, s Spot, f host.File) Reading {
	if _, err := MountAt(f, s.Path); err == nil {
		return Reading{Value: IsThere}
	}
	out, err := t.Run(ctx, "test", "-e", s.Path)
	switch {
	case err != nil:
		return Reading{Err: err}
	case out.ExitCode != 0:
		return Reading{Value: Absent}
	}
	return Reading{Value: IsThere}
}

// The commands that make a mount and undo it. mount.nfs is called by itself, because BusyBox's mount has an NFS of its
// own, and the folders of system tools are added, which a plain user's path lacks. Who has just ended may keep a mount
// busy for a moment.
const (
	mountNFSScript   = `PATH="$PATH:/usr/sbin:/sbin" mount.nfs "$1" "$2" -o "$3"`
	unmountNFSScript = `n=0; until umount "$1"; do n=$((n+1)); [ $n -lt 20 ] || exit 1; sleep 0.5; done`
)

// nfsCommand is what makes a mount or undoes it.
func nfsCommand(s Spot, mark, value string) []string {
	if value == Absent {
		return []string{"sh", "-c", unmountNFSScript, mark, s.Path}
	}
	options := "retry=0" // the second attempt is headroom's own
	if s.Options != "" {
		options = s.Options + "," + options
	}
	return []string{"sh", "-c", mountNFSScript, mark, s.Name, s.Path, options}
}

// folderCommand makes a mount point or removes it; what is not empty stays.
func folderCommand(s Spot, mark, value string) []string {
	argv := []string{"mkdir", "-m", "755", s.Path}
	if value == Absent {
		argv = []string{"rmdir", s.Path}
	}
	return Marked(mark, argv...)
}
