package spot

import (
	"context"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// The values of an existing mount point and of a mount; the other value is Absent.
const (
	IsThere   = "there"
	IsMounted = "mounted"
)

// nfsReading reads whether NFS is mounted on a point.
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

// folderReading reads whether a mount point exists. If something is mounted on it, the folder itself is not accessed,
// because a server that does not answer would block.
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

// The commands that mount and unmount NFS. mount.nfs is called directly, because BusyBox's mount has its own NFS code.
// The folders of system tools are added to PATH, which a plain user's PATH lacks. A process that has just ended may
// keep a mount busy for a moment.
const (
	mountNFSScript   = `PATH="$PATH:/usr/sbin:/sbin" mount.nfs "$1" "$2" -o "$3"`
	unmountNFSScript = `n=0; until umount "$1"; do n=$((n+1)); [ $n -lt 20 ] || exit 1; sleep 0.5; done`
)

// nfsCommand returns the command that mounts or unmounts.
func nfsCommand(s Spot, mark, value string) []string {
	if value == Absent {
		return []string{"sh", "-c", unmountNFSScript, mark, s.Path}
	}
	options := "retry=0" // headroom itself retries
	if s.Options != "" {
		options = s.Options + "," + options
	}
	return []string{"sh", "-c", mountNFSScript, mark, s.Name, s.Path, options}
}

// folderCommand creates a mount point or removes it; a folder that is not empty stays.
func folderCommand(s Spot, mark, value string) []string {
	argv := []string{"mkdir", "-m", "755", s.Path}
	if value == Absent {
		argv = []string{"rmdir", s.Path}
	}
	return Marked(mark, argv...)
}
